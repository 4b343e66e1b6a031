/**
 * Tells people that CI jobs have ended: puts a message for each addressee that wants a `job-ended` into the outbox.
 *
 *     job-ended ─► wanted? allowed? ─► outbox, a lane per addressee ─► its receiver ─► event `notified`
 *
 * A further kind of receivers: CONTRIBUTING.md. Secrets are read from their files for each message, and stand in no event.
 */
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { HttpClient } from '../../clients/http/http-client.ts';
import {
  type NotifyTarget,
  NotifyTargets,
  RECEIVERS,
  type ReceiverKind,
} from '../../config/runnergroup/notify-fields.ts';
import { readSmallYaml } from '../../config/small-yaml.ts';
import type { JobNotice, NotifyResult } from '../../serve/planning/events.ts';
import type { WorkQueue } from '../../serve/queue/work-queue.ts';
import type { Feature, FeatureContext } from '../../serve/task.ts';
import { Failure, orFailure, systemReason } from '../../shared/failure.ts';

export interface Message {
  readonly to: ReceiverKind;
  /** Key of the lane in the outbox. `/debug/queue` shows it. */
  readonly addressee: string;
  readonly namespace: string;
  /** Makes one attempt. Undefined: the message was accepted. @throws Failure: the next attempt may work */
  readonly send: () => Promise<Refusal | undefined>;
}

/** A message was not accepted. `again`: it may be accepted later. */
export type Refusal = Readonly<{ failure: Failure; again: boolean }>;

export interface Receiver {
  /** Makes the message. Undefined: the addressee is for another receiver. Failure: the configuration of `serve` does not allow it. */
  readonly messageFor: (target: NotifyTarget, notice: JobNotice) => Message | Failure | undefined;
  /** Requests to this path on the port of webhooks are for it. */
  readonly requests?: { readonly path: string; readonly listener: RequestListener };
  /** Background work of the receiver until the signal is aborted. Never rejects. */
  readonly run?: (signal: AbortSignal) => Promise<void>;
}

export interface ReceiverContext extends Pick<FeatureContext, 'clock' | 'env' | 'random' | 'watchSecrets'> {
  /** An attempt to send has `ATTEMPT_MS`. */
  readonly http: HttpClient;
  /** Takes a message that no CI job has caused. */
  readonly post: (message: Message) => void;
  readonly tell: (to: ReceiverKind, result: NotifyResult, failure?: Failure) => void;
}

export interface NotifyOptions {
  readonly receivers: (context: ReceiverContext) => Promise<Readonly<Record<ReceiverKind, Receiver>>>;
  /** Addressees for groups that have no `notify`. */
  readonly defaults: readonly NotifyTarget[];
  readonly times?: typeof TIMES;
}

/** Time limit of one attempt, ms. A receiver that hangs delays its own lane only. */
export const ATTEMPT_MS = 5_000;
/** Most bytes of an answer. Its content is not used. */
const LONGEST_ANSWER = 64 * 1024;

/** Opens the receivers and the outbox. @throws Failure when a receiver cannot begin */
export async function openNotifier(
  options: NotifyOptions,
  context: Pick<FeatureContext, 'clock' | 'env' | 'queue' | 'random' | 'tell' | 'watchSecrets' | 'wireTo'>,
): Promise<Required<Feature>> {
  const { clock, env, queue, wireTo } = context;
  const http = new HttpClient({ clock, env, attemptMs: ATTEMPT_MS, bodyLimit: LONGEST_ANSWER, wireTo });
  const tell: ReceiverContext['tell'] = (to, result, failure) =>
    context.tell({ is: 'notified', to, result, ...(failure && { failure }) });
  const post = openOutbox(queue, ({ to }, result, failure) => tell(to, result, failure), options.times);
  const receivers = await options.receivers({ ...context, http, post, tell });
  const all = RECEIVERS.map((kind) => receivers[kind]);
  return {
    subscriber: (event) => {
      if (event.is !== 'job-ended') return;
      for (const target of event.notify) {
        if (target.on !== 'always' && target.on !== event.notice.result) continue;
        for (const kind of RECEIVERS) {
          const message = receivers[kind].messageFor(target, event.notice);
          if (message instanceof Failure) tell(kind, 'refused', message);
          else if (message) post(message);
        }
      }
    },
    requests: new Map(all.flatMap(({ requests }) => (requests ? [[requests.path, requests.listener] as const] : []))),
    run: async (signal) => {
      await Promise.all(all.map(({ run }) => run?.(signal)));
    },
    close: () => http.close(),
  };
}

/** `gapMs`: between two messages of a lane, as chats take them. `pausesMs`: before each further attempt of a message. */
const TIMES = { gapMs: 1_000, pausesMs: [2_000, 10_000, 60_000] };
/** Most waiting messages of one lane: with one per second, older ones would be late by more than a minute. */
export const MOST_IN_LANE = 100;
/** Addressees with messages under way. */
export const MOST_LANES = 200;
/** Lanes that one namespace may have opened: dead addressees of one team must leave room for others. */
export const MOST_LANES_OF_ONE = 50;
/** A message is sent within seconds, whatever its addressee does. */
const LONGEST_SEND_MS = 60_000;

interface Lane {
  /** Namespace whose message has opened the lane. */
  readonly namespace: string;
  readonly waiting: Message[];
  tries: number;
}

/** Sends messages: one at a time in each lane, with further attempts. Messages above the bounds are dropped and counted. */
export function openOutbox(
  queue: WorkQueue,
  tell: (message: Message, result: NotifyResult, failure?: Failure) => void,
  { gapMs, pausesMs } = TIMES,
): (message: Message) => void {
  const lanes = new Map<string, Lane>();
  const line = queue.open('notify', {
    width: MOST_LANES,
    gapMs,
    deadlineMs: LONGEST_SEND_MS,
    run: async (addressee, { signal }) => {
      const lane = lanes.get(addressee);
      const [message] = lane?.waiting ?? [];
      if (!lane || !message) return undefined;
      const answer = await orFailure(message.send());
      if (signal.aborted) return undefined;
      const refusal = answer instanceof Failure ? { failure: answer, again: true } : answer;
      if (refusal) tell(message, 'retried', refusal.failure);
      const pauseMs = pausesMs[lane.tries];
      if (refusal?.again && pauseMs !== undefined) {
        lane.tries += 1;
        return { inMs: pauseMs, firm: true };
      }
      lane.tries = 0;
      lane.waiting.shift();
      if (lane.waiting.length === 0) lanes.delete(addressee);
      tell(message, refusal ? 'failed' : 'sent');
      return lane.waiting.length > 0 ? { inMs: 0 } : undefined;
    },
  });
  const isFull = (namespace: string): boolean =>
    lanes.size >= MOST_LANES ||
    [...lanes.values()].filter((lane) => lane.namespace === namespace).length >= MOST_LANES_OF_ONE;
  return (message) => {
    const { addressee, namespace } = message;
    const lane = lanes.get(addressee);
    // The first message of a lane is on its way and does not count.
    if (lane ? lane.waiting.length > MOST_IN_LANE : isFull(namespace)) return tell(message, 'dropped');
    if (lane) lane.waiting.push(message);
    else lanes.set(addressee, { namespace, waiting: [message], tries: 0 });
    line.add(addressee);
  };
}

export function unusableFile(file: string, why: string): Failure {
  return new Failure('GR-NOTIFY-05', 1, `read a secret for notifications: ${file}: ${why}.`);
}

/** A token or secret of notifications. @throws Failure */
export async function readSecretFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unusableFile(file, `${systemReason(error)}. Mount the Secret`);
  });
  const secret = text.trim();
  if (secret === '') throw unusableFile(file, 'it is empty. Mount the Secret');
  return secret;
}

/** Reads the file `--notify-file`: the default of `spec.notify`. @throws Failure exit 2 */
export async function readNotifyFile(file: string): Promise<readonly NotifyTarget[]> {
  const wrong = (detail: string): Failure =>
    new Failure('GR-NOTIFY-06', 2, `read --notify-file ${file}: ${detail}. Write a list like spec.notify.`);
  return (await readSmallYaml(file, NotifyTargets.nullable(), wrong)) ?? [];
}
