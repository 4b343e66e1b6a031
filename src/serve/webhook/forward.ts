/** Sends webhooks that came to a follower on to the leader. */
import { HttpClient } from '../../clients/http/client.ts';
import { Deadline } from '../../clients/http/deadline.ts';
import { parseUrl } from '../../shared/parse-url.ts';
import type { RawDelivery } from './listener.ts';

const FORWARD_MS = 3_000;

export class Forwarder {
  readonly #http = new HttpClient({ env: {}, attemptMs: FORWARD_MS });

  /**
   * Gives the status that the leader answered; 503 when nobody is known to lead. A delivery that was forwarded before ends here: nobody
   * leads at the moment. @param leader base URL of the leader. @throws Failure when the leader does not answer.
   */
  async send(leader: string | undefined, { body, forwarded, headers }: RawDelivery): Promise<number> {
    const url = leader === undefined || forwarded ? undefined : parseUrl('/webhook', leader);
    if (!url) return 503;
    const request = { what: 'send a webhook on to the leader', method: 'POST', url, body, headers } as const;
    return (await this.#http.send(request, new Deadline(FORWARD_MS))).status;
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}
