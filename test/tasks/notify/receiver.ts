/** A server that takes notifications: as a plain webhook, and as Slack's Web API. */
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { NotifyOptions } from '../../../src/tasks/notify/notifier.ts';
import { openSlack, type SlackOptions } from '../../../src/tasks/notify/slack.ts';
import { webhookReceiver } from '../../../src/tasks/notify/webhook.ts';
import { json } from '../../support/gitea-stand-in.ts';
import { serve } from '../../support/server.ts';

/** Makes the options as `src/cli/commands/serve.ts` does from its flags. */
export function notifyOptions(
  slack: Partial<SlackOptions>,
  webhook: { readonly allowedUrls?: readonly URL[]; readonly secretFile?: string } = {},
  more: Partial<NotifyOptions> = {},
): NotifyOptions {
  return {
    defaults: [],
    times: { gapMs: 1, pausesMs: [] },
    receivers: async (context) => ({
      slack: await openSlack(context, { extend: async () => '', ...slack }),
      webhook: webhookReceiver(context, webhook.allowedUrls ?? [], webhook.secretFile),
    }),
    ...more,
  };
}

export interface Received {
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export interface Receiver {
  readonly origin: string;
  readonly received: readonly Received[];
}

/** @param answer answers a request that was read; default: 200 with `{"ok": true}`. */
export async function startReceiver(
  answer: (request: Received, response: ServerResponse) => void = (_, response) => json(response, { ok: true }),
): Promise<Receiver> {
  const received: Received[] = [];
  const { origin } = await serve(async (request, response) => {
    const one = { path: request.url ?? '', headers: request.headers, body: await text(request) };
    received.push(one);
    answer(one, response);
  });
  return { origin, received };
}

/** Returns the signature as a receiver calculates it: docs/notifications.md. */
export function signed({ headers, body }: Received, secret: string): string {
  const timestamp = String(headers['x-gitea-runners-timestamp']);
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

/** The arguments of a call of Slack's Web API. */
export function slackArguments({ body }: Received): Readonly<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(body));
}
