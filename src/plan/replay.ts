/**
 * Which runners may be starting where nobody sees Kubernetes? Gitea shows when its jobs began and ended, so the past is played again.
 * Each event does to the runners that have been asked for what the plans of that time did:
 *
 *     a job becomes ready ... its first owner with room is asked for a runner; when none has room, it waits in line
 *     a job ends ............ its slot goes to the first in line
 *     a job begins .......... the runner that took it was asked for by some job, which its name tells; that job
 *                             waits now for the runner of the one that began
 *     a job is cancelled .... its runner goes to the first in line
 *     a spawn timeout ....... a runner that has not come is asked for again, under the next name
 *
 * Nothing that was asked for is given up otherwise. So one event more changes little, and runners that start are kept (docs/adr/0019).
 */
import type { Group } from './evidence.ts';
import { type Owners, takeTurns } from './owners.ts';
import {
  askOrWait,
  exchange,
  fill,
  keepCap,
  type Line,
  leave,
  openPlace,
  type Part,
  type Place,
  type Start,
  timeOut,
  work,
} from './past.ts';
import { OFFLINE_AFTER_MS, type Rosters } from './roster.ts';
import type { SeenJob, World } from './world.ts';

/** The runner that a ready job has been given in the past, and that nobody has seen yet. */
export interface Asked {
  readonly group: Group;
  /** The job in its name. */
  readonly madeFor: SeenJob;
  /** Runners in that name that have not come. */
  readonly missed: number;
}

/** What the past follows from, besides what was seen. */
export interface Circumstances {
  readonly owners: (seen: SeenJob) => Owners;
  readonly readySinceMs: (seen: SeenJob) => number;
  readonly nowMs: number;
}

/** What happens in the same second, in this order. */
const ORDER = { end: 0, cancel: 1, ready: 2, begin: 3 } as const;

interface Event {
  readonly atMs: number;
  readonly what: keyof typeof ORDER;
  readonly part: Part;
}

/** The lines for one set of groups: one for each repository where they take turns, else one. Undefined where Kubernetes shows more. */
interface Lines {
  readonly takeTurns: boolean;
  readonly byKey: Map<string, Line | undefined>;
}

/** What each ready job was given, if Kubernetes shows no Job of any group that may serve it. */
export function replay(world: World, rosters: Rosters, circumstances: Circumstances): ReadonlyMap<SeenJob, Asked> {
  const places = new Map<Group, Place>();
  for (const [group, { sighted }] of rosters.byGroup) {
    if (!sighted) places.set(group, openPlace(group));
  }
  return places.size === 0 ? new Map() : new Replay(world, rosters, circumstances, places).play();
}

class Replay {
  readonly #world: World;
  readonly #rosters: Rosters;
  readonly #circumstances: Circumstances;
  readonly #places: ReadonlyMap<Group, Place>;
  readonly #lines = new Map<Owners, Lines>();
  readonly #parts = new Map<SeenJob, Part>();
  readonly #shortestTimeoutMs: number;
  /** No spawn timeout passes before. */
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(world: World, rosters: Rosters, circumstances: Circumstances, places: ReadonlyMap<Group, Place>) {
    this.#world = world;
    this.#rosters = rosters;
    this.#circumstances = circumstances;
    this.#places = places;
    this.#shortestTimeoutMs = Math.min(...[...places.keys()].map(({ spawnTimeoutMs }) => spawnTimeoutMs));
  }

  play(): ReadonlyMap<SeenJob, Asked> {
    for (const { atMs, what, part } of this.#events()) {
      this.#timeOut(atMs);
      this.#happen(what, part, atMs);
    }
    this.#timeOut(this.#circumstances.nowMs);
    for (const part of this.#parts.values()) if (part.seen.job.status !== 'queued') leave(part);
    const asked = new Map<SeenJob, Asked>();
    for (const { seen, start } of this.#parts.values()) {
      if (!start) continue;
      const { place, madeFor } = start;
      asked.set(seen, { group: place.group, madeFor: madeFor.seen, missed: madeFor.missed });
    }
    return asked;
  }

  #events(): readonly Event[] {
    const events: Event[] = [];
    this.#world.jobs.forEach((seen, rank) => {
      const part = this.#partOf(seen, rank);
      if (!part) return;
      this.#parts.set(seen, part);
      const { status, startedAtMs, completedAtMs } = seen.job;
      events.push({ atMs: part.readyMs, what: 'ready', part });
      if (status === 'queued') return;
      if (startedAtMs !== undefined) events.push({ atMs: startedAtMs, what: 'begin', part });
      const lostMs = this.#lostMs(seen);
      if (lostMs !== undefined) events.push({ atMs: lostMs, what: 'end', part });
      const endMs = completedAtMs ?? startedAtMs;
      if (status === 'completed' && endMs !== undefined) {
        events.push({ atMs: endMs, what: startedAtMs === undefined ? 'cancel' : 'end', part });
      }
    });
    return events.sort((a, b) => a.atMs - b.atMs || ORDER[a.what] - ORDER[b.what] || a.part.rank - b.part.rank);
  }

  /** When the slot of a runner became free that is lost without a word: nobody knows, so the first moment at which it may have been. */
  #lostMs({ job, origin }: SeenJob): number | undefined {
    if (job.status !== 'in_progress' || job.startedAtMs === undefined) return undefined;
    const runner = this.#rosters.find(job.runner ?? '');
    return runner?.group.origin === origin && runner.state === 'lost' ? job.startedAtMs + OFFLINE_AFTER_MS : undefined;
  }

  /** Undefined for a job that was never ready, as far as is known. */
  #partOf(seen: SeenJob, rank: number): Part | undefined {
    const { status, startedAtMs, completedAtMs } = seen.job;
    const sinceMs = this.#circumstances.readySinceMs(seen);
    const isCancelled = status === 'completed' && startedAtMs === undefined;
    if (status === 'blocked' || (isCancelled && (completedAtMs ?? 0) <= sinceMs)) return undefined;
    const readyMs = status === 'queued' ? sinceMs : Math.min(sinceMs, startedAtMs ?? sinceMs);
    const line = this.#lineOf(seen);
    const home = status === 'queued' ? this.#homeOf(seen) : undefined;
    return { seen, readyMs, rank, line, home, start: undefined, made: undefined, missed: 0, isWaiting: false };
  }

  #homeOf({ origin, job }: SeenJob): Place | undefined {
    const living = this.#rosters.madeFor(origin, job).find(({ state }) => state === 'free');
    return living && this.#places.get(living.group);
  }

  #lineOf(seen: SeenJob): Line | undefined {
    const owners = this.#circumstances.owners(seen);
    if (!owners.covered) return undefined;
    const known = this.#lines.get(owners);
    const lines = known ?? { takeTurns: takeTurns(owners.groups), byKey: new Map<string, Line | undefined>() };
    if (!known) this.#lines.set(owners, lines);
    const key = lines.takeTurns ? seen.job.repository : '';
    if (!lines.byKey.has(key)) lines.byKey.set(key, this.#openLine(owners.groups));
    return lines.byKey.get(key);
  }

  #openLine(groups: readonly Group[]): Line | undefined {
    const places = groups.flatMap((group) => this.#places.get(group) ?? []);
    // Of the others Kubernetes shows what is there.
    if (places.length < groups.length) return undefined;
    const line: Line = { places, waiting: [] };
    for (const place of places) place.lines.push(line);
    return line;
  }

  #happen(what: Event['what'], part: Part, atMs: number): void {
    if (what === 'ready') askOrWait(part, atMs);
    else if (what === 'cancel') leave(part);
    else if (what === 'begin') this.#begin(part, atMs);
    else this.#end(part, atMs);
  }

  #end(part: Part, atMs: number): void {
    const place = this.#placeOf(part);
    if (!place) return;
    work(place, part, -1);
    fill(place, atMs);
  }

  #begin(part: Part, atMs: number): void {
    const place = this.#placeOf(part);
    const used = place && this.#usedFor(part);
    if (place) work(place, part, 1);
    if (used) exchange(used, part, atMs);
    else leave(part);
    if (place) keepCap(place, atMs);
  }

  /** The group of the runner that took the job. */
  #placeOf({ seen: { job, origin } }: Part): Place | undefined {
    const runner = job.runner === undefined ? undefined : this.#rosters.find(job.runner);
    return runner?.group.origin === origin ? this.#places.get(runner.group) : undefined;
  }

  /** The runner that took the job, among those that were asked for: the one in that name or, when that was given up, the one that the job in the name waits for. */
  #usedFor({ seen: { job, origin } }: Part): Start | undefined {
    const name = this.#rosters.find(job.runner ?? '')?.madeFor;
    const maker = name && this.#world.find(origin, name.jobId);
    if (maker?.job.attempt !== name?.attempt) return undefined;
    const part = maker && this.#parts.get(maker);
    return part?.made?.place.asked.has(part.made) ? part.made : part?.start;
  }

  #timeOut(atMs: number): void {
    if (atMs < this.#dueMs) return;
    // What is asked for from now on has all its time before it.
    this.#dueMs = atMs + this.#shortestTimeoutMs;
    for (const place of this.#places.values()) {
      timeOut(place, atMs);
      const [next] = place.starts;
      if (next) this.#dueMs = Math.min(this.#dueMs, next.dueMs);
    }
  }
}
