/**
 * Common parts of the scenarios and the bench: one stack, the product in it, one RunnerGroup in git, workflows, a
 * witness.
 */
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import type { WrittenSpec } from '../../src/config/runnergroup/group-schema.ts';
import { SERVE_SELECTOR } from '../../src/shared/installed/installed-names.ts';
import type { Account, ApiJob } from '../servers/account.ts';
import type { ClusterBuilds } from '../servers/build.ts';
import { sleep } from '../servers/process.ts';
import { workflow } from '../servers/workflows.ts';
import { GROUPS_REPOSITORY, Installation, ORG, refresh } from './install.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import { type Stack, startStack } from './stack/stack.ts';
import { WebSession } from './web-session.ts';
import { World } from './world.ts';

/** Fields of the RunnerGroup that a scenario changes. */
export type GroupChange = Partial<WrittenSpec>;

export const GROUP = 'ci';
export const APPLICATION = 'runners';
export const CAP = 5;
export const REPOSITORY = `${ORG}/web`;
const GROUP_FILE = 'ci.yaml';
/** Time limit of any wait, ms. Nothing is measured by it. */
const PATIENCE_MS = 150_000;

const WORKFLOWS: Readonly<Record<string, string>> = {
  'single.yml': workflow({ single: { runsOn: 'linux', seconds: 2 } }),
  'pair.yml': workflow({
    build: { runsOn: 'linux', seconds: 6 },
    after: { runsOn: 'linux', seconds: 6, needs: 'build' },
  }),
  'busy.yml': workflow({ busy: { runsOn: 'linux', seconds: 8 } }),
  // Ends within `gracefulStopSeconds`, whenever its runner is stopped.
  'stopped.yml': workflow({ stopped: { runsOn: 'linux', seconds: 25 } }),
  'slow.yml': workflow({ slow: { runsOn: 'linux', seconds: 240 } }),
  'long.yml': workflow({ long: { runsOn: 'linux', seconds: 65 } }),
  'second.yml': workflow({ second: { runsOn: 'second', seconds: 45 } }),
  'replace.yml': workflow({ replace: { runsOn: 'linux', seconds: 10, lastSeconds: 2 } }, 'replace'),
};

const startedMs = Date.now();

export function say(line: string): void {
  process.stdout.write(`cluster ${((Date.now() - startedMs) / 1000).toFixed(1)} s: ${line}\n`);
}

/** Adds a scenario with its steps, on the common rig. */
export type Scenario = (name: string, run: (rig: Rig, world: World) => Promise<void>) => void;

export class Rig {
  readonly stack: Stack;
  readonly installation: Installation;
  readonly world: World;
  readonly #web: WebSession;
  #spec: Readonly<Record<string, unknown>>;
  #isInGit = false;
  /** The newest CI job of the scenario before. */
  #lastId = 0;
  #beganMs = 0;
  /** When the leader was killed in this scenario. Undefined: it was not. */
  leaderDiedMs: number | undefined;

  private constructor(stack: Stack, installation: Installation, world: World, web: WebSession) {
    this.stack = stack;
    this.installation = installation;
    this.world = world;
    this.#web = web;
    this.#spec = groupSpec(stack.gitea.url);
  }

  /** @param settings environment of serve and the sidecar; as a function of the address at which pods reach this process. */
  static async open(
    builds: ClusterBuilds,
    say: (line: string) => void,
    settings: Readonly<Record<string, string>> | ((outside: string) => Readonly<Record<string, string>>),
    tokenScopes: readonly string[] = ['write:organization'],
  ): Promise<Rig> {
    const stack = await startStack(builds, say);
    let world: World | undefined;
    try {
      const given = typeof settings === 'function' ? settings(stack.machine.outside) : settings;
      const installation = await Installation.prepare(stack, builds, { settings: given, tokenScopes });
      const { admin } = stack.gitea;
      await admin.createRepo('web', ORG);
      for (const [file, text] of Object.entries(WORKFLOWS)) await admin.addWorkflow(REPOSITORY, file, text);
      const web = await WebSession.open(admin, `canceller`);
      await admin.call('PUT', `/repos/${REPOSITORY}/collaborators/canceller`, { permission: 'admin' });
      await installation.install();
      say(`the product is installed (${stack.machine.folder})`);
      world = new World(stack.kubernetes, admin, ORG);
      const rig = new Rig(stack, installation, world, web);
      await rig.commitGroup({});
      await rig.isReady();
      say('the first RunnerGroup is ready');
      return rig;
    } catch (error) {
      await world?.stop();
      await stack.close(true);
      throw new Error(`logs: ${stack.machine.folder}`, { cause: error });
    }
  }

  async close(keep: boolean): Promise<void> {
    await this.world.stop();
    if (keep) await this.collectLogs();
    await this.stack.close(keep);
  }

  /** Collects the logs of the stack, and the history of the witness. */
  async collectLogs(): Promise<string> {
    this.stack.machine.write('log/world.txt', `${this.world.describe()}\n${this.world.history()}`);
    return await this.stack.collectLogs();
  }

  get admin(): Account {
    return this.stack.gitea.admin;
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.stack.kubernetes.kubectl(args);
  }

  field(path: string, ...what: readonly string[]): Promise<string> {
    return this.stack.kubernetes.field(path, ...what);
  }

  /** A field of the pod of a runner. @param path below the pod, such as `.metadata.name` */
  ofPod(runner: string, path: string): Promise<string> {
    return this.field(`{.items[0]${path}}`, 'pods', '-n', 'runners', '-l', `job-name=${runner}`);
  }

  /** Kills the matching pods at once: nothing in them is told. */
  async killPods(namespace: string, ...which: readonly string[]): Promise<void> {
    await this.kubectl('delete', 'pod', '-n', namespace, ...which, '--grace-period=0', '--force');
  }

  /** Starts a workflow so many times at once. */
  async dispatch(file: string, times = 1): Promise<void> {
    await Promise.all(Array.from({ length: times }, () => this.admin.dispatch(REPOSITORY, file)));
  }

  /** Presses "Cancel" on the run's page: the API has no such call. */
  async cancel(job: ApiJob): Promise<void> {
    await this.#web.post(`/${REPOSITORY}/actions/runs/${job.run_id}/cancel`);
  }

  /** Does this while no node takes pods: those that are made meanwhile wait. */
  async whilePodsWait(work: () => Promise<void>): Promise<void> {
    await this.kubectl('cordon', 'node1');
    try {
      await work();
    } finally {
      await this.kubectl('uncordon', 'node1');
    }
  }

  /** The file of the RunnerGroup with these fields changed. */
  groupText(change: GroupChange = {}): string {
    return groupYaml(GROUP, { ...this.#spec, ...change });
  }

  /** Commits the RunnerGroup with these changes, and waits until the cluster has it. Earlier changes stay. */
  async commitGroup(change: GroupChange): Promise<void> {
    this.#spec = { ...this.#spec, ...change };
    await this.commitFile(GROUP_FILE, this.groupText());
    const wanted = this.#spec;
    await this.until('the cluster has the new RunnerGroup', () => {
      const spec = this.world.groups.get(GROUP)?.spec;
      return spec !== undefined && Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(spec[key], value));
    });
  }

  /** Makes the group what it was at the beginning. */
  async restoreGroup(): Promise<void> {
    const original = groupSpec(this.stack.gitea.url);
    if (this.#isInGit && isDeepStrictEqual(this.#spec, original)) return;
    this.#spec = original;
    await this.commitGroup({});
  }

  /** Removes the RunnerGroup from git and waits until the cluster has none. */
  async removeGroup(): Promise<void> {
    await this.commitFile(GROUP_FILE, undefined);
    await this.until('the RunnerGroup is gone', () => !this.world.groups.has(GROUP));
  }

  /** Waits until `check` is true. @throws after `timeoutMs` with the state of everything. */
  async until(what: string, check: () => boolean | Promise<boolean>, timeoutMs = PATIENCE_MS): Promise<void> {
    const until = Date.now() + timeoutMs;
    while (!(await check())) {
      if (Date.now() > until) throw new Error(`${what}: not after ${timeoutMs / 1000} s\n${this.world.describe()}`);
      await sleep(50);
    }
  }

  /** Begins a scenario: jobs and records of the last one no longer count. */
  begin(): void {
    this.#beganMs = Date.now();
    this.leaderDiedMs = undefined;
    this.#lastId = Math.max(0, ...this.world.ciJobs.keys());
    this.world.mark();
  }

  /** CI jobs of this scenario that are over, oldest first. */
  async ended(): Promise<readonly ApiJob[]> {
    return (await this.admin.jobs(`/orgs/${ORG}`, 'completed')).filter(({ id }) => id > this.#lastId);
  }

  /** Waits until so many CI jobs of this scenario are over, no Job is left, and the Application is well. Answers the CI jobs. */
  async calm(expectedJobs: number): Promise<readonly ApiJob[]> {
    const { world } = this;
    await this.until('all CI jobs end', async () => {
      if (world.active.length > 0) return false;
      try {
        return (await this.ended()).length >= expectedJobs;
      } catch {
        return false;
      }
    });
    await this.until('no Job is left', () => world.leftJobs().length === 0);
    // A runner that is being stopped could still ask for the next CI job, and would lose it (docs/adr/0018).
    await this.until('no pod is left', () => world.leftPods().length === 0);
    await this.until('the Applications are Synced and Healthy', () => world.areWell());
    return await this.ended();
  }

  /** Pods of the product or of Argo CD that are up, by label. */
  async podsOf(selector: string): Promise<readonly string[]> {
    const names = await this.kubectl('get', 'pods', '-n', 'argocd', '-l', selector, '-o', 'name');
    return names.split('\n').filter(Boolean);
  }

  /** Commits a file of the repository with the RunnerGroups; undefined removes it. */
  async commitFile(file: string, text: string | undefined): Promise<void> {
    if (file === GROUP_FILE) this.#isInGit = text !== undefined;
    if (text === undefined) await this.admin.deleteFile(GROUPS_REPOSITORY, file);
    else await this.admin.putFile(GROUPS_REPOSITORY, file, text);
    await refresh(this.stack);
  }

  /** Returns the leader as `<pod>_<something of its start>`. Empty: none. */
  leader(): Promise<string> {
    return this.field('{.spec.holderIdentity}', 'lease', '-n', 'argocd', 'gitea-runners-serve');
  }

  /** The pod of `leader`. */
  async leadingPod(): Promise<string> {
    return (await this.leader()).split('_', 1).join('');
  }

  /** Waits until one CI job is at work. Answers its runner. */
  async busyRunner(): Promise<string> {
    await this.until('a job runs', () => this.world.inState('in_progress').length === 1);
    const [{ runner_name: runner = '' } = {}] = this.world.inState('in_progress');
    return runner;
  }

  async isReady(group = GROUP): Promise<void> {
    await this.until(`${group} is ready`, () => this.world.condition(group, 'Ready')?.status === 'True');
  }

  /** Waits until Gitea has no row of a runner: one is online for 60 s, then the sweep sees it twice, 120 s apart at most. */
  async rowsGo(): Promise<void> {
    const rows = (): Promise<readonly string[]> => this.admin.runnerNames(`/orgs/${ORG}`);
    await this.until('no row is left', async () => (await rows()).length === 0, 300_000);
  }

  /** Removes the webhooks. From then on `serve` learns of CI jobs by polling. */
  async removeWebhooks(): Promise<void> {
    const hooks = (await this.admin.call('GET', `/orgs/${ORG}/hooks`)) as readonly { readonly id: number }[];
    for (const { id } of hooks) await this.admin.call('DELETE', `/orgs/${ORG}/hooks/${id}`);
  }

  /** Ends the leading `serve` without warning, if one leads. Its log is kept: it goes with the pod. */
  async killLeader(scenario: string): Promise<void> {
    const pod = await this.leadingPod();
    if (pod === '') return;
    await this.saveServeLogs(`${scenario}, before its end`);
    this.leaderDiedMs = Date.now();
    await this.killPods('argocd', pod);
  }

  /** Writes what both replicas of `serve` have said since the scenario began into `log/serve-….log`. */
  async saveServeLogs(scenario: string): Promise<void> {
    const since = `--since-time=${new Date(this.#beganMs).toISOString()}`;
    const ofServe = ['-n', 'argocd', '-l', SERVE_SELECTOR, '--tail=-1', '--prefix', '--ignore-errors'];
    const text = await this.kubectl('logs', ...ofServe, since).catch(String);
    this.stack.machine.write(`log/serve-${scenario.replaceAll(/[^\w]+/g, '-').slice(0, 100)}.log`, text);
  }
}

export function groupYaml(name: string, spec: Readonly<Record<string, unknown>>): string {
  const metadata = { name, namespace: 'runners' };
  // 1.1: the key `on` needs quotes there.
  return stringify({ apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup', metadata, spec }, { version: '1.1' });
}

export function groupSpec(url: string): Readonly<Record<string, unknown>> {
  return {
    scope: 'org',
    org: ORG,
    gitea: { url },
    labels: ['linux:host'],
    defaultLabels: false,
    containerMode: 'host',
    image: RUNNER_IMAGE,
    maxActiveRunners: CAP,
    suspend: false,
    activeDeadlineSeconds: 600,
    gracefulStopSeconds: 30,
    ttlSecondsAfterFinished: 20,
    registrationToken: { secretRef: { name: 'gitea-runner', key: 'registration-token' } },
    authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
  };
}
