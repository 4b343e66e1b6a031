/** Notifications in Slack, with a bot token. A message about a failed job has the button "Keep 1 h longer". */
import * as z from 'zod';
import { Deadline, parseJson } from '../../clients/http/request.ts';
import type { JobNotice } from '../../serve/planning/events.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { timeText } from '../../shared/marks.ts';
import {
  ATTEMPT_MS,
  type Message,
  type Receiver,
  type ReceiverContext,
  type Refusal,
  readSecretFile,
} from './notifier.ts';
import {
  EXTEND_ACTION,
  holdConnections,
  INTERACTIVE_PATH,
  interactiveListener,
  OPENING,
  type Press,
} from './slack-presses.ts';

export interface SlackOptions {
  /** File of the bot token. Absent: nothing is posted. */
  readonly tokenFile?: string | undefined;
  /** File of the app's signing secret: presses of the button come as requests. Absent: none is taken. */
  readonly signingSecretFile?: string | undefined;
  /** File of the app-level token: presses come over a connection to Slack. Absent: there is none. */
  readonly appTokenFile?: string | undefined;
  /** Keeps a runner an hour longer, and answers until when, for people. @throws Failure */
  readonly extend: (runner: { readonly namespace: string; readonly name: string }) => Promise<string>;
  /** Default: Slack's own. For tests. */
  readonly apiUrl?: string;
  /** Times of its connections. For tests. */
  readonly times?: { readonly pauseMs: number; readonly pingMs: number };
}

const SLACK_API = 'https://slack.com/api/';

/** Opens the receiver. @throws Failure when the signing secret cannot be read */
export async function openSlack(
  context: ReceiverContext,
  { apiUrl = SLACK_API, appTokenFile, extend, signingSecretFile, times, tokenFile }: SlackOptions,
): Promise<Receiver> {
  const { clock, post, tell, watchSecrets } = context;
  const call = async (method: SlackMethod, file: string, fields: Fields): Promise<Answer | Refusal> =>
    callSlack(context, new URL(method.method, apiUrl), method, await readSecretFile(file), fields);
  const hasButton = (signingSecretFile ?? appTokenFile) !== undefined;
  const messageTo = (channel: string, namespace: string, content: object): Message => ({
    to: 'slack',
    addressee: `slack ${channel}`,
    namespace,
    send: async () => {
      const posted = await call(POSTING, tokenFile ?? '', { channel, ...content });
      return 'failure' in posted ? posted : undefined;
    },
  });
  const onPress = async ({ channel, namespace, person, runner, thread }: Press): Promise<void> => {
    const kept = await orFailure(extend({ namespace, name: runner }));
    const isFailed = kept instanceof Failure;
    if (isFailed) tell('slack', 'extend-failed', kept);
    const text = isFailed ? `it cannot be kept longer (${kept.code}). The log of serve says why.` : kept;
    post(messageTo(channel, namespace, { text: `<@${person}> ${text}`, thread_ts: thread }));
  };
  const signing = await watchSecrets(signingSecretFile);
  const listener = interactiveListener(() => signing()[0], clock.now, onPress);
  return {
    messageFor: ({ slack }, notice) => {
      const { group, namespace } = notice;
      if (!slack) return undefined;
      if (tokenFile !== undefined) return messageTo(slack.channel, namespace, slackMessage(notice, hasButton));
      const subject = `notify for RunnerGroup ${namespace}/${group}: no Slack token is configured`;
      const page = manual('notifications.md#the-button-keep-1-h-longer');
      return new Failure('GR-NOTIFY-02', 1, `${subject}. Give serve a bot token: --slack-token-file, ${page}.`);
    },
    requests: { path: INTERACTIVE_PATH, listener },
    run: async (signal) => {
      if (appTokenFile === undefined) return;
      await holdConnections({ ...context, ...times, onPress, open: () => call(OPENING, appTokenFile, {}) }, signal);
    },
  };
}

/** A method of Slack's Web API, with the words of its failure. */
type SlackMethod = Readonly<Record<'method' | 'code' | 'what' | 'remedy', string>>;

type Fields = Readonly<Record<string, unknown>>;

const POSTING = {
  method: 'chat.postMessage',
  code: 'GR-NOTIFY-01',
  what: 'post to Slack',
  remedy: 'Check the bot token, its scope chat:write, and that the app is a member of the channel',
} as const;

/** Slack's words that may be right later. */
const TRANSIENT = /^(?:rate_?limited|internal_error|fatal_error|service_unavailable|request_timeout)$/;

const ErrorWord = z.string().regex(/^[a-z_]{1,64}$/);
/** An answer of Slack. Only the word of an error is repeated. */
const Answer = z.object({
  ok: z.literal(true).optional().catch(undefined),
  error: ErrorWord.optional().catch(undefined),
  url: z.string().optional().catch(undefined),
});
type Answer = z.output<typeof Answer>;

/** Returns Slack's answer, or why it is not good. @throws Failure if no answer came */
async function callSlack(
  { clock, http }: ReceiverContext,
  url: URL,
  { code, remedy, what: subject }: SlackMethod,
  token: string,
  fields: Fields,
): Promise<Answer | Refusal> {
  const refusal = (received: string, mayRetry: boolean): Refusal => ({
    failure: new Failure(code, 1, `${subject}: ${received}. ${remedy}.`),
    again: mayRetry,
  });
  const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  const texts = Object.entries(fields).map(([name, value]): [string, string] => [name, textOf(value)]);
  const request = {
    what: subject,
    method: 'POST',
    url,
    authorization: () => `Bearer ${token}`,
    contentType: 'application/x-www-form-urlencoded',
    body: new URLSearchParams(texts).toString(),
  } as const;
  const { status, text } = await http.send(request, new Deadline(ATTEMPT_MS, clock));
  if (status === 429) return refusal('too many messages (429)', true);
  if (status !== 200) return refusal(`status ${status}`, true);
  const answer = Answer.safeParse(parseJson(text)).data ?? {};
  return answer.ok ? answer : refusal(answer.error ?? 'it refused', TRANSIENT.test(answer.error ?? ''));
}

const WORDS: Readonly<Record<JobNotice['result'], string>> = {
  success: 'succeeded',
  failure: 'failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped',
};

/** The message (Block Kit). Every name is escaped: it can neither link nor mention anybody. @param hasButton somebody can press it. */
export function slackMessage(notice: JobNotice, hasButton: boolean) {
  const { group, job, keptUntilMs, namespace, repository, result, runner, url, workflow } = notice;
  const name = workflow === undefined ? job : `${workflow} / ${job}`;
  // Slack ends a link at > and its text at |.
  const linkText = escapeSlack(name).replaceAll('|', '¦');
  const link = url === '' ? escapeSlack(name) : `<${escapeSlack(url).replaceAll('|', '%7C')}|${linkText}>`;
  const facts = [
    `Repository: ${escapeSlack(repository)}`,
    `Runner: ${escapeSlack(namespace)}/job/${escapeSlack(runner)} (RunnerGroup ${escapeSlack(group)})`,
    ...(keptUntilMs === undefined ? [] : [`Its pod is kept until ${timeText(keptUntilMs)}`]),
  ];
  const button = {
    type: 'button',
    text: { type: 'plain_text', text: 'Keep 1 h longer' },
    action_id: EXTEND_ACTION,
    value: `${namespace}/${runner}`,
  };
  return {
    // Text for lists and for notifications of devices.
    text: `${escapeSlack(repository)}: ${escapeSlack(name)} ${WORDS[result]}`,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: `${link} *${WORDS[result]}*`, verbatim: true } },
      { type: 'context', elements: facts.map((text) => ({ type: 'mrkdwn', text, verbatim: true })) },
      ...(keptUntilMs !== undefined && hasButton ? [{ type: 'actions', elements: [button] }] : []),
    ],
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** Slack's own rule: these three characters, and no others. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
