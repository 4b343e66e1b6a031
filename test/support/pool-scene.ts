/** Short words for tests of warm pools. */
import { runnerName } from '../../src/planner/names.ts';
import { group, INSTANCE, live, row, type Scene } from './scenario.ts';

/** A group that keeps two idle runners. */
export const pool = group({ minIdleRunners: 2 });
/** The name of a slot's runner. */
export const warm = (slot: number, ordinal = 0, of = pool): string =>
  runnerName(INSTANCE, of, { poolIndex: slot }, ordinal);
/** A runner that is registered, and whose pod runs. */
export const idle = (name: string) => ({ runners: [row(name)], liveJobs: [live(name, 'running')] });

/** Several runners in one scene. */
export function join(...parts: readonly Pick<Scene, 'runners' | 'liveJobs'>[]): Pick<Scene, 'runners' | 'liveJobs'> {
  return {
    runners: parts.flatMap(({ runners = [] }) => runners),
    liveJobs: parts.flatMap((part) => part.liveJobs ?? []),
  };
}
