/** Laws V117, V119, V122 and V140 (docs/spec.md): for how long credentials may wait, where a leader before may have left rows, and whose name is free. */
import { expect, it } from 'vitest';
import type { KubeClient, KubeQuestion } from '../../../src/clients/kubernetes/kube-client.ts';
import type { RunnerDecision } from '../../../src/planner/decisions.ts';
import type { LiveCluster } from '../../../src/serve/cluster/live-cluster.ts';
import type { ServeEvent } from '../../../src/serve/planning/events.ts';
import type { AppVerdict } from '../../../src/serve/planning/reconcile.ts';
import type { LiveRunner } from '../../../src/serve/seen/live.ts';
import { registerRunners } from '../../../src/tasks/registration/registering.ts';
import { runner } from '../../manifests/fixtures.ts';
import { until } from '../../serve/rig.ts';
import { fakeGitea, json } from '../../support/gitea-stand-in.ts';
import { targetOf } from '../../support/looking.ts';
import { quietGiteas } from '../../support/quiet-giteas.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { taskContext } from '../../support/task-context.ts';

const NAME = 'ci-4711-1-9c31e0aa';
const AT = 'repo:acme/web';
const BOUND = runnerGroup({ registration: { by: 'serve', for: 'repository' } });
const OBJECT = { metadata: { namespace: 'runners', name: 'ci', uid: 'uid-of-the-group' } };
const REGISTER = '/api/actions/runner.v1.RunnerService/Register';
const MADE = { id: '7', uuid: '2cd3fa0d-0f0c-4a27-9c3c-5b2f6a8f3c55', token: 'x'.repeat(40), ephemeral: true };

/** A leader whose plan wants a runner of `acme/web`, or so many. @param answerAfterMs how long Gitea takes to register it */
async function begin(answerAfterMs = 0, cluster: Partial<LiveCluster> = {}, { runners = 1, tokenStatus = 200 } = {}) {
  const clock = new SkippingClock();
  let tokens = 0;
  const gitea = await fakeGitea({
    intercept: ({ path }, response) => {
      if (path.endsWith('/registration-token')) {
        tokens += 1;
        return json(response, { token: 'a-registration-token' }, tokenStatus);
      }
      if (path !== REGISTER) return undefined;
      clock.leaveOut(answerAfterMs);
      return json(response, { runner: MADE });
    },
  });
  const secrets: unknown[] = [];
  const secretsClient = {
    send: async ({ body }: KubeQuestion) => {
      secrets.push(body);
      return { status: 201 };
    },
  } as unknown as KubeClient;
  const { context, told } = taskContext({
    clock,
    secretsClient,
    cluster,
    giteas: quietGiteas(10_000),
    targetOf: () => new Map([[BOUND, targetOf(gitea.url)]]),
  });
  const hear = registerRunners(10_000)(context);
  const names = Array.from({ length: runners }, (_, nth) => NAME.replace('4711', String(4711 + nth)));
  const decisions = names.map((name) => ({ ...runner(), runner: name, registeredAt: AT }) as RunnerDecision);
  const jobs: object[] = [];
  const planning = { is: 'planned', atMs: 0, plan: { groups: [], jobs, runners: decisions } };
  const groups = [{ live: { key: 'runners/ci', object: OBJECT, group: BOUND }, runners: [], facts: {} }];
  const verdict = {
    planning,
    groups,
    difference: { missing: names.map((name) => `runners/${name}`) },
  } as unknown as AppVerdict;
  const reconcile = (): void => hear({ is: 'reconciled', verdicts: [verdict], skews: new Map() });
  const left = (): readonly string[] =>
    told.flatMap((event) => (event.is === 'row-left' && !event.isGuess ? event.at : []));
  const guessed = (): readonly string[] =>
    told.flatMap((event) => (event.is === 'row-left' && event.isGuess ? event.at : []));
  const registered = () =>
    until('a registration', () =>
      told.some((event) => event.is === 'runner-registration' && event.result === 'registered'),
    );
  const asked = (): number => context.queue.rows().filter(({ of }) => of === 'register').length;
  const seen = (over: object = {}): void => {
    const event = { is: 'runner-seen', step: 'job', namespace: 'runners', name: NAME, uid: 'uid-of-the-job', ...over };
    hear(event as ServeEvent);
  };
  return { asked, clock, guessed, jobs, left, reconcile, registered, secrets, seen, told, tokens: () => tokens };
}

it('a new leader says for a minute where the one before may have left rows', async () => {
  const { clock, left, reconcile } = await begin();

  reconcile();
  expect(left()).toEqual([AT]);
  clock.leaveOut(59_000);
  reconcile();
  const before = left().length;
  clock.leaveOut(2_000);
  reconcile();

  expect([before, left().length]).toEqual([2, 2]);
});

it('rows are guessed once where jobs ended, waited or ran, when the first of these jobs is seen', async () => {
  const { clock, guessed, jobs, reconcile } = await begin();
  clock.leaveOut(3_600_000);
  reconcile();
  expect(guessed()).toEqual([]);
  jobs.push({ verdict: 'done', origin: BOUND.giteaUrl, job: { repository: 'acme/gone' } });

  reconcile();
  reconcile();

  expect(guessed()).toEqual(['repo:acme/gone']);
});

it.each([
  [40_000, 1],
  [10_000, 0],
])('credentials whose row is %i ms older than the answer are kept for less time', async (answerAfterMs, forgotten) => {
  const { clock, left, reconcile, registered } = await begin(answerAfterMs);
  clock.leaveOut(61_000);
  reconcile();
  await registered();

  clock.leaveOut(30_000);
  reconcile();

  expect(left()).toHaveLength(forgotten);
});

it('no runner is registered while the pod of an earlier Job of its name lives', async () => {
  let lives = true;
  const { asked, reconcile, registered } = await begin(0, { hasOtherPod: () => lives });
  reconcile();
  expect(asked()).toBe(0);

  lives = false;
  reconcile();

  expect(asked()).toBe(1);
  await registered();
});

const LIVE: LiveRunner = {
  job: { namespace: 'runners', name: NAME, state: 'starting', createdAtMs: 0, registeredAt: AT },
  annotations: {},
  groupName: 'ci',
  uid: 'uid-of-the-job',
};

/** A leader that has credentials for a Job, which comes. */
async function comes(live: LiveRunner, cluster: Partial<LiveCluster> = {}) {
  let jobs: readonly LiveRunner[] = [];
  const leader = await begin(0, { runners: () => jobs, ...cluster });
  leader.reconcile();
  await leader.registered();
  jobs = [live];
  return leader;
}

it('a Job that the watch shows gets the credentials that wait for it, without another plan, once', async () => {
  const { secrets, seen } = await comes(LIVE);

  seen();
  seen();
  await until('a Secret', () => secrets.length > 0);
  seen();

  expect(secrets).toMatchObject([{ metadata: { name: NAME, ownerReferences: [{ uid: 'uid-of-the-job' }] } }]);
});

it('registration ahead waits for a plan when there is none yet', async () => {
  const { asked, seen } = await begin(0, { runners: () => [LIVE] });

  seen();

  expect(asked()).toBe(0);
});

it.each<[string, LiveRunner, object, Partial<LiveCluster>]>([
  ['of which the copy knows another one', { ...LIVE, uid: 'uid-of-another' }, {}, {}],
  ['with another name', LIVE, { name: 'ci-4712-1-9c31e0aa' }, {}],
  ['of another level', { ...LIVE, job: { ...LIVE.job, registeredAt: 'org:acme' } }, {}, {}],
  ['that its pod registers', { ...LIVE, job: { ...LIVE.job, registeredAt: undefined as never } }, {}, {}],
  ['whose container runs', { ...LIVE, job: { ...LIVE.job, state: 'running' } }, {}, {}],
  ['beside a pod of its name', LIVE, {}, { hasOtherPod: (_, uid) => uid === 'uid-of-the-job' }],
  ['while the copy does not follow', LIVE, {}, { fresh: false }],
  ['of which only a pod was seen', LIVE, { step: 'created' }, {}],
])('a Job %s waits for the next plan', async (_, live, event, cluster) => {
  const { asked, seen } = await comes(live, cluster);

  seen(event);

  expect(asked()).toBe(0);
});

it.each<[readonly number[], number]>([
  [[10_000], 1],
  [[61_000], 2],
  [[40_000, 40_000], 2],
])(
  'pauses of %j ms make %i questions for the token of a repository: another one may have its name',
  async (pauses, times) => {
    const { clock, secrets, seen, told, tokens } = await comes(LIVE);
    const registered = () =>
      told.filter((event) => event.is === 'runner-registration' && event.result === 'registered').length;
    seen();
    await until('a Secret', () => secrets.length > 0);

    for (const ms of pauses) {
      const before = registered();
      // The next look finds no Secret.
      clock.leaveOut(ms);
      await until('another registration', () => registered() > before);
    }

    expect(tokens()).toBe(times);
  },
);

it('hundreds of runners of a repository that gives no token ask for it a few times, and others have the requests', async () => {
  const { clock, reconcile, told, tokens } = await begin(0, {}, { runners: 50, tokenStatus: 404 });
  const failed = () => told.filter((event) => event.is === 'runner-registration' && event.result === 'failed').length;
  reconcile();

  await until('300 tries', () => {
    clock.leaveOut(200);
    return failed() >= 300;
  });

  expect(tokens()).toBeLessThan(60);
});
