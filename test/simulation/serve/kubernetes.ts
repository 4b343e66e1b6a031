/**
 * A Kubernetes API server in virtual time. Its faults are switches.
 *
 *     put, remove ─► objects (simulator/kubernetes), and a log ─► watches, each at its place in the log
 */

import {
  type Answer,
  type Change,
  type Kind,
  type KubeObject,
  KubeObjects,
  type Place,
  placeOf,
  type StoredObject,
} from '../../../simulator/kubernetes/objects.ts';
import type { Deadline, HttpAnswer } from '../../../src/clients/http/request.ts';
import type { KubeApi, KubeQuestion } from '../../../src/clients/kubernetes/kube-client.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { TRACKING_LABEL } from '../../../src/shared/marks.ts';
import type { World } from './world.ts';

interface Logged extends Change {
  readonly version: number;
  /** When watches report it, ms. */
  readonly toldMs: number;
}

/** A watch that somebody follows. */
interface Connection {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  fate: 'good' | 'silent' | 'ended' | 'broken' | 'expired';
  wake: () => void;
}

const ORIGIN = 'https://kubernetes.example.com';
const LONGEST_WATCH_MS = 290_000;
/** Age of the copy that outdated lists come from, ms. */
const OLD_MS = 4_000;

export class Kubernetes {
  readonly objects: KubeObjects;
  isAway = false;
  eventsAreLate = false;
  eventsAreRepeated = false;
  listsAreOld = false;
  statusConflicts = false;
  /** Answers about Secrets. */
  secretsLost = false;
  /** True while the Lease cannot be reached. */
  leaseIsAway = false;
  readonly #world: World;
  readonly #log: Readonly<Record<Kind, Logged[]>> = {
    runnergroups: [],
    jobs: [],
    pods: [],
    leases: [],
    secrets: [],
    events: [],
  };
  readonly #connections = new Set<Connection>();
  readonly #listeners: ((change: Change) => void)[] = [];
  #refused: string | undefined;

  constructor(world: World) {
    this.#world = world;
    this.objects = new KubeObjects(world.clock.now, (change) => this.#note(change));
  }

  /** Told of each change at once, as controllers are. */
  listen(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  /** Somebody follows a watch of which nothing comes. */
  get isSilent(): boolean {
    return [...this.#connections].some(({ fate }) => fate === 'silent');
  }

  /** Does this to all watches of a kind. */
  spoil(kind: Kind, fate: Exclude<Connection['fate'], 'good'>): void {
    for (const connection of this.#connections) {
      if (connection.kind !== kind) continue;
      connection.fate = fate;
      connection.wake();
    }
  }

  /** Refuses requests for a namespace, and ends its watches. */
  refuse(namespace: string | undefined): void {
    this.#refused = namespace;
    for (const connection of this.#connections) {
      if (namespace === undefined || connection.namespace !== namespace) continue;
      connection.fate = 'ended';
      connection.wake();
    }
  }

  setAway(isAway: boolean): void {
    this.isAway = isAway;
    if (isAway) for (const kind of ['runnergroups', 'jobs', 'pods'] as const) this.spoil(kind, 'broken');
  }

  /** Returns the API that a process sees. @param clock that of the process */
  api(clock: KubeApi['clock']): KubeApi {
    const request = ({ what, method = 'GET', path }: KubeQuestion) => ({ what, method, url: new URL(path, ORIGIN) });
    return {
      clock,
      origin: ORIGIN,
      trackingLabel: TRACKING_LABEL,
      request,
      send: (question, deadline) => this.#send(question, deadline),
      stream: (question, idleMs, signal) => this.#stream(question, idleMs, signal),
    };
  }

  #note(change: Change): void {
    const { kind, object, type } = change;
    const { nowMs } = this.#world;
    // The garbage collector comes a moment later.
    if (kind === 'jobs' && type === 'DELETED') this.#world.later(500, () => this.#collect(object));
    this.#world.version += 1;
    const lateMs = this.eventsAreLate ? 4_000 * this.#world.luck('serve-kubernetes') : 0;
    const lagMs = 2 + 20 * this.#world.luck('serve-kubernetes') + lateMs;
    const toldMs = Math.max(Math.ceil(nowMs + lagMs), this.#log[kind].at(-1)?.toldMs ?? 0);
    this.#log[kind].push({ ...change, version: this.objects.version, toldMs });
    for (const connection of this.#connections) if (connection.kind === kind) connection.wake();
    for (const listener of this.#listeners) listener(change);
  }

  #collect({ metadata: { namespace, name, uid } }: StoredObject): void {
    const [owner] = this.objects.get('secrets', namespace, name)?.metadata.ownerReferences ?? [];
    if (owner?.uid === uid) this.objects.remove('secrets', namespace, name);
  }

  async #send({ body, method = 'GET', path, query }: KubeQuestion, deadline: Deadline): Promise<HttpAnswer> {
    const world = this.#world;
    const luck = (): number => world.luck('serve-kubernetes');
    await world.sleep(1 + 15 * luck());
    const place = placeOf(path);
    const kind = place?.kind;
    if (this.isAway || (kind === 'leases' && this.leaseIsAway)) {
      // Now and then nothing comes back at all.
      if (luck() < 0.3) await world.sleep(deadline.remainingMs());
      throw new Failure('GR-HTTP-01', 1, 'the API server is away', 'unreachable');
    }
    const isDry = query?.['dryRun'] !== undefined;
    const [status, answer] = this.#answer(method, place, body as KubeObject | undefined, isDry);
    if (!isDry) await world.sleep(1 + 5 * luck());
    if (kind === 'secrets' && this.secretsLost && !isDry)
      throw new Failure('GR-HTTP-09', 1, 'the answer is lost', 'timeout');
    const text = JSON.stringify(answer);
    return { status, text, mediaType: 'application/json', header: () => undefined };
  }

  #answer(method: string, place: Place | undefined, body: KubeObject | undefined, isDry: boolean): Answer {
    if (!place) return [404, {}];
    const { kind, name, namespace } = place;
    if (kind === 'events') return [201, {}];
    if (!isDry && namespace !== undefined && namespace === this.#refused) return [403, {}];
    if (method === 'GET' && name === undefined) return [200, this.#list(kind, namespace)];
    if (method === 'PATCH' && this.statusConflicts) return [409, {}];
    return this.objects.answer(method, place, body, isDry);
  }

  #list(kind: Kind, namespace: string | undefined): unknown {
    const key = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;
    const items = new Map(this.objects.all(kind).map((object) => [key(object), object]));
    let { version } = this.objects;
    if (this.listsAreOld) {
      const { nowMs } = this.#world;
      const young = this.#log[kind].filter(({ toldMs }) => toldMs > nowMs - OLD_MS);
      for (const { before, object } of young.reverse()) {
        if (before) items.set(key(object), before);
        else items.delete(key(object));
        version = Math.min(version, Number(object.metadata.resourceVersion) - 1);
      }
    }
    const listed = [...items.values()].filter(({ metadata }) => !namespace || metadata.namespace === namespace);
    return { kind: 'AnyList', metadata: { resourceVersion: String(version) }, items: listed };
  }

  async *#stream(question: KubeQuestion, idleMs: number, signal: AbortSignal): AsyncGenerator<string> {
    const place = placeOf(question.path);
    if (!place) throw new Error(`no watch of ${question.path}`);
    const { kind, namespace } = place;
    await this.#world.sleep(1 + 10 * this.#world.luck('serve-kubernetes'));
    if (this.isAway) throw new Failure('GR-HTTP-01', 1, 'the API server is away', 'unreachable');
    if (namespace !== undefined && namespace === this.#refused) throw new Failure('GR-CLUSTER-07', 1, '403', 'cluster');
    const log = this.#log[kind];
    const since = Number(question.query?.['resourceVersion']);
    const later = log.findIndex(({ version }) => version > since);
    const from = later < 0 ? log.length : later;
    const connection: Connection = { kind, namespace, fate: 'good', wake: () => undefined };
    this.#connections.add(connection);
    const stop = (): void => connection.wake();
    signal.addEventListener('abort', stop);
    try {
      yield* this.#lines(connection, log, from, idleMs, signal);
    } finally {
      signal.removeEventListener('abort', stop);
      this.#connections.delete(connection);
    }
  }

  async *#lines(
    connection: Connection,
    log: readonly Logged[],
    from: number,
    idleMs: number,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    const { clock } = this.#world;
    let place = from;
    let lastMs = clock.steadyMs();
    const endMs = lastMs + LONGEST_WATCH_MS;
    for (;;) {
      const nowMs = clock.steadyMs();
      const idleEndMs = Math.min(lastMs + idleMs, endMs);
      const end = signal.aborted || nowMs >= idleEndMs ? 'ended' : connection.fate;
      if (end === 'broken') throw new Failure('GR-HTTP-02', 1, 'the connection was reset');
      if (end === 'expired') yield EXPIRED;
      if (end === 'ended' || end === 'expired') return;
      const next = end === 'silent' ? undefined : log[place];
      const toldMs = next?.toldMs ?? Number.POSITIVE_INFINITY;
      if (toldMs > nowMs) await wokenAfter(clock, Math.min(toldMs, idleEndMs) - nowMs, connection);
      else {
        place += 1;
        if (!isSeenBy(connection, next)) continue;
        lastMs = nowMs;
        yield* this.#told(next);
      }
    }
  }

  *#told({ object, type }: Logged): Generator<string> {
    const line = JSON.stringify({ type, object });
    yield line;
    if (this.eventsAreRepeated) yield line;
  }
}

function isSeenBy({ namespace }: Connection, logged: Logged | undefined): logged is Logged {
  return logged !== undefined && (namespace === undefined || logged.object.metadata.namespace === namespace);
}

const EXPIRED = JSON.stringify({ type: 'ERROR', object: { code: 410 } });

/** Waits, and not longer than until the connection is woken. */
function wokenAfter(clock: World['clock'], ms: number, connection: Connection): Promise<void> {
  return new Promise((resolve) => {
    const takeBack = clock.after(ms, resolve);
    connection.wake = () => {
      takeBack();
      resolve();
    };
  });
}
