/** Laws V40, V41 and V94 (docs/spec.md): what Gitea is asked about the lost CI jobs of one group, and when. */
import { expect, it } from 'vitest';
import { ServerClocks } from '../../../src/clients/http/server-clocks.ts';
import type { Wire, WireAnswer } from '../../../src/clients/http/wire.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { type LostJob, MOST_LOST_JOBS } from '../../../src/config/runnergroup/status.ts';
import { runnerName } from '../../../src/planner/names.ts';
import { openGiteas } from '../../../src/serve/looks/giteas.ts';
import { type LossBook, openLossBook } from '../../../src/serve/losses/losses.ts';
import type { Tell } from '../../../src/serve/planning/events.ts';
import { WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import { type LiveGroup, type LiveRunner, snapshot } from '../../../src/serve/seen/live.ts';
import { NEVER_WOKEN } from '../../../src/serve/waking/wake-state.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { TRACKING_ID } from '../../../src/shared/marks.ts';
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
const GPU = { key: 'gpu', runsOn: ['gpu'] };
const DEPLOY = { key: 'deploy', runsOn: ['linux'], needs: ['build', 'test'] };
const SCOPE = { kind: 'org', org: 'acme' } as const;
const TARGET = { key: 'acme', url: GITEA_URL, scope: SCOPE, token: new Token(TOKEN, GITEA_URL) };
const GROUP = runnerGroup({ scope: SCOPE, maxEvictionRetries: 2 });
const RECONCILED = { is: 'reconciled', verdicts: [], skews: new Map() } as const;
/** The runner of the group that takes the CI job of this name. */
const runnerOf = (job: string, name = 'ci'): string =>
  runnerName('', { namespace: 'runners', name, origin: GITEA_URL, templateHash: job }, { id: 1, attempt: 1 }, 0);
/** Time between reconciles without an event, ms. */
const TICK_MS = 5_000;

/**
 * A Gitea, runners of a group in one of its organizations, and the part of a leader that follows lost CI jobs. Time is
 * virtual.
 */
class Scene {
  readonly world = new World(1, false);
  readonly server: GiteaServer;
  readonly book: LossBook;
  /** `<second> <method> <path below /actions>`: what Gitea was asked for. Only once by readers that look: the version. */
  readonly asked: string[] = [];
  /** `<second> <what> <CI job>` */
  readonly told: string[] = [];
  /** Lost jobs in the status in the cluster. */
  lostJobs: unknown = [];
  canWriteStatus = true;
  group: RunnerGroup | undefined;
  isListed = true;
  target: typeof TARGET | Failure | undefined = TARGET;
  lookFailure: Failure | undefined;
  wanted = 0;
  readonly runners = new Map<string, LiveRunner>();
  /** The kubelet has told their ends. */
  readonly ended = new Set<string>();
  /** Answers that replace those of Gitea, by method and path. Gitea then does nothing. */
  readonly answers = new Map<string, Pick<WireAnswer, 'status' | 'headers'>>();
  /** Actions before the answer. */
  readonly meanwhile = new Map<string, () => void>();
  readonly #hear: (event: typeof RECONCILED) => void;

  constructor(over: Partial<RunnerGroup> = {}, version: '1.27.3' | '28.0.0' = '28.0.0') {
    const { clock } = this.world;
    this.server = new GiteaServer(this.world, ['acme'], version);
    this.group = { ...GROUP, ...over };
    const tell: Tell = (event) => {
      if (event.is === 'runner-lost') this.#tell(event.isNoted ? 'lost' : 'no room', event.lost);
      if (event.is === 'rerun') this.#tell(event.failure?.code ?? event.outcome, event.lost);
    };
    const statusOf = () => this.lostJobs && { lostJobs: this.lostJobs };
    const endToldBy = (key: string) => (this.ended.has(key.replace('runners/', '')) ? 'kubelet' : undefined);
    this.book = openLossBook({ statusOf, endToldBy, hasPod: () => false }, tell);
    const giteas = openGiteas({
      ...{ timeoutMs: 20_000, pollMs: 5_000, env: {}, giteaRequests: 1200, queue: new WorkQueue(clock) },
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

  /** The runner of this CI job takes the next one. */
  take(job: string): void {
    const { gitea } = this.server;
    const name = runnerOf(job);
    const row = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], ephemeral: true });
    gitea.poll(row.id);
    this.runners.set(name, { job: live(name, 'running'), annotations: {}, groupName: 'ci' });
  }

  /** Kubernetes shows that the runner of this CI job was lost. */
  show(job: string, loss: LiveRunner['loss'] & string): void {
    const name = runnerOf(job);
    this.runners.set(name, { job: live(name, 'failed'), annotations: {}, groupName: 'ci', loss });
  }

  lose(loss: LiveRunner['loss'] & string, ...names: readonly string[]): void {
    for (const name of names) {
      this.show(name, loss);
      if (loss !== 'NodeLost') this.ended.add(runnerOf(name));
    }
    this.reconcile();
  }

  /** Id of its row in Gitea. */
  readonly rowOf = (job: string): number =>
    this.server.gitea.runners().find(({ name }) => name === runnerOf(job))?.id ?? 0;

  reconcile(): void {
    const { group, lookFailure, target } = this;
    const nowMs = this.world.clock.now();
    const object = {
      metadata: {
        namespace: 'runners',
        name: 'ci',
        uid: 'ci',
        annotations: { [TRACKING_ID]: `runners:gitea.bpg.pw/RunnerGroup:${KEY}` },
      },
    };
    const groups: readonly LiveGroup[] = [{ key: KEY, object, ...(group ? { group } : { problem: 'no labels' }) }];
    const runners = [...this.runners.values()];
    const look = { beganMs: nowMs, beganSteadyMs: nowMs, endedMs: nowMs, look: this.server.look('acme') };
    const seen = snapshot({ groups, runners, controlPlaneNamespace: 'argocd', steadyMs: nowMs });
    const wake = { printed: new Set<string>(), state: NEVER_WOKEN, listing: new Map([[KEY, this.isListed]]) };
    const { size } = this.book.follow({
      snapshot: seen,
      wakes: new Map([...seen.byApp.keys()].map((application) => [application, wake])),
      targetOf: new Map(group && target ? [[group, target]] : []),
      observations: new Map([['acme', { ...look, ...(lookFailure && { failure: lookFailure }) }]]),
      instance: '',
      pods: new Map(),
      nowMs,
      steadyMs: nowMs,
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
const RERUN_ALL = 'POST runs/1/rerun-failed-jobs';
const at = (second: number, ...questions: readonly string[]) => questions.map((question) => `${second} ${question}`);

type Act = (scene: Scene) => unknown;

interface Story {
  readonly scene?: ConstructorParameters<typeof Scene>;
  /** Actions by second. */
  readonly acts: Readonly<Record<number, readonly Act[]>>;
  /** Its end, seconds. Default: 300. */
  readonly untilS?: number;
  /** Expected requests to Gitea: all, or only those that change something. */
  readonly asked?: readonly string[];
  readonly posts?: readonly string[];
  readonly told: readonly string[];
  /** CI jobs that are lost at the end. Default: none. */
  readonly left?: readonly number[];
}

async function play({ scene: of = [], acts, untilS = 300, asked, posts, told, left = [] }: Story): Promise<void> {
  const scene = new Scene(...of);
  for (const [second, each] of Object.entries(acts)) {
    if (Number(second) > 0) await scene.pass(Number(second) - scene.second);
    for (const act of each) act(scene);
  }
  await scene.pass(untilS - scene.second);

  expect(scene.told).toEqual(told);
  if (asked) expect(scene.asked).toEqual(asked);
  if (posts) expect(scene.asked.filter((question) => question.includes('POST'))).toEqual(posts);
  expect(scene.book.of(KEY).map(({ jobId }) => jobId)).toEqual(left);
}

const set =
  (change: Partial<Scene>): Act =>
  (scene) =>
    Object.assign(scene, change);
const push =
  (...jobs: readonly (typeof BUILD | typeof DEPLOY)[]): Act =>
  (scene) =>
    scene.push(...jobs);
const lose =
  (...of: Parameters<Scene['lose']>): Act =>
  (scene) =>
    scene.lose(...of);
const evict = (...names: readonly string[]): Act => lose('Evicted', ...names);
/** The runner of this name reports the end of its CI job, or Gitea gives it up. */
const finish =
  (name: string, result: 'success' | 'failure'): Act =>
  ({ server, rowOf }) =>
    server.gitea.finish(rowOf(name), result);
const answer =
  (question: string, status: number, headers = {}): Act =>
  ({ answers }) =>
    answers.set(question, { status, headers: { 'content-type': 'application/json', ...headers } });
/** The group changes before Gitea answers. */
const meanwhile =
  (question: string, group: RunnerGroup | undefined): Act =>
  (scene) =>
    scene.meanwhile.set(question, () => {
      scene.group = group;
      scene.reconcile();
    });
const answerAgain: Act = (scene) => {
  scene.answers.clear();
  scene.meanwhile.clear();
};
const isAway =
  (away: boolean): Act =>
  ({ server }) => {
    server.isAway = away;
  };

/** A CI job that a runner of another group has. */
const OTHERS = runnerOf('build', 'ci2');
const takenByOthers: Act = ({ server: { gitea } }) => {
  gitea.push('acme/web', { jobs: [BUILD] });
  const scope = { kind: 'owner', owner: 'acme' } as const;
  gitea.poll(gitea.register({ name: OTHERS, scope, labels: ['linux'], ephemeral: true }).id);
};

const OLD = '1.27.3';
/** The runner of the only CI job of a run is evicted. */
const EVICTED = { 0: [push(BUILD)], 10: [evict('build')] };
/** Gitea has given the CI job up meanwhile. */
const GIVEN_UP = { 0: [push(BUILD)], 10: [evict('build'), finish('build', 'failure')] };

function noted(over: Partial<LostJob> = {}): LostJob {
  const job = { runner: runnerOf('build'), repository: 'acme/web', runId: 1, jobId: 1, attempt: 1, reason: 'Evicted' };
  return { ...job, lostAt: '2026-11-24T23:59:50Z', ...over };
}

const ASKED_TO_END = { runnerEnded: true, endAskedAt: '2026-11-24T23:59:59Z' };
const FOUND = Array.from({ length: MOST_LOST_JOBS - 1 }, (_, nth) => 1_000 + nth);
const UNREACHABLE = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
/** Gitea 28 is asked about a run, and, when that is noted, to end it. */
const firstLook = (second: number) => at(second, 'GET version', 'GET version', ...AT_WORK);
const end = (second: number) => at(second, 'GET version', ...AT_WORK, END);

const STORIES: Readonly<Record<string, Story>> = {
  'a Gitea that cannot end runs is asked for its version once, and for the re-run so long after it has given the job up':
    {
      scene: [{ evictionRetryDelaySeconds: 7 }, OLD],
      acts: {
        ...EVICTED,
        21: [finish('build', 'failure')],
        33: [({ lostJobs }) => expect(lostJobs).toEqual([])],
        299: [({ wanted }) => expect(wanted).toBe(1)],
      },
      asked: [...at(10, 'GET version'), ...at(32, 'GET version', JOBS, RERUN)],
      told: ['10 lost 1', '32 rerun 1'],
    },
  'a newer one ends the run once the note about it is in the cluster, and is asked for the re-run after the delay': {
    scene: [{ evictionRetryDelaySeconds: 7 }],
    acts: EVICTED,
    asked: [...firstLook(10), ...end(11), ...at(18, JOBS, RERUN)],
    told: ['10 lost 1', '11 ended 1', '18 rerun 1'],
  },
  'no run is ended before that note is written': {
    acts: {
      0: [push(BUILD)],
      10: [evict('build'), set({ canWriteStatus: false })],
      70: [set({ canWriteStatus: true })],
    },
    asked: [...firstLook(10), ...end(75), ...at(80, JOBS, RERUN)],
    told: ['10 lost 1', '75 ended 1', '80 rerun 1'],
  },
  'a leader that follows reads the note, and that the runner has ended': {
    acts: { 0: [push(BUILD), (scene) => scene.show('build', 'Evicted'), set({ lostJobs: [noted(ASKED_TO_END)] })] },
    asked: [...at(0, 'GET version', 'GET version', ...AT_WORK, END), ...at(5, JOBS, RERUN)],
    told: ['0 ended 1', '5 rerun 1'],
  },
  'a run with two lost jobs is not ended before both notes are in the cluster': {
    acts: {
      0: [
        push(BUILD, TEST),
        set({ lostJobs: [noted(ASKED_TO_END), noted({ runnerEnded: true, jobId: 2, runner: runnerOf('test') })] }),
        set({ canWriteStatus: false }),
      ],
      60: [set({ canWriteStatus: true })],
    },
    asked: [...firstLook(0), ...end(65), ...at(70, JOBS, RERUN_ALL)],
    told: ['65 ended 1', '65 ended 2', '70 rerun 1', '70 rerun 2'],
  },
  'the note is about the lost jobs of one run': {
    acts: {
      0: [push(BUILD), push(TEST, LINT), evict('build', 'test')],
      1: [
        ({ book }) =>
          expect(book.of(KEY).map(({ endAskedAt }) => endAskedAt)).toEqual(['2026-11-25T00:00:00Z', undefined]),
      ],
    },
    untilS: 31,
    told: ['0 lost 1', '0 lost 2', '1 ended 1', '6 rerun 1'],
    left: [2],
  },
  'nothing is asked while another job of the run is at work, and what it blocks is re-run, too': {
    acts: { 0: [push(BUILD, TEST, DEPLOY)], 10: [evict('build')], 40: [finish('test', 'success')] },
    asked: [...firstLook(45), ...end(46), ...at(51, JOBS, RERUN_ALL)],
    told: ['10 lost 1', '46 ended 1', '51 rerun 1'],
  },
  'nothing is asked while a job of the run is ready: a runner may take it': {
    acts: { 0: [push(BUILD, GPU), ({ server, rowOf }) => server.gitea.deleteRunner(rowOf('gpu')), evict('build')] },
    asked: [],
    told: ['0 lost 1'],
    left: [1],
  },
  'nothing is asked about a runner that may live, or while looks fail': {
    acts: {
      0: [push(BUILD), set({ lostJobs: [noted()] })],
      30: [set({ lookFailure: UNREACHABLE }), lose('NodeLost', 'build'), ({ ended }) => ended.add(runnerOf('build'))],
      60: [set({ lookFailure: undefined })],
    },
    asked: [...firstLook(65), ...end(66), ...at(71, JOBS, RERUN)],
    told: ['66 ended 1', '71 rerun 1'],
  },
  'a look that failed tells of no loss': {
    acts: {
      0: [set({ lookFailure: UNREACHABLE }), push(BUILD), evict('build')],
      29: [({ wanted }) => expect(wanted).toBe(1)],
    },
    asked: [],
    told: [],
  },
  'all lost jobs of a run are ended and re-run together': {
    acts: { 0: [push(BUILD, TEST)], 10: [evict('build', 'test')] },
    posts: [`11 ${END}`, `16 ${RERUN_ALL}`],
    told: ['10 lost 1', '10 lost 2', '11 ended 1', '11 ended 2', '16 rerun 1', '16 rerun 2'],
  },
  'where a job failed by itself, lost jobs are re-run one after the other, with longer and longer pauses': {
    scene: [{}, OLD],
    acts: {
      0: [push(BUILD, TEST, LINT)],
      10: [evict('build', 'test'), finish('lint', 'failure')],
      13: [finish('build', 'failure')],
      43: [finish('test', 'failure')],
    },
    untilS: 143,
    asked: [
      ...at(10, 'GET version'),
      ...at(20, 'GET version', JOBS, 'GET version'),
      ...at(35, JOBS, 'GET version'),
      ...at(65, JOBS, RERUN),
      ...at(125, JOBS),
    ],
    told: ['10 lost 1', '10 lost 2', '65 rerun 1'],
    left: [2],
  },
  'a run that somebody cancels is not ended, and not re-run': {
    acts: {
      0: [push(BUILD)],
      10: [({ server }) => server.gitea.cancelRun(1), evict('build')],
      70: [finish('build', 'failure')],
    },
    asked: [
      ...firstLook(10),
      ...at(25, 'GET version', ...AT_WORK),
      ...at(55, 'GET version', ...AT_WORK),
      ...at(115, JOBS),
    ],
    told: ['10 lost 1', '115 not-failed 1'],
  },
  'a run of which somebody cancels one job is not ended': {
    acts: { 0: [push(BUILD, TEST), ({ server }) => server.gitea.cancelJob(2), evict('build', 'test')] },
    untilS: 10,
    told: ['0 lost 1', '0 lost 2'],
    left: [1, 2],
  },
  'a Gitea that says that it has ended a run and shows it at work is asked later and later, and at last every 5 minutes':
    {
      acts: { 0: [answer(END, 200), push(BUILD), evict('build')] },
      untilS: 900,
      posts: [1, 6, 21, 51, 111, 231, 471, 771].map((second) => `${second} ${END}`),
      told: ['0 lost 1', '1 ended 1'],
      left: [1],
    },
  'a Gitea that is down is asked again, and the failure is told once': {
    scene: [{}, OLD],
    acts: { ...GIVEN_UP, 11: [isAway(true)], 81: [isAway(false)] },
    asked: [...[10, 20, 35, 65].flatMap((second) => at(second, 'GET version')), ...at(125, 'GET version', JOBS, RERUN)],
    told: ['10 lost 1', '20 GR-HTTP-01 1', '125 rerun 1'],
  },
  'a Gitea that asks for a pause is left alone, for the lost jobs of all runs': {
    scene: [{}, OLD],
    acts: {
      0: [push(BUILD), push(TEST)],
      10: [evict('build', 'test'), finish('build', 'failure'), finish('test', 'failure')],
      16: [answer(JOBS, 429, { 'retry-after': '60' })],
      21: [answerAgain],
    },
    asked: [
      ...[10, 11, 20].flatMap((second) => at(second, 'GET version')),
      ...at(20, JOBS),
      ...at(80, 'GET version', JOBS, RERUN),
      ...at(81, 'GET runs/2/jobs', 'POST runs/2/jobs/2/rerun'),
    ],
    told: ['10 lost 1', '10 lost 2', '20 GR-HTTP-10 1', '80 rerun 1', '81 rerun 2'],
  },
  'a job that somebody has re-run meanwhile is not re-run': {
    scene: [{}, OLD],
    acts: { ...GIVEN_UP, 12: [({ server }) => server.gitea.rerun(1)] },
    asked: [...at(10, 'GET version'), ...at(20, 'GET version', JOBS)],
    told: ['10 lost 1', '20 superseded 1'],
  },
  'a re-run that Gitea cannot do yet is asked for again': {
    scene: [{}, OLD],
    acts: { ...GIVEN_UP, 11: [answer(RERUN, 409)], 40: [answerAgain] },
    posts: [20, 35, 65].map((second) => `${second} ${RERUN}`),
    told: ['10 lost 1', '65 rerun 1'],
  },
  'a group that is gone as Gitea answers has nothing re-run; when it is valid again, its losses are still known': {
    scene: [{}, OLD],
    acts: {
      ...GIVEN_UP,
      11: [meanwhile(JOBS, undefined)],
      40: [({ book }) => expect(book.atLoss()).toEqual([]), answerAgain, set({ group: GROUP })],
    },
    asked: [...at(10, 'GET version'), ...at(20, 'GET version', JOBS), ...at(50, JOBS, RERUN)],
    told: ['10 lost 1', '50 rerun 1'],
  },
  'a re-run that Gitea has taken is told, although the group wants none any more': {
    scene: [{}, OLD],
    acts: { ...GIVEN_UP, 11: [meanwhile(RERUN, runnerGroup({ scope: SCOPE }))] },
    told: ['10 lost 1', '20 rerun 1'],
  },
  'a loss expires after a day, and others of the group do not': {
    scene: [{}, OLD],
    acts: {
      0: [
        push(BUILD, TEST),
        set({ lostJobs: [noted({ lostAt: '2026-11-24T00:00:20Z' }), noted({ jobId: 2, runner: runnerOf('test') })] }),
      ],
    },
    untilS: 30,
    told: ['25 expired 1'],
    left: [2],
  },
  'a group without maxEvictionRetries follows no losses': {
    scene: [{ maxEvictionRetries: 0 }],
    acts: {
      0: [set({ lostJobs: [noted()] }), push(BUILD), evict('build')],
      29: [({ wanted }) => expect(wanted).toBe(0)],
    },
    asked: [],
    told: [],
  },
  'a lost job is re-run as often as maxEvictionRetries says': {
    scene: [{ maxEvictionRetries: 1 }],
    acts: { ...EVICTED, 40: [(scene) => scene.take('second'), evict('second')], 45: [finish('second', 'failure')] },
    told: ['10 lost 1', '11 ended 1', '16 rerun 1', '40 lost 2', '55 exhausted 2'],
  },
  'losses that a leader has found in the status take room': {
    acts: {
      0: [
        set({ lostJobs: FOUND.map((jobId) => noted({ jobId, runId: 1_000 })) }),
        push(BUILD, TEST),
        evict('build', 'test'),
      ],
    },
    untilS: 0,
    told: ['0 lost 1', '0 no room 2'],
    left: [...FOUND, 1],
  },
  'a loss of the far future or of no time expires, too': {
    acts: {
      0: [set({ lostJobs: [noted({ lostAt: '2999-01-01T00:00:00Z' }), noted({ jobId: 2, lostAt: 'soon' })] })],
    },
    untilS: 0,
    told: ['0 expired 1', '0 expired 2'],
  },
  "a status that names another group's runner is not believed": {
    acts: { 0: [takenByOthers, set({ lostJobs: [noted({ ...ASKED_TO_END, runner: OTHERS })] })] },
    asked: [],
    told: [],
  },
  'a status that names a repository that the group does not serve is not believed': {
    acts: { 0: [push(BUILD), set({ lostJobs: [noted({ ...ASKED_TO_END, repository: 'other/web' })] })] },
    asked: [],
    told: [],
  },
  'a group that Argo CD does not list has nothing ended and re-run': {
    acts: { ...EVICTED, 5: [set({ isListed: false })], 30: [set({ isListed: true })] },
    asked: [...firstLook(35), ...end(36), ...at(41, JOBS, RERUN)],
    told: ['10 lost 1', '36 ended 1', '41 rerun 1'],
  },
  'a runner of which Gitea hears again is told of, and its CI job is no longer lost': {
    acts: { 0: [push(BUILD), set({ lostJobs: [noted({ reason: 'NodeLost' })] })] },
    told: ['0 returned 1'],
  },
};

it.each(Object.entries(STORIES))('%s', async (_, story) => {
  await play(story);
});

it.each([undefined, 'rubbish'])('a leader that follows on a status of %j begins without losses', async (lostJobs) => {
  const isEmpty: Act = ({ book }) => expect(book.of(KEY)).toEqual([]);
  const acts = { 0: [set({ lostJobs }), (scene: Scene) => scene.reconcile(), isEmpty, push(BUILD), evict('build')] };
  await play({ acts, untilS: 0, told: ['0 lost 1'], left: [1] });
});

it.each([
  ['its token cannot be read', new Failure('GR-TOKEN-01', 3, 'no token.', 'token-unseen')],
  ['nobody has resolved it yet', undefined],
])('nothing is asked for a group while %s', async (_, target) => {
  await play({
    acts: {
      0: [set({ target }), push(BUILD), evict('build')],
      30: [({ asked, told, wanted }) => expect([asked, told, wanted]).toEqual([[], [], 0]), set({ target: TARGET })],
    },
    told: ['35 lost 1', '36 ended 1', '41 rerun 1'],
  });
  const lostJobs = [noted({ runnerEnded: true })];
  await play({ acts: { 0: [set({ target, lostJobs }), push(BUILD)] }, untilS: 30, asked: [], told: [], left: [1] });
});
