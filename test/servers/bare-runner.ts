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

/** Result of a CI job. */
export type Result = 'RESULT_SUCCESS' | 'RESULT_FAILURE';

type Call = (method: string, body: unknown) => Promise<unknown>;

/** A runner that is registered and has no job. */
export class IdleRunner {
  readonly #call: Call;
  #task = { id: '', startedAt: '' };

  private constructor(call: Call) {
    this.#call = call;
  }

  static async register(url: string, { name, registrationToken: token, labels }: BareRunner): Promise<IdleRunner> {
    const post = async (
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
    const { runner } = Registered.parse(await post('Register', { ...declared, name, token, ephemeral: true }));
    const own = { 'x-runner-uuid': runner.uuid, 'x-runner-token': runner.token };
    await post('Declare', declared, own);
    return new IdleRunner((method, body) => post(method, body, own));
  }

  /** Takes a job that is queued and keeps it, or ends it at once. @throws when there is none for it. */
  async take(result?: Result): Promise<void> {
    const { task } = Fetched.parse(await this.#call('FetchTask', { tasksVersion: '0' }));
    this.#task = { id: task.id, startedAt: new Date().toISOString() };
    await this.#call('UpdateTask', { state: this.#task });
    if (result !== undefined) await this.end(result);
  }

  /** Ends the job that it has taken. */
  async end(result: Result): Promise<void> {
    await this.#call('UpdateTask', { state: { ...this.#task, result, stoppedAt: new Date().toISOString() } });
  }
}
