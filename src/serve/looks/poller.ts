/**
 * Looks at Gitea again and again: one key of the queue per target.
 *
 *     webhook, ended runner ─► nudge ─┐
 *     poll interval ──────────────────┴─► its turn (giteas.ts) ─► look ─► kept, told to `onLook`
 *
 * The poll is the truth; webhooks only make it sooner. How long it may wait: poll-interval.ts. After a look that failed, two things make
 * it sooner: a person who asks, and a good look at another scope of that Gitea, which had failed before, too. While Gitea asks to wait,
 * nothing does.
 */
import { giteaBase } from '../../clients/gitea/api.ts';
import { LookMemory } from '../../clients/gitea/bounds.ts';
import { describeScope } from '../../clients/gitea/endpoints.ts';
import { isRefusal } from '../../clients/gitea/failures.ts';
import { type GiteaTarget, type ObserveOptions, observeEach } from '../../clients/gitea/observe-gitea.ts';
import type { Job, Look } from '../../planner/evidence.ts';
import { defined } from '../../shared/defined.ts';
import { Failure, isOfConnection, isRateLimit } from '../../shared/failure.ts';
import { keepOnly } from '../../shared/keys.ts';
import type { Retry, Turn } from '../queue/work-queue.ts';
import type { Observation } from '../seen/live.ts';
import { keepEqual } from '../seen/unchanged.ts';
import type { WebhookEvent } from '../webhook/gate.ts';
import { type Giteas, type GiteasOptions, LONGEST_TURN_MS, openGiteas, originOf } from './giteas.ts';
import type { LookServer } from './look-server.ts';
import { afterAnnouncement, afterFailure, afterLook, newPace, nextLookMs, type PollPace } from './poll-interval.ts';

export interface PollerOptions extends GiteasOptions, Pick<ObserveOptions, 'needsRows' | 'boundRunners'> {
  readonly random: () => number;
  readonly onLook: (target: GiteaTarget, observation: Observation) => void;
  /** Gives looks to `generate`. Absent: nobody is given any. */
  readonly looks?: LookServer;
}

/** Least time between the beginnings of two looks at a target, ms. A burst of events causes one look, at most two. */
const SHORTEST_GAP_MS = 100;

/** A watched target, and what its looks have shown. */
interface Post {
  target: GiteaTarget;
  pace: PollPace;
  observation: Observation | undefined;
}

/** Looks at each watched target when its poll interval ends, and sooner after `nudge` and `demand`. */
export function startPoller(options: PollerOptions) {
  const { clock, looks: lookServer, onLook, pollMs, random, timeoutMs } = options;
  const giteas = openGiteas(options);
  const posts = new Map<string, Post>();
  const memory = new LookMemory(new Map());
  const looks = options.queue.open('look', {
    nameOf: (key) => {
      const { scope, url } = posts.get(key)?.target ?? {};
      return url && scope ? `${url} ${describeScope(scope)}` : key;
    },
    // The request budget and the connections of each Gitea limit how many looks run at the same time.
    width: Number.POSITIVE_INFINITY,
    gapMs: SHORTEST_GAP_MS,
    deadlineMs: LONGEST_TURN_MS + timeoutMs,
    run: (key, turn) => look(key, turn),
  });

  /** Looks soon at the targets that fit. @param event what a webhook told: that change then counts as seen by webhook. */
  const nudge = (fits: (target: GiteaTarget, renamedTo?: string) => boolean, event?: WebhookEvent): void => {
    for (const [key, post] of posts) {
      if (!fits(post.target, post.observation?.look?.renamedTo)) continue;
      if (event) post.pace = afterAnnouncement(post.pace, { id: event.jobId, status: event.status }, clock.now());
      lookServer?.heard(key);
      looks.add(key);
    }
  };

  const postsOf = (target: GiteaTarget): readonly (readonly [key: string, post: Post])[] => {
    const origin = originOf(target);
    return [...posts].filter(([, post]) => originOf(post.target) === origin);
  };

  const look = async (key: string, { absorb, signal }: Turn): Promise<Retry | undefined> => {
    const post = posts.get(key);
    if (!post) return undefined;
    let began = { beganMs: 0, beganSteadyMs: 0 };
    const lookNow = async (): Promise<Look | Failure | undefined> => {
      absorb();
      began = { beganMs: clock.now(), beganSteadyMs: clock.steadyMs() };
      return await observe(post, { ...options, giteas, memory }, began.beganSteadyMs);
    };
    const result = await giteas.visit(post.target, key, lookNow, signal);
    if (result === undefined || signal.aborted || posts.get(key) !== post) return undefined;
    const others = postsOf(post.target).filter(([, other]) => other !== post);
    // A Gitea that failed is well again: its other scopes that failed need not wait.
    const isBack = !(result instanceof Failure) && isDown(post);
    if (isBack) for (const [otherKey, other] of others) if (isDown(other)) looks.lift(otherKey);
    if (result instanceof Failure && !isRateLimit(result)) giteas.versions.clear();
    const { observation, pace } = follow(post, result, { ...began, endedMs: clock.now() }, pollMs);
    Object.assign(post, { observation, pace });
    onLook(post.target, observation);
    const isElsewhereUp = others.some(([, other]) => isUp(other));
    const againMs = nextLookMs(pace, random(), pollMs, isElsewhereUp && isPassing(observation));
    // Targets that wait for one Gitea are spread: they must not start all at once.
    const inMs = Math.max(againMs, giteas.pauseMs(post.target) * (1 + random() / 10));
    return { inMs, ...(observation.failure && { firm: true }) };
  };

  return {
    giteas,
    nudge,

    /** Replaces the watched targets, with the namespaces whose groups need each. New targets are looked at at once. */
    watch: (namespacesOf: ReadonlyMap<GiteaTarget, ReadonlySet<string>>): void => {
      const targets = [...namespacesOf.keys()];
      const keys = new Set(targets.map(({ key }) => key));
      keepOnly(posts, keys);
      looks.keepOnly(keys);
      giteas.share(namespacesOf);
      memory.share(namespacesOf);
      lookServer?.watch(targets, (key) => looks.add(key));
      for (const target of targets) {
        const post = posts.get(target.key);
        const labels = post?.target.labels;
        if (post) post.target = target;
        else posts.set(target.key, { target, pace: newPace(pollMs), observation: undefined });
        // The look was filtered by the former labels and lacks rows of the current ones.
        if (!post || labels !== target.labels) looks.add(target.key);
      }
    },

    /** The last look at each target, by its key. Targets that were not looked at yet are left out. */
    observations: (): ReadonlyMap<string, Observation> =>
      new Map([...posts].flatMap(([key, { observation }]) => (observation ? [[key, observation]] : []))),

    /** Looks at these at once, also after a failure: a person asks. Gitea's own wish to be left alone counts more. */
    demand: (targets: ReadonlySet<GiteaTarget | Failure | undefined>): void => {
      for (const [key, { target }] of posts) if (targets.has(target)) looks.lift(key);
      nudge((target) => targets.has(target));
    },

    /** False while looks at this target fail. A target that is not watched is judged by the others of its Gitea. */
    isWell: (target: GiteaTarget): boolean => {
      const ownPost = posts.get(target.key);
      const judged = ownPost ? [ownPost] : postsOf(target).map(([, post]) => post);
      return judged.length === 0 || judged.some(isUp);
    },
  };
}

interface OneLook extends Pick<PollerOptions, 'boundRunners' | 'clock' | 'env' | 'looks' | 'needsRows' | 'timeoutMs'> {
  readonly giteas: Giteas;
  readonly memory: LookMemory;
}

/** Looks at one target. The look server records the answers. @param beganMs by the steady clock */
async function observe({ pace, target }: Post, options: OneLook, beganMs: number): Promise<Look | Failure | undefined> {
  const { boundRunners, clock, env, giteas, memory, needsRows, timeoutMs } = options;
  const { http: sender, versions } = giteas;
  const record = options.looks?.record(sender) ?? { sender, end: () => undefined };
  let version: string | undefined;
  const looking = observeEach([target], {
    deadlineMs: timeoutMs,
    includeBlocked: false,
    memory,
    // A look that follows a failed one asks once: it is the next try itself.
    careful: pace.trouble ? 'once' : true,
    env,
    http: record.sender,
    clock,
    versions,
    ...defined({ needsRows, boundRunners }),
  });
  try {
    const look = (await looking).get(target.key);
    if (!(look instanceof Failure)) version = (await versions.get(giteaBase(target.url)))?.text;
    return look;
  } finally {
    record.end(target.key, beganMs, version);
  }
}

type Times = Pick<Observation, 'beganMs' | 'beganSteadyMs' | 'endedMs'>;

/** What is known of a target after a look. A failed one keeps what the look before it has shown. */
function follow(
  { observation, pace }: Post,
  result: Look | Failure,
  times: Times,
  pollMs: number,
): { readonly observation: Observation; readonly pace: PollPace } {
  const before = observation?.look;
  if (result instanceof Failure)
    return {
      observation: { ...times, ...(before && { look: before }), failure: result },
      pace: afterFailure(pace, isRefusal(result)),
    };
  return {
    observation: { ...times, look: keepEqual(before, result) },
    pace: afterLook(pace, result.jobs.filter(isActive), times.endedMs, pollMs),
  };
}

/** True for a failure that may end by itself within seconds. */
function isPassing({ failure }: Observation): boolean {
  return failure !== undefined && (isOfConnection(failure) || failure.kind === 'server-error');
}

function isUp({ observation, pace }: Post): boolean {
  return observation !== undefined && !pace.trouble;
}

/** True if the looks at the target fail for a reason other than a refused token. */
function isDown({ pace }: Post): boolean {
  return pace.trouble?.refused === false;
}

function isActive({ status }: Job): boolean {
  return status === 'queued' || status === 'in_progress';
}
