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

export interface LiveObjects {
  readonly groups: readonly LiveGroup[];
  readonly runners: readonly LiveRunner[];
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

const NONE: readonly LiveRunner[] = [];

/** The Jobs in the cluster, sorted once for all who ask: with many Applications each would look at every Job of all others. */
export class RunnerIndex {
  readonly all: readonly LiveRunner[];
  readonly #byApp: ReadonlyMap<string, readonly LiveRunner[]>;
  readonly #byGroup: ReadonlyMap<string, readonly LiveRunner[]>;
  readonly #byJobUrl: ReadonlyMap<string, readonly LiveRunner[]>;
  /** Jobs that have ended or are being deleted, by `<namespace>/<name>`. */
  readonly ended: ReadonlyMap<string, LiveRunner>;

  /**
   * @param appOf key of a Job's Application, undefined when it has none.
   * @param before lists that are still the same are taken from there, as the same objects.
   */
  constructor(all: readonly LiveRunner[], appOf: (runner: LiveRunner) => string | undefined, before?: RunnerIndex) {
    this.all = all;
    const byApp = groupBy(all, appOf);
    const byGroup = groupBy(all, groupKeyOfRunner);
    this.#byApp = before ? keepLists(before.#byApp, byApp) : byApp;
    this.#byGroup = before ? keepLists(before.#byGroup, byGroup) : byGroup;
    this.#byJobUrl = groupBy(all, ({ job }) => job.jobUrl);
    this.ended = new Map(all.filter(({ job }) => isOver(job.state)).map((runner) => [keyOfRunner(runner), runner]));
  }

  ofApp(key: string): readonly LiveRunner[] {
    return this.#byApp.get(key) ?? NONE;
  }

  /** The Jobs that were printed for a CI job, by any Application. @param url the CI job's page. */
  printedFor(url: string): readonly LiveRunner[] {
    return this.#byJobUrl.get(url) ?? NONE;
  }

  ofGroup(key: string): readonly LiveRunner[] {
    return this.#byGroup.get(key) ?? NONE;
  }
}
