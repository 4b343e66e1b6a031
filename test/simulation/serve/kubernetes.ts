/**
 * A Kubernetes API server: objects with a history, lists, watches and the few writes of `serve`. Its faults are switches.
 *
 *     put, remove ─► objects, and a log ─► watches, each at its place in the log
 */

import type { Deadline, HttpAnswer } from '../../../src/clients/http/request.ts';
import type { KubeApi, KubeQuestion } from '../../../src/clients/kubernetes/kube-client.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { TRACKING_LABEL, timeText } from '../../../src/shared/marks.ts';
import type { World } from './world.ts';

export type Kind = 'runnergroups' | 'jobs' | 'pods' | 'leases' | 'secrets';

/** As it is asked for; the rest is anything. */
export interface KubeObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly creationTimestamp?: string;
    readonly generation?: number;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface StoredObject extends KubeObject {
  readonly metadata: KubeObject['metadata'] & {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
}

interface Logged {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
  readonly before: StoredObject | undefined;
  /** Watches tell of it then. */
  readonly toldMs: number;
}

/** A watch that somebody follows. */
interface Connection {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  fate: 'good' | 'silent' | 'ended' | 'broken' | 'expired';
  wake: () => void;
}

/** An answer, as JSON. */
type Answer = readonly [status: number, body: unknown];

const ORIGIN = 'https://kubernetes.example.com';
const LONGEST_WATCH_MS = 290_000;
/** How old the copy is that old lists come from. */
const OLD_MS = 4_000;
/** `/apis/<group>/<version>/namespaces/<namespace>/<kind>/<name>/status` */
const PATH =
  /^\/apis?\/[^n].*?(?:\/namespaces\/([^/]+))?\/(runnergroups|jobs|pods|leases|events|secrets)(?:\/([^/]+))?(\/status)?$/;

export class Kubernetes {
  readonly objects: Readonly<Record<Kind, Map<string, StoredObject>>> = {
    runnergroups: new Map(),
    jobs: new Map(),
    pods: new Map(),
    leases: new Map(),
    secrets: new Map(),
  };
  isAway = false;
  eventsAreLate = false;
  eventsAreRepeated = false;
  listsAreOld = false;
  statusConflicts = false;
  /** Answers about Secrets. */
  secretsLost = false;
  /** Of `serve`, by the part of its path. */
  leaseIsAway = false;
  readonly #world: World;
  readonly #log: Readonly<Record<Kind, Logged[]>> = {
    runnergroups: [],
    jobs: [],
    pods: [],
    leases: [],
    secrets: [],
  };
  readonly #connections = new Set<Connection>();
  readonly #listeners: ((kind: Kind, object: StoredObject) => void)[] = [];
  #refused: string | undefined;
  #version = 1;

  constructor(world: World) {
    this.#world = world;
  }

  /** Told of each change at once, as controllers are. */
  listen(listener: (kind: Kind, object: StoredObject) => void): void {
    this.#listeners.push(listener);
  }

  get(kind: Kind, namespace: string, name: string): StoredObject | undefined {
    return this.objects[kind].get(`${namespace}/${name}`);
  }

  put(kind: Kind, object: KubeObject): StoredObject {
    const { namespace, name } = object.metadata;
    const before = this.get(kind, namespace, name);
    this.#version += 1;
    const metadata = {
      ...object.metadata,
      uid: before?.metadata.uid ?? `uid-${this.#version}`,
      creationTimestamp: before?.metadata.creationTimestamp ?? timeText(this.#world.clock.now()),
      resourceVersion: String(this.#version),
    };
    const stored = { ...object, metadata };
    this.objects[kind].set(`${namespace}/${name}`, stored);
    this.#note(kind, before ? 'MODIFIED' : 'ADDED', stored, before);
    return stored;
  }

  remove(kind: Kind, namespace: string, name: string): void {
    const before = this.get(kind, namespace, name);
    if (!before) return;
    this.#version += 1;
    this.objects[kind].delete(`${namespace}/${name}`);
    // The garbage collector comes a moment later.
    if (kind === 'jobs') this.#world.later(500, () => this.#collect(namespace, name, before.metadata.uid));
    const metadata = { ...before.metadata, resourceVersion: String(this.#version) };
    this.#note(kind, 'DELETED', { ...before, metadata }, before);
  }

  #collect(namespace: string, name: string, uid: string): void {
    const [owner] = this.get('secrets', namespace, name)?.metadata.ownerReferences ?? [];
    if (owner?.uid === uid) this.remove('secrets', namespace, name);
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

  /** Refuses what is asked of a namespace, and ends its watches. */
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

  /** As a process sees it. @param clock that of the process. */
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

  #note(kind: Kind, type: Logged['type'], object: StoredObject, before: StoredObject | undefined): void {
    const { nowMs } = this.#world;
    this.#world.version += 1;
    const lateMs = this.eventsAreLate ? 4_000 * this.#world.luck('serve-kubernetes') : 0;
    const lagMs = 2 + 20 * this.#world.luck('serve-kubernetes') + lateMs;
    const toldMs = Math.max(Math.ceil(nowMs + lagMs), this.#log[kind].at(-1)?.toldMs ?? 0);
    this.#log[kind].push({ version: this.#version, type, object, before, toldMs });
    for (const connection of this.#connections) if (connection.kind === kind) connection.wake();
    for (const listener of this.#listeners) listener(kind, object);
  }

  async #send({ body, method = 'GET', path, query }: KubeQuestion, deadline: Deadline): Promise<HttpAnswer> {
    const world = this.#world;
    const luck = (): number => world.luck('serve-kubernetes');
    await world.sleep(1 + 15 * luck());
    const [, namespace, kind = '', name] = PATH.exec(path) ?? [];
    if (this.isAway || (kind === 'leases' && this.leaseIsAway)) {
      // Now and then nothing comes back at all.
      if (luck() < 0.3) await world.sleep(deadline.remainingMs());
      throw new Failure('GR-HTTP-01', 1, 'the API server is away', 'unreachable');
    }
    if (query?.['dryRun']) {
      const known = this.get('secrets', namespace ?? '', (body as KubeObject).metadata.name);
      return { status: known ? 409 : 201, text: '{}', mediaType: 'application/json', header: () => undefined };
    }
    const [status, answer] = this.#answer(method, kind, namespace, name, body as KubeObject | undefined);
    await world.sleep(1 + 5 * luck());
    if (kind === 'secrets' && this.secretsLost) throw new Failure('GR-HTTP-09', 1, 'the answer is lost', 'timeout');
    const text = JSON.stringify(answer);
    return { status, text, mediaType: 'application/json', header: () => undefined };
  }

  #answer(
    method: string,
    kind: string,
    namespace: string | undefined,
    name: string | undefined,
    body: KubeObject | undefined,
  ): Answer {
    if (kind === 'events') return [201, {}];
    if (!isKind(kind)) return [404, {}];
    if (namespace !== undefined && namespace === this.#refused) return [403, {}];
    if (method === 'GET') {
      if (name === undefined) return [200, this.#list(kind, namespace)];
      const found = this.get(kind, namespace ?? '', name);
      return found ? [200, found] : [404, {}];
    }
    const known = this.get(kind, namespace ?? '', name ?? body?.metadata.name ?? '');
    if (method === 'PATCH') return this.#patchStatus(kind, known, body);
    const isStale = known && known.metadata.resourceVersion !== body?.metadata.resourceVersion;
    if (!body || isStale || (method === 'POST' && known)) return [409, {}];
    return [method === 'POST' ? 201 : 200, this.put(kind, body)];
  }

  #patchStatus(kind: Kind, known: StoredObject | undefined, body: KubeObject | undefined): Answer {
    if (!known || !body) return [404, {}];
    if (this.statusConflicts || body.metadata.uid !== known.metadata.uid) return [409, {}];
    return [200, this.put(kind, { ...known, status: { ...(known.status ?? {}), ...(body.status ?? {}) } })];
  }

  #list(kind: Kind, namespace: string | undefined): unknown {
    const items = new Map(this.objects[kind]);
    let version = this.#version;
    if (this.listsAreOld) {
      const { nowMs } = this.#world;
      const young = this.#log[kind].filter(({ toldMs }) => toldMs > nowMs - OLD_MS);
      for (const { before, object } of young.reverse()) {
        const key = `${object.metadata.namespace}/${object.metadata.name}`;
        if (before) items.set(key, before);
        else items.delete(key);
        version = Math.min(version, Number(object.metadata.resourceVersion) - 1);
      }
    }
    const listed = [...items.values()].filter(({ metadata }) => !namespace || metadata.namespace === namespace);
    return { kind: 'AnyList', metadata: { resourceVersion: String(version) }, items: listed };
  }

  async *#stream(question: KubeQuestion, idleMs: number, signal: AbortSignal): AsyncGenerator<string> {
    const [, namespace, found = ''] = PATH.exec(question.path) ?? [];
    if (!isKind(found)) throw new Error(`no watch of ${question.path}`);
    await this.#world.sleep(1 + 10 * this.#world.luck('serve-kubernetes'));
    if (this.isAway) throw new Failure('GR-HTTP-01', 1, 'the API server is away', 'unreachable');
    if (namespace !== undefined && namespace === this.#refused) throw new Failure('GR-CLUSTER-07', 1, '403', 'cluster');
    const log = this.#log[found];
    const from = Number(question.query?.['resourceVersion']);
    const later = log.findIndex(({ version }) => version > from);
    const place = later < 0 ? log.length : later;
    const connection: Connection = { kind: found, namespace, fate: 'good', wake: () => undefined };
    this.#connections.add(connection);
    const stop = (): void => connection.wake();
    signal.addEventListener('abort', stop);
    try {
      yield* this.#lines(connection, log, place, idleMs, signal);
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

function isKind(kind: string): kind is Kind {
  return ['runnergroups', 'jobs', 'pods', 'leases', 'secrets'].includes(kind);
}
