/**
 * A runner that speaks the protocol and does no work: for what the real one cannot show. Runner 1.0.8 does not declare the
 * capability "cancelling"; newer ones do, and then Gitea 1.27 lets them finish the last steps of a cancelled job.
 * Protocol: connect with JSON bodies, package runner.v1 of actions-proto-go.
 */
import * as z from 'zod';

const Registered = z.object({ runner: z.object({ uuid: z.string(), token: z.string() }) });
const Fetched = z.object({ task: z.object({ id: z.string() }) });
const CAPABILITIES = ['cancelling'];

export interface BareRunner {
  readonly name: string;
  readonly registrationToken: string;
  readonly labels: readonly string[];
}

/** Registers, takes a job that is queued and keeps it; nothing is left running. @throws when there is none for it. */
export async function takeJob(url: string, { name, registrationToken: token, labels }: BareRunner): Promise<void> {
  const call = async (
    method: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> => {
    const response = await fetch(`${url}/api/actions/runner.v1.RunnerService/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} as runner ${name}: HTTP ${response.status}`);
    return await response.json();
  };
  const declared = { version: 'bare', labels, capabilities: CAPABILITIES };
  const { runner } = Registered.parse(await call('Register', { ...declared, name, token, ephemeral: true }));
  const own = { 'x-runner-uuid': runner.uuid, 'x-runner-token': runner.token };
  await call('Declare', declared, own);
  const { task } = Fetched.parse(await call('FetchTask', { tasksVersion: '0' }, own));
  await call('UpdateTask', { state: { id: task.id, startedAt: new Date().toISOString() } }, own);
}
