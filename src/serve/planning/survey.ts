/** Who belongs to whom: RunnerGroups and Jobs by Application, and the runners that ended since the last survey. Pure. */
import { applicationKey } from '../../clients/argocd/application.ts';
import { isOver } from '../../planner/evidence.ts';
import { groupBy } from '../../shared/group-by.ts';
import { keepLists } from '../unchanged.ts';
import {
  applicationOfGroup,
  groupKeyOfRunner,
  keyOfJob,
  keyOfRunner,
  type LiveGroup,
  type LiveRunner,
} from './live.ts';

interface LiveObjects {
  readonly groups: readonly LiveGroup[];
  readonly runners: readonly LiveRunner[];
  readonly controlPlaneNamespace: string;
  readonly nowMs: number;
}

type RunnersBy = ReadonlyMap<string, readonly LiveRunner[]>;

/** The Jobs are sorted once for all who ask: with many Applications each would look at every Job of all others. */
export interface Survey extends Pick<LiveObjects, 'groups' | 'runners'> {
  /** Groups by the key of their Application; those of no Application are under ''. */
  readonly byApp: ReadonlyMap<string, readonly LiveGroup[]>;
  readonly runnersOfApp: RunnersBy;
  readonly runnersOfGroup: RunnersBy;
  /** Jobs by the page of the CI job that they were printed for, by any Application. */
  readonly printedFor: RunnersBy;
  /** Jobs that have ended or are being deleted, by `<namespace>/<name>`. */
  readonly over: ReadonlyMap<string, LiveRunner>;
  /** Runners whose end is new. At the first survey: all that have ended. */
  readonly ended: readonly LiveRunner[];
  /** When the end of a runner was last noticed, by key of the group. */
  readonly lastEndMs: ReadonlyMap<string, number>;
}

export const NO_RUNNERS: readonly LiveRunner[] = [];

/** @param before the last survey: lists that are still the same are the same objects. */
export function survey(around: LiveObjects, before?: Survey): Survey {
  const { groups, runners, controlPlaneNamespace, nowMs } = around;
  const byApp = before?.groups === groups ? before.byApp : byApplication(groups, controlPlaneNamespace);
  if (before && before.runners === runners) return { ...before, groups, byApp, ended: [] };
  const over = new Map(
    runners.filter(({ job }) => isOver(job.state)).map((runner) => [keyOfRunner(runner), runner] as const),
  );
  const ended = [...over].flatMap(([key, runner]) => (before?.over.has(key) ? [] : [runner]));
  const existing = new Set(groups.map(({ key }) => key));
  const lastEndMs = new Map([...(before?.lastEndMs ?? [])].filter(([key]) => existing.has(key)));
  for (const runner of ended) lastEndMs.set(groupKeyOfRunner(runner), nowMs);
  const ofApp = groupBy(runners, (runner) => keyOfJob(runner, controlPlaneNamespace));
  const ofGroup = groupBy(runners, groupKeyOfRunner);
  return {
    groups,
    runners,
    byApp,
    runnersOfApp: before ? keepLists(before.runnersOfApp, ofApp) : ofApp,
    runnersOfGroup: before ? keepLists(before.runnersOfGroup, ofGroup) : ofGroup,
    printedFor: groupBy(runners, ({ job }) => job.jobUrl),
    over,
    ended,
    lastEndMs,
  };
}

/** Groups by the key of their Application; those of no Application are under ''. */
export function byApplication(
  groups: readonly LiveGroup[],
  controlPlaneNamespace: string,
): ReadonlyMap<string, readonly LiveGroup[]> {
  return groupBy(groups, (group) => {
    const app = applicationOfGroup(group);
    return app ? applicationKey(app, controlPlaneNamespace) : '';
  });
}
