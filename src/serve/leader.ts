/**
 * The leading process, while it leads. It connects the parts and acts; `reconcile.ts` decides:
 *
 *     cluster changes ──┐                       ┌─► waking/: Argo CD, one key of the queue per Application
 *     looks at Gitea ───┼─► input ─► reconcile ─┤
 *     every 5 s ────────┘                       └─► told (events.ts): status, notifications, re-runs and other tasks hear it
 *
 * All that is done again and again is a key of its queue. Only Argo CD makes and prunes Jobs.
 */
import type { SecretReader, TokenSources } from '../clients/tokens/api-token.ts';
import { compareText } from '../planner/collections.ts';
import { untilAborted } from '../shared/clock.ts';
import { Applications } from './applications.ts';
import { openInputs } from './leader-inputs.ts';
import type { GiteasOptions } from './looks/giteas.ts';
import type { PollerOptions } from './looks/poller.ts';
import { openTargetBook } from './looks/targets.ts';
import { type ServeEvent, type Tell, tellAll } from './planning/events.ts';
import { type AppVerdict, judgeApplication, noteStarts, skewsOf, TICK_MS } from './planning/reconcile.ts';
import { type QueueRow, type Retry, WorkQueue } from './queue/work-queue.ts';
import type { LiveRunner } from './seen/live.ts';
import type { StartTask, TaskContext } from './task.ts';
import type { WakeTarget } from './waking/wake.ts';
import { concerns, type WebhookEvent } from './webhook/gate.ts';

export interface LeaderOptions
  extends Omit<GiteasOptions, 'queue'>,
    Pick<PollerOptions, 'looks'>,
    Pick<TokenSources, 'secretsDir'>,
    Pick<TaskContext, 'client' | 'cluster' | 'secretsClient'> {
  readonly instance: string;
  /** Wakes under way at the same time. */
  readonly wakes: number;
  readonly policyFile?: string;
  readonly random: () => number;
  /** Opens the Secrets of the cluster for one reading of all tokens. Absent: tokens are files. */
  readonly openSecrets?: () => SecretReader;
  readonly argocd: WakeTarget;
  readonly controlPlaneNamespace: string;
  readonly tasks: readonly StartTask[];
}

/** The targets of all groups, with tokens as the flags say. */
export function targetBook({ openSecrets, ...options }: LeaderOptions) {
  const sources = () => ({ ...options, ...(openSecrets && { clusterSecrets: openSecrets() }) });
  return openTargetBook(sources, options.controlPlaneNamespace, options.policyFile);
}

/** Events of watches come in bursts. A reconcile waits so long for further ones. */
const RECONCILE_GAP_MS = 20;
/** Time limit of one reconcile, ms. A longer one is a mistake in this program, or a file system that hangs. */
const LONGEST_RECONCILE_MS = 300_000;
/** The only key of the class: the plan of one Application may depend on the Jobs of another, so all are planned in one run. */
const ALL = 'all Applications';

export type Leader = ReturnType<typeof startLeader>;

/** Starts the work of a leader. It ends with the signal of `run`. */
export function startLeader(options: LeaderOptions) {
  const { clock } = options;
  const queue = new WorkQueue(clock);
  let verdicts: ReadonlyMap<string, AppVerdict> | undefined;
  let isReady = false;
  let isClosed = false;
  /** Number of finished looks, and how many of them the last reconcile has used. */
  let news = 0;
  let plannedNews = 0;

  let tellEach = options.tell;
  const tell: Tell = (event) => {
    if (!isClosed) tellEach(event);
  };
  const reconciles = queue.open('reconcile', {
    width: 1,
    deadlineMs: LONGEST_RECONCILE_MS,
    run: () => reconcile(),
  });
  /** Something may have changed: a reconcile follows soon. */
  const changed = (): void => reconciles.add(ALL, RECONCILE_GAP_MS);
  const sharedOptions = { ...options, queue, tell };
  const apps = new Applications({
    ...sharedOptions,
    onNews: (application, outcome) => {
      // `generate` has looked since we did, and wants nothing of what the wake was for.
      if (outcome?.is === 'in-sync') inputs.lookAgain(application);
      changed();
    },
  });
  const inputs = openInputs({
    ...sharedOptions,
    apps,
    book: targetBook(options),
    onLooked: () => {
      news += 1;
      changed();
    },
  });
  const { giteas, isWell, nudge } = inputs.poller;
  const { losses, targetOf, unregistered } = inputs;
  const context = { ...sharedOptions, giteas, isWell, targetOf, losses, unregistered, changed };
  const tellTasks = tellAll(options.tasks.map((start) => start(context)));
  tellEach = tellAll([options.tell, tellTasks]);

  const isSettled = (): boolean => verdicts !== undefined && inputs.isComplete();

  const reconcile = async (): Promise<Retry> => {
    const newsAtStart = news;
    const groups = await inputs.groupsNow();
    if (!groups || isClosed) return TICK;
    // Groups that have changed meanwhile have no look yet: another reconcile follows.
    const input = inputs.inputOf(groups);
    const next = new Map<string, AppVerdict>();
    let beganMs = clock.steadyMs();
    for (const verdict of judgeInOrder(input, (application) => verdicts?.get(application))) {
      const { application, siblings } = verdict;
      next.set(application, verdict);
      if (verdict !== verdicts?.get(application)) {
        tell({ is: 'planned', verdict, ms: clock.steadyMs() - beganMs });
        apps.follow(application, verdict);
        for (const [key, difference] of siblings) apps.follow(key, { ...verdict, difference });
        // A plan blocks the process, and there may be many. So others have a turn after each.
        await clock.nextTurn();
        if (isClosed) return TICK;
      }
      beganMs = clock.steadyMs();
    }
    verdicts = next;
    tell({ is: 'reconciled', verdicts: [...next.values()], skews: skewsOf(input) });
    isReady ||= isSettled();
    plannedNews = newsAtStart;
    return TICK;
  };

  return {
    changed,

    /** True once every existing scope was looked at. It stays true: a group that comes later waits alone. */
    get ready(): boolean {
      return isReady;
    },

    /** True once everything was looked at, and each Application shows its plan or its last wake failed. */
    get done(): boolean {
      return isSettled() && plannedNews === news && !reconciles.isRunning(ALL) && apps.done;
    },

    get queue(): readonly QueueRow[] {
      return queue.rows();
    },

    get troubles(): readonly string[] {
      return [...inputs.failures().map(({ code, message }) => `${code} ${message}`), ...apps.troubles];
    },

    /** Events of the cluster's watches. The tasks of the leader receive them, too. */
    heard: (event: ServeEvent): void => {
      if (!isClosed) tellTasks(event);
    },

    announced: (event: WebhookEvent): void =>
      nudge(({ url, scope }, now) => concerns(event, { url, scope: { ...scope, now } }), event),

    run: async (signal: AbortSignal): Promise<void> => {
      changed();
      await untilAborted(signal, new Promise(() => undefined));
      isClosed = true;
      queue.close();
      await giteas.close();
    },
  };
}

const TICK: Retry = { inMs: TICK_MS };

type JudgeInput = Parameters<typeof judgeApplication>[0];

/** Judges all Applications, always in the same order: each leaves to earlier ones the CI jobs for which these start runners. */
function* judgeInOrder(input: JudgeInput, lastOf: (application: string) => AppVerdict | undefined) {
  const startedBefore = new Map<string, readonly LiveRunner[]>();
  const ordered = [...input.snapshot.byApp].toSorted(([a], [b]) => compareText(a, b));
  for (const [application, members] of ordered) {
    const verdict = judgeApplication({ ...input, startedBefore }, application, members, lastOf(application));
    noteStarts(startedBefore, verdict);
    yield verdict;
  }
}
