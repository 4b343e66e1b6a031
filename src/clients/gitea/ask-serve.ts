/** Asks `serve` for recent looks in place of Gitea (docs/adr/0111). A faulty answer counts as none. */
import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { systemClock } from '../../shared/clock.ts';
import { directWire } from '../http/direct.ts';
import type { RequestLine } from '../http/request.ts';
import type { ServerClocks } from '../http/server-clocks.ts';
import type { Wire } from '../http/wire.ts';
import { giteaBase } from './api.ts';
import {
  ID_HEADER,
  keysOf,
  LOOK_PATH,
  MOST_AGE_MS,
  MOST_OF_KEPT,
  NONCE_HEADER,
  type OpenLook,
  opened,
} from './kept-look.ts';
import type { GiteaTarget } from './observe-gitea.ts';

/** Time limit for all looks together, ms. If nobody answers, the run takes this much longer. */
const LONGEST_ASKING_MS = 200;
/** Added once an answer has begun: it has megabytes, and asking Gitea for them takes longer. */
const LONGEST_READING_MS = 2_000;
/** Step of the countdown. Time in which this process is busy and hears no answer does not count. */
const TICK_MS = 10;
/** The Service has one address for each replica. Only the leading replica has looks. */
const MOST_ADDRESSES = 8;
/** Most bytes of one look: its answers and their list. `CONNECTIONS` looks are read at the same time. */
const MOST_BYTES = MOST_OF_KEPT + 2 * 1024 * 1024;
const CONNECTIONS = 4;

interface Asking {
  readonly url: string;
  readonly clocks: ServerClocks;
  readonly now: () => number;
  readonly onRequest?: ((line: RequestLine) => void) | undefined;
}

/** A way to replay a look at a target (`ObserveOptions`), with the begin of the look by the steady clock. */
export type Played = ReturnType<typeof playedOf>;

/** The looks that came in time and are young enough, by key of the target. */
export async function askServe(targets: readonly GiteaTarget[], asking: Asking): Promise<ReadonlyMap<string, Played>> {
  const playedByTarget = new Map<string, Played>();
  const wires: Wire[] = [];
  await new Promise<void>((resolve) => {
    let leftMs = LONGEST_ASKING_MS;
    let hasBegun = false;
    const begin = (): void => {
      if (!hasBegun) leftMs += LONGEST_READING_MS;
      hasBegun = true;
    };
    let takeBack = (): void => undefined;
    const end = (): void => {
      takeBack();
      leftMs = 0;
      resolve();
    };
    const tick = (): void => {
      leftMs -= TICK_MS;
      if (leftMs <= 0) end();
      else takeBack = systemClock.after(TICK_MS, tick);
    };
    takeBack = systemClock.after(TICK_MS, tick);
    const askAt = async (origin: string): Promise<void> => {
      const wire = await directWire(origin, { connections: CONNECTIONS, signal: new AbortController().signal });
      // The name was found too late. An open connection would keep the process from ending.
      if (leftMs <= 0) return;
      wires.push(wire);
      const answers = targets.map(async (target) => {
        const played = await askOne(wire, new URL(LOOK_PATH, origin), target, asking, begin).catch(() => undefined);
        if (played) playedByTarget.set(target.key, played);
        // Every target has an answer, so the other addresses need not answer.
        if (playedByTarget.size === targets.length) end();
      });
      await Promise.all(answers);
    };
    originsOf(asking.url)
      .then((origins) => Promise.all(origins.map(askAt)))
      .then(end, end);
  });
  for (const wire of wires) void wire.close();
  return new Map(playedByTarget);
}

async function originsOf(url: string): Promise<readonly string[]> {
  const { hostname, port } = new URL(url);
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
  return addresses
    .slice(0, MOST_ADDRESSES)
    .map(({ address, family }) => `http://${family === 6 ? `[${address}]` : address}:${port || 80}`);
}

async function askOne(wire: Wire, url: URL, target: GiteaTarget, asking: Asking, onBegin: () => void) {
  const { clocks, now, onRequest } = asking;
  const { id, secret } = keysOf(target);
  const nonce = randomBytes(16).toString('hex');
  const [sentMs, sentSteadyMs] = [now(), systemClock.steadyMs()];
  const headers = { [ID_HEADER]: id, [NONCE_HEADER]: nonce };
  const answer = await wire.send({ url, method: 'GET', headers }).answer;
  const { status } = answer;
  if (status === 200) onBegin();
  const bytes = await answer.read(status === 200 ? MOST_BYTES : 1_024);
  onRequest?.({ method: 'GET', url: url.href, status, ms: systemClock.steadyMs() - sentSteadyMs, queue: '' });
  const look =
    status === 200 && bytes
      ? opened(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), secret, nonce)
      : undefined;
  // The ages are those at the answer: it may have been on its way since it was asked for.
  if (!look || systemClock.steadyMs() - (sentSteadyMs - look.endedAgoMs) > MOST_AGE_MS) return undefined;
  const receivedMs = now();
  for (const { date, receivedAgoMs, sentAgoMs } of look.dates)
    clocks.note(new URL(target.url).origin, {
      date,
      sentMs: sentMs - sentAgoMs,
      receivedMs: receivedMs - receivedAgoMs,
    });
  return playedOf(look, target, sentSteadyMs - look.beganAgoMs);
}

function playedOf({ sender, version }: OpenLook, { url }: GiteaTarget, beganMs: number) {
  return { http: sender, versions: new Map([[giteaBase(url), Promise.resolve(version)]]), beganMs };
}
