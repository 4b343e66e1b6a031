/**
 * Registers a runner on its behalf, and writes its file, as `register` of the runner does.
 *
 * One call with JSON and a registration token (runner.go `Register`, Gitea 1.26.0 and 1.27.3). A repository's token makes a
 * runner that gets only its jobs (`CreateTaskForRunner`). The row is offline until the runner comes, and Gitea never
 * removes one that had no job (`CleanupEphemeralRunners`).
 */
import * as z from 'zod';
import { once } from '../../shared/once.ts';
import { failure, type HttpAnswer, type HttpRequest } from '../http/request.ts';
import { type GiteaAccess, readAs } from './api.ts';
import { beginningOf, failureOfStatus, foreignToken } from './failures.ts';
import { readShape } from './shapes.ts';

/** A row in Gitea, with the secret of its runner. Who has this secret can take the CI job of the runner. */
export type Registered = Readonly<{ id: number; uuid: string; token: string }>;

/** The answer repeats the labels, of which a runner has 16 KiB at most (`bounds.ts`). */
const MOST_BYTES = 64 * 1024;

const answerShape = once(() => {
  // The JSON of protobuf has an int64 as text. A larger one would be rounded, and name another row.
  const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));
  return z.object({
    runner: z.object({
      id: z.string().refine(isId),
      uuid: z.uuid(),
      // A header can hold it; Gitea's have 40 characters.
      token: z.string().regex(/^[\x21-\x7e]{1,255}$/),
      // A runner that is not ephemeral would stay and take job after job.
      ephemeral: z.literal(true),
    }),
  });
});

/** Makes the row of an ephemeral runner. Sent once: a repetition makes a second row. @throws Failure */
export async function registerRunner(
  access: GiteaAccess,
  registrationToken: string,
  { name, labels }: { readonly name: string; readonly labels: readonly string[] },
): Promise<Registered> {
  const { http, token, deadline, queue } = access;
  const url = new URL(`${access.url.replace(/\/+$/, '')}/api/actions/runner.v1.RunnerService/Register`);
  const action = `register runner ${name}`;
  // The registration token goes to no other address either.
  if (!token.covers(url)) throw foreignToken(action, `${url.origin}${url.pathname}`, token);
  const body = JSON.stringify({ name, token: registrationToken, version: 'registered ahead', labels, ephemeral: true });
  const request: HttpRequest = { what: action, method: 'POST', url, body, queue, once: true, mostBytes: MOST_BYTES };
  const answer = await http.send(request, deadline);
  if (answer.status !== 200) throw failureOf(request, answer, access);
  const { runner } = readAs(request, answer, (json) => readShape(answerShape(), json, 'it'));
  return { id: Number(runner.id), uuid: runner.uuid, token: runner.token };
}

/** Texts of `Register`, each with status 500 and code `unknown`. They are compared here and never repeated. */
const REFUSES_TOKEN =
  /registration token (?:not found|has been invalidated)|(?:owner|repository) of the token not found/;

function failureOf(request: HttpRequest, answer: HttpAnswer, { token }: GiteaAccess) {
  const { status } = answer;
  if (status === 500 && REFUSES_TOKEN.test(beginningOf(answer))) {
    const remedy =
      'It was reset in Gitea, or its repository or owner was deleted. The next try asks for a new one. If this stays, check that the repository exists';
    return failure(request, 'GR-GITEA-20', 'Gitea does not accept the registration token', remedy, 'unauthorized');
  }
  // This request has no API token. Gitea does not give these answers while Actions are switched on.
  if ([401, 403, 404].includes(status)) {
    const remedy =
      'Enable Actions in Gitea. If a reverse proxy stands before it, let it forward that path: every runner needs it';
    const received = `the address of Gitea's service for runners, /api/actions, answered ${status}`;
    return failure(request, 'GR-GITEA-21', received, remedy);
  }
  return failureOfStatus(request, answer, { rights: { scope: 'no scope' }, missing: '' }, token);
}

/** Returns the content of a runner's file `.runner`, as its `register` writes it (1.0.8, 3.x). @param labels in full */
export function credentialsFile(
  { id, uuid, token }: Registered,
  runner: { readonly name: string; readonly labels: readonly string[]; readonly address: string },
): string {
  const { name, address } = runner;
  // Labels as the runner writes them (internal/pkg/labels/labels.go `ToStrings`). If one differs, the runner writes the
  // file again.
  const labels = runner.labels.map((label) => (label.includes(':') ? label : `${label}:host`));
  return `${JSON.stringify({ id, uuid, name, token, address, labels, ephemeral: true })}\n`;
}
