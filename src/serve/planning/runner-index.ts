/** The Jobs in the cluster, sorted once for all who ask: with many Applications each would look at every Job of all others. */
import type { LiveRunnerOfApp } from '../cluster/live-cluster.ts';

const NONE: readonly LiveRunnerOfApp[] = [];

export class RunnerIndex {
  /** What it was made from. */
  readonly all: readonly LiveRunnerOfApp[];
  readonly #byApp = new Map<string, LiveRunnerOfApp[]>();
  readonly #byGroup = new Map<string, LiveRunnerOfApp[]>();
  readonly #byJobUrl = new Map<string, LiveRunnerOfApp[]>();
  /** Jobs that have ended or are being deleted, as `<namespace>/<name>`, with their groups. */
  readonly ended = new Map<string, string>();

  /**
   * @param appOf key of a Job's Application, undefined when it has none.
   * @param before lists that are still the same are taken from there, as the same objects.
   */
  constructor(
    all: readonly LiveRunnerOfApp[],
    appOf: (runner: LiveRunnerOfApp) => string | undefined,
    before?: RunnerIndex,
  ) {
    this.all = all;
    for (const runner of all) {
      const { namespace, name, state, jobUrl } = runner.job;
      const group = `${namespace}/${runner.groupName ?? ''}`;
      const app = appOf(runner);
      if (app !== undefined) add(this.#byApp, app, runner);
      add(this.#byGroup, group, runner);
      if (jobUrl !== undefined) add(this.#byJobUrl, jobUrl, runner);
      if (state === 'complete' || state === 'failed' || state === 'deleting') {
        this.ended.set(`${namespace}/${name}`, group);
      }
    }
    if (!before) return;
    keepSame(this.#byApp, before.#byApp);
    keepSame(this.#byGroup, before.#byGroup);
  }

  ofApp(key: string): readonly LiveRunnerOfApp[] {
    return this.#byApp.get(key) ?? NONE;
  }

  /** Those that were printed for a CI job, whoever's they are. @param url the job's page. */
  printedFor(url: string): readonly LiveRunnerOfApp[] {
    return this.#byJobUrl.get(url) ?? NONE;
  }

  /** @param key `<namespace>/<name>` of a RunnerGroup. */
  ofGroup(key: string): readonly LiveRunnerOfApp[] {
    return this.#byGroup.get(key) ?? NONE;
  }
}

function keepSame(lists: Map<string, LiveRunnerOfApp[]>, before: ReadonlyMap<string, LiveRunnerOfApp[]>): void {
  for (const [key, list] of lists) {
    const known = before.get(key);
    if (known && isSame(known, list)) lists.set(key, known);
  }
}

/** True for lists of the same objects. */
export function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, at) => each === b[at]);
}

function add(map: Map<string, LiveRunnerOfApp[]>, key: string, runner: LiveRunnerOfApp): void {
  const known = map.get(key);
  if (known) known.push(runner);
  else map.set(key, [runner]);
}
