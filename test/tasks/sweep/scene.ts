/** Evidence for the choice of dead registrations, with one group `ci` and names of every kind. */
import type { Look, RegisteredRunner } from '../../../src/planner/evidence.ts';
import { runnerName } from '../../../src/planner/names.ts';
import {
  type ChosenGroup,
  deadRegistrations,
  SIGHTINGS_APART_MS,
  type SweepEvidence,
} from '../../../src/tasks/sweep/choose.ts';
import { ORIGIN, row as onlineRow } from '../../support/scenario.ts';

export const INSTANCE = 'north';
export const CI: ChosenGroup = { namespace: 'runners', name: 'ci', giteaUrl: ORIGIN, look: 'acme' };

/** A name that `generate` would make for this group. */
export function ownName(id: number, group: Pick<ChosenGroup, 'namespace' | 'name'> = CI, instance = INSTANCE): string {
  const named = { namespace: group.namespace, name: group.name, origin: ORIGIN, templateHash: 't' };
  return runnerName(instance, named, { id, attempt: 1 }, 0);
}

/** A row that nothing keeps. */
export function row(name: string, over: Partial<RegisteredRunner> = {}): RegisteredRunner {
  return onlineRow(name, { online: false, ...over });
}

/** Makes one look at scope acme. */
export function evidence(look: Partial<Look>, over: Partial<SweepEvidence> = {}): SweepEvidence {
  const looks = new Map<string, Look>([['acme', { runners: [], jobs: [], ...look }]]);
  return { instance: INSTANCE, groups: [CI], looks, liveJobs: [], nowMs: 0, ...over };
}

/** The verdicts by name after the same evidence was seen twice, far enough apart. */
export function seenTwice(same: SweepEvidence, apartMs = SIGHTINGS_APART_MS): ReadonlyMap<string, string> {
  const first = deadRegistrations(same, new Map());
  return verdicts(deadRegistrations({ ...same, nowMs: same.nowMs + apartMs }, first.observations));
}

/** `dead`, or what keeps the row, by name. */
export function verdicts({ registrations }: ReturnType<typeof deadRegistrations>): ReadonlyMap<string, string> {
  return new Map(registrations.map(({ name, verdict }) => [name, verdict.is === 'dead' ? 'dead' : verdict.because]));
}
