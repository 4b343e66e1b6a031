/** Faults between Gitea and the program, as hooks of the simulator. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Intercept } from '../../simulator/gitea/simulator.ts';

export interface Fault {
  /** True if no plan may result. Otherwise a plan may result, but then all laws hold for it. */
  readonly mustFail: boolean;
  readonly deadlineMs?: number;
  readonly hook: (url: string) => Intercept;
}

type Body = Record<string, unknown> & { total_count: number };

/** Marks our own request for the true answer. */
const STRAIGHT = 'x-straight';

const isJobs = (request: IncomingMessage): boolean => request.url?.includes('/actions/jobs') ?? false;
const isActive = (request: IncomingMessage): boolean => isJobs(request) && !request.url?.includes('status=completed');
const isRunners = (request: IncomingMessage): boolean => request.url?.includes('/actions/runners') ?? false;

/** Answers in place of Gitea. */
function instead(
  matches: (request: IncomingMessage) => boolean,
  answer: (response: ServerResponse) => void,
): Fault['hook'] {
  return () => (request, response) => {
    if (!matches(request)) return false;
    answer(response);
    return true;
  };
}

/** Changes what Gitea answers. */
function changed(matches: (request: IncomingMessage) => boolean, change: (body: Body) => Body): Fault['hook'] {
  return (url) => async (request, response) => {
    if (!matches(request) || request.headers[STRAIGHT]) return false;
    const { authorization = '' } = request.headers;
    const headers = { authorization, [STRAIGHT]: '1', connection: 'close' };
    const answer = await fetch(`${url}${request.url}`, { headers });
    const body = change((await answer.json()) as Body);
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
    return true;
  };
}

export const FAULTS: Readonly<Record<string, Fault>> = {
  'answers 500': { mustFail: true, hook: instead(isJobs, (response) => response.writeHead(500).end()) },
  'cuts its answers off': {
    mustFail: true,
    hook: instead(isJobs, (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 });
      response.write('{"jobs":[');
      setImmediate(() => response.destroy());
    }),
  },
  'refuses the token': {
    mustFail: true,
    hook: instead(isJobs, (response) =>
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"message":"invalid"}'),
    ),
  },
  'is hidden by a login page': {
    mustFail: true,
    hook: instead(isJobs, (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')),
  },
  'is silent until the time is over': { mustFail: true, deadlineMs: 60, hook: instead(isJobs, () => {}) },
  'counts one job too many': {
    mustFail: true,
    hook: changed(isActive, (body) => ({ ...body, total_count: body.total_count + 1 })),
  },
  'loses every page but the first': {
    mustFail: false,
    hook: changed(
      (request) => isActive(request) && !request.url?.endsWith('page=1'),
      (body) => ({ ...body, jobs: [] }),
    ),
  },
  'forgets the labels of jobs': {
    mustFail: false,
    hook: changed(isActive, (body) => {
      const jobs = body['jobs'] as readonly object[];
      return { ...body, jobs: jobs.map((job) => ({ ...job, labels: undefined })) };
    }),
  },
  'shows no runners': {
    mustFail: false,
    hook: changed(isRunners, (body) => ({ ...body, runners: [], total_count: 0 })),
  },
};
