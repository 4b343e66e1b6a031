/**
 * Makes one clock of all: Gitea's, which all of its times follow. The times of Jobs are Kubernetes', and "now" is this machine's.
 * Several Giteas that are not known to agree have no common clock. Then each one's times, and those of Jobs, become this machine's: so
 * the clock of one Gitea changes nothing for the groups of another.
 *
 * Without it a Job may look older than the CI job that it was started for, or a runner late that is not (docs/spec.md, L6). Pure.
 */
import { type ClockBounds, common, either } from '../clients/http/server-clocks.ts';
import type { LiveJob, Look } from '../planner/evidence.ts';

/** The clock of a server. `origin`: as messages name the server. Undefined `bounds`: nothing is known of its clock. */
export type ServerClock = Readonly<{ origin: string; bounds: ClockBounds | undefined }>;

export interface ClockCorrection {
  /** Gitea's time minus this machine's, ms. Add it to this machine's time. */
  readonly nowShiftMs: number;
  /** Gitea's time minus Kubernetes', ms. Add it to times of Kubernetes. */
  readonly jobShiftMs: number;
  /** Several clocks: to be added to the times of each Gitea, ms, by origin. Then, and with the two above, all are this machine's. */
  readonly lookShiftsMs?: ReadonlyMap<string, number>;
  /** Kubernetes' clock minus Gitea's, in whole seconds, as ms. Undefined: one of them is not known. */
  readonly skewMs?: number;
  /** Warnings for the administrator, each with its code. */
  readonly warnings: readonly ClockWarning[];
}

export type ClockWarning = Readonly<Record<'code' | 'message', string>>;

/** `Date` has a resolution of a second on either side: a smaller difference may be none. */
const LEAST_SHIFT_MS = 2_000;
/** A greater difference is reported. */
const WARN_MS = 10_000;
/** Largest correction, ms. A clock that is further off does not run, and would spoil good times. */
const MOST_MS = 86_400_000;

/** Returns what to add to the times of each server. @param kubernetes undefined: it was not looked at */
export function correctClocks(giteas: readonly ServerClock[], kubernetes: ServerClock | undefined): ClockCorrection {
  const warnings: ClockWarning[] = [];
  const usable = ({ origin, bounds }: ServerClock): ClockBounds | undefined => {
    if (bounds === undefined || Math.abs(middle(bounds)) <= MOST_MS) return bounds;
    const message = `compare clocks: that of ${origin} is more than a day off this machine's. Its times are taken as they are. Set the clock that is wrong.`;
    warnings.push({ code: 'GR-CLOCK-02', message });
    return undefined;
  };
  const usableBounds = giteas.map(usable);
  const cluster = kubernetes && usable(kubernetes);
  if (giteas.length > 1 && !agree(usableBounds)) {
    const lookShiftsMs = new Map(giteas.map(({ origin }, index) => [origin, backBy(usableBounds[index])]));
    if (usableBounds.every((bounds) => bounds)) {
      const message = `compare clocks: those of the Giteas ${giteas.map(({ origin }) => origin).join(', ')} differ from each other. The times of each are corrected by its own clock. Synchronize them (NTP).`;
      warnings.push({ code: 'GR-CLOCK-03', message });
    }
    return { nowShiftMs: 0, jobShiftMs: backBy(cluster), lookShiftsMs, warnings };
  }
  const gitea = usableBounds.reduce((a, b) => a && b && (common(a, b) ?? either(a, b)), usableBounds[0]);
  const nowShiftMs = gitea ? shiftBy(gitea) : 0;
  if (gitea === undefined || cluster === undefined) return { nowShiftMs, jobShiftMs: 0, warnings };

  const apart = { leastMs: gitea.leastMs - cluster.mostMs, mostMs: gitea.mostMs - cluster.leastMs };
  const jobShiftMs = shiftBy(apart);
  if (Math.abs(jobShiftMs) > WARN_MS) {
    const shiftText = `${Math.abs(jobShiftMs) / 1000} s ${jobShiftMs < 0 ? 'ahead of' : 'behind'}`;
    const message = `compare clocks: that of Kubernetes (${kubernetes?.origin}) is ${shiftText} that of Gitea (${giteas[0]?.origin}). Times of Jobs are corrected by that. Synchronize both clocks (NTP).`;
    warnings.push({ code: 'GR-CLOCK-01', message });
  }
  return { nowShiftMs, jobShiftMs, skewMs: toSeconds(-middle(apart)), warnings };
}

/** True when each clock is known and none is known to differ from another. */
function agree(clocks: readonly (ClockBounds | undefined)[]): boolean {
  const knownBounds = clocks.flatMap((bounds) => bounds ?? []);
  const gapMs =
    Math.max(...knownBounds.map(({ leastMs }) => leastMs)) - Math.min(...knownBounds.map(({ mostMs }) => mostMs));
  return knownBounds.length === clocks.length && gapMs < LEAST_SHIFT_MS;
}

/** The look, with its times by the clock of all. */
export function shiftLook(look: Look, giteaUrl: string, { lookShiftsMs }: ClockCorrection): Look {
  const shiftMs = lookShiftsMs?.get(new URL(giteaUrl).origin) ?? 0;
  if (shiftMs === 0) return look;
  return { ...look, jobs: shifted(look.jobs, ['createdAtMs', 'startedAtMs', 'completedAtMs'], shiftMs) };
}

/** The Jobs, with their times by Gitea's clock. */
export function shiftJobs(jobs: readonly LiveJob[], shiftMs: number): readonly LiveJob[] {
  if (shiftMs === 0) return jobs;
  return shifted(jobs, ['createdAtMs', 'stillSinceMs', 'runningSinceMs', 'finishedAtMs', 'extendUntilMs'], shiftMs);
}

function shifted<T extends object>(rows: readonly T[], times: readonly (keyof T)[], shiftMs: number): readonly T[] {
  return rows.map((row) => {
    const shiftedTimes = times.flatMap((time) => (typeof row[time] === 'number' ? [[time, row[time] + shiftMs]] : []));
    return { ...row, ...Object.fromEntries(shiftedTimes) };
  });
}

/** Returns the shift in whole seconds, as ms. It is 0 when the clocks may well be equal. */
function shiftBy(bounds: ClockBounds): number {
  if (bounds.leastMs <= 0 && bounds.mostMs >= 0) return 0;
  const shiftMs = toSeconds(middle(bounds));
  return Math.abs(shiftMs) < LEAST_SHIFT_MS ? 0 : shiftMs;
}

/** Returns the shift from a server's clock to this machine's, ms. Never -0. */
export function backBy(bounds: ClockBounds | undefined): number {
  return bounds ? 0 - shiftBy(bounds) : 0;
}

function middle({ leastMs, mostMs }: ClockBounds): number {
  return (leastMs + mostMs) / 2;
}

/** Rounds to whole seconds. Never -0. */
function toSeconds(ms: number): number {
  return Math.round(ms / 1000) * 1000 + 0;
}
