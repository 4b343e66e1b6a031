/**
 * Keeps the answers of one look: `serve` records them, and `generate` plays them again (docs/adr/0111).
 *
 *     token, Gitea, scope ─ HMAC ─► key ─┬─ HMAC ─► id, which is asked for
 *                                        └─ HKDF with salt and nonce ─► AES-256-GCM of the answers
 *
 * Only a holder of the token can name, make or read a look. An old look cannot pass for a new one. The token is not sent.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { Sender } from '../http/http-client.ts';
import { type HttpAnswer, parseJson } from '../http/request.ts';
import { describeScope } from './endpoints.ts';
import type { GiteaTarget } from './observe-gitea.ts';
import { judgeVersion, type VersionFacts } from './version.ts';

/** Bytes of all answers of a look: about 5,000 runners at work. */
export const MOST_OF_KEPT = 8 * 1024 * 1024;
const MOST_ANSWERS = 2_000;
/** How long ago a look may have ended, ms. A look at Gitea itself may take longer. */
export const MOST_AGE_MS = 5_000;
/** Path of looks on `serve`, and the headers that name a look. */
export const LOOK_PATH = '/look';
export const ID_HEADER = 'x-look';
export const NONCE_HEADER = 'x-nonce';

/** The one header of Gitea that is kept: it has the length of a list of repositories. */
const TOTAL = 'x-total-count';
const CIPHER = 'aes-256-gcm';
const [SALT_BYTES, IV_BYTES, TAG_BYTES] = [16, 12, 16];

/** One answer with status 200. Times by the steady clock, ms. */
interface Answer {
  readonly url: string;
  readonly body: Buffer;
  readonly total: string | undefined;
  readonly date: string | undefined;
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** The requests of a look with their answers. */
export type KeptLook = Readonly<{ version: string; beganMs: number; answers: readonly Answer[] }>;

/** Returns the key that names a look at a target, and the key that opens it. */
export function keysOf({ scope, token }: Pick<GiteaTarget, 'scope' | 'token'>) {
  const secret = token.keyFor(`a look\n${token.base}\n${describeScope(scope)}`);
  return { secret, id: createHmac('sha256', secret).update('id').digest('hex') };
}

/** Forwards requests and records the answers. An unusual one ends the recording. @param take false: no memory is left */
export function recordingOf(sender: Sender, steadyMs: () => number, take: (bytes: number) => boolean) {
  let kept: Answer[] | undefined = [];
  const send: Sender['send'] = async (request, deadline) => {
    const sentMs = steadyMs();
    const mayLeadTo: typeof request.mayLeadTo = (...redirect) => {
      kept = undefined;
      return request.mayLeadTo?.(...redirect) ?? true;
    };
    const answer = await sender.send({ ...request, mayLeadTo }, deadline);
    const receivedMs = steadyMs();
    const { header, mediaType, status, text } = answer;
    const isUsual = status === 200 && mediaType === 'application/json';
    // With `age`, the date is that of another server's clock.
    const date = header('age') === undefined ? header('date') : undefined;
    if (isUsual && kept && kept.length < MOST_ANSWERS && take(Buffer.byteLength(text)))
      kept.push({ url: request.url.href, body: Buffer.from(text), total: header(TOTAL), date, sentMs, receivedMs });
    else kept = undefined;
    return answer;
  };
  /** Undefined: they cannot be given to others. */
  const answers = (): readonly Answer[] | undefined => kept;
  return { send, answers };
}

const AnswerHead = z.object({
  url: z.string(),
  bytes: z.int().nonnegative(),
  total: z.string().optional(),
  date: z.string().optional(),
  sentAgoMs: z.number(),
  receivedAgoMs: z.number(),
});
const Head = z.object({
  version: z.string(),
  beganAgoMs: z.number().nonnegative(),
  answers: z.array(AnswerHead).max(MOST_ANSWERS),
});

/** Encrypts a look for this nonce, piece by piece. Times become ages: the clocks of two machines differ. */
export function* sealed({ version, beganMs, answers }: KeptLook, secret: Buffer, nonce: string, nowMs: number) {
  const head: z.infer<typeof Head> = {
    version,
    beganAgoMs: nowMs - beganMs,
    answers: answers.map(({ body, date, receivedMs, sentMs, total, url }) => {
      return { url, bytes: body.length, total, date, sentAgoMs: nowMs - sentMs, receivedAgoMs: nowMs - receivedMs };
    }),
  };
  const [salt, iv] = [randomBytes(SALT_BYTES), randomBytes(IV_BYTES)];
  const cipher = createCipheriv(CIPHER, cipherKey(secret, salt, nonce), iv);
  yield Buffer.concat([salt, iv, cipher.update(`${JSON.stringify(head)}\n`)]);
  for (const { body } of answers) yield cipher.update(body);
  yield Buffer.concat([cipher.final(), cipher.getAuthTag()]);
}

function cipherKey(secret: Buffer, salt: Buffer, nonce: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, `answers\n${nonce}`, 32));
}

/** An opened look: its age, the recorded answers, and the bounds of Gitea's clock. */
export interface OpenLook {
  readonly version: VersionFacts;
  readonly beganAgoMs: number;
  readonly endedAgoMs: number;
  readonly sender: Sender;
  readonly dates: readonly Readonly<Record<'sentAgoMs' | 'receivedAgoMs', number> & { readonly date: string }>[];
}

/** Decrypts a look. Undefined: its maker lacks the token, it is for another nonce, or it is not whole. */
export function opened(bytes: Buffer, secret: Buffer, nonce: string): OpenLook | undefined {
  const text = decrypted(bytes, secret, nonce);
  const end = text?.indexOf('\n') ?? -1;
  const head = text && Head.safeParse(parseJson(text.subarray(0, Math.max(0, end)).toString())).data;
  const version = head && judgeVersion(head.version);
  if (!version || 'code' in version) return undefined;
  const answers = new Map<string, HttpAnswer[]>();
  let offset = end + 1;
  for (const { bytes: length, total, url } of head.answers) {
    const body = text.subarray(offset, offset + length);
    offset += length;
    const header = (name: string) => (name === TOTAL ? total : undefined);
    const answer = { status: 200, mediaType: 'application/json', text: body.toString(), header };
    // A list that moved was read again: each reading has its own answer.
    answers.set(url, [...(answers.get(url) ?? []), answer]);
  }
  if (offset !== text.length) return undefined;
  const sender: Sender = {
    send: async ({ method, url }) => {
      const answer = method === 'GET' ? answers.get(url.href)?.shift() : undefined;
      if (!answer) throw new Error('it was not asked when the look was kept');
      return answer;
    },
  };
  return {
    version,
    sender,
    beganAgoMs: head.beganAgoMs,
    endedAgoMs: head.answers.reduce((ms, { receivedAgoMs }) => Math.min(ms, receivedAgoMs), head.beganAgoMs),
    dates: head.answers.flatMap(({ date, ...times }) => (date ? [{ ...times, date }] : [])),
  };
}

function decrypted(bytes: Buffer, secret: Buffer, nonce: string): Buffer | undefined {
  const [salt, iv] = [bytes.subarray(0, SALT_BYTES), bytes.subarray(SALT_BYTES, SALT_BYTES + IV_BYTES)];
  if (bytes.length < SALT_BYTES + IV_BYTES + TAG_BYTES) return undefined;
  try {
    const decipher = createDecipheriv(CIPHER, cipherKey(secret, salt, nonce), iv, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(SALT_BYTES + IV_BYTES, -TAG_BYTES));
    decipher.final();
    return text;
  } catch {
    return undefined;
  }
}
