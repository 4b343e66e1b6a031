/** The Jobs in the cluster, sorted once for all who ask: with many Applications each would look at every Job of all others. */
import type { LiveRunnerOfApp } from './cluster.ts';

const NONE: readonly LiveRunnerOfApp[] = [];

export class RunnerIndex {
  /** What it was made from. */
  readonly all: readonly LiveRunnerOfApp[];
  readonly #byApp = new Map<string, LiveRunnerOfApp[]>();
  readonly #byGroup = new Map<string, LiveRunnerOfApp[]>();
  /** Jobs that have ended or are being deleted, as `<namespace>/<name>`, with their groups. */
  readonly ended = new Map<string, string>();

  /** @param appOf key of a Job's Application, undefined when it has none. */
  constructor(all: readonly LiveRunnerOfApp[], appOf: (runner: LiveRunnerOfApp) => string | undefined) {
    this.all = all;
    for (const runner of all) {
      const { namespace, name, state } = runner.job;
      const group = `${namespace}/${runner.groupName ?? ''}`;
      const app = appOf(runner);
      if (app !== undefined) add(this.#byApp, app, runner);
      add(this.#byGroup, group, runner);
      if (state === 'complete' || state === 'failed' || state === 'deleting') {
        this.ended.set(`${namespace}/${name}`, group);
      }
    }
  }

  ofApp(key: string): readonly LiveRunnerOfApp[] {
    return this.#byApp.get(key) ?? NONE;
  }

  /** @param key `<namespace>/<name>` of a RunnerGroup. */
  ofGroup(key: string): readonly LiveRunnerOfApp[] {
    return this.#byGroup.get(key) ?? NONE;
  }
}

function add(map: Map<string, LiveRunnerOfApp[]>, key: string, runner: LiveRunnerOfApp): void {
  const known = map.get(key);
  if (known) known.push(runner);
  else map.set(key, [runner]);
}
