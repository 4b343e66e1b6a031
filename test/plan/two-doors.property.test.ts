/**
 * `generate` and `serve` see the same Gitea and the same cluster, over real sockets, and plan the same (law F127). Servers tell no time here:
 * what clocks do to a plan is decided in `planSeen`, whoever calls it (`plan-seen.test.ts`). All happened minutes ago, because a watch may
 * lag by seconds.
 */
import { expect, it } from 'vitest';
import { observeEach } from '../../src/clients/gitea/observe-gitea.ts';
import { Deadline } from '../../src/clients/http/request.ts';
import { judgeJob } from '../../src/clients/kubernetes/judge-job.ts';
import { countAlive } from '../../src/clients/kubernetes/observe-cluster.ts';
import { JOBS, PODS } from '../../src/clients/kubernetes/resources.ts';
import type { BrokenGroup } from '../../src/config/runnergroup/broken.ts';
import { findTargetsOf } from '../../src/plan/find-targets.ts';
import { lookAndPlan } from '../../src/plan/look-and-plan.ts';
import { finishOwn, groupOfObject, ownTemplateHash } from '../../src/plan/own-pod.ts';
import type { Planning } from '../../src/plan/plan-seen.ts';
import { isPinnedAlive } from '../../src/planner/evidence.ts';
import { runnerName } from '../../src/planner/names.ts';
import { judgeApplication } from '../../src/serve/planning/reconcile.ts';
import { type LiveGroup, type LiveRunner, snapshot } from '../../src/serve/seen/live.ts';
import { NEVER_WOKEN } from '../../src/serve/waking/wake-state.ts';
import { Failure, orFailure } from '../../src/shared/failure.ts';
import * as marks from '../../src/shared/marks.ts';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { EPOCH, fakeGitea, type JobRow, jobRow, type RunnerRow, runnerRow } from '../support/gitea-stand-in.ts';
import { fc, RUNS } from '../support/property.ts';
import { folderWith } from '../support/run-cli.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const INSTANCE = 'test';
const APPLICATION = 'ci';
const NAMESPACE = 'runners';
/** No process listens on this address. */
const DEAD = 'http://127.0.0.1:1';

const minutesAgo = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString();

/** Fields that change a plan. Many of them exclude each other. */
const KINDS = [
  {},
  { fairness: 'per-repository' },
  { minIdleRunners: 1 },
  { idleDemand: { most: 2, minutes: 15 } },
  { sizes: [{ name: 'large', weight: 2 }] },
  { limits: [{ name: 'shared', max: 2 }] },
  { limits: [{ max: 1, per: 'repository' }] },
  { keepFailedSeconds: 3_600 },
  {
    priorityTiers: [
      { priorityClassName: 'first', threshold: 1 },
      { priorityClassName: 'rest', threshold: 3 },
    ],
  },
  { registration: { by: 'serve', for: 'repository' }, registrationToken: undefined, order: ['acme/api'] },
];

const anyGroup = fc.record({
  maxActiveRunners: fc.integer({ min: 2, max: 4 }),
  suspend: fc.constantFrom(false, false, true),
  isSuspendedInCluster: fc.constantFrom(false, false, true),
  labels: fc.subarray(['linux:host', 'gpu:host'], { minLength: 1 }),
  kind: fc.constantFrom(...KINDS),
  state: fc.constantFrom('good', 'good', 'good', 'good', 'broken', 'its Gitea is down', 'its token is missing'),
});

const anyJob = fc.record({
  id: fc.integer({ min: 1, max: 9 }),
  labels: fc.subarray(['linux', 'gpu', 'linux-large'], { maxLength: 2 }),
  status: fc.constantFrom('queued', 'queued', 'queued', 'in_progress', 'completed'),
  conclusion: fc.constantFrom('success', 'failure'),
  minutes: fc.integer({ min: 12, max: 40 }),
  repository: fc.constantFrom('acme/web', 'acme/api'),
  runner: fc.constantFrom(undefined, 0, 1, 2, 3),
});

const anyRunner = fc.record({
  group: fc.nat(2),
  id: fc.integer({ min: 1, max: 9 }),
  poolIndex: fc.constantFrom(0, 0, 0, 1),
  isOld: fc.constantFrom(false, false, false, true),
  /** Status of its Job. `none`: it has a row only. */
  status: fc.constantFrom('none', 'new', 'running', 'running', 'complete', 'failed', 'deleting'),
  isPinned: fc.boolean(),
  minutes: fc.integer({ min: 2, max: 30 }),
  row: fc.constantFrom(undefined, 'idle', 'busy', 'offline'),
  isElsewhere: fc.constantFrom(false, false, false, true),
});

const anyScene = fc.record({
  groups: fc.array(anyGroup, { minLength: 1, maxLength: 3 }),
  jobs: fc.uniqueArray(anyJob, { selector: ({ id }) => id, maxLength: 9 }),
  runners: fc.uniqueArray(anyRunner, {
    selector: ({ group, id, poolIndex }) => `${group} ${poolIndex || id}`,
    maxLength: 6,
  }),
});
type Scene = typeof anyScene extends fc.Arbitrary<infer S> ? S : never;

function groupObject(
  { isSuspendedInCluster, kind, state, ...spec }: Scene['groups'][number],
  nth: number,
  url: string,
) {
  const name = `g${nth}`;
  const secret = { 'its Gitea is down': 'dead', 'its token is missing': 'none' }[state as string] ?? 'good';
  const annotations = {
    [marks.TRACKING_ID]: `${APPLICATION}:gitea.bpg.pw/RunnerGroup:${NAMESPACE}/${name}`,
    ...(isSuspendedInCluster && { [marks.SUSPENDED]: 'by a test' }),
  };
  return {
    metadata: { namespace: NAMESPACE, name, uid: name, generation: 1, annotations },
    spec: {
      ...spec,
      scope: state === 'broken' ? 'everything' : 'org',
      org: 'acme',
      containerMode: 'host',
      defaultLabels: false,
      gitea: { url: secret === 'dead' ? DEAD : url },
      authToken: { secretRef: { name: secret, key: 'token' } },
      registrationToken: { secretRef: { name: 'gitea-runner', key: 'token' } },
      ...kind,
      ...('priorityTiers' in kind && { maxActiveRunners: 3 }),
    },
  };
}

function kubeJob(
  name: string,
  { isPinned, isElsewhere, minutes, status }: Scene['runners'][number],
  group: string,
  giteaUrl: string,
) {
  const namespace = isElsewhere ? 'elsewhere' : NAMESPACE;
  const ended = (type: string) => ({
    conditions: [{ type, status: 'True', lastTransitionTime: minutesAgo(minutes - 1) }],
  });
  const annotations = {
    [marks.TRACKING_ID]: `${APPLICATION}:batch/Job:${namespace}/${name}`,
    ...(isPinned && { [marks.SYNC_OPTIONS]: marks.NO_PRUNE }),
  };
  const env = [{ name: 'GITEA_INSTANCE_URL', value: giteaUrl }];
  return {
    metadata: {
      name,
      namespace,
      uid: `uid-${namespace}-${name}`,
      creationTimestamp: minutesAgo(minutes),
      labels: { ...marks.groupLabels(group) },
      annotations,
      ...(status === 'deleting' && { deletionTimestamp: minutesAgo(minutes - 1) }),
    },
    spec: { template: { spec: { containers: [{ name: 'runner', env }] } } },
    status:
      { running: { active: 1, ready: 1 }, complete: ended('Complete'), failed: ended('Failed') }[status as string] ??
      {},
  };
}

function podOfGoneJob(name: string, minutes: number): object {
  const ownerReferences = [{ kind: 'Job', name, uid: 'uid-of-a-gone-job' }];
  const made = { uid: `uid-pod-${name}`, creationTimestamp: minutesAgo(minutes) };
  return { metadata: { name: `${name}-x7x9z`, namespace: NAMESPACE, ...made, ownerReferences }, status: {} };
}

it('the same Gitea and the same cluster give the same plan by generate and by serve, byte for byte (law F127)', async () => {
  const jobs: JobRow[] = [];
  const rows: RunnerRow[] = [];
  const gitea = await fakeGitea({
    jobs,
    runners: rows,
    intercept: (_, response) => {
      response.sendDate = false;
      return false;
    },
  });
  const kubeJobs: Record<string, object[]> = {};
  const kubeGroups: Record<string, object[]> = {};
  const kubePods: Record<string, object[]> = {};
  const api = await startCluster({
    jobs: kubeJobs,
    pods: kubePods,
    groups: kubeGroups,
    override: (_, response) => {
      response.sendDate = false;
      return false;
    },
  });
  const secretsDir = folderWith({
    [`${NAMESPACE}/good/token`]: 'token-of-this-test',
    [`${NAMESPACE}/good/url`]: gitea.url,
    [`${NAMESPACE}/dead/token`]: 'token-of-this-test',
    [`${NAMESPACE}/dead/url`]: DEAD,
  });
  const settings = {
    secretsDir,
    cluster: 'auto',
    kubeconfig: kubeconfigFor(api),
    timeoutMs: 20_000,
    instance: INSTANCE,
    env: { ARGOCD_APP_NAME: APPLICATION },
    now: () => NOW,
  } as const;
  const seen = new Map<string, number>();

  const law = async (scene: Scene): Promise<void> => {
    const objects = scene.groups.map((group, nth) => groupObject(group, nth, gitea.url));
    const liveGroups = objects.map(
      (object): LiveGroup => ({ key: `${NAMESPACE}/${object.metadata.name}`, object, ...groupOfObject(object) }),
    );
    const nameOf = ({ group: nth, id, isOld, poolIndex }: Scene['runners'][number]): string => {
      const live = liveGroups[nth % liveGroups.length];
      const { name = '' } = live?.object.metadata ?? {};
      const templateHash = live?.group && !isOld ? ownTemplateHash(live.group) : 'of another template';
      const madeFor = poolIndex > 0 ? { poolIndex } : { id, attempt: 1 };
      return runnerName(INSTANCE, { namespace: NAMESPACE, name, origin: gitea.url, templateHash }, madeFor, 0);
    };
    kubeGroups[NAMESPACE] = objects;
    const finishing = scene.runners.filter(({ minutes, status }) => status === 'none' && minutes % 2 === 0);
    kubePods[NAMESPACE] = finishing.map((runner) => podOfGoneJob(nameOf(runner), runner.minutes));
    for (const namespace of [NAMESPACE, 'elsewhere']) {
      kubeJobs[namespace] = scene.runners
        .filter(({ isElsewhere, status }) => status !== 'none' && isElsewhere === (namespace === 'elsewhere'))
        .map((runner) => kubeJob(nameOf(runner), runner, `g${runner.group % objects.length}`, gitea.url));
    }
    rows.splice(
      0,
      rows.length,
      ...scene.runners.flatMap((runner, nth) =>
        runner.row === undefined
          ? []
          : runnerRow(nth + 1, nameOf(runner), {
              status: runner.row === 'offline' ? 'offline' : 'online',
              busy: runner.row === 'busy',
              labels: [{ name: 'linux' }],
            }),
      ),
    );
    jobs.splice(
      0,
      jobs.length,
      ...scene.jobs.map(({ conclusion, id, labels, minutes, repository, runner: nth, status }) => {
        const runner = scene.runners[nth ?? -1];
        const hasBegun = status !== 'queued';
        return jobRow(id, status, {
          html_url: `${gitea.url}/${repository}/actions/runs/5/jobs/${id}`,
          run_url: `${gitea.url}/api/v1/repos/${repository}/actions/runs/5`,
          labels,
          created_at: minutesAgo(minutes),
          started_at: hasBegun ? minutesAgo(minutes - 1) : EPOCH,
          completed_at: status === 'completed' ? minutesAgo(minutes - 2) : EPOCH,
          ...(status === 'completed' && { conclusion }),
          ...(hasBegun && runner && { runner_name: nameOf(runner) }),
        });
      }),
    );

    const generated = await orFailure(throughGenerate(liveGroups));
    const served = await throughServe(liveGroups);

    const kind = generated instanceof Failure ? 'refused' : 'planned';
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    if (generated instanceof Failure) expect(served).toMatchObject({ is: 'failed' });
    else {
      expect(served).toMatchObject({ is: 'planned' });
      expect(JSON.stringify('plan' in served && served.plan)).toBe(JSON.stringify(generated.plan));
    }
  };

  const throughGenerate = (groups: readonly LiveGroup[]) => {
    const place = { file: 'ci.yaml', line: 1, column: 1 };
    const isolate = groups.flatMap(({ group, object: { metadata } }): readonly BrokenGroup[] => {
      const problems: BrokenGroup['problems'] = [{ place, path: 'spec', message: 'is wrong', code: 'GR-INPUT-05' }];
      return group ? [] : [{ namespace: metadata.namespace, name: metadata.name, place, problems }];
    });
    const pods = { finish: finishOwn, check: async () => undefined, faulty: async () => new Map() };
    return lookAndPlan(groupsIn(groups), settings, { includeBlocked: false, isolate, pods });
  };

  const groupsIn = (groups: readonly LiveGroup[]) => groups.flatMap(({ group }) => group ?? []);

  const throughServe = async (groups: readonly LiveGroup[]): Promise<Planning> => {
    const runners = Object.values(kubeJobs)
      .flat()
      .map((object): LiveRunner => {
        const job = JOBS.item.parse(object);
        const groupName = job.metadata.labels?.[marks.GROUP_NAME] ?? '';
        return { job: judgeJob(job, []), annotations: job.metadata.annotations ?? {}, groupName };
      });
    const found = await findTargetsOf(groupsIn(groups), settings, new Deadline(20_000));
    const looks = await observeEach(found.targets, {
      deadlineMs: 20_000,
      env: {},
      includeBlocked: false,
      careful: true,
      // `serve` asks for rows also for a Job in another namespace. Then it would have seen more.
      needsRows: async () => runners.some(({ job }) => job.namespace === NAMESPACE && isPinnedAlive(job)),
    });
    const times = { beganMs: NOW, beganSteadyMs: 0, endedMs: NOW };
    const targetOf = new Map(
      groupsIn(groups).flatMap((group) => {
        const target = found.failed.get(group) ?? found.targets.find(({ key }) => key === found.lookOf(group));
        return target ? [[group, target] as const] : [];
      }),
    );
    const input = {
      nowMs: NOW,
      steadyMs: 0,
      instance: INSTANCE,
      snapshot: snapshot({ groups, runners, controlPlaneNamespace: 'argocd', steadyMs: 0 }),
      pods: countAlive((kubePods[NAMESPACE] ?? []).map((pod) => PODS.item.parse(pod))),
      targetOf,
      observations: new Map(
        [...looks].map(([key, look]) => [
          key,
          { ...times, ...(look instanceof Failure ? { failure: look } : { look }) },
        ]),
      ),
      clocks: { kubernetes: api.config.url, of: () => undefined },
      lostJobs: () => [],
      unregistered: () => undefined,
      wakes: new Map([[`argocd/${APPLICATION}`, { state: NEVER_WOKEN, printed: new Set<string>() }]]),
    };
    return judgeApplication(input, `argocd/${APPLICATION}`, groups, undefined).planning;
  };

  await fc.assert(fc.asyncProperty(anyScene, law), { numRuns: Math.min(RUNS, 1_000) });
  expect(seen.get('planned')).toBeGreaterThan(Math.min(RUNS, 1_000) / 2);
});
