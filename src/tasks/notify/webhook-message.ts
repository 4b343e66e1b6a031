/** A notification as a plain webhook: JSON, signed with HMAC-SHA256 over time and body. docs/notifications.md documents it. */
import { createHmac, hash } from 'node:crypto';
import { timeText } from '../../shared/marks.ts';
import type { JobNotice } from './notice.ts';

export interface WebhookMessage {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** @param secret absent: not signed. */
export function webhookMessage(notice: JobNotice, nowMs: number, secret?: string): WebhookMessage {
  const body = JSON.stringify(bodyOf(notice));
  const timestamp = String(Math.floor(nowMs / 1000));
  const { gitea, jobId, attempt } = notice;
  return {
    body,
    headers: {
      'x-gitea-runners-event': 'job-ended',
      // The same for each attempt to deliver it.
      'x-gitea-runners-delivery': hash('sha256', `${gitea} ${jobId} ${attempt}`).slice(0, 32),
      'x-gitea-runners-timestamp': timestamp,
      ...(secret !== undefined && { 'x-gitea-runners-signature': `sha256=${signatureOf(body, timestamp, secret)}` }),
    },
  };
}

function signatureOf(body: string, timestamp: string, secret: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}

function bodyOf({ keptUntilMs, runner, ...notice }: JobNotice): object {
  const { result, repository, workflow, job, jobId, attempt, url, gitea, namespace, group } = notice;
  return {
    event: 'job-ended',
    result,
    repository,
    ...(workflow !== undefined && { workflow }),
    job,
    jobId,
    attempt,
    url,
    gitea,
    namespace,
    group,
    runner,
    ...(keptUntilMs !== undefined && { keptUntil: timeText(keptUntilMs) }),
  };
}
