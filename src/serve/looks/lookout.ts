/**
 * Looks at Gitea again and again: one loop per target, one look at a time.
 *
 *     webhook, ended runner ─► nudge ─┐
 *     poll timer ─────────────────────┴─► its turn (turns.ts) ─► look ─► kept, told to `onLook`
 *
 * The poll is the truth; webhooks only make it sooner. How long it may wait: poll-interval.ts.
 */
import { Failure } from '../../failure.ts';
import type { VersionCache } from '../../gitea/api.ts';
import { isRefusal } from '../../gitea/failures.ts';
import { type GiteaTarget, giteaClient, observeEach } from '../../gitea/observe.ts';
import type { HttpClient } from '../../http/client.ts';
import type { ServerClocks } from '../../http/clock.ts';
import type { Env } from '../../http/proxy.ts';
import type { RequestLine } from '../../http/request.ts';
import type { Look } from '../../plan/evidence.ts';
import { keepEqual } from '../unchanged.ts';
import type { WebhookEvent } from '../webhook/gate.ts';
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
import { Turns } from './turns.ts';

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

export interface LookoutOptions {
  /** For one look, ms. */
  readonly timeoutMs: number;
  readonly ca?: string;
  readonly env: Env;
  /** Shortest time between two polls, ms. */
  readonly pollMs: number;
  readonly now: () => number;
  /** 0 to 1. */
  readonly random: () => number;
  readonly onRequest: (line: RequestLine) => void;
  /** Told the time of each Gitea that answers. */
  readonly clocks: ServerClocks;
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
  timer: NodeJS.Timeout | undefined;
  looking: boolean;
  /** Somebody asked for a look while one was under way. */
  nudged: boolean;
  /** Requests of the look under way. */
  requests: number;
}

export class Lookout {
  readonly #options: LookoutOptions;
  readonly #http: HttpClient;
  readonly #posts = new Map<string, Post>();
  /** By origin. */
  readonly #turns = new Map<string, Turns>();
  /** One per target: a Gitea that is upgraded is asked its version again after the next failure. */
  readonly #versions: VersionCache = new Map();
  readonly #limits: PollLimits;
  #closed = false;

  constructor(options: LookoutOptions) {
    this.#options = options;
    this.#limits = pollLimits(options.pollMs);
    const { timeoutMs: deadlineMs, env, ca, clocks } = options;
    const onRequest = (line: RequestLine): void => {
      const post = this.#posts.get(line.queue);
      if (post) post.requests += 1;
      options.onRequest(line);
    };
    this.#http = giteaClient({ deadlineMs, env, clocks, onRequest, ...(ca !== undefined && { ca }) });
  }

  /** What is looked at from now on, for the groups of which namespaces. New targets are looked at at once. */
  watch(namespacesOf: ReadonlyMap<GiteaTarget, ReadonlySet<string>>): void {
    if (this.#closed) return;
    const targets = [...namespacesOf.keys()];
    const keys = new Set(targets.map(({ key }) => key));
    for (const [key, post] of this.#posts) {
      if (keys.has(key)) continue;
      clearTimeout(post.timer);
      this.#posts.delete(key);
    }
    this.#shareTurns(namespacesOf);
    for (const target of targets) {
      const known = this.#posts.get(target.key);
      if (known) {
        known.target = target;
        continue;
      }
      const pace = newPace(this.#limits);
      const post: Post = {
        target,
        pace,
        sight: undefined,
        timer: undefined,
        looking: false,
        nudged: false,
        requests: 0,
      };
      this.#posts.set(target.key, post);
      void this.#look(post);
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
      if (event) post.pace = announced(post.pace, seen(event.jobId, event.status), this.#options.now());
      if (post.looking) post.nudged = true;
      else this.#schedule(post, 0);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { timer } of this.#posts.values()) clearTimeout(timer);
    this.#posts.clear();
    for (const turns of this.#turns.values()) turns.close();
    await this.#http.close();
  }

  #schedule(post: Post, waitMs: number): void {
    if (this.#closed || this.#posts.get(post.target.key) !== post) return;
    clearTimeout(post.timer);
    const sinceMs = this.#options.now() - (post.sight?.beganMs ?? 0);
    post.timer = setTimeout(() => void this.#look(post), Math.max(waitMs, SHORTEST_GAP_MS - sinceMs, 0));
  }

  async #look(post: Post): Promise<void> {
    if (post.looking || this.#closed) return;
    const { now } = this.#options;
    const { target } = post;
    const turns = this.#turns.get(originOf(target));
    post.looking = true;
    await turns?.take(target.key);
    if (this.#closed || this.#posts.get(target.key) !== post) return;
    post.nudged = false;
    post.requests = 0;
    const beganMs = now();
    const found = await this.#observe(target);
    post.looking = false;
    turns?.spend(target.key, Math.max(0, post.requests - 1));
    if (this.#closed) return;
    const endedMs = now();
    if (found instanceof Failure) this.#versions.clear();
    post.sight =
      found instanceof Failure || found === undefined
        ? { beganMs, endedMs, ...(post.sight?.look && { look: post.sight.look }), ...(found && { failure: found }) }
        : { beganMs, endedMs, look: keepEqual(post.sight?.look, found) };
    if (found instanceof Failure) post.pace = failed(post.pace, isRefusal(found) ? 'refused' : undefined);
    else if (found !== undefined) post.pace = looked(post.pace, activeJobs(found), endedMs, this.#limits);
    this.#options.onLook(target, post.sight);
    this.#schedule(post, post.nudged ? 0 : nextLookMs(post.pace, this.#options.random(), this.#limits));
  }

  /** All targets of one Gitea share its turns. */
  #shareTurns(namespacesOf: ReadonlyMap<GiteaTarget, ReadonlySet<string>>): void {
    const sharers = new Map<string, Map<string, ReadonlySet<string>>>();
    for (const [target, namespaces] of namespacesOf) {
      const origin = originOf(target);
      sharers.set(origin, (sharers.get(origin) ?? new Map()).set(target.key, namespaces));
    }
    for (const [origin, turns] of this.#turns) {
      if (sharers.has(origin)) continue;
      turns.close();
      this.#turns.delete(origin);
    }
    for (const [origin, sharing] of sharers) {
      const turns = this.#turns.get(origin) ?? this.#newTurns(origin);
      this.#turns.set(origin, turns);
      turns.share(sharing);
    }
  }

  #newTurns(origin: string): Turns {
    const { now, onLate, pollMs } = this.#options;
    let toldMs = Number.NEGATIVE_INFINITY;
    return new Turns({
      now,
      onWaited: (ms) => {
        if (ms <= pollMs || now() - toldMs < LATE_AGAIN_MS) return;
        toldMs = now();
        onLate?.(origin, [...this.#posts.values()].filter(({ target }) => originOf(target) === origin).length);
      },
    });
  }

  async #observe(target: GiteaTarget): Promise<Look | Failure | undefined> {
    const { timeoutMs: deadlineMs, env, now } = this.#options;
    const shared = { versions: this.#versions, http: this.#http };
    try {
      const looks = await observeEach([target], {
        deadlineMs,
        includeBlocked: false,
        env,
        now,
        ...shared,
      });
      return looks.get(target.key);
    } catch (error) {
      // `close` has dropped the connections under it.
      if (this.#closed) return undefined;
      throw error;
    }
  }
}

function originOf({ url }: GiteaTarget): string {
  return new URL(url).origin;
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
