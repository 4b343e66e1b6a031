/**
 * Looks of the leader for `generate`, so that Gitea is asked once whatever the number of Applications (docs/adr/0111):
 *
 *     the poller looks ─ recorded ─► kept for 5 s ─┬─ younger than all that was heard of its scope ─► given
 *     `generate` asks ─────────────────────────────┘─ else: a look that is due or too long ago ─ within 150 ms ─► given, else not
 *
 * Who asks has no rights here: an answer can be read with the token of its target only.
 */
import type { RequestListener, ServerResponse } from 'node:http';
import {
  ID_HEADER,
  type KeptLook,
  keysOf,
  LOOK_PATH,
  MOST_AGE_MS,
  MOST_OF_KEPT,
  NONCE_HEADER,
  recordingOf,
  sealed,
} from '../../clients/gitea/kept-look.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import type { Sender } from '../../clients/http/http-client.ts';
import { type Clock, pause } from '../../shared/clock.ts';
import { keepOnly } from '../../shared/keys.ts';
import { plain, answer as sendPage } from '../http/http-server.ts';
import type { GiteasOptions } from './giteas.ts';

/** Bytes of all looks, kept or in the making. `serve` has 512 MiB, 358 of them for objects (install/). */
const MOST_KEPT_BYTES = 32 * 1024 * 1024;
/** Bytes that are on their way to all who asked. A slow reader holds its answer in memory. */
const MOST_SENT_BYTES = 32 * 1024 * 1024;
/** How long a request waits for a look, ms. `generate` waits 200 ms for the answer. */
const PATIENCE_MS = 150;
/** Time limit for sending a look, ms. A slower client is cut off, because its look holds memory. */
const LONGEST_SENDING_MS = 2_000;

type ServedLook = KeptLook & { readonly bytes: number; readonly endedMs: number };

/** What is known of one watched scope. */
interface Place extends ReturnType<typeof keysOf> {
  look?: ServedLook | undefined;
  /** Cancels the timer that forgets the look. */
  takeBack: () => void;
  /** When the last event of the scope came (`heardMs`), and when a request last caused a look (`askedMs`). */
  heardMs: number;
  askedMs: number;
  readonly waiting: Set<() => void>;
}

/** The look of a place, if it is younger than the last event of the scope. */
function freshLook({ heardMs, look }: Place, nowMs: number): ServedLook | undefined {
  return look && look.beganMs >= heardMs && nowMs - look.endedMs <= MOST_AGE_MS ? look : undefined;
}

/** Returns a fresh look, and requests one if there is none. Undefined: none came in time. */
async function waitForLook(place: Place, clock: Clock, requestLook: () => void): Promise<ServedLook | undefined> {
  const askedMs = clock.steadyMs();
  const fresh = () => freshLook(place, clock.steadyMs());
  if (!fresh() && askedMs - place.askedMs >= MOST_AGE_MS) {
    place.askedMs = askedMs;
    requestLook();
  }
  while (!fresh() && clock.steadyMs() - askedMs < PATIENCE_MS) {
    const wait = new AbortController();
    const go = (): void => wait.abort();
    place.waiting.add(go);
    await pause(clock, PATIENCE_MS - (clock.steadyMs() - askedMs), wait.signal);
    place.waiting.delete(go);
  }
  return fresh();
}

/** Sends a look, one answer of Gitea per turn of the event loop. A slow reader is cut off. */
async function sendLook(look: ServedLook, secret: Buffer, nonce: string, response: ServerResponse, clock: Clock) {
  const takeBack = clock.after(LONGEST_SENDING_MS, () => response.destroy());
  response.once('close', takeBack);
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  for (const piece of sealed(look, secret, nonce, clock.steadyMs())) {
    response.write(piece);
    await clock.nextTurn();
  }
  response.end();
}

export type LookServer = ReturnType<typeof openLookServer>;

/** Keeps looks of the leader for some seconds, and gives them to `generate`. */
export function openLookServer({ clock, tell }: Pick<GiteasOptions, 'clock' | 'tell'>) {
  const places = new Map<string, Place>();
  const byId = new Map<string, string>();
  let lookAt: (key: string) => void = () => undefined;
  let keptBytes = 0;
  let sentBytes = 0;

  const forget = (key: string): void => {
    const place = places.get(key);
    if (!place) return;
    keptBytes -= place.look?.bytes ?? 0;
    place.look = undefined;
    place.takeBack();
  };

  const onRequest: RequestListener = (request, response) => {
    const { [ID_HEADER]: id, [NONCE_HEADER]: nonce } = request.headers;
    const refuse = (status: number, why: string, result?: 'unknown' | 'late' | 'busy'): void => {
      if (result) tell({ is: 'look-asked', result });
      sendPage(request, response, plain(status, why));
    };
    if (request.method !== 'GET' || request.url !== LOOK_PATH) return refuse(404, 'not found');
    const key = byId.get(String(id)) ?? '';
    const place = places.get(key);
    const isNonce = typeof nonce === 'string' && /^[0-9a-f]{32}$/.test(nonce);
    // Both answers are the same: a client without the token learns nothing.
    if (!place || !isNonce) return refuse(404, 'no such look', 'unknown');
    void waitForLook(place, clock, () => lookAt(key)).then(async (look) => {
      if (!look) return refuse(503, 'no look that is new enough', 'late');
      if (sentBytes + look.bytes > MOST_SENT_BYTES) return refuse(503, 'busy', 'busy');
      tell({ is: 'look-asked', result: 'given' });
      if (response.destroyed) return;
      sentBytes += look.bytes;
      response.once('close', () => {
        sentBytes -= look.bytes;
      });
      await sendLook(look, place.secret, nonce, response, clock);
    });
  };

  /** Records one look. `end` has to follow. */
  const record = (sender: Sender) => {
    let bytes = 0;
    const take = (size: number): boolean => {
      if (bytes + size > MOST_OF_KEPT || keptBytes + size > MOST_KEPT_BYTES) return false;
      bytes += size;
      keptBytes += size;
      return true;
    };
    const recording = recordingOf(sender, clock.steadyMs, take);
    /** @param version of this Gitea; undefined: the look has failed */
    const end = (key: string, beganMs: number, version: string | undefined): void => {
      const answers = recording.answers();
      const place = places.get(key);
      forget(key);
      if (place && answers && version !== undefined) {
        place.look = { answers, beganMs, endedMs: clock.steadyMs(), bytes, version };
        // No client gets an older look, so it need not be kept.
        place.takeBack = clock.after(MOST_AGE_MS, () => forget(key));
      } else keptBytes -= bytes;
      for (const go of place?.waiting ?? []) go();
    };
    return { sender: recording, end };
  };

  return {
    forget,
    onRequest,
    record,

    /** Replaces the set of watched scopes. @param look requests a new look at one of them soon */
    watch: (targets: readonly GiteaTarget[], look: (key: string) => void): void => {
      lookAt = look;
      const keys = new Set(targets.map(({ key }) => key));
      for (const key of places.keys()) if (!keys.has(key)) forget(key);
      keepOnly(places, keys);
      byId.clear();
      for (const target of targets) {
        const { key } = target;
        const nothing = { heardMs: 0, askedMs: 0, takeBack: () => undefined, waiting: new Set<() => void>() };
        const place = places.get(key) ?? { ...keysOf(target), ...nothing };
        places.set(key, place);
        byId.set(place.id, key);
      }
    },

    /** Notes that the scope may have changed. Older looks are not given out any more. */
    heard: (key: string): void => {
      const place = places.get(key);
      if (place) place.heardMs = clock.steadyMs();
    },
  };
}
