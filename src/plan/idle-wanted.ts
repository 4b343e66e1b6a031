/** Calculates how many idle runners a group wants now: always, by the calendar, by demand. Pure. */
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { DAYS } from '../config/runnergroup/words.ts';
import { memo } from '../planner/collections.ts';
import { type Evidence, type Group, type Job, joinLooks } from '../planner/evidence.ts';
import { ownersFinder } from '../planner/owners.ts';

type Hours = RunnerGroup['idleSchedule'][number];

const MINUTES_OF_DAY = 1_440;

/** Makes a format once for each zone: that takes milliseconds. */
const formatOf = memo((timeZone: string) => {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
});

/** True within these hours, by the clocks of their zone. Past midnight they belong to the day on which they begin. */
function areOpen({ days, from, timeZone, to }: Hours, nowMs: number): boolean {
  const shown = formatOf(timeZone).formatToParts(nowMs);
  const parts = new Map(shown.map(({ type, value }) => [type, value]));
  const today = (DAYS as readonly string[]).indexOf(parts.get('weekday') ?? '');
  const now = minutesOf(`${parts.get('hour')}:${parts.get('minute')}`);
  const first = minutesOf(from);
  const last = minutesOf(to) > first ? minutesOf(to) : minutesOf(to) + MINUTES_OF_DAY;
  const isWithin = (minute: number, day: number): boolean => {
    const name = DAYS[(day + DAYS.length) % DAYS.length];
    return name !== undefined && days.includes(name) && minute >= first && minute < last;
  };
  return isWithin(now, today) || isWithin(now + MINUTES_OF_DAY, today - 1);
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return 60 * hours + minutes;
}

/** Returns the number that git alone asks for at this time. */
export function scheduledIdle(
  { idleSchedule, minIdleRunners }: Pick<RunnerGroup, 'idleSchedule' | 'minIdleRunners'>,
  nowMs: number,
): number {
  return Math.max(minIdleRunners, ...idleSchedule.map((hours) => (areOpen(hours, nowMs) ? hours.runners : 0)));
}

/**
 * The groups with the idle runners that they want now. The demand of a group is the CI jobs of the last
 * `idleDemand.minutes` whose first owner it is. The looks show these jobs, so nothing more is asked.
 * @param groups each with its RunnerGroup
 */
export function withIdleWanted(groups: readonly (readonly [Group, RunnerGroup])[], evidence: Evidence) {
  const { nowMs } = evidence;
  const planned = groups.map(([group]) => group);
  const countOf = groups.some(([, { idleDemand }]) => idleDemand) ? demandCounter(planned, evidence) : () => 0;
  return groups.map(([group, spec]) => {
    const { idleDemand } = spec;
    const demanded = idleDemand ? Math.min(idleDemand.most, countOf(group, nowMs - 60_000 * idleDemand.minutes)) : 0;
    const minIdleRunners = Math.max(scheduledIdle(spec, nowMs), demanded);
    return minIdleRunners === group.minIdleRunners ? group : { ...group, minIdleRunners };
  });
}

function demandCounter(groups: readonly Group[], evidence: Evidence): (group: Group, sinceMs: number) => number {
  const findOwners = ownersFinder(groups, evidence.looks);
  const jobs = joinLooks(groups, evidence).jobs.filter(({ job }) => hadUse(job));
  return (group, sinceMs) =>
    jobs.filter((listed) => {
      if (listed.job.createdAtMs <= sinceMs) return false;
      const owners = findOwners(listed);
      return owners.covered && owners.groups[0] === group;
    }).length;
}

/** False for a job that no runner was needed for. From Gitea 1.27 on a re-run copies the jobs that are not re-run, with their times. */
function hadUse({ conclusion, createdAtMs, startedAtMs, status }: Job): boolean {
  if (status === 'blocked' || conclusion === 'skipped') return false;
  return startedAtMs === undefined ? status !== 'completed' : startedAtMs >= createdAtMs - 1_000;
}
