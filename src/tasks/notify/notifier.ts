/**
 * Tells people that CI jobs have ended: hears `job-ended`, and puts a message for each addressee that wants it into the outbox.
 *
 *     job-ended ─► wanted? allowed? ─► outbox, a lane per addressee ─► its receiver ─► event `notified`
 *
 * Tokens and secrets are read from their files for each message, so they can be replaced while we run. None is in an event or a message.
 */
import { HttpClient, type HttpOptions } from '../../clients/http/client.ts';
import { kindOf, type NotifyTarget, RECEIVERS, type ReceiverKind } from '../../config/runnergroup/notify-fields.ts';
import type { JobNotice } from '../../serve/events.ts';
import type { Feature, FeatureContext } from '../../serve/task.ts';
import { Failure } from '../../shared/failure.ts';
import { Outbox, type OutboxTimes } from './outbox.ts';
import { ATTEMPT_MS, type Message, type ReceiverContext, type Receivers } from './receiver.ts';

/** What the administrator configures. */
export interface NotifyOptions {
  readonly receivers: (context: ReceiverContext) => Promise<Receivers>;
  /** Of groups that have no `notify`. */
  readonly defaults: readonly NotifyTarget[];
  /** For tests. */
  readonly times?: OutboxTimes;
}

export interface NotifierOptions extends NotifyOptions, Pick<HttpOptions, 'wireTo'>, FeatureContext {}

/** What an addressee answers is not read. */
const LONGEST_ANSWER = 64 * 1024;

/** @throws Failure when a receiver cannot begin. */
export async function openNotifier(options: NotifierOptions): Promise<Feature> {
  const { clock, env, queue, random, times, watchSecrets, wireTo } = options;
  const http = new HttpClient({
    clock,
    env,
    attemptMs: ATTEMPT_MS,
    bodyLimit: LONGEST_ANSWER,
    ...(wireTo && { wireTo }),
  });
  const tell: ReceiverContext['tell'] = (to, result, failure) =>
    options.tell({ is: 'notified', to, result, ...(failure && { failure }) });
  const outbox = new Outbox({
    queue,
    tell: ({ to }, result, failure) => tell(to, result, failure),
    ...(times && { times }),
  });
  const post = (message: Message): void => outbox.add(message);
  const receivers = await options.receivers({ clock, env, random, http, watchSecrets, post, tell });
  const all = RECEIVERS.map((kind) => receivers[kind]);
  return {
    subscriber: (event) => {
      if (event.is !== 'job-ended') return;
      for (const target of event.notify) {
        if (target.on !== 'always' && target.on !== event.notice.result) continue;
        const kind = kindOf(target);
        const message = messageFor(receivers, kind, target, event.notice);
        if (message instanceof Failure) tell(kind, 'refused', message);
        else if (message) post(message);
      }
    },
    requests: new Map(all.flatMap(({ requests }) => (requests ? [[requests.path, requests.listener] as const] : []))),
    run: async (signal) => {
      await Promise.all(all.map(({ run }) => run?.(signal)));
    },
    close: () => http.close(),
  };
}

function messageFor<Kind extends ReceiverKind>(
  receivers: Receivers,
  kind: Kind,
  target: NotifyTarget,
  notice: JobNotice,
): Message | Failure | undefined {
  const address = target[kind];
  return address && receivers[kind].messageFor(address, notice);
}
