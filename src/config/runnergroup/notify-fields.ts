/** The field `notify`: who hears of the end of CI jobs. No secret: tokens are in the configuration of `serve`. */
import * as z from 'zod';
import { webhookUrlProblem } from '../../shared/url.ts';
import { described, stringLike } from './field-kinds.ts';
import { refinementOf } from './words.ts';

/** Kinds of addressees. An entry has the field of one. */
export const RECEIVERS = ['slack', 'webhook'] as const;
export type ReceiverKind = (typeof RECEIVERS)[number];
export const NEEDS_ONE_RECEIVER = `needs either ${RECEIVERS.join(' or ')}: write one entry for each`;
/** Text of the field in the table of fields. */
export const NOTIFY_HELP =
  'Receivers of a message when a CI job on a runner of the group ends, at most 10: Slack channels and webhooks. The tokens are in the configuration of `serve` ([how](notifications.md)).';

const LONGEST_URL = 2048;
/** Most receivers of a group: each CI job sends a message to every one of them. */
const MOST_NOTIFY_TARGETS = 10;

/** Kubernetes' tools read YAML as we do: `on` is true there. */
const UNQUOTED = 'is what YAML makes of on without quotes: write "on": …';

function targets() {
  const slack = z.strictObject({
    // Slack's names have at most 80 characters. An id begins with C, D or G.
    channel: described(
      stringLike(0, 81, /^#?[A-Za-z0-9_-]{1,80}$/, 'must be a channel: "#ci" or its id'),
      'Channel, e.g. `#ci`, or its id. The app must be a member of it.',
    ),
  });
  const webhook = z.strictObject({
    url: described(
      z.string().min(1).max(LONGEST_URL).superRefine(refinementOf(webhookUrlProblem)),
      'Address that gets a POST with JSON. It must begin with a prefix that `serve` allows (`--notify-urls`).',
    ),
  });
  const receivers = {
    slack: described(slack.optional(), 'A Slack channel.'),
    webhook: described(webhook.optional(), 'A plain webhook.'),
  } satisfies Record<ReceiverKind, z.ZodType>;
  const target = z.strictObject({
    ...receivers,
    on: described(
      z.enum(['failure', 'success', 'always']).default('failure'),
      'Which CI jobs: those that failed, those that succeeded, or all, cancelled ones too.',
    ),
  });
  const hasOne = (written: z.output<typeof target>) => RECEIVERS.filter((kind) => written[kind]).length === 1;
  const withOne = described(target.refine(hasOne, NEEDS_ONE_RECEIVER), 'Somebody who is told.');
  return z.array(withOne).max(MOST_NOTIFY_TARGETS);
}

/** Schema of `spec.notify`. It is made only when a group has the field (field-kinds.ts has the reason). */
export const NotifyTargets = z.preprocess((written, context) => {
  if (!Array.isArray(written)) return written;
  return written.map((entry: unknown, index) => {
    if (typeof entry !== 'object' || entry === null || !Object.hasOwn(entry, 'true')) return entry;
    context.addIssue({ code: 'custom', path: [index, 'true'], message: UNQUOTED });
    const { true: _, ...rest } = entry as { readonly true?: unknown };
    return rest;
  });
}, z.lazy(targets));

/** Exactly one of `RECEIVERS` is there. */
export type NotifyTarget = z.output<ReturnType<typeof targets>>[number];

export function kindOf(target: NotifyTarget): ReceiverKind {
  return RECEIVERS.find((kind) => target[kind] !== undefined) as ReceiverKind;
}
