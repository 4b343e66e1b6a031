import { inspect } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { HttpClient, type HttpOptions } from '../../../src/clients/http/http-client.ts';
import { Deadline, type HttpRequest } from '../../../src/clients/http/request.ts';
import type { Failure } from '../../../src/shared/failure.ts';
import { failureOf } from '../../support/failure-of.ts';
import { serve } from '../../support/server.ts';

/** A GET with a token. */
export function request(url: string, more: Partial<HttpRequest> = {}): HttpRequest {
  return { what: 'read it', method: 'GET', url: new URL(url), authorization: () => 'token s3cret', ...more };
}

/** Sends one request with a client of its own. Time passes by `options.clock`. */
export async function send(asked: HttpRequest, options: Partial<HttpOptions> = {}, ms = 20_000) {
  const client = new HttpClient({ env: {}, ...options });
  const deadline = new Deadline(ms, options.clock);
  try {
    return await client.send(asked, deadline);
  } finally {
    await client.close();
  }
}

/** The Failure that a request must end in, checked to hold no token. */
export async function failureOfSending(...args: Parameters<typeof send>): Promise<Failure> {
  const outcome = await failureOf(send(...args));
  expect(inspect(outcome, { depth: 10, showHidden: true })).not.toContain('s3cret');
  return outcome;
}

/** A client that is closed with the test. */
export function open(options: Partial<HttpOptions> = {}): HttpClient {
  const client = new HttpClient({ env: {}, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** A server that answers these, one after the other, the last one for ever. */
export async function answering(...steps: readonly (readonly [number, Readonly<Record<string, string>>?])[]) {
  let count = 0;
  const server = await serve((_request, response) => {
    const [status, headers] = steps[Math.min(count, steps.length - 1)] ?? [500];
    count += 1;
    response.writeHead(status, headers).end(`answer ${count}`);
  });
  return { ...server, count: () => count };
}
