/**
 * `explain` when a runner does not come, or is lost: each situation is made on a real API server, scheduler and kubelet, with the real
 * runner and a real Gitea. All are made at once, one RunnerGroup and one CI job for each. Without Argo CD: the test applies what
 * `generate` prints.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { ApiJob } from '../servers/account.ts';
import { waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { LEVEL, PodsRig, REPOSITORY, within } from './pods-rig.ts';
import { installCrd } from './stack/crd.ts';

/** A group `name` with the label `name`, and a CI job of that name. */
interface Situation {
  readonly name: string;
  readonly namespace?: string;
  /** Name of the Secret with the registration token. */
  readonly secret?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly podSpec?: Readonly<Record<string, unknown>>;
  /** Script of the CI job's step. */
  readonly script?: string;
  /** A part of the cause. `RUNNER` is the name of its runner. */
  readonly cause: string;
  /** A part of the first line that says what to do. */
  readonly next: string;
}

/** Makes a podTemplate with these fields in the runner's container. */
function runnerWith(more: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { containers: [{ name: 'runner', ...more }] };
}

const DESCRIBE_POD = 'kubectl -n runners describe pods -l job-name=RUNNER';

const SITUATIONS: readonly Situation[] = [
  {
    name: 'image',
    spec: { image: '127.0.0.1:9/acme/runner:9' },
    cause: 'its pod cannot start: ImagePullBackOff: ',
    next: DESCRIBE_POD,
  },
  {
    name: 'selector',
    podSpec: { nodeSelector: { 'example.com/gpu': 'a100' } },
    cause:
      "its pod cannot start: Unschedulable: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector",
    next: DESCRIBE_POD,
  },
  {
    name: 'secretless',
    secret: 'nowhere',
    cause: 'its pod cannot start: CreateContainerConfigError: secret "nowhere" not found',
    next: DESCRIBE_POD,
  },
  {
    name: 'keyless',
    secret: 'empty',
    cause: "its pod cannot start: CreateContainerConfigError: couldn't find key token in Secret runners/empty",
    next: DESCRIBE_POD,
  },
  {
    name: 'quota',
    namespace: 'full',
    cause:
      'its pod cannot start: NoPod: forbidden: exceeded quota: no-pods, requested: pods=1, used: pods=0, limited: pods=0',
    next: 'raise that quota (no-pods), or let fewer runners run',
  },
  {
    name: 'strict',
    namespace: 'strict',
    spec: { containerMode: 'dind' },
    cause: 'its pod cannot start: NoPod: forbidden: violates PodSecurity "baseline:latest": privileged',
    next: 'use a lower spec.securityProfile or another containerMode',
  },
  {
    name: 'volume',
    podSpec: {
      ...runnerWith({ volumeMounts: [{ name: 'settings', mountPath: '/settings' }] }),
      volumes: [{ name: 'settings', configMap: { name: 'nowhere' } }],
    },
    cause:
      'its pod cannot start: FailedMount: MountVolume.SetUp failed for volume "settings" : configmap "nowhere" not found',
    next: DESCRIBE_POD,
  },
  {
    name: 'token',
    secret: 'bad',
    cause: 'its last runner failed: RegistrationFailed: container register ended with exit code 1: ',
    next: 'write a new registration token of this scope into Secret runners/bad',
  },
  {
    name: 'crash',
    spec: { setupCommand: ['sh', '-c', 'exit 3'] },
    cause: 'its last runner failed: InitContainerFailed: container setup ended with exit code 3',
    next: 'correct that container, or spec.setupCommand, by its log',
  },
  {
    name: 'oom',
    podSpec: runnerWith({ resources: { limits: { memory: '96Mi' } } }),
    // The kernel ends the largest of many processes: the runner. With control groups of version 2 it ends all.
    script: 'for i in $(seq 40); do (head -c 4000000 /dev/zero; sleep 600) | tail & done; wait',
    cause:
      'its runner RUNNER is lost (OOMKilled: it needed more memory than its limit): Gitea fails it after 10 to 15 minutes',
    next: 'raise spec.resources.limits.memory',
  },
  {
    name: 'evicted',
    podSpec: {
      ...runnerWith({ volumeMounts: [{ name: 'cache', mountPath: '/cache' }] }),
      volumes: [{ name: 'cache', emptyDir: { sizeLimit: '1Mi' } }],
    },
    script: 'head -c 20000000 /dev/zero > /cache/large; sleep 600',
    cause: 'its runner RUNNER is lost (Evicted: Usage of EmptyDir volume "cache" exceeds the limit "1Mi"',
    next: 'raise the sizeLimit of that volume in spec.podTemplate',
  },
  {
    name: 'deleted',
    script: 'sleep 600',
    cause: 'its runner RUNNER is lost (PodDeleted: its pod was deleted): Gitea fails it after 10 to 15 minutes',
    next: 're-run the job when Gitea has failed it',
  },
  { name: 'unapplied', cause: 'Argo CD has not created its Kubernetes Job', next: 'wait until 20' },
];

/** A situation whose first CI job fails. Its runner waits for people. */
const KEPT: Omit<Situation, 'cause' | 'next'> = { name: 'kept', spec: { keepFailedSeconds: 1800 }, script: 'exit 1' };

let rig: PodsRig;
let kubectl: PodsRig['kubernetes']['kubectl'];
let folder: string;
/** The runner of each situation. */
const runners = new Map<string, string>();
/** When all situations had been made, ms. */
let madeByMs = 0;

function groupOf({ name, namespace, secret, spec, podSpec }: Omit<Situation, 'cause' | 'next'>): object {
  const waits = { spawnTimeoutSeconds: 30, pendingDeadlineSeconds: 1800 };
  const more = { ...waits, ...(podSpec && { podTemplate: { spec: podSpec } }), ...spec };
  return rig.group({ labels: [`${name}:host`], ...(secret && { secret }), spec: more }, name, namespace);
}

function workflowWith(jobs: Readonly<Record<string, string>>): string {
  const texts = Object.entries(jobs).map(([name, run]) => [name, { 'runs-on': name, steps: [{ shell: 'sh', run }] }]);
  return stringify({ on: 'workflow_dispatch', jobs: Object.fromEntries(texts) });
}

async function jobsNamed(name: string): Promise<readonly ApiJob[]> {
  return (await rig.gitea.admin.jobs(LEVEL, 'queued', 'in_progress')).filter((job) => job.name === name);
}

/** Applies what `generate` prints, but no Job of the group `unapplied`. Answers the names of the Jobs. */
async function sync(): Promise<readonly string[]> {
  const printed = await rig.printed(folder);
  const applied = printed.filter(({ name, isSkipped }) => !name.startsWith('unapplied-') && !isSkipped);
  await rig.apply(applied.map(({ manifest }) => manifest).join('\n---\n'));
  return printed.map(({ name }) => name);
}

interface Told {
  readonly text: string;
  readonly cause: string;
  /** The first line that says what to do. */
  readonly next: string;
}

/**
 * Returns the answer of `explain` about the newest CI job of this name.
 * @param where flags that name the place of the groups. Default: the folder of this test
 */
async function explained(name: string, ...where: readonly string[]): Promise<Told> {
  const job = (await jobsNamed(name)).at(-1);
  const text = await rig.ours(['explain', ...rig.seen, ...(where.length > 0 ? where : [folder]), String(job?.id)]);
  const line = text.replaceAll(/\s+/g, ' ');
  const cause = /Cause: (.*?) Since: /.exec(line)?.[1] ?? '';
  const next = /Next: (.*?) (?:Next|Link): /.exec(line)?.[1] ?? '';
  return { text, cause, next };
}

beforeAll(async () => {
  rig = await PodsRig.start('explain');
  kubectl = rig.kubernetes.kubectl;
  for (const namespace of ['full', 'strict']) await kubectl(['create', 'namespace', namespace]);
  await kubectl(['create', 'quota', 'no-pods', '-n', 'full', '--hard=pods=0']);
  await kubectl(['label', 'namespace', 'strict', 'pod-security.kubernetes.io/enforce=baseline']);
  await kubectl(['create', 'secret', 'generic', 'empty', '-n', 'runners']);
  await rig.kubernetes.putSecret('runners', 'bad', { token: 'x'.repeat(40) });
  folder = rig.playground.makeFolder('groups');
  const groups = [...SITUATIONS, KEPT];
  for (const each of groups) writeFileSync(join(folder, `${each.name}.yaml`), stringify(groupOf(each)));
  const scripts = Object.fromEntries(groups.map(({ name, script }) => [name, script ?? 'true']));
  const { admin } = rig.gitea;
  await admin.addWorkflow(REPOSITORY, 'all.yml', workflowWith(scripts));
  await admin.addWorkflow(REPOSITORY, 'later.yml', workflowWith({ image: 'true', kept: 'true' }));
  await admin.dispatch(REPOSITORY, 'all.yml');
  const areQueued = async (): Promise<boolean> => (await admin.jobs(LEVEL, 'queued')).length === groups.length;
  await waitUntil('all jobs are queued', areQueued, within);
  madeByMs = Date.now() + 180_000;
  for (const name of await sync()) runners.set(name.split('-')[0] ?? '', name);
  const runs = async (): Promise<boolean> => (await jobsNamed('deleted'))[0]?.status === 'in_progress';
  await waitUntil('the runner whose pod is to be deleted works', runs, within);
  const pod = ['-n', 'runners', '-l', `job-name=${runners.get('deleted')}`];
  await kubectl(['delete', 'pod', ...pod, '--grace-period=0', '--force']);
}, 600_000);

closeAfterTests(() => rig);

describe('explain on a real cluster, when', () => {
  it.each(SITUATIONS)('$name', async ({ name, cause, next }) => {
    const runner = runners.get(name) ?? '';
    const filled = (text: string): string => text.replaceAll('RUNNER', runner);
    const wanted = { cause: expect.stringContaining(filled(cause)), next: expect.stringContaining(filled(next)) };
    let answer = await explained(name);
    const isTold = async (): Promise<boolean> => {
      answer = await explained(name);
      return answer.cause.includes(filled(cause)) && answer.next.includes(filled(next));
    };

    // The kubelet, the scheduler and the controllers need their time.
    const timeoutMs = Math.max(1_000, madeByMs - Date.now());
    await waitUntil('it tells', isTold, { timeoutMs }).catch(() => undefined);

    expect(answer, answer.text).toMatchObject(wanted);
  });

  it('two jobs wait for slots: of one the runner cannot start, of the other it is kept', async () => {
    await waitUntil('the first job fails', async () => (await jobsNamed('kept')).length === 0, within);
    await sync();
    await rig.gitea.admin.dispatch(REPOSITORY, 'later.yml');
    const areQueued = async (): Promise<boolean> =>
      (await jobsNamed('image')).length === 2 && (await jobsNamed('kept')).length === 1;
    await waitUntil('the next jobs are queued', areQueued, within);

    const [behindImage, behindKept] = [await explained('image'), await explained('kept')];

    expect(behindImage.cause).toContain('held back by the cap of group runners/image; 1st in line');
    expect(behindImage.next).toMatch(/1 starting\), and 1 of its runners cannot start: mend that first$/);
    expect(behindImage.text.replaceAll(/\s+/g, ' ')).toContain(
      `Slot: ${runners.get('image')} its pod cannot start: ImagePullBackOff: `,
    );
    expect(behindKept.cause).toContain('held back by the cap of group runners/kept; 1st in line');
    expect(behindKept.next).toMatch(
      /1 debugging\): wait, raise .*, or delete the Job of a runner that nobody looks at$/,
    );
    expect(behindKept.text.replaceAll(/\s+/g, ' ')).toContain(`Slot: ${runners.get('kept')} `);
  });

  it('the RunnerGroups are read from the cluster: serve does not run, and an Application is gone', async () => {
    await installCrd(rig.kubernetes);
    await kubectl(['apply', '-f', join(folder, 'unapplied.yaml')]);
    const withoutServe = await explained('unapplied', '-n', 'runners');
    const tracking = 'argocd.argoproj.io/tracking-id=runners:gitea.bpg.pw/RunnerGroup:runners/unapplied';
    await kubectl(['annotate', 'runnergroup', '-n', 'runners', 'unapplied', tracking]);
    const withoutApplication = await explained('unapplied', '-n', 'runners');

    expect(withoutServe.cause).toContain('serve does not run, so nothing wakes Argo CD');
    expect(withoutServe.next).toContain('start serve again: kubectl -n argocd get pods');
    expect(withoutApplication.cause).toContain(
      'Application argocd/runners, which made the RunnerGroup, does not exist any more',
    );
    expect(withoutApplication.next).toBe('create it again, or delete the RunnerGroup');
  });
});
