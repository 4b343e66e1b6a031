/**
 * Keeps a copy of all objects of a kind, as client-go's reflector does (why not @kubernetes/client-node: docs/adr/0006):
 *
 *     list ─► resourceVersion ─► watch from there ─► ADDED, MODIFIED, DELETED, BOOKMARK
 *      ▲                          │ ended: again from the last resourceVersion
 *      └── pause ◄── 410, error ──┘
 *
 * After a short watch the next request waits: 0.5 s, then 1 s, 2 s … 30 s. A watch that lasted for 5 s starts the count
 * again, and so does the first list after refused ones (403).
 */
import * as z from 'zod';
import { pause, untilAborted } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/keys.ts';
import { Deadline, failure, parseJson } from '../http/request.ts';
import { type KubeApi, type KubeQuestion, parseValue } from './kube-client.ts';
import { inNamespace, listAll, parseItem } from './list.ts';
import { listPath, type Resource, selectorOf } from './resources.ts';

interface Named {
  readonly metadata: { readonly namespace: string; readonly name: string };
}

interface WatchListeners<T> {
  /** Called after each change, and after each complete list. */
  readonly onChange: () => void;
  /** Called before `onChange` for each object of a watch event, except for deleted ones. */
  readonly onObject?: (object: T) => void;
  /** A list or watch failed; it is tried again by itself. */
  readonly onFailure: (failure: Failure) => void;
}

/** Time limit of a list with all its pages, ms. Then the list is tried again after a pause. */
const LIST_MS = 30_000;
/** How long the server is asked to keep a watch. We then start another one, which spreads the load over servers. */
const WATCH_SECONDS = 290;
/** Longest silence of a watch, ms. A quiet cluster sends no bookmarks (1.34): only a new watch tells it from a dead one. */
const IDLE_MS = 150_000;
/** Pause after the first failure of a watch, ms. It is doubled with each further failure. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A watch that lasts this long resets the pause, however it ends. */
const GOOD_WATCH_MS = 5_000;
/** Events handled in a row. Then other work gets its turn, even if the server sends without a pause. */
const EVENTS_PER_TURN = 100;

const Event = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.looseObject({
    code: z.number().nullish(),
    metadata: z.looseObject({ resourceVersion: z.string().nullish() }).nullish(),
  }),
});

export type Watch<T extends Named> = ReturnType<typeof watchOf<T>>;

/** Makes a watch, which `run` starts. @param namespace undefined: all namespaces */
export function watchOf<T extends Named>(
  client: KubeApi,
  resource: Resource<T>,
  namespace: string | undefined,
  { onChange, onFailure, onObject }: WatchListeners<T>,
) {
  const { clock } = client;
  const objects = new Map<string, T>();
  let fresh = false;
  let refused = false;
  let pauseMs = FIRST_PAUSE_MS;

  /** Runs until `signal` is aborted, even while the server does not answer. Never rejects. */
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        await untilAborted(signal, listAndWatch(signal));
      } catch (error) {
        const failed = asFailure(error, client.request(watchQuestion(resource, namespace, '')));
        refused = failed.kind === 'cluster-forbidden';
        onFailure(failed);
      }
      if (signal.aborted) return;
      // The version has expired, or a request failed: until the next list the copy does not follow the server.
      fresh = false;
      onChange();
      await waitBeforeWatch(signal);
    }
  };

  /** Returns when only a new list helps, or `signal` is aborted. */
  const listAndWatch = async (signal: AbortSignal): Promise<void> => {
    const snapshot = await listAll(client, resource, namespace, new Deadline(LIST_MS, clock));
    if (signal.aborted) return;
    objects.clear();
    for (const item of snapshot.items) objects.set(keyText(item.metadata), item);
    fresh = true;
    // A refusal proves that the server is well. Its pauses must not be used for a watch that fails later.
    if (refused) pauseMs = FIRST_PAUSE_MS;
    refused = false;
    onChange();
    let version = snapshot.resourceVersion;
    while (!signal.aborted) {
      const beganMs = clock.steadyMs();
      const isGood = () => clock.steadyMs() - beganMs >= GOOD_WATCH_MS;
      const watchEnd = await followWatch(client, resource, namespace, version, apply, signal).finally(() => {
        if (isGood()) pauseMs = FIRST_PAUSE_MS;
      });
      if (watchEnd === 'expired') return;
      version = watchEnd;
      if (isGood()) continue;
      // A watch may end early. If a server ends each watch at once, the copy does not follow.
      if (pauseMs > FIRST_PAUSE_MS) return;
      await waitBeforeWatch(signal);
    }
  };

  const waitBeforeWatch = async (signal: AbortSignal): Promise<void> => {
    const ms = pauseMs;
    pauseMs = Math.min(ms * 2, LONGEST_PAUSE_MS);
    await pause(clock, ms, signal);
  };

  const apply: Apply<T> = (type, object) => {
    // Changed in place: a copy per event would cost the square of the number of Jobs.
    if (type === 'DELETED') objects.delete(keyText(object.metadata));
    else {
      objects.set(keyText(object.metadata), object);
      onObject?.(object);
    }
    onChange();
  };

  return {
    run,
    /** Objects by `<namespace>/<name>`: a view that follows the server, not a copy. */
    objects: objects as ReadonlyMap<string, T>,
    /** True while the copy follows the server; false before the first list and after an error, until the next success. */
    isFresh: () => fresh,
    /** True from a refused list (403) until the next list that is not refused. Meanwhile the copy is not fresh. */
    isRefused: () => refused,
  };
}

type Apply<T> = (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T) => void;

function watchQuestion<T>(resource: Resource<T>, namespace: string | undefined, resourceVersion: string): KubeQuestion {
  return {
    what: `watch ${resource.name} ${inNamespace(namespace)}`,
    path: listPath(resource, namespace),
    query: {
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(WATCH_SECONDS),
      resourceVersion,
      ...selectorOf(resource),
    },
  };
}

/** Follows one watch to its end. Returns the version where the next one begins. */
async function followWatch<T>(
  client: KubeApi,
  resource: Resource<T>,
  namespace: string | undefined,
  from: string,
  apply: Apply<T>,
  signal: AbortSignal,
): Promise<string | 'expired'> {
  const question = watchQuestion(resource, namespace, from);
  const request = client.request(question);
  let version = from;
  let events = 0;
  for await (const line of client.stream(question, IDLE_MS, signal)) {
    const { type, object } = parseValue(request, Event, parseJson(line), 'no event:');
    if (type === 'ERROR') {
      if (object.code === 410) return 'expired';
      const received = `the watch failed with ${object.code ?? 'no code'}`;
      throw failure(request, 'GR-CLUSTER-07', received, 'It is started again', 'cluster');
    }
    version = object.metadata?.resourceVersion || version;
    if (type !== 'BOOKMARK') apply(type, parseItem(client, request, resource, object));
    events += 1;
    if (events % EVENTS_PER_TURN === 0) await client.clock.nextTurn();
  }
  return version;
}

function asFailure(error: unknown, request: Parameters<typeof failure>[0]): Failure {
  if (error instanceof Failure) return error;
  return failure(request, 'GR-CLUSTER-08', 'no readable answer', 'Check the API server', 'cluster');
}
