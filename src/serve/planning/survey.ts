/** Who belongs to whom: RunnerGroups and Jobs by Application, and the runners that ended since the last survey. Pure. */
import { applicationKey } from '../../clients/argocd/application.ts';
import { groupBy } from '../../shared/group-by.ts';
import { groupKeyOfRunner, type LiveGroup, type LiveRunner } from './live.ts';
import { applicationOfGroup, keyOfJob } from './ownership.ts';
import { RunnerIndex } from './runner-index.ts';

/** What a survey is made from. */
export interface LiveObjects {
  readonly groups: readonly LiveGroup[];
  readonly runners: readonly LiveRunner[];
  /** Where Argo CD lives: an Application without a namespace lives there. */
  readonly controlPlaneNamespace: string;
  readonly nowMs: number;
}

export interface Survey {
  readonly groups: readonly LiveGroup[];
  /** Groups by the key of their Application; those of no Application are under ''. */
  readonly byApp: ReadonlyMap<string, readonly LiveGroup[]>;
  readonly index: RunnerIndex;
  /** Runners whose end is new. At the first survey: all that have ended. */
  readonly ended: readonly LiveRunner[];
  /** When the end of a runner was last noticed, by key of the group. */
  readonly lastEndMs: ReadonlyMap<string, number>;
}

/** @param before the last survey: lists that are still the same are the same objects. */
export function survey(around: LiveObjects, before?: Survey): Survey {
  const { groups, runners, controlPlaneNamespace, nowMs } = around;
  const byApp = before?.groups === groups ? before.byApp : byApplication(groups, controlPlaneNamespace);
  if (before && before.index.all === runners) return { ...before, groups, byApp, ended: [] };
  const appOf = (runner: LiveRunner) => keyOfJob(runner, controlPlaneNamespace);
  const index = new RunnerIndex(runners, appOf, before?.index);
  const ended = [...index.ended].flatMap(([key, runner]) => (before?.index.ended.has(key) ? [] : [runner]));
  const existing = new Set(groups.map(({ key }) => key));
  const lastEndMs = new Map([...(before?.lastEndMs ?? [])].filter(([key]) => existing.has(key)));
  for (const runner of ended) lastEndMs.set(groupKeyOfRunner(runner), nowMs);
  return { groups, byApp, index, ended, lastEndMs };
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
