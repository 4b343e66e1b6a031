/** An Argo CD API server small enough to be bent: one Application, the three requests, every request noted. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { type ArgoCd, type ArgoCdOptions, openArgoCd } from '../../src/clients/argocd/argocd.ts';
import { type Listening, serve } from './server.ts';

export const TOKEN = 'argocd-token-0123456789';

/** A request that the fake received. */
export interface Seen {
  /** Method, path and query. */
  readonly line: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** The answer to one request; `undefined` leaves it to the fake. */
export type Bend = (seen: Seen, response: ServerResponse) => boolean | undefined;

/** The status of the fake's Application, and what changes it. */
export interface FakeApplication {
  /** State that a plain GET shows. */
  before: object;
  /** State that a refresh finds. */
  after: object;
  /** True while an operation is under way. */
  busy: boolean;
}

export interface FakeArgoCd extends Listening {
  readonly seen: Seen[];
  readonly application: FakeApplication;
  /** `GET …`, `POST …` of every request. */
  lines(): readonly string[];
}

/** An Application as JSON; `status` and `annotations` as given. */
export function application(status: object, annotations?: object): object {
  return {
    metadata: { name: 'runners', namespace: 'argocd', ...(annotations && { annotations }) },
    spec: { project: 'ci', destination: { server: 'https://kubernetes.default.svc' } },
    status,
  };
}

/** A status with one RunnerGroup `runners/ci`. */
export function status(sync: string, more: object = {}): object {
  return {
    sync: { status: sync, revision: 'abc' },
    health: { status: 'Healthy' },
    resources: [
      {
        group: 'gitea.bpg.pw',
        version: 'v1alpha1',
        kind: 'RunnerGroup',
        namespace: 'runners',
        name: 'ci',
        status: sync,
      },
      {
        group: 'batch',
        version: 'v1',
        kind: 'Job',
        namespace: 'runners',
        name: 'ci-1-1-0123abcd',
        status: 'OutOfSync',
      },
    ],
    ...more,
  };
}

export async function fakeArgoCd(bend: Bend = () => undefined): Promise<FakeArgoCd> {
  const seen: Seen[] = [];
  const shown: FakeApplication = {
    before: application(status('Synced')),
    after: application(status('OutOfSync')),
    busy: false,
  };
  const listening = await serve((request, response) => {
    void see(request).then((now) => {
      seen.push(now);
      if (!bend(now, response)) answer(now, response, shown);
    });
  });
  return { ...listening, seen, application: shown, lines: () => seen.map(({ line }) => line) };
}

/** A client of the fake that is closed with the test. */
export function client(url: string, options: Partial<ArgoCdOptions> = {}): ArgoCd {
  const argocd = openArgoCd({
    url,
    readToken: async () => `${TOKEN}\n`,
    env: {},
    controlPlaneNamespace: 'argocd',
    ...options,
  });
  onTestFinished(() => argocd.close());
  return argocd;
}

export function json(response: ServerResponse, body: unknown, code = 200): true {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
  return true;
}

/** An error as grpc-gateway writes it. */
export function gatewayError(response: ServerResponse, http: number, code: number, message: string): true {
  return json(response, { error: message, code, message }, http);
}

/** As Argo CD 3.5.3 says it (recorded/sync-busy.json). */
export const BUSY = 'another operation is already in progress';

function answer({ line, body, contentType }: Seen, response: ServerResponse, shown: FakeApplication): void {
  const [method, target = ''] = line.split(' ');
  const url = new URL(target, 'http://fake');
  if (method === 'GET') {
    const isRefresh = url.searchParams.get('refresh') === 'hard';
    if (isRefresh) shown.before = shown.after;
    json(response, shown.before);
    return;
  }
  if (contentType !== 'application/json') {
    response.writeHead(415).end('Invalid content type\n');
    return;
  }
  JSON.parse(body);
  if (shown.busy) gatewayError(response, 400, 9, BUSY);
  else json(response, shown.before);
}

async function see(request: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return {
    line: `${request.method} ${request.url}`,
    authorization: request.headers.authorization,
    contentType: request.headers['content-type'],
    body: Buffer.concat(chunks).toString(),
  };
}
