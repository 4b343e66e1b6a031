/** The Jobs in the cluster, sorted once for all who ask: with many Applications each would look at every Job of all others. */

import { isOver } from '../../planner/evidence.ts';
import { groupBy } from '../../shared/group-by.ts';
import { keepLists } from '../unchanged.ts';
import { groupKeyOfRunner, keyOfRunner, type LiveRunner } from './live.ts';

const NONE: readonly LiveRunner[] = [];

export class RunnerIndex {
  /** The list that the index was made from. */
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

  /** @param key `<namespace>/<name>` of a RunnerGroup. */
  ofGroup(key: string): readonly LiveRunner[] {
    return this.#byGroup.get(key) ?? NONE;
  }
}
