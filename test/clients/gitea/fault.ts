/** Building blocks of faults: a healthy Gitea with one change. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { answerer, type JobRow, jobRow, json, type Seen, see } from '../../support/gitea-stand-in.ts';

/** Marks what a server says and nobody may repeat. */
export const LEAK = 'LEAKED-FROM-THE-SERVER';

export interface Fault {
  readonly name: string;
  /** A fresh handler. */
  readonly handler: () => RequestListener;
  /** Ends by the time limit only: give it a short one. */
  readonly lasts?: true;
  /** The Failure's code. */
  readonly code: string;
  /** The Failure's message, for the server's origin and the time limit in seconds. */
  readonly message: (origin: string, seconds: number) => string;
}

/** Handles a request of the changed server. */
export type Answer = (seen: Seen, response: ServerResponse, request: IncomingMessage) => void;

export const JOBS = '/api/v1/orgs/acme/actions/jobs';
export const RUNNERS = '/api/v1/orgs/acme/actions/runners';
const VERSION = '/api/v1/version';
export const ACTIVE = 'list queued and running jobs of org acme';

export const NOT_JSON =
  "Check that spec.gitea.url is Gitea's base address and that no login page or portal stands before it";
export const SHAPE =
  'Nothing was rendered. Check what stands before Gitea; if nothing does, report this with the version of Gitea';
const INCOMPLETE = 'Nothing was rendered. Check what stands before Gitea (caches), or try again when it is less busy';
export const BUSY =
  'Try again later; if it stays so, see whether Gitea runs. If it does, look at its load and its [qos] settings';
export const LIMITED =
  'Try again later; if it stays so, raise the limit of Gitea or of what stands before it, or look at fewer scopes';
export const SERVER = "Look into Gitea's log and at what stands before it";

/** A healthy Gitea but for requests that `when` picks. */
export function bent(
  when: (seen: Seen) => boolean,
  answer: Answer,
  jobs: JobRow[] = [jobRow(1)],
): () => RequestListener {
  return () => {
    const healthy = answerer({ jobs });
    return (request, response) => {
      const seen = see(request);
      if (when(seen)) answer(seen, response, request);
      else healthy(seen, response);
    };
  };
}

export const onPath = (path: string) => (seen: Seen) => seen.path === path;
export const onState = (state: string, page?: string) => (seen: Seen) =>
  seen.path === JOBS &&
  seen.query.getAll('status').join() === state &&
  (page === undefined || seen.query.get('page') === page);

export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_seen, response) => json(response, { message: LEAK, url: LEAK }, code, { 'x-leak': LEAK, ...headers });
}

export function text(body: string | Uint8Array, type: string, code = 200): Answer {
  return (_seen, response) => {
    response.writeHead(code, { 'content-type': type });
    response.end(body);
  };
}

export function raw(bytes: string): Answer {
  return (_seen, _response, request) => {
    request.socket.end(bytes);
  };
}

/** A fault in the answer to the first question for jobs. */
export function onJobs(name: string, code: string, answer: Answer, received: string, remedy: string): Fault {
  return {
    name,
    code,
    handler: bent(onPath(JOBS), answer),
    message: (origin) => `${ACTIVE}: GET ${origin}${JOBS}: ${received}. ${remedy}.`,
  };
}

/** Faults with one text. @param answers by name. */
export function alike(
  code: string,
  received: string,
  remedy: string,
  answers: Readonly<Record<string, Answer>>,
): readonly Fault[] {
  return Object.entries(answers).map(([name, answer]) => onJobs(name, code, answer, received, remedy));
}

export function onVersion(name: string, code: string, answer: Answer, received: string, remedy: string): Fault {
  return {
    name,
    code,
    handler: bent(onPath(VERSION), answer),
    message: (origin) => `ask the version of Gitea: GET ${origin}${VERSION}: ${received}. ${remedy}.`,
  };
}

/** A fault in one job row. */
export function onRow(name: string, fields: Readonly<Record<string, unknown>>, detail: string): Fault {
  const row = { ...jobRow(17, 'queued', { name: LEAK, head_sha: LEAK }), ...fields };
  return onShape(name, { jobs: [row], total_count: 1 }, detail);
}

export function onShape(name: string, body: unknown, detail: string): Fault {
  return onJobs(
    name,
    'GR-GITEA-08',
    (_seen, response) => json(response, body),
    `the answer is not what Gitea sends: ${detail}`,
    SHAPE,
  );
}

/** The text of a list that stays contradictory. */
export function incomplete(what: string, path: string, counted: string, rows: number): Fault['message'] {
  return (origin) =>
    `${what}: GET ${origin}${path}: total_count ${counted}, but only ${rows} of these rows arrived, in each of 4 readings. ${INCOMPLETE}.`;
}

export function version(found: string): Answer {
  return (_seen, response) => json(response, { version: found });
}

export function endless(_seen: Seen, response: ServerResponse): void {
  const block = Buffer.alloc(1024 * 1024, LEAK);
  response.writeHead(200, { 'content-type': 'application/json' });
  const more = () => {
    while (!response.destroyed && response.write(block));
  };
  response.on('drain', more);
  more();
}

export function drip(_seen: Seen, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
}
