/**
 * Keeps a copy of all objects of a kind, the way client-go's reflector does:
 *
 *     list ─► resourceVersion ─► watch from there ─► ADDED, MODIFIED, DELETED, BOOKMARK
 *      ▲                          │ ended, broken, silent: again from the last resourceVersion
 *      └────────── 410 ───────────┘
 *
 * Why not @kubernetes/client-node: docs/adr/0006.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { Failure } from '../failure.ts';
import { failure } from '../http/client.ts';
import { Deadline } from '../http/deadline.ts';
import { firstPath, type KubeClient, type KubeQuestion, unreadable } from './client.ts';
import { inNamespace, listAll } from './list.ts';
import { listPath, type Resource } from './resources.ts';

/** What all kinds have in common. */
interface Named {
  readonly metadata: { readonly namespace: string; readonly name: string };
}

export interface WatchListeners {
  /** After each change, and after each complete list. */
  readonly onChange: () => void;
  /** A list or watch failed; it is tried again by itself. */
  readonly onFailure: (failure: Failure) => void;
}

const LIST_MS = 30_000;
/** Asked of the server; it then ends the watch and we begin another one, so load spreads over servers. */
const WATCH_SECONDS = 290;
/** Bookmarks come about once a minute (KEP-956), so silence this long is a dead connection. */
const IDLE_MS = 150_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

const Event = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({
    code: z.number().nullish(),
    metadata: z.looseObject({ resourceVersion: z.string().nullish() }).nullish(),
  }),
});

export class Watch<T extends Named> {
  readonly #client: KubeClient;
  readonly #resource: Resource<T>;
  readonly #namespace: string | undefined;
  readonly #listeners: WatchListeners;
  #objects: ReadonlyMap<string, T> = new Map();
  #fresh = false;

  /** @param namespace undefined: all namespaces. */
  constructor(client: KubeClient, resource: Resource<T>, namespace: string | undefined, listeners: WatchListeners) {
    this.#client = client;
    this.#resource = resource;
    this.#namespace = namespace;
    this.#listeners = listeners;
  }

  /** By `<namespace>/<name>`. */
  get objects(): ReadonlyMap<string, T> {
    return this.#objects;
  }

  /** True while the copy follows the server; false before the first list and after a fault, until the next success. */
  get fresh(): boolean {
    return this.#fresh;
  }

  /** Runs until `signal` is aborted; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        await this.#listAndWatch(signal, () => {
          pause = FIRST_PAUSE_MS;
        });
      } catch (error) {
        if (signal.aborted) return;
        this.#fresh = false;
        this.#listeners.onFailure(asFailure(error, this.#client.request(this.#question(''))));
        this.#listeners.onChange();
        await sleep(pause, undefined, { signal }).catch(() => undefined);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
    }
  }

  async #listAndWatch(signal: AbortSignal, succeeded: () => void): Promise<void> {
    const snapshot = await listAll(this.#client, this.#resource, this.#namespace, new Deadline(LIST_MS));
    this.#objects = new Map(snapshot.items.map((item) => [keyOf(item), item]));
    this.#fresh = true;
    this.#listeners.onChange();
    let version = snapshot.resourceVersion;
    while (!signal.aborted) {
      const ended = await this.#follow(version, signal, succeeded);
      if (ended === 'expired') return;
      // A server that ends every watch at once must not be asked in a tight loop.
      if (ended === version) await sleep(FIRST_PAUSE_MS, undefined, { signal }).catch(() => undefined);
      version = ended;
    }
  }

  /** Follows one watch to its end. Answers where the next one begins. */
  async #follow(from: string, signal: AbortSignal, succeeded: () => void): Promise<string | 'expired'> {
    const question = this.#question(from);
    let version = from;
    for await (const line of this.#client.stream(question, IDLE_MS, signal)) {
      const event = Event.safeParse(parseJson(line));
      if (!event.success) throw unreadable(this.#client.request(question), `no event: ${firstPath(event.error)}`);
      const { type, object } = event.data;
      if (type === 'ERROR') {
        if (object.code === 410) return 'expired';
        throw failure(
          this.#client.request(question),
          'GR-CLUSTER-07',
          `the watch failed with ${object.code ?? 'no code'}`,
          'It is begun anew',
        );
      }
      version = object.metadata?.resourceVersion || version;
      if (type !== 'BOOKMARK') this.#apply(type, object, question);
      succeeded();
    }
    return version;
  }

  #apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: unknown, question: KubeQuestion): void {
    const parsed = this.#resource.item.safeParse(object);
    if (!parsed.success) {
      const place = firstPath(parsed.error);
      throw unreadable(this.#client.request(question), `an item without a usable ${place}`);
    }
    // Changed in place: a copy per event would cost the square of the number of Jobs.
    const objects = this.#objects as Map<string, T>;
    if (type === 'DELETED') objects.delete(keyOf(parsed.data));
    else objects.set(keyOf(parsed.data), parsed.data);
    this.#listeners.onChange();
  }

  #question(resourceVersion: string): KubeQuestion {
    const { name, labelSelector } = this.#resource;
    return {
      what: `watch ${name} ${inNamespace(this.#namespace)}`,
      path: listPath(this.#resource, this.#namespace),
      query: {
        watch: 'true',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(WATCH_SECONDS),
        resourceVersion,
        ...(labelSelector !== undefined && { labelSelector }),
      },
    };
  }
}

/** `<namespace>/<name>`. */
export function keyOf({ metadata }: Named): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asFailure(error: unknown, request: Parameters<typeof failure>[0]): Failure {
  if (error instanceof Failure) return error;
  return failure(request, 'GR-CLUSTER-08', 'no readable answer', 'Check the API server');
}
