/** A notification as a plain webhook: JSON, signed with HMAC-SHA256 over time and body. docs/notifications.md documents it. */
import { createHmac, hash } from 'node:crypto';
import { Deadline } from '../../clients/http/request.ts';
import type { JobNotice } from '../../serve/planning/events.ts';
import { secretLine } from '../../serve/webhook/secret-files.ts';
import { Failure } from '../../shared/failure.ts';
import { timeText } from '../../shared/marks.ts';
import { isBelow, parseUrl } from '../../shared/url.ts';
import { isAllowedUrl } from './allowed-urls.ts';
import {
  ATTEMPT_MS,
  type Receiver,
  type ReceiverContext,
  type Refusal,
  readSecretFile,
  unusableFile,
} from './notifier.ts';

/** Sends plain webhooks. @param allowedUrls prefixes that may be called @param secretFile absent: they are not signed */
export function webhookReceiver(
  { clock, http }: ReceiverContext,
  allowedUrls: readonly URL[],
  secretFile?: string,
): Receiver {
  const call = async (url: string, subject: string, notice: JobNotice): Promise<Refusal | undefined> => {
    const secret = secretFile === undefined ? undefined : await readSignerOf(secretFile, url);
    const signed = signedBody(notice, clock.now(), secret);
    const request = { what: subject, method: 'POST', url: new URL(url), ...signed } as const;
    // A POST is not led on: a redirect is an answer like others.
    const { status } = await http.send(request, new Deadline(ATTEMPT_MS, clock));
    if (status >= 200 && status < 300) return undefined;
    const redirect = status >= 300 && status < 400;
    const remedy = redirect ? 'Redirects are not followed: write the final address' : 'Look at the receiver';
    const failure = new Failure('GR-NOTIFY-04', 1, `${subject}: the webhook answered ${status}. ${remedy}.`);
    return { failure, again: status >= 500 || status === 429 };
  };
  return {
    messageFor: ({ webhook }, notice) => {
      if (!webhook) return undefined;
      const { url } = webhook;
      const { group, namespace } = notice;
      const subject = `notify for RunnerGroup ${namespace}/${group}`;
      if (!isAllowedUrl(url, allowedUrls)) {
        const remedy = 'Add its prefix to --notify-urls of serve, or change spec.notify.';
        const why = 'serve is not allowed to send to this webhook URL';
        return new Failure('GR-NOTIFY-03', 1, `${subject}: ${why}. ${remedy}`);
      }
      // The path may be its secret, and addressees are printed.
      const addressee = `webhook ${parseUrl(url)?.origin ?? ''} ${hash('sha256', url).slice(0, 8)}`;
      return { to: 'webhook', addressee, namespace, send: () => call(url, subject, notice) };
    },
  };
}

/** The secret of this receiver: of the first line whose address is above it, or the only one. @throws Failure */
async function readSignerOf(file: string, url: string): Promise<string> {
  const text = await readSecretFile(file);
  const lines = text.split('\n').map((line) => secretLine(line.trim()));
  if (lines.every(({ base }) => base === undefined)) return text;
  const ownLine = lines.find(({ base }) => base !== undefined && isBelow(new URL(url), base));
  if (ownLine) return ownLine.secret;
  const remedy = 'Add a line: the address, a space, a secret of its own';
  throw unusableFile(file, `no line is for ${new URL(url).origin}. ${remedy}`);
}

function signedBody({ keptUntilMs, ...notice }: JobNotice, nowMs: number, secret: string | undefined) {
  const { attempt, gitea, jobId } = notice;
  const kept = keptUntilMs !== undefined && { keptUntil: timeText(keptUntilMs) };
  const body = JSON.stringify({ event: 'job-ended', ...notice, ...kept });
  const timestamp = String(Math.floor(nowMs / 1000));
  const signature =
    secret !== undefined && `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
  return {
    body,
    headers: {
      'x-gitea-runners-event': 'job-ended',
      // Each attempt to deliver the message has the same id.
      'x-gitea-runners-delivery': hash('sha256', `${gitea} ${jobId} ${attempt}`).slice(0, 32),
      'x-gitea-runners-timestamp': timestamp,
      ...(signature && { 'x-gitea-runners-signature': signature }),
    },
  };
}
