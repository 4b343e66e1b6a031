/**
 * Looks at Gitea again and again: one loop per target, one look at a time.
 *
 *     webhook, ended runner ─► nudge ─┐
 *     poll timer ─────────────────────┴─► its turn (turns.ts) ─► look ─► kept, told to `onLook`
 *
 * The poll is the truth; webhooks only make it sooner. How long it may wait: poll-interval.ts. After a look that failed, and while
 * Gitea asks to wait, only one thing makes it sooner: a good look at another scope of that Gitea, which had failed before, too.
 */
import { Failure } from '../../failure.ts';
import { shareOutBytes } from '../../gitea/bounds.ts';
import { isRateLimit, isRefusal } from '../../gitea/failures.ts';
import { type GiteaTarget, observeEach } from '../../gitea/observe.ts';
import type { Look } from '../../plan/evidence.ts';
import { keepEqual } from '../unchanged.ts';
import type { WebhookEvent } from '../webhook/gate.ts';
import { Guest, type GuestOptions, originOf } from './guest.ts';
import {
  announced,
  failed,
  looked,
  newPace,
  nextLookMs,
  type PollLimits,
  type PollPace,
  pollLimits,
} from './poll-interval.ts';

/** The last look at a target. */
export interface Sight {
  /** When the look began, ms since 1970: what happened before is in it. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** The last good look, the same object while looks find the same; absent until there was one. */
  readonly look?: Look;
  /** Why the newest look failed; absent when it did not. */
  readonly failure?: Failure;
}

export interface LookoutOptions extends GuestOptions {
  /** Shortest time between two polls, ms. */
  readonly pollMs: number;
  /** 0 to 1. */
  readonly random: () => number;
  /** `ObserveOptions.needsRows`. */
  readonly needsRows?: () => Promise<boolean>;
  readonly onLook: (target: GiteaTarget, sight: Sight) => void;
  /** Told once a minute at most: looks at this Gitea wait longer than `pollMs`, because so many scopes share its request rate. */
  readonly onLate?: (origin: string, scopes: number) => void;
}

/** Between the beginnings of two looks of a target: a burst of events is one look, at most two. */
const SHORTEST_GAP_MS = 100;
/** Between two calls of `onLate` about one Gitea. */
const LATE_AGAIN_MS = 60_000;

interface Post {
  target: GiteaTarget;
  pace: PollPace;
  sight: Sight | undefined;
  takeBack: () => void;
  looking: boolean;
  /** Somebody asked for a look while one was under way. */
  nudged: boolean;
  /** No look before this time, by the steady clock. */
  restsUntilMs: number;
}

export class Lookout {
  readonly #options: LookoutOptions;
  /** For all that is asked besides looks. */
  readonly guest: Guest;
  readonly #posts = new Map<string, Post>();
  /** When `onLate` was called last, by origin. */
  readonly #toldLateMs = new Map<string, number>();
  readonly #limits: PollLimits;
  #bytesOf = shareOutBytes([]);
  #closed = false;

  constructor(options: LookoutOptions) {
    this.#options = options;
    this.#limits = pollLimits(options.pollMs);
    this.guest = new Guest({ ...options, onWaited: (origin, ms) => this.#waited(origin, ms) });
  }

  /** What is looked at from now on, for the groups of which namespaces. New targets are looked at at once. */
  watch(namespacesOf: ReadonlyMap<GiteaTarget, ReadonlySet<string>>): void {
    if (this.#closed) return;
    const targets = [...namespacesOf.keys()];
    const keys = new Set(targets.map(({ key }) => key));
    for (const [key, post] of this.#posts) {
      if (keys.has(key)) continue;
      post.takeBack();
      this.#posts.delete(key);
    }
    this.guest.share(namespacesOf);
    this.#bytesOf = shareOutBytes(targets);
    for (const target of targets) {
      const known = this.#posts.get(target.key);
      if (known) {
        // What was read for the labels of before lacks those of now.
        const asksMore = known.target.labels !== target.labels;
        known.target = target;
        if (known.looking) known.nudged ||= asksMore;
        else if (asksMore) this.#schedule(known, 0);
        continue;
      }
      const pace = newPace(this.#limits);
      const post: Post = {
        target,
        pace,
        sight: undefined,
        takeBack: () => undefined,
        looking: false,
        nudged: false,
        restsUntilMs: 0,
      };
      this.#posts.set(target.key, post);
      this.#schedule(post, 0);
    }
  }

  /** The last look at each target, by its key. Targets that were not looked at yet are left out. */
  get sights(): ReadonlyMap<string, Sight> {
    return new Map([...this.#posts].flatMap(([key, { sight }]) => (sight ? [[key, sight]] : [])));
  }

  /** Looks soon at the targets that fit. @param event what a webhook told: that change then counts as seen by webhook. */
  nudge(fits: (target: GiteaTarget) => boolean, event?: WebhookEvent): void {
    for (const post of this.#posts.values()) {
      if (!fits(post.target)) continue;
      if (event) post.pace = announced(post.pace, seen(event.jobId, event.status), this.#options.clock.now());
      if (post.looking) post.nudged = true;
      else this.#schedule(post, 0);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { takeBack } of this.#posts.values()) takeBack();
    this.#posts.clear();
    await this.guest.close();
  }

  /** False while looks at this target fail. One that is not watched is judged by the others of its Gitea. */
  isWell(target: GiteaTarget): boolean {
    const own = this.#posts.get(target.key);
    const others = [...this.#posts.values()].filter((post) => originOf(post.target) === originOf(target));
    const judged = own ? [own] : others;
    return judged.length === 0 || judged.some(({ pace, sight }) => sight !== undefined && !pace.trouble);
  }

  #schedule(post: Post, waitMs: number): void {
    if (this.#closed || this.#posts.get(post.target.key) !== post) return;
    post.takeBack();
    // Below 0: the clock was set back.
    const sinceMs = Math.max(0, this.#options.clock.now() - (post.sight?.beganMs ?? 0));
    const rests = Math.max(post.restsUntilMs - this.#options.clock.steadyMs(), this.guest.pauseMs(post.target));
    const ms = Math.max(waitMs, SHORTEST_GAP_MS - sinceMs, rests, 0);
    post.takeBack = this.#options.clock.after(ms, () => void this.#look(post));
  }

  async #look(post: Post): Promise<void> {
    if (post.looking || this.#closed) return;
    const { clock } = this.#options;
    const { target } = post;
    post.looking = true;
    let beganMs = 0;
    const found = await this.#visit(target, async () => {
      if (this.#posts.get(target.key) !== post) return undefined;
      post.nudged = false;
      beganMs = clock.now();
      return await this.#observe(post);
    });
    post.looking = false;
    if (found === undefined || this.#closed) return;
    const endedMs = clock.now();
    if (found instanceof Failure) {
      if (!isRateLimit(found)) this.guest.versions.clear();
      post.sight = { beganMs, endedMs, ...(post.sight?.look && { look: post.sight.look }), failure: found };
      post.pace = failed(post.pace, isRefusal(found) ? 'refused' : undefined);
    } else {
      if (post.pace.trouble?.refused === false) this.#recovered(post);
      post.sight = { beganMs, endedMs, look: keepEqual(post.sight?.look, found) };
      post.pace = looked(post.pace, activeJobs(found), endedMs, this.#limits);
    }
    const waitMs = this.#waitMs(post);
    post.restsUntilMs = found instanceof Failure ? this.#options.clock.steadyMs() + waitMs : 0;
    this.#options.onLook(target, post.sight);
    this.#schedule(post, post.nudged ? 0 : waitMs);
  }

  /** Until the next look. Those who waited for one Gitea must not all come at once. */
  #waitMs({ pace, target }: Post): number {
    const random = this.#options.random();
    return Math.max(nextLookMs(pace, random, this.#limits), this.guest.pauseMs(target) * (1 + random / 10));
  }

  /** A Gitea that failed is well again: its other scopes that failed need not wait. */
  #recovered({ target }: Post): void {
    for (const other of this.#posts.values()) {
      if (other.target === target || originOf(other.target) !== originOf(target)) continue;
      if (other.pace.trouble?.refused !== false) continue;
      other.restsUntilMs = 0;
      if (!other.looking) this.#schedule(other, 0);
    }
  }

  #waited(origin: string, ms: number): void {
    const { clock, onLate, onWaited, pollMs } = this.#options;
    if (ms > 0) onWaited(origin, ms);
    const sinceMs = clock.now() - (this.#toldLateMs.get(origin) ?? Number.NEGATIVE_INFINITY);
    if (ms <= pollMs || sinceMs < LATE_AGAIN_MS) return;
    this.#toldLateMs.set(origin, clock.now());
    onLate?.(origin, [...this.#posts.values()].filter(({ target }) => originOf(target) === origin).length);
  }

  async #visit(
    target: GiteaTarget,
    work: () => Promise<Look | Failure | undefined>,
  ): Promise<Look | Failure | undefined> {
    try {
      return await this.guest.visit(target, target.key, work);
    } catch (error) {
      // `close` has dropped the connections under it.
      if (this.#closed) return undefined;
      throw error;
    }
  }

  async #observe({ pace, target }: Post): Promise<Look | Failure | undefined> {
    const bytes = this.#bytesOf(target);
    const { timeoutMs: deadlineMs, env, needsRows, clock } = this.#options;
    const { http, versions } = this.guest;
    // A look that follows a failed one asks once: it is the next try itself.
    const careful = pace.trouble ? 'once' : true;
    const options = {
      deadlineMs,
      includeBlocked: false,
      bytes,
      careful,
      env,
      http,
      clock,
      versions,
      ...(needsRows && { needsRows }),
    } as const;
    return (await observeEach([target], options)).get(target.key);
  }
}

/** Up to Gitea 1.26 a job's attempt grows at the claim, and webhooks do not know our correction; so it is left out. */
function seen(id: number, status: string): { readonly id: number; readonly attempt: number; readonly status: string } {
  return { id, attempt: 0, status };
}

function activeJobs({ jobs }: Look): ReturnType<typeof seen>[] {
  return jobs
    .filter(({ status }) => status === 'queued' || status === 'in_progress')
    .map(({ id, status }) => seen(id, status));
}
