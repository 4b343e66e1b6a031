/**
 * Objects of a Kubernetes API server, as far as tests need them: objects with versions, and the effect of reads and
 * writes. It has no network and no clock: test/support/api-server.ts gives it HTTP, test/simulation/serve/kubernetes.ts
 * virtual time and faults.
 */

const KINDS = ['runnergroups', 'jobs', 'pods', 'leases', 'secrets', 'events'] as const;
export type Kind = (typeof KINDS)[number];

/** An object as clients read it. Other fields may be anything. */
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
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly uid: unknown }[];
    readonly [more: string]: unknown;
  };
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly [more: string]: unknown;
}

export interface StoredObject extends KubeObject {
  readonly metadata: KubeObject['metadata'] & {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
}

export interface Change {
  readonly kind: Kind;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
  readonly before: StoredObject | undefined;
}

/** Object of a path. Without a namespace: all of them; without a name: a list. */
export interface Place {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** An answer, as JSON. */
export type Answer = readonly [status: number, body: unknown];

/** `/apis/<group>/<version>/namespaces/<namespace>/<kind>/<name>/status` */
const PATH = /^\/api(?:s\/[^/]+)?\/v1(?:alpha1)?(?:\/namespaces\/([^/]+))?\/(\w+)(?:\/([^/]+))?(?:\/status)?$/;

/** @returns undefined for what no object of these kinds has */
export function placeOf(path: string): Place | undefined {
  const [, namespace, plural, name] = PATH.exec(path) ?? [];
  const kind = KINDS.find((each) => each === plural);
  return kind && { kind, namespace, name };
}

export class KubeObjects {
  readonly #objects = new Map<Kind, Map<string, StoredObject>>(KINDS.map((kind) => [kind, new Map()]));
  readonly #nowMs: () => number;
  readonly #onChange: (change: Change) => void;
  #version = 1;

  /** @param onChange called for each change at once, as controllers are */
  constructor(nowMs: () => number, onChange: (change: Change) => void) {
    this.#nowMs = nowMs;
    this.#onChange = onChange;
  }

  /** Version of the newest change. */
  get version(): number {
    return this.#version;
  }

  get(kind: Kind, namespace: string, name: string): StoredObject | undefined {
    return this.#of(kind).get(`${namespace}/${name}`);
  }

  /** Returns all objects in the order in which they were made. */
  all(kind: Kind, namespace?: string): readonly StoredObject[] {
    const all = [...this.#of(kind).values()];
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Makes an object or changes it. Its uid and its age stay what they are. */
  put(kind: Kind, object: KubeObject): StoredObject {
    const { namespace, name } = object.metadata;
    const before = this.get(kind, namespace, name);
    this.#version += 1;
    const metadata = {
      generation: 1,
      ...object.metadata,
      uid: before?.metadata.uid ?? `uid-${this.#version}`,
      creationTimestamp: before?.metadata.creationTimestamp ?? this.#time(),
      resourceVersion: String(this.#version),
    };
    const stored = { ...object, metadata };
    this.#of(kind).set(`${namespace}/${name}`, stored);
    this.#onChange({ kind, type: before ? 'MODIFIED' : 'ADDED', object: stored, before });
    return stored;
  }

  remove(kind: Kind, namespace: string, name: string): void {
    const before = this.get(kind, namespace, name);
    if (!before) return;
    this.#version += 1;
    this.#of(kind).delete(`${namespace}/${name}`);
    const metadata = { ...before.metadata, resourceVersion: String(this.#version) };
    this.#onChange({ kind, type: 'DELETED', object: { ...before, metadata }, before });
  }

  /** Answers a GET of one object, and every write. @param isDry it changes nothing */
  answer(method: string, { kind, namespace = '', name }: Place, body?: KubeObject, isDry = false): Answer {
    const known = this.get(kind, namespace, name ?? body?.metadata.name ?? '');
    if (isDry) return [known ? 409 : 201, {}];
    if (method === 'GET') return known ? [200, known] : [404, {}];
    if (!body || (method === 'PATCH' && !known)) return [404, {}];
    if (known && !isOf(body, known, method)) return [409, {}];
    if (method === 'PATCH') return [200, this.put(kind, merged(known, body) as KubeObject)];
    return [method === 'POST' ? 201 : 200, this.put(kind, body)];
  }

  #of(kind: Kind): Map<string, StoredObject> {
    const found = this.#objects.get(kind);
    if (!found) throw new Error(`no kind ${kind}`);
    return found;
  }

  /** Kubernetes writes whole seconds. */
  #time(): string {
    return `${new Date(this.#nowMs()).toISOString().slice(0, 19)}Z`;
  }
}

/** False for a write that was made for another version of the object, or for another object of its name. */
function isOf({ metadata: { resourceVersion, uid } }: KubeObject, { metadata: known }: StoredObject, method: string) {
  if (method === 'POST') return false;
  const isVersion = resourceVersion === known.resourceVersion;
  if (method === 'PUT') return isVersion;
  return (resourceVersion === undefined || isVersion) && (uid === undefined || uid === known.uid);
}

/** A JSON merge patch (RFC 7396): it leaves what it does not name. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
