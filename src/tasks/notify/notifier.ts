/**
 * Tells people that CI jobs have ended: hears `job-ended`, and puts a message for each addressee that wants it into the outbox.
 *
 *     job-ended ─► wanted? allowed? ─► outbox, a lane per addressee ─► Slack, webhook ─► event `notified`
 *
 * Tokens and secrets are read from their files for each message, so they can be replaced while we run. None is in an event or a message.
 */
import { hash } from 'node:crypto';
import { HttpClient, type HttpOptions } from '../../clients/http/client.ts';
import { Deadline } from '../../clients/http/deadline.ts';
import type { Env } from '../../clients/http/proxy.ts';
import type { NotifyTarget } from '../../config/runnergroup/notify-fields.ts';
import type { ServeEvent, Tell } from '../../serve/events.ts';
import type { WorkQueue } from '../../serve/queue.ts';
import type { Clock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/parse-url.ts';
import { isAllowedUrl } from './allowed-urls.ts';
import { type JobNotice, type NotifyResult, wants } from './notice.ts';
import { Outbox, type OutboxTimes, type SendResult } from './outbox.ts';
import { readSecretFile, readSignerOf } from './secret-file.ts';
import { postToSlack } from './slack-client.ts';
import { slackMessage } from './slack-message.ts';
import type { Press } from './slack-presses.ts';
import type { ListenToSlack } from './slack-socket.ts';
import { webhookMessage } from './webhook-message.ts';

/** What the administrator configures. */
export interface NotifyOptions {
  /** Absent: nothing is posted to Slack. */
  readonly slackTokenFile?: string;
  /** Default: Slack's own. For tests. */
  readonly slackApiUrl?: string;
  /** Prefixes of addresses that may get webhooks. */
  readonly allowedUrls: readonly URL[];
  /** Absent: webhooks are not signed. */
  readonly secretFile?: string;
  /** Of groups that have no `notify`. */
  readonly defaults: readonly NotifyTarget[];
  /** Signing secret of the Slack app: presses of the button come as requests. Absent: none is taken. */
  readonly slackSigningSecretFile?: string;
  /** Presses of the button come over a connection to Slack. Absent: there is none. */
  readonly slackSocket?: {
    /** App-level token of the Slack app. */
    readonly tokenFile: string;
    /** Of slack-socket.ts, whose packages few need. */
    readonly listen: ListenToSlack;
    /** For tests. */
    readonly pauseMs?: number;
  };
  /** Keeps a runner an hour longer, and answers until when, for people. Absent: no button. @throws Failure */
  readonly extend?: (runner: { readonly namespace: string; readonly name: string }) => Promise<string>;
  /** For tests. */
  readonly times?: OutboxTimes;
}

export interface NotifierOptions extends NotifyOptions, Pick<HttpOptions, 'wireTo'> {
  readonly env: Env;
  readonly clock: Clock;
  readonly queue: WorkQueue;
  readonly tell: Tell;
}

interface Message {
  readonly target: NotifyTarget;
  /** A notice, or a reply in a thread of Slack. */
  readonly content: { readonly notice: JobNotice } | { readonly reply: string; readonly thread: string };
}

const ATTEMPT_MS = 5_000;
/** What an addressee answers is not read. */
const LONGEST_ANSWER = 64 * 1024;
const FINAL: SendResult = { is: 'failed', again: false };
const AGAIN: SendResult = { is: 'failed', again: true };

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #http: HttpClient;
  readonly #outbox: Outbox<Message>;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#http = new HttpClient({
      clock: options.clock,
      env: options.env,
      attemptMs: ATTEMPT_MS,
      bodyLimit: LONGEST_ANSWER,
      ...(options.wireTo && { wireTo: options.wireTo }),
    });
    this.#outbox = new Outbox({
      queue: options.queue,
      send: (message) => this.#send(message),
      onEnd: ({ target }, result) => this.#tell(target, result),
      ...(options.times && { times: options.times }),
    });
  }

  readonly subscriber = (event: ServeEvent): void => {
    if (event.is !== 'job-ended') return;
    const { notice, notify } = event;
    for (const target of notify) {
      if (!wants(target, notice)) continue;
      const refusal = this.#refusal(target, notice);
      if (refusal) this.#tell(target, 'refused', refusal);
      else this.#outbox.add(addresseeOf(target), notice.namespace, { target, content: { notice } });
    }
  };

  /** Somebody pressed the button. Answers in the thread. */
  readonly pressed = (press: Press): void => {
    void this.#extend(press);
  };

  async #extend({ channel, namespace, person, runner, thread }: Press): Promise<void> {
    const target: NotifyTarget = { slack: { channel }, on: 'always' };
    const told = await this.#options.extend?.({ namespace, name: runner }).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      this.#tell(target, 'extend-failed', error);
      return `it cannot be kept longer (${error.code}). The log of serve says why.`;
    });
    const reply = `<@${person}> ${told ?? ''}`;
    this.#outbox.add(addresseeOf(target), namespace, { target, content: { reply, thread } });
  }

  /** Sends nothing more; requests under way are broken off. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  #refusal({ slack, webhook }: NotifyTarget, { group, namespace }: JobNotice): Failure | undefined {
    const { allowedUrls, slackTokenFile } = this.#options;
    if (slack) {
      if (slackTokenFile !== undefined) return undefined;
      const remedy = 'Give serve a bot token: --slack-token-file, docs/notifications.md.';
      return new Failure(
        'GR-NOTIFY-02',
        1,
        `notify for RunnerGroup ${namespace}/${group}: no Slack token is configured. ${remedy}`,
      );
    }
    if (isAllowedUrl(webhook?.url ?? '', allowedUrls)) return undefined;
    const remedy = 'Add its prefix to --notify-urls of serve, or change spec.notify.';
    const what = 'serve is not allowed to send to this webhook URL';
    return new Failure('GR-NOTIFY-03', 1, `notify for RunnerGroup ${namespace}/${group}: ${what}. ${remedy}`);
  }

  async #send({ content, target }: Message): Promise<SendResult> {
    try {
      if (target.slack) return await this.#post(target.slack.channel, content, target);
      return 'notice' in content ? await this.#callWebhook(target.webhook?.url ?? '', content.notice, target) : FINAL;
    } catch (error) {
      // At the end requests are broken off.
      if (!(error instanceof Failure)) return FINAL;
      this.#tell(target, 'retried', error);
      return AGAIN;
    }
  }

  async #post(channel: string, content: Message['content'], target: NotifyTarget): Promise<SendResult> {
    const { extend, slackApiUrl: apiUrl, slackSigningSecretFile, slackSocket } = this.#options;
    const { slackTokenFile = '' } = this.#options;
    const token = await readSecretFile(slackTokenFile);
    const slack = { token, ...(apiUrl !== undefined && { apiUrl }) };
    const canExtend = extend !== undefined && (slackSigningSecretFile ?? slackSocket) !== undefined;
    const message =
      'notice' in content
        ? slackMessage(channel, content.notice, canExtend)
        : { channel, text: content.reply, thread_ts: content.thread };
    const failed = await postToSlack(this.#http, slack, message);
    if (!failed) return { is: 'sent' };
    this.#tell(target, 'retried', failed.failure);
    return failed.again ? AGAIN : FINAL;
  }

  async #callWebhook(url: string, notice: JobNotice, target: NotifyTarget): Promise<SendResult> {
    const { clock, secretFile } = this.#options;
    const secret = secretFile === undefined ? undefined : await readSignerOf(secretFile, url);
    const { body, headers } = webhookMessage(notice, clock.now(), secret);
    const what = `notify for RunnerGroup ${notice.namespace}/${notice.group}`;
    // A POST is not led on: a redirect is an answer like others.
    const request = { what, method: 'POST', url: new URL(url), headers, body } as const;
    const { status } = await this.#http.send(request, new Deadline(ATTEMPT_MS, clock));
    if (status >= 200 && status < 300) return { is: 'sent' };
    const redirect = status >= 300 && status < 400;
    const remedy = redirect ? 'Redirects are not followed: write the final address' : 'Look at the receiver';
    this.#tell(
      target,
      'retried',
      new Failure('GR-NOTIFY-04', 1, `${what}: the webhook answered ${status}. ${remedy}.`),
    );
    return status >= 500 || status === 429 ? AGAIN : FINAL;
  }

  #tell({ slack }: NotifyTarget, result: NotifyResult, failure?: Failure): void {
    this.#options.tell({ is: 'notified', to: slack ? 'slack' : 'webhook', result, ...(failure && { failure }) });
  }
}

function addresseeOf({ slack, webhook }: NotifyTarget): string {
  if (slack) return `slack ${slack.channel}`;
  // The path of a webhook may be its secret, and keys are printed (/debug/queue).
  const url = webhook?.url ?? '';
  return `webhook ${parseUrl(url)?.origin ?? ''} ${hash('sha256', url).slice(0, 8)}`;
}
