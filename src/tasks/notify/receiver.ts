/**
 * What is told of a CI job that has ended, and what a kind of receivers must do. A further kind is a field of `spec.notify`
 * (notify-fields.ts), a file beside this one and a row in `src/cli/serve.ts`: CONTRIBUTING.md.
 */
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import type { HttpClient } from '../../clients/http/client.ts';
import type { Env } from '../../clients/http/proxy.ts';
import type { NotifyTarget, ReceiverKind } from '../../config/runnergroup/notify-fields.ts';
import type { JobNotice, NotifyResult } from '../../serve/events.ts';
import type { Clock } from '../../shared/clock.ts';
import { Failure, systemCode } from '../../shared/failure.ts';

/** A message to one addressee. */
export interface Message {
  readonly to: ReceiverKind;
  /** Its lane in the outbox. `/debug/queue` shows it. */
  readonly addressee: string;
  /** Of the RunnerGroup that it is about. */
  readonly namespace: string;
  /** One attempt; nothing: it was accepted. @throws Failure: the next attempt may work. */
  readonly send: () => Promise<Refusal | undefined>;
}

export interface Refusal {
  readonly failure: Failure;
  /** The same message may be accepted later. */
  readonly again: boolean;
}

/** @param Address what `spec.notify` says of an addressee. */
export interface Receiver<Address> {
  /** A Failure: the configuration of `serve` does not allow it. */
  readonly messageFor: (address: Address, notice: JobNotice) => Message | Failure;
  /** Requests to this path on the port of webhooks are for it. */
  readonly requests?: { readonly path: string; readonly listener: RequestListener };
  /** What it does beside, until the signal is aborted. Never rejects. */
  readonly run?: (signal: AbortSignal) => Promise<void>;
}

/** One of each kind. */
export type Receivers = { readonly [Kind in ReceiverKind]: Receiver<NonNullable<NotifyTarget[Kind]>> };

/** What receivers may use. */
export interface ReceiverContext {
  readonly clock: Clock;
  readonly env: Env;
  /** 0 to 1. */
  readonly random: () => number;
  /** An attempt to send has `ATTEMPT_MS`. */
  readonly http: HttpClient;
  /** Secrets of a file, as of now. @throws Failure when it cannot be read at the start. */
  readonly watchSecrets: (file: string | undefined) => Promise<() => readonly string[]>;
  /** Takes a message that no CI job has caused. */
  readonly post: (message: Message) => void;
  readonly tell: (to: ReceiverKind, result: NotifyResult, failure?: Failure) => void;
}

export const ATTEMPT_MS = 5_000;

export function unusable(file: string, why: string): Failure {
  return new Failure('GR-NOTIFY-05', 1, `read a secret for notifications: ${file}: ${why}.`);
}

/** A token or secret of notifications. It is read each time, so it can be replaced while we run. @throws Failure */
export async function readSecretFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unusable(file, `${systemCode(error)}. Mount the Secret`);
  });
  const secret = text.trim();
  if (secret === '') throw unusable(file, 'it is empty. Mount the Secret');
  return secret;
}
