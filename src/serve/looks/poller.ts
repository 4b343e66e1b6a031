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
import { Failure, isOfConnection, isRateLimit } from '../../shared/failure.ts';
import { keepOnly } from '../../shared/keys.ts';
import type { Again, KeyQueue, Turn } from '../queue/work-queue.ts';
import type { Observation } from '../seen/live.ts';
import { keepEqual } from '../seen/unchanged.ts';
import type { WebhookEvent } from '../webhook/gate.ts';
import { Giteas, type GiteasOptions, LONGEST_TURN_MS, originOf } from './giteas.ts';
import type { LookServer } from './look-server.ts';
import { announced, failed, looked, newPace, nextLookMs, type PollPace } from './poll-interval.ts';

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

export class Poller {
  readonly #options: PollerOptions;
  readonly giteas: Giteas;
  readonly #posts = new Map<string, Post>();
  readonly #looks: KeyQueue;
  #bytesOf = shareOutBytes([]);

  constructor(options: PollerOptions) {
    this.#options = options;
    this.giteas = new Giteas(options);
    this.#looks = options.queue.open('look', {
      nameOf: (key) => {
        const { scope, url } = this.#posts.get(key)?.target ?? {};
        return url && scope ? `${url} ${describeScope(scope)}` : key;
      },
      // The request budget and the connections of each Gitea limit how many looks run at the same time.
      width: Number.POSITIVE_INFINITY,
      gapMs: SHORTEST_GAP_MS,
      deadlineMs: LONGEST_TURN_MS + options.timeoutMs,
      run: (key, turn) => this.#look(key, turn),
    });
  }

  /** Replaces the watched targets, with the namespaces whose groups need each. New targets are looked at at once. */
  watch(namespacesOf: ReadonlyMap<GiteaTarget, ReadonlySet<string>>): void {
    const targets = [...namespacesOf.keys()];
    const keys = new Set(targets.map(({ key }) => key));
    keepOnly(this.#posts, keys);
    this.#looks.keepOnly(keys);
    this.giteas.share(namespacesOf);
    this.#bytesOf = shareOutBytes(targets);
    this.#options.looks?.watch(targets, (key) => this.#looks.add(key));
    for (const target of targets) {
      const known = this.#posts.get(target.key);
      const labels = known?.target.labels;
      if (known) known.target = target;
      else this.#posts.set(target.key, { target, pace: newPace(this.#options.pollMs), observation: undefined });
      // The look was filtered by the former labels and lacks rows of the current ones.
      if (!known || labels !== target.labels) this.#looks.add(target.key);
    }
  }

  /** The last look at each target, by its key. Targets that were not looked at yet are left out. */
  get observations(): ReadonlyMap<string, Observation> {
    return new Map([...this.#posts].flatMap(([key, { observation }]) => (observation ? [[key, observation]] : [])));
  }

  /** Looks soon at the targets that fit. @param event what a webhook told: that change then counts as seen by webhook. */
  nudge(fits: (target: GiteaTarget, renamedTo?: string) => boolean, event?: WebhookEvent): void {
    for (const [key, post] of this.#posts) {
      if (!fits(post.target, post.observation?.look?.renamedTo)) continue;
      if (event) post.pace = announced(post.pace, { id: event.jobId, status: event.status }, this.#options.clock.now());
      this.#options.looks?.heard(key);
      this.#looks.add(key);
    }
  }

  /** Looks at these at once, also after a failure: a person asks. Gitea's own wish to be left alone counts more. */
  demand(targets: ReadonlySet<GiteaTarget | Failure | undefined>): void {
    for (const [key, { target }] of this.#posts) if (targets.has(target)) this.#looks.lift(key);
    this.nudge((target) => targets.has(target));
  }

  /** False while looks at this target fail. A target that is not watched is judged by the others of its Gitea. */
  readonly isWell = (target: GiteaTarget): boolean => {
    const own = this.#posts.get(target.key);
    const origin = originOf(target);
    const judged = own ? [own] : [...this.#posts.values()].filter((post) => originOf(post.target) === origin);
    return judged.length === 0 || judged.some(isUp);
  };

  async #look(key: string, { absorb, signal }: Turn): Promise<Again | undefined> {
    const post = this.#posts.get(key);
    if (!post) return undefined;
    const { clock, onLook, pollMs, random } = this.#options;
    let beganMs = 0;
    let beganSteadyMs = 0;
    const look = async (): Promise<Look | Failure | undefined> => {
      absorb();
      beganMs = clock.now();
      beganSteadyMs = clock.steadyMs();
      return await this.#observe(post, beganSteadyMs);
    };
    const found = await this.giteas.visit(post.target, key, look, signal);
    if (found === undefined || signal.aborted || this.#posts.get(key) !== post) return undefined;
    const endedMs = clock.now();
    const times = { beganMs, beganSteadyMs, endedMs };
    const isFailed = found instanceof Failure;
    const before = post.observation?.look;
    if (isFailed) {
      if (!isRateLimit(found)) this.giteas.versions.clear();
      post.observation = { ...times, ...(before && { look: before }), failure: found };
      post.pace = failed(post.pace, isRefusal(found));
    } else {
      if (isDown(post)) this.#recovered(post);
      post.observation = { ...times, look: keepEqual(before, found) };
      post.pace = looked(post.pace, found.jobs.filter(isActive), endedMs, pollMs);
    }
    onLook(post.target, post.observation);
    const isBlip =
      isFailed &&
      (isOfConnection(found) || found.kind === 'server-error') &&
      this.#othersOf(post).some(([, other]) => isUp(other));
    const inMs = Math.max(nextLookMs(post.pace, random(), pollMs, isBlip), this.#pausedMs(post));
    return { inMs, ...(isFailed && { firm: true }) };
  }

  /**
   * Returns how long its Gitea must not be asked, ms. Targets that wait for one Gitea are spread: they must not start
   * all at once.
   */
  #pausedMs({ target }: Post): number {
    return this.giteas.pauseMs(target) * (1 + this.#options.random() / 10);
  }

  /** A Gitea that failed is well again: its other scopes that failed need not wait. */
  #recovered(recovered: Post): void {
    for (const [key, other] of this.#othersOf(recovered)) if (isDown(other)) this.#looks.lift(key);
  }

  /** Returns the other targets of the same Gitea. */
  #othersOf(post: Post): readonly (readonly [key: string, other: Post])[] {
    const origin = originOf(post.target);
    return [...this.#posts].filter(([, other]) => other !== post && originOf(other.target) === origin);
  }

  async #observe({ pace, target }: Post, beganMs: number): Promise<Look | Failure | undefined> {
    const { timeoutMs: deadlineMs, env, looks, needsRows, boundRunners, clock } = this.#options;
    const { http: sender, versions } = this.giteas;
    const record = looks?.record(sender) ?? { sender, end: () => undefined };
    const { sender: http } = record;
    let version: string | undefined;
    const looking = observeEach([target], {
      deadlineMs,
      includeBlocked: false,
      bytes: this.#bytesOf(target),
      // A look that follows a failed one asks once: it is the next try itself.
      careful: pace.trouble ? 'once' : true,
      env,
      http,
      clock,
      versions,
      ...(needsRows && { needsRows }),
      ...(boundRunners && { boundRunners }),
    });
    try {
      const found = (await looking).get(target.key);
      if (!(found instanceof Failure)) version = (await versions.get(giteaBase(target.url)))?.text;
      return found;
    } finally {
      record.end(target.key, beganMs, version);
    }
  }
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
