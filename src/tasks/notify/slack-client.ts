/** Posts to Slack with its own package, through our HTTP client: proxies, time limits and sizes are as everywhere. */
import { type ChatPostMessageArguments, ErrorCode, LogLevel, WebClient, type WebClientOptions } from '@slack/web-api';
import * as z from 'zod';
import type { HttpClient } from '../../clients/http/client.ts';
import { Deadline } from '../../clients/http/deadline.ts';
import { Failure } from '../../shared/failure.ts';

export interface SlackOptions {
  /** Bot token. */
  readonly token: string;
  /** Default: Slack's own. */
  readonly apiUrl?: string;
}

type Fetch = NonNullable<WebClientOptions['fetch']>;

/** Slack's words that may be right later. */
const TRANSIENT = new Set([
  'ratelimited',
  'rate_limited',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
]);
const POST_MS = 5_000;

export interface SlackFailure {
  readonly failure: Failure;
  /** It may work later. */
  readonly again: boolean;
}

/** Undefined: it was posted. Never rejects. */
export async function postToSlack(
  http: HttpClient,
  { apiUrl, token }: SlackOptions,
  message: ChatPostMessageArguments,
): Promise<SlackFailure | undefined> {
  const options = webClientOptions(http, WHAT, apiUrl);
  const client = new WebClient(token, { ...options, logger: SILENT, logLevel: LogLevel.ERROR });
  try {
    await client.chat.postMessage(message);
    return undefined;
  } catch (error) {
    return judgeSlackError(
      error,
      'it did not answer',
      (received) => new Failure('GR-NOTIFY-01', 1, `${WHAT}: ${received}. ${REMEDY}.`),
    );
  }
}

/** How the package sends its requests. It repeats none: the caller does. */
export function webClientOptions(
  http: HttpClient,
  what: string,
  apiUrl?: string,
): Omit<WebClientOptions, 'logger' | 'logLevel'> {
  return {
    fetch: fetchWith(http, what),
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    ...(apiUrl !== undefined && { slackApiUrl: apiUrl }),
  };
}

/**
 * What an error of Slack's packages means. They throw errors of their own, with a code, and plain ones. Their texts are not told: they may hold an
 * answer.
 * @param unknown what is told of an error without a code.
 * @param failed makes the failure from what was received.
 */
export function judgeSlackError(error: unknown, unknown: string, failed: (received: string) => Failure): SlackFailure {
  const refused = (received: string, again: boolean): SlackFailure => ({ failure: failed(received), again });
  const { code, data, original, statusCode } = Coded.safeParse(error).data ?? {};
  switch (code) {
    case ErrorCode.PlatformError:
      return refused(data?.error ?? 'it refused', TRANSIENT.has(data?.error ?? ''));
    case ErrorCode.RateLimitedError:
      return refused('too many messages (429)', true);
    case ErrorCode.HTTPError:
      return refused(`status ${statusCode ?? 0}`, true);
    default:
      return original instanceof Failure ? { failure: original, again: true } : refused(unknown, true);
  }
}

const Coded = z.looseObject({
  code: z.string(),
  data: z
    .object({
      error: z
        .string()
        .regex(/^[a-z_]{1,64}$/)
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
  statusCode: z.number().optional().catch(undefined),
  original: z.unknown().optional(),
});

const WHAT = 'post to Slack';
const REMEDY = 'Check the bot token, its scope chat:write, and that the app is a member of the channel';

/** As much of `fetch` as the package uses. Redirects come back as they are. */
function fetchWith(http: HttpClient, what: string): Fetch {
  return async (url, init = {}) => {
    const { body, headers = {} } = init;
    if (body !== undefined && typeof body !== 'string') throw new Error('only text is sent to Slack');
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    const { authorization, 'content-type': contentType, ...more } = lower;
    const answer = await http.send(
      {
        what,
        method: 'POST',
        url: new URL(url),
        headers: more,
        ...(authorization !== undefined && { authorization: () => authorization }),
        ...(contentType !== undefined && { contentType }),
        ...(body !== undefined && { body }),
      },
      new Deadline(POST_MS),
    );
    const { status, text } = answer;
    return {
      ok: status >= 200 && status < 300,
      status,
      statusText: '',
      url: String(url),
      headers: { get: (name) => answer.header(name.toLowerCase()) ?? null, entries: () => [][Symbol.iterator]() },
      arrayBuffer: async () => new TextEncoder().encode(text).buffer,
      json: async () => JSON.parse(text) as unknown,
      text: async () => text,
    };
  };
}

const nothing = (): void => undefined;
/** The packages log texts of errors. */
export const SILENT = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  setName: nothing,
  getLevel: () => LogLevel.ERROR,
} as const;
