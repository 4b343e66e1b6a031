/**
 * Takes webhooks over HTTP: `POST /webhook` with a JSON body of at most 256 KiB, and nothing else. Gitea waits 5 s for an
 * answer. So the answer is sent before the event is acted on. Gitea shows the answer in its list of deliveries.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { HttpClient } from '../../clients/http/http-client.ts';
import { Deadline } from '../../clients/http/request.ts';
import { parseUrl } from '../../shared/url.ts';
import { answer, plain } from '../http/http-server.ts';
import type { Delivery, RefusalReason, WebhookEvent, WebhookGate } from './gate.ts';

/** Takes an accepted delivery, and answers 202 or what the leader answered. Any status but 2xx and 4xx, and a rejection, becomes 503: it may come again. */
export type TakeDelivery = (event: WebhookEvent, delivery: Delivery) => Promise<number>;

/** Longest accepted body. Gitea's are about 5 KB, more with a pull request's text in them. */
export const MAX_WEBHOOK_BYTES = 256 * 1024;
/** Bytes of all incomplete bodies. At the limit the oldest body is dropped. */
const MEMORY_BYTES = 32 * 1024 * 1024;
/** Header of a forwarded delivery: a follower must not forward it again. */
const FORWARDED = 'x-gitea-runners-forwarded';
const KEPT_HEADERS = ['content-type', 'x-gitea-signature', 'x-gitea-event', 'x-gitea-delivery', FORWARDED];

export function webhookListener(
  gate: WebhookGate,
  take: TakeDelivery,
  onRefused: (reason: RefusalReason) => void,
): RequestListener {
  const readBody = bodyReader(MAX_WEBHOOK_BYTES, MEMORY_BYTES);
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refuse = (status: number, reason: RefusalReason, message: string, headers: Record<string, string> = {}) => {
      onRefused(reason);
      answer(request, response, plain(status, message), headers);
    };
    if (request.url !== '/webhook') return refuse(404, 'path', 'Webhooks go to /webhook.');
    if (request.method !== 'POST') return refuse(405, 'method', 'Webhooks are sent with POST.', { allow: 'POST' });
    if (!isJson(request)) return refuse(415, 'media-type', 'Set the content type of the webhook to application/json.');
    const body = await readBody(request);
    if (body === undefined) return refuse(413, 'too-large', `The body is longer than ${MAX_WEBHOOK_BYTES} bytes.`);
    const delivery = { headers: Object.fromEntries(KEPT_HEADERS.map((name) => [name, header(request, name)])), body };
    const verdict = gate.judge(delivery);
    if (verdict.is === 'refused') return refuse(verdict.status, verdict.reason, verdict.message);
    // The handler may throw before it returns a promise.
    const pass = async (): Promise<number> => await take(verdict.event, delivery);
    const status = await pass().catch(() => 503);
    const isDone = status >= 200 && status < 300;
    const isRefused = status >= 400 && status < 500;
    if (!isDone && !isRefused) {
      gate.forget(delivery);
      return answer(request, response, plain(503, 'Not now: no replica could take it. Send it again.'));
    }
    answer(request, response, plain(status, isDone ? '' : 'The replica that is in charge refused it.'));
  };
  // The sender went away (node:http tells that to `onMalformed`), or others need the memory.
  return (request, response) => void handle(request, response).catch(() => response.destroy());
}

/** The media type may have a parameter. node:http keeps the first of several headers. */
function isJson(request: IncomingMessage): boolean {
  return header(request, 'content-type').split(';', 1).join('').trim().toLowerCase() === 'application/json';
}

/** Returns a header of the request. Empty: there is none. */
export function header({ headers }: IncomingMessage, name: string): string {
  return String(headers[name] ?? '');
}

/** Time limit for sending a delivery on to the leader, ms: Gitea waits 5 s for the answer. */
const FORWARD_MS = 3_000;

/** Sends webhooks that came to a follower on to the leader. */
export class Forwarder {
  readonly #http = new HttpClient({ env: {}, attemptMs: FORWARD_MS });

  /** Returns the status of the leader. 503: none is known, or it was forwarded before. @param leader its base URL @throws Failure */
  async send(leader: string | undefined, { body, headers: sent }: Delivery): Promise<number> {
    const url = leader === undefined || sent[FORWARDED] ? undefined : parseUrl('/webhook', leader);
    if (!url) return 503;
    const headers = { ...sent, [FORWARDED]: '1' };
    const request = { what: 'send a webhook on to the leader', method: 'POST', url, body, headers } as const;
    return (await this.#http.send(request, new Deadline(FORWARD_MS))).status;
  }

  readonly close = () => this.#http.close();
}

interface Body {
  pieces: readonly Buffer[];
  length: number;
  /** Drops the body: other bodies need the memory. */
  readonly giveWay: () => void;
}

/** A Buffer per byte would take a hundred times as much memory: more pieces than these become one. */
const MOST_PIECES = 32;

/**
 * Reads bodies while they arrive. Their senders are not known yet, so all together have a bound: when they need more,
 * the oldest one is dropped. A body that arrives in one piece is complete at once and is never dropped.
 * @param longest most bytes of one body @param mostBytes of all of them
 */
export function bodyReader(longest: number, mostBytes: number) {
  /** Oldest first: a Set keeps the order of insertion. */
  const openBodies = new Set<Body>();
  let total = 0;

  const drop = (body: Body): void => {
    if (openBodies.delete(body)) total -= body.length;
  };

  /** False when the body has become too long; then its memory is freed. */
  const add = (body: Body, chunk: Buffer): boolean => {
    const length = body.length + chunk.length;
    if (length > longest) {
      drop(body);
      return false;
    }
    if (!openBodies.has(body)) return true;
    const pieces = [...body.pieces, chunk];
    body.pieces = pieces.length > MOST_PIECES ? [Buffer.concat(pieces)] : pieces;
    body.length = length;
    total += chunk.length;
    for (const oldest of openBodies) {
      if (total <= mostBytes) break;
      drop(oldest);
      oldest.giveWay();
    }
    return true;
  };

  /** Reads a body. Undefined: it is too long, and its rest is not read. Rejects when it is dropped, or the sender goes away. */
  return async (request: Readable & Pick<IncomingMessage, 'headers'>): Promise<Buffer | undefined> => {
    if (Number(request.headers['content-length'] ?? 0) > longest) return undefined;
    return await new Promise((resolve, reject) => {
      const giveWay = (): void => reject(new Error('too many bodies are being read'));
      const body: Body = { pieces: [], length: 0, giveWay };
      openBodies.add(body);
      request.on('data', (chunk: Buffer) => {
        if (add(body, chunk)) return;
        request.pause();
        resolve(undefined);
      });
      request.once('end', () => resolve(Buffer.concat(body.pieces)));
      request.once('error', reject);
      request.once('close', () => {
        drop(body);
        reject(new Error('the sender went away'));
      });
    });
  };
}
