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
import { shareOutBytes } from '../../clients/gitea/bounds.ts';
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
import { type GiteasOptions, LONGEST_TURN_MS, openGiteas, originOf } from './giteas.ts';
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

interface Post {
  target: GiteaTarget;
  pace: PollPace;
  observation: Observation | undefined;
}

export type Poller = ReturnType<typeof startPoller>;

export function startPoller(options: PollerOptions) {
  const { boundRunners, clock, env, looks: lookServer, needsRows, onLook, pollMs, random, timeoutMs } = options;
  const giteas = openGiteas(options);
  const posts = new Map<string, Post>();
  let bytesOf = shareOutBytes([]);
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

  /** Returns the other targets of the same Gitea. */
  const othersOf = (post: Post): readonly (readonly [key: string, other: Post])[] => {
    const origin = originOf(post.target);
    return [...posts].filter(([, other]) => other !== post && originOf(other.target) === origin);
  };

  /** A Gitea that failed is well again: its other scopes that failed need not wait. */
  const recovered = (post: Post): void => {
    for (const [key, other] of othersOf(post)) if (isDown(other)) looks.lift(key);
  };

  const look = async (key: string, { absorb, signal }: Turn): Promise<Retry | undefined> => {
    const post = posts.get(key);
    if (!post) return undefined;
    let beganMs = 0;
    let beganSteadyMs = 0;
    const lookNow = async (): Promise<Look | Failure | undefined> => {
      absorb();
      beganMs = clock.now();
      beganSteadyMs = clock.steadyMs();
      return await observe(post, beganSteadyMs);
    };
    const result = await giteas.visit(post.target, key, lookNow, signal);
    if (result === undefined || signal.aborted || posts.get(key) !== post) return undefined;
    const endedMs = clock.now();
    const times = { beganMs, beganSteadyMs, endedMs };
    const isFailed = result instanceof Failure;
    const before = post.observation?.look;
    if (isFailed) {
      if (!isRateLimit(result)) giteas.versions.clear();
      post.observation = { ...times, ...(before && { look: before }), failure: result };
      post.pace = afterFailure(post.pace, isRefusal(result));
    } else {
      if (isDown(post)) recovered(post);
      post.observation = { ...times, look: keepEqual(before, result) };
      post.pace = afterLook(post.pace, result.jobs.filter(isActive), endedMs, pollMs);
    }
    onLook(post.target, post.observation);
    const isBlip =
      isFailed &&
      (isOfConnection(result) || result.kind === 'server-error') &&
      othersOf(post).some(([, other]) => isUp(other));
    const againMs = nextLookMs(post.pace, random(), pollMs, isBlip);
    // Targets that wait for one Gitea are spread: they must not start all at once.
    const inMs = Math.max(againMs, giteas.pauseMs(post.target) * (1 + random() / 10));
    return { inMs, ...(isFailed && { firm: true }) };
  };

  const observe = async ({ pace, target }: Post, beganMs: number): Promise<Look | Failure | undefined> => {
    const { http: sender, versions } = giteas;
    const record = lookServer?.record(sender) ?? { sender, end: () => undefined };
    let version: string | undefined;
    const looking = observeEach([target], {
      deadlineMs: timeoutMs,
      includeBlocked: false,
      bytes: bytesOf(target),
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
      bytesOf = shareOutBytes(targets);
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
      const origin = originOf(target);
      const judgedPosts = ownPost ? [ownPost] : [...posts.values()].filter((post) => originOf(post.target) === origin);
      return judgedPosts.length === 0 || judgedPosts.some(isUp);
    },
  };
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
