/** Laws V40, V41 and V94 (docs/spec.md): what Gitea is asked about the lost CI jobs of one group, and when. */
import { expect, it } from 'vitest';
import { ServerClocks } from '../../../src/clients/http/clock.ts';
import type { Wire, WireAnswer } from '../../../src/clients/http/wire.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { type LostJob, MOST_LOST_JOBS } from '../../../src/config/runnergroup/status.ts';
import type { Tell } from '../../../src/serve/events.ts';
import { Giteas } from '../../../src/serve/looks/giteas.ts';
import { LossBook } from '../../../src/serve/losses/follow.ts';
import { type LiveGroup, type LiveRunner, snapshot } from '../../../src/serve/planning/live.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { rerunLostJobs } from '../../../src/tasks/losses/rerunning.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { live } from '../../support/scenario.ts';
import { taskContext } from '../../support/task-context.ts';
import { GITEA_URL, GiteaServer, TOKEN } from './gitea.ts';
import { World } from './world.ts';

const KEY = 'runners/ci';
const BUILD = { key: 'build', runsOn: ['linux'] };
const LINT = { key: 'lint', runsOn: ['linux'] };
const TEST = { key: 'test', runsOn: ['linux'] };
const DEPLOY = { key: 'deploy', runsOn: ['linux'], needs: ['build', 'test'] };
const SCOPE = { kind: 'org', org: 'acme' } as const;
const TARGET = { key: 'acme', url: GITEA_URL, scope: SCOPE, token: new Token(TOKEN, GITEA_URL) };
const RECONCILED = { is: 'reconciled', verdicts: [], skews: new Map() } as const;
/** Without an event serve reconciles so often. */
const TICK_MS = 5_000;

/** A Gitea, runners of a group in an organization of it, and the part of a leader that follows lost CI jobs. Time is virtual. */
class Scene {
  readonly world = new World(1, false);
  readonly server: GiteaServer;
  readonly book: LossBook;
  /** `<second> <method> <path below /actions>`: what Gitea was asked for. Only once by readers that look: the version. */
  readonly asked: string[] = [];
  /** `<second> <what> <CI job>` */
  readonly told: string[] = [];
  /** What the cluster has of the status. */
  lostJobs: unknown = [];
  canWriteStatus = true;
  group: RunnerGroup | undefined;
  target: typeof TARGET | Failure | undefined = TARGET;
  lookFailure: Failure | undefined;
  wanted = 0;
  readonly runners = new Map<string, LiveRunner>();
  /** The kubelet has told their ends. */
  readonly ended = new Set<string>();
  /** What is answered instead of what Gitea answers, by method and path. It does nothing then. */
  readonly answers = new Map<string, Pick<WireAnswer, 'status' | 'headers'>>();
  /** Before it answers. */
  readonly meanwhile = new Map<string, () => void>();
  readonly #hear: (event: typeof RECONCILED) => void;

  constructor(over: Partial<RunnerGroup> = {}, version: '1.27.3' | '28.0.0' = '28.0.0') {
    const { clock } = this.world;
    this.server = new GiteaServer(this.world, ['acme'], version);
    this.group = runnerGroup({ scope: SCOPE, maxEvictionRetries: 2, ...over });
    const tell: Tell = (event) => {
      if (event.is === 'runner-lost') this.#tell(event.isNoted ? 'lost' : 'no room', event.lost);
      if (event.is === 'rerun') this.#tell(event.failure?.code ?? event.outcome, event.lost);
    };
    const statusOf = () => this.lostJobs && { lostJobs: this.lostJobs };
    const endToldBy = (key: string) => (this.ended.has(key.replace('runners/', '')) ? 'kubelet' : undefined);
    this.book = new LossBook({ statusOf, endToldBy, hasPod: () => false }, tell);
    const giteas = new Giteas({
      ...{ timeoutMs: 20_000, pollMs: 5_000, env: {}, giteaRequests: 1200 },
      ...{ clock, clocks: new ServerClocks(), tell: () => undefined, wireTo: () => this.#wire() },
    });
    const { context } = taskContext({ clock, giteas, losses: this.book, tell, changed: () => this.#changed() });
    this.#hear = rerunLostJobs(20_000)(context);
    const tick = (): void => {
      clock.after(TICK_MS, tick);
      this.reconcile();
    };
    clock.after(0, tick);
  }

  get second(): number {
    return Math.floor(this.world.clock.steadyMs() / 1000);
  }

  async pass(seconds: number): Promise<void> {
    await this.world.clock.pass(seconds * 1000);
  }

  /** A run; each of its jobs that is ready is taken by a runner of the same name. Answers the ids of these jobs. */
  push(...jobs: readonly (typeof BUILD | typeof DEPLOY)[]): readonly number[] {
    const { gitea } = this.server;
    const run = gitea.push('acme/web', { jobs });
    return run.jobs.flatMap(({ id, name }) => {
      if (gitea.job(id).status !== 'waiting') return [];
      this.take(name);
      return [id];
    });
  }

  /** A runner of this name takes the next CI job. */
  take(name: string): void {
    const { gitea } = this.server;
    const row = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], ephemeral: true });
    gitea.poll(row.id);
    this.runners.set(name, { job: live(name, 'running'), annotations: {}, groupName: 'ci' });
  }

  /** Kubernetes shows that these runners were lost. */
  lose(reason: LiveRunner['loss'] & string, ...names: readonly string[]): void {
    for (const name of names) {
      this.runners.set(name, { job: live(name, 'failed'), annotations: {}, groupName: 'ci', loss: reason });
      if (reason !== 'NodeLost') this.ended.add(name);
    }
    this.reconcile();
  }

  /** The runner of this name reports the end of its CI job, or Gitea gives it up. */
  finish(name: string, result: 'success' | 'failure'): void {
    this.server.gitea.finish(this.rowOf(name), result);
  }

  /** Id of its row in Gitea. */
  rowOf(name: string): number {
    return this.server.gitea.runners().find((each) => each.name === name)?.id ?? 0;
  }

  reconcile(): void {
    const { group, lookFailure, target } = this;
    const nowMs = this.world.clock.now();
    const object = { metadata: { namespace: 'runners', name: 'ci', uid: 'ci' } };
    const groups: readonly LiveGroup[] = [{ key: KEY, object, ...(group ? { group } : { problem: 'no labels' }) }];
    const runners = [...this.runners.values()];
    const look = { beganMs: nowMs, endedMs: nowMs, look: this.server.look('acme') };
    const { size } = this.book.follow({
      snapshot: snapshot({ groups, runners, controlPlaneNamespace: 'argocd', nowMs }),
      targetOf: new Map(group && target ? [[group, target]] : []),
      observations: new Map([['acme', { ...look, ...(lookFailure && { failure: lookFailure }) }]]),
      nowMs,
    });
    this.wanted += size;
    this.#hear(RECONCILED);
    if (!this.canWriteStatus || this.lostJobs === this.book.of(KEY)) return;
    this.lostJobs = this.book.of(KEY);
    this.#changed();
  }

  #changed(): void {
    this.world.clock.after(0, () => this.reconcile());
  }

  #tell(what: string, { jobId }: LostJob): void {
    this.told.push(`${this.second} ${what} ${jobId}`);
  }

  #wire(): Wire {
    const wire = this.server.wire(GITEA_URL);
    return {
      ...wire,
      send: (request) => {
        const { pathname, searchParams } = request.url;
        const path = pathname.replace(/^\/api\/v1\/(?:repos\/acme\/web\/actions\/)?/, '');
        const question = `${request.method} ${path}`;
        const status = searchParams.get('status');
        this.asked.push(`${this.second} ${question}${status === null ? '' : ` ${status}`}`);
        this.meanwhile.get(question)?.();
        const other = this.answers.get(question);
        if (!other) return wire.send(request);
        const read = async () => Buffer.from('{}');
        return { answer: Promise.resolve({ ...other, read }), cancel: () => undefined };
      },
    };
  }
}

const JOBS = 'GET runs/1/jobs';
const AT_WORK = [JOBS, 'GET version', `${JOBS} in_progress`];
const RERUN = 'POST runs/1/jobs/1/rerun';
const END = 'POST runs/1/force-cancel';
const JSON_TYPE = { 'content-type': 'application/json' };
const at = (second: number, ...questions: readonly string[]) => questions.map((question) => `${second} ${question}`);

/** Ten seconds after its begin, the runner of the only CI job of a run is evicted. */
async function evicted(...of: ConstructorParameters<typeof Scene>): Promise<Scene> {
  const scene = new Scene(...of);
  scene.push(BUILD);
  await scene.pass(10);
  scene.lose('Evicted', 'build');
  return scene;
}

/** Gitea has given the CI job up meanwhile. */
async function givenUp(): Promise<Scene> {
  const scene = await evicted({}, '1.27.3');
  scene.finish('build', 'failure');
  return scene;
}

function noted(over: Partial<LostJob> = {}): LostJob {
  const job = { runner: 'build', repository: 'acme/web', runId: 1, jobId: 1, attempt: 1, reason: 'Evicted' };
  return { ...job, lostAt: '2026-11-24T23:59:50Z', ...over };
}

it('a Gitea that cannot end runs is asked for its version once, and for the re-run so long after it has given the job up', async () => {
  const scene = await evicted({ evictionRetryDelaySeconds: 7 }, '1.27.3');
  await scene.pass(11);
  scene.finish('build', 'failure');
  await scene.pass(12);
  expect(scene.lostJobs).toEqual([]);
  await scene.pass(300);

  expect(scene.asked).toEqual([...at(10, 'GET version'), ...at(32, 'GET version', JOBS, RERUN)]);
  expect(scene.told).toEqual(['10 lost 1', '32 rerun 1']);
  expect(scene.book.of(KEY)).toEqual([]);
  expect(scene.wanted).toBe(1);
});

it('a newer one ends the run once the note about it is in the cluster, and is asked for the re-run after the delay', async () => {
  const scene = await evicted({ evictionRetryDelaySeconds: 7 });
  await scene.pass(300);

  expect(scene.asked).toEqual([
    ...at(10, 'GET version', 'GET version', ...AT_WORK),
    ...at(11, 'GET version', ...AT_WORK, END),
    ...at(18, JOBS, RERUN),
  ]);
  expect(scene.told).toEqual(['10 lost 1', '11 ended 1', '18 rerun 1']);
});

it('no run is ended before that note is written', async () => {
  const scene = await evicted();
  scene.canWriteStatus = false;
  await scene.pass(60);
  expect(scene.asked).toEqual(at(10, 'GET version', 'GET version', ...AT_WORK));

  scene.canWriteStatus = true;
  await scene.pass(60);
  expect(scene.told).toEqual(['10 lost 1', '75 ended 1', '80 rerun 1']);
});

it('a leader that follows reads the note, and that the runner has ended', async () => {
  const scene = new Scene();
  scene.push(BUILD);
  scene.runners.set('build', { job: live('build', 'failed'), annotations: {}, groupName: 'ci', loss: 'Evicted' });
  scene.lostJobs = [noted({ runnerEnded: true, endAskedAt: '2026-11-24T23:59:59Z' })];
  await scene.pass(30);

  expect(scene.asked).toEqual([...at(0, 'GET version', 'GET version', ...AT_WORK, END), ...at(5, JOBS, RERUN)]);
  expect(scene.told).toEqual(['0 ended 1', '5 rerun 1']);
});

it('a run with two lost jobs is not ended before both notes are in the cluster', async () => {
  const scene = new Scene();
  scene.push(BUILD, TEST);
  const ended = { runnerEnded: true };
  scene.lostJobs = [
    noted({ ...ended, endAskedAt: '2026-11-24T23:59:59Z' }),
    noted({ ...ended, jobId: 2, runner: 'test' }),
  ];
  scene.canWriteStatus = false;
  await scene.pass(60);
  expect(scene.asked).toEqual(at(0, 'GET version', 'GET version', ...AT_WORK));

  scene.canWriteStatus = true;
  await scene.pass(60);
  expect(scene.told).toEqual(['65 ended 1', '65 ended 2', '70 rerun 1', '70 rerun 2']);
});

it('the note is about the lost jobs of one run', async () => {
  const scene = new Scene();
  scene.push(BUILD);
  scene.push(TEST, LINT);
  scene.lose('Evicted', 'build', 'test');
  await scene.pass(1);

  expect(scene.book.of(KEY).map(({ endAskedAt, runId }) => [runId, endAskedAt])).toEqual([
    [1, '2026-11-25T00:00:00Z'],
    [2, undefined],
  ]);
  await scene.pass(30);
  expect(scene.told).toEqual(['0 lost 1', '0 lost 2', '1 ended 1', '6 rerun 1']);
});

it.each([undefined, 'rubbish'])('a leader that follows on a status of %j begins without losses', async (written) => {
  const scene = new Scene();
  scene.lostJobs = written;
  scene.reconcile();
  expect(scene.book.of(KEY)).toEqual([]);

  scene.push(BUILD);
  scene.lose('Evicted', 'build');
  expect(scene.told).toEqual(['0 lost 1']);
});

it('nothing is asked while another job of the run is at work, and what it blocks is re-run, too', async () => {
  const scene = new Scene();
  scene.push(BUILD, TEST, DEPLOY);
  await scene.pass(10);
  scene.lose('Evicted', 'build');
  await scene.pass(30);
  expect(scene.asked).toEqual([]);

  scene.finish('test', 'success');
  await scene.pass(30);
  expect(scene.told).toEqual(['10 lost 1', '46 ended 1', '51 rerun 1']);
  expect(scene.asked.at(-1)).toBe('51 POST runs/1/rerun-failed-jobs');
});

it('nothing is asked while a job of the run is ready: a runner may take it', async () => {
  const scene = new Scene();
  scene.push(BUILD, { key: 'gpu', runsOn: ['gpu'] });
  scene.server.gitea.deleteRunner(scene.rowOf('gpu'));
  scene.lose('Evicted', 'build');
  await scene.pass(30);

  expect([scene.asked, scene.told]).toEqual([[], ['0 lost 1']]);
});

it('nothing is asked about a runner that may live, or while looks fail', async () => {
  const scene = new Scene();
  scene.push(BUILD);
  scene.lostJobs = [noted()];
  await scene.pass(30);
  scene.lookFailure = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
  scene.lose('NodeLost', 'build');
  scene.ended.add('build');
  await scene.pass(30);
  expect(scene.asked).toEqual([]);

  scene.lookFailure = undefined;
  await scene.pass(30);
  expect(scene.told).toEqual(['66 ended 1', '71 rerun 1']);
});

it('all lost jobs of a run are ended and re-run together', async () => {
  const scene = new Scene();
  scene.push(BUILD, TEST);
  await scene.pass(10);
  scene.lose('Evicted', 'build', 'test');
  await scene.pass(300);

  const told = ['10 lost 1', '10 lost 2', '11 ended 1', '11 ended 2', '16 rerun 1', '16 rerun 2'];
  expect(scene.told).toEqual(told);
  expect(scene.asked.filter((question) => question.includes('POST'))).toEqual([
    `11 ${END}`,
    '16 POST runs/1/rerun-failed-jobs',
  ]);
});

it('where a job failed by itself, lost jobs are re-run one after the other, with longer and longer pauses', async () => {
  const scene = new Scene({}, '1.27.3');
  scene.push(BUILD, TEST, LINT);
  await scene.pass(10);
  scene.lose('Evicted', 'build', 'test');
  scene.finish('lint', 'failure');
  await scene.pass(3);
  scene.finish('build', 'failure');
  await scene.pass(30);
  scene.finish('test', 'failure');
  await scene.pass(100);

  expect(scene.asked.filter((question) => !question.includes('version'))).toEqual([
    ...at(20, JOBS),
    ...at(35, JOBS),
    ...at(65, JOBS, RERUN),
    ...at(125, JOBS),
  ]);
  expect(scene.told).toEqual(['10 lost 1', '10 lost 2', '65 rerun 1']);
  expect(scene.book.of(KEY).map(({ jobId }) => jobId)).toEqual([2]);
});

it('a run that somebody cancels is not ended, and not re-run', async () => {
  const scene = new Scene();
  scene.push(BUILD);
  await scene.pass(10);
  scene.server.gitea.cancelRun(1);
  scene.lose('Evicted', 'build');
  await scene.pass(60);
  expect(scene.asked).toEqual([
    ...at(10, 'GET version', 'GET version', ...AT_WORK),
    ...at(25, 'GET version', ...AT_WORK),
    ...at(55, 'GET version', ...AT_WORK),
  ]);

  scene.finish('build', 'failure');
  await scene.pass(100);
  expect(scene.told).toEqual(['10 lost 1', '115 not-failed 1']);
});

it('a run of which somebody cancels one job is not ended', async () => {
  const scene = new Scene();
  const [, second = 0] = scene.push(BUILD, TEST);
  scene.server.gitea.cancelJob(second);
  scene.lose('Evicted', 'build', 'test');
  await scene.pass(10);

  expect(scene.told).toEqual(['0 lost 1', '0 lost 2']);
});

it('a Gitea that says that it has ended a run and shows it at work is asked later and later, and at last every 5 minutes', async () => {
  const scene = new Scene();
  scene.answers.set(END, { status: 200, headers: JSON_TYPE });
  scene.push(BUILD);
  scene.lose('Evicted', 'build');
  await scene.pass(900);

  expect(scene.asked.filter((question) => question.includes(END))).toEqual(
    [1, 6, 21, 51, 111, 231, 471, 771].map((second) => `${second} ${END}`),
  );
  expect(scene.told).toEqual(['0 lost 1', '1 ended 1']);
});

it('a Gitea that is down is asked again, and the failure is told once', async () => {
  const scene = await givenUp();
  await scene.pass(1);
  scene.server.isAway = true;
  await scene.pass(70);
  scene.server.isAway = false;
  await scene.pass(300);

  expect(scene.asked).toEqual([
    ...at(10, 'GET version'),
    ...[20, 35, 65].flatMap((second) => at(second, 'GET version')),
    ...at(125, 'GET version', JOBS, RERUN),
  ]);
  expect(scene.told).toEqual(['10 lost 1', '20 GR-HTTP-01 1', '125 rerun 1']);
});

it('a Gitea that asks for a pause is left alone, for the lost jobs of all runs', async () => {
  const scene = new Scene({}, '1.27.3');
  scene.push(BUILD);
  scene.push(TEST);
  await scene.pass(10);
  scene.lose('Evicted', 'build', 'test');
  scene.finish('build', 'failure');
  scene.finish('test', 'failure');
  await scene.pass(6);
  scene.answers.set(JOBS, { status: 429, headers: { ...JSON_TYPE, 'retry-after': '60' } });
  await scene.pass(5);
  scene.answers.clear();
  await scene.pass(300);

  expect(scene.told).toEqual(['10 lost 1', '10 lost 2', '20 GR-HTTP-10 1', '80 rerun 1', '81 rerun 2']);
  expect(scene.asked.slice(-5)).toEqual([
    ...at(80, 'GET version', JOBS, RERUN),
    ...at(81, 'GET runs/2/jobs', 'POST runs/2/jobs/2/rerun'),
  ]);
});

it('a job that somebody has re-run meanwhile is not re-run', async () => {
  const scene = await givenUp();
  await scene.pass(2);
  scene.server.gitea.rerun(1);
  await scene.pass(30);

  expect(scene.asked).toEqual([...at(10, 'GET version'), ...at(20, 'GET version', JOBS)]);
  expect(scene.told).toEqual(['10 lost 1', '20 superseded 1']);
  expect(scene.book.of(KEY)).toEqual([]);
});

it('a re-run that Gitea cannot do yet is asked for again', async () => {
  const scene = await givenUp();
  scene.answers.set(RERUN, { status: 409, headers: JSON_TYPE });
  await scene.pass(30);
  scene.answers.clear();
  await scene.pass(60);

  expect(scene.asked.filter((question) => question.includes('POST'))).toEqual(
    [20, 35, 65].map((second) => `${second} ${RERUN}`),
  );
  expect(scene.told).toEqual(['10 lost 1', '65 rerun 1']);
});

it('a group that is gone as Gitea answers has nothing re-run; when it is valid again, its losses are still known', async () => {
  const scene = await givenUp();
  const { group } = scene;
  scene.meanwhile.set(JOBS, () => {
    scene.group = undefined;
    scene.reconcile();
  });
  await scene.pass(30);
  expect(scene.asked).toEqual([...at(10, 'GET version'), ...at(20, 'GET version', JOBS)]);
  expect(scene.book.atLoss).toEqual([]);

  scene.meanwhile.clear();
  scene.group = group;
  await scene.pass(30);
  expect(scene.told).toEqual(['10 lost 1', '50 rerun 1']);
});

it('a re-run that Gitea has taken is told, although the group wants none any more', async () => {
  const scene = await givenUp();
  scene.meanwhile.set(RERUN, () => {
    scene.group = runnerGroup({ scope: SCOPE });
    scene.reconcile();
  });
  await scene.pass(30);

  expect(scene.told).toEqual(['10 lost 1', '20 rerun 1']);
});

it('a loss expires after a day, and others of the group do not', async () => {
  const scene = new Scene({}, '1.27.3');
  scene.push(BUILD, TEST);
  scene.lostJobs = [noted({ lostAt: '2026-11-24T00:00:20Z' }), noted({ jobId: 2, runner: 'test' })];
  await scene.pass(30);

  expect(scene.told).toEqual(['25 expired 1']);
  expect(scene.book.of(KEY).map(({ jobId }) => jobId)).toEqual([2]);
});

it('a group without maxEvictionRetries follows no losses', async () => {
  const scene = new Scene({ maxEvictionRetries: 0 });
  scene.lostJobs = [noted()];
  scene.push(BUILD);
  scene.lose('Evicted', 'build');
  await scene.pass(30);

  expect([scene.asked, scene.told, scene.wanted, scene.book.of(KEY)]).toEqual([[], [], 0, []]);
});

it('a lost job is re-run as often as maxEvictionRetries says', async () => {
  const scene = await evicted({ maxEvictionRetries: 1 });
  await scene.pass(30);
  const [again] = scene.server.gitea.jobs().filter(({ status }) => status === 'waiting');
  scene.take('second');
  scene.lose('Evicted', 'second');
  await scene.pass(5);
  scene.finish('second', 'failure');
  await scene.pass(300);

  expect(scene.told.slice(0, 3)).toEqual(['10 lost 1', '11 ended 1', '16 rerun 1']);
  expect(scene.told.slice(3).map((each) => each.replace(/\d+ /, ''))).toEqual([
    `lost ${again?.id}`,
    `exhausted ${again?.id}`,
  ]);
});

it.each([
  ['its token cannot be read', new Failure('GR-TOKEN-01', 3, 'no token.', 'token-unseen')],
  ['nobody has resolved it yet', undefined],
])('nothing is asked for a group while %s', async (_, target) => {
  const scene = new Scene();
  scene.target = target;
  scene.push(BUILD);
  scene.lose('Evicted', 'build');
  await scene.pass(30);
  expect([scene.asked, scene.told, scene.wanted]).toEqual([[], [], 0]);
  const next = new Scene();
  Object.assign(next, { target, lostJobs: [noted({ runnerEnded: true })] });
  next.push(BUILD);
  await next.pass(30);
  expect([next.asked, next.book.of(KEY).length]).toEqual([[], 1]);

  scene.target = TARGET;
  await scene.pass(30);
  expect(scene.told).toEqual(['35 lost 1', '36 ended 1', '41 rerun 1']);
});

it('a look that failed tells of no loss', async () => {
  const scene = new Scene();
  scene.lookFailure = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
  scene.push(BUILD);
  scene.lose('Evicted', 'build');
  await scene.pass(30);
  expect([scene.asked, scene.told, scene.wanted]).toEqual([[], [], 1]);
});

it('losses that a leader has found in the status take room', () => {
  const scene = new Scene();
  scene.lostJobs = Array.from({ length: MOST_LOST_JOBS - 1 }, (_, nth) => noted({ jobId: 1_000 + nth, runId: 1_000 }));
  scene.push(BUILD, TEST);
  scene.lose('Evicted', 'build', 'test');

  expect(scene.told).toEqual(['0 lost 1', '0 no room 2']);
});

it('a runner of which Gitea hears again is told of, and its CI job is no longer lost', async () => {
  const scene = new Scene();
  scene.push(BUILD);
  scene.lostJobs = [noted({ reason: 'NodeLost' })];
  await scene.pass(10);

  expect(scene.told).toEqual(['0 returned 1']);
  expect(scene.book.of(KEY)).toEqual([]);
});
