/**
 * Leader election by a Lease, with client-go's rules and times (tools/leaderelection):
 *
 * - The holder renews.
 * - A process that has seen no renewal for the lease's duration, by its own clock, takes over.
 * - An update carries the resourceVersion, so only one wins.
 */
import * as z from 'zod';
import { type Clock, pause, untilAborted } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { Deadline } from '../http/request.ts';
import { type KubeApi, type KubeQuestion, parseAnswer, statusFailure } from './kube-client.ts';

interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unique per process. */
  readonly identity: string;
  /** Address at which followers reach the holder. It is kept in an annotation. */
  readonly address: string;
  readonly onFailure: (failure: Failure) => void;
  readonly times?: LeaseTimes;
}

/** Durations are whole seconds in a Lease. A holder that could not renew until its deadline gives up: before any other may take over. */
const CLIENT_GO = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
export type LeaseTimes = Readonly<typeof CLIENT_GO>;
/**
 * Time limit for giving the Lease back, ms. Other replicas wait for the end of this process, and without the return
 * they wait 15 s.
 */
const GIVE_BACK_MS = 1_000;
const ADDRESS = 'gitea.bpg.pw/address';

const LeaseObject = z.object({
  metadata: z.object({ resourceVersion: z.string(), annotations: z.record(z.string(), z.string()).nullish() }),
  spec: z
    .object({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      acquireTime: z.string().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .nullish(),
});
type LeaseObject = z.infer<typeof LeaseObject>;

export class Lease {
  readonly #client: KubeApi;
  readonly #options: LeaseOptions;
  readonly #times: LeaseTimes;
  readonly #clock: Clock;
  /** The Lease as it was last read, and when this process saw it change: clocks of other machines prove nothing. */
  #seen: { readonly object: LeaseObject; readonly text: string; readonly atMs: number } | undefined;
  /** When the last successful write was sent, ms: other replicas count from then at the earliest. */
  #writtenMs = 0;

  constructor(client: KubeApi, options: LeaseOptions) {
    this.#client = client;
    this.#options = options;
    this.#clock = client.clock;
    this.#times = options.times ?? CLIENT_GO;
  }

  /** Address of the holder when that is another process; undefined when unknown. */
  get otherHolder(): string | undefined {
    const lease = this.#seen?.object;
    const holder = lease?.spec?.holderIdentity;
    return holder && holder !== this.#options.identity ? lease?.metadata.annotations?.[ADDRESS] : undefined;
  }

  /**
   * Competes until `signal` is aborted. Then it ends within a second, whatever the API server does. While this process leads, `lead` runs.
   * Its signal is aborted when leadership is lost, or when everything ends. The Lease is given back only after `lead` has ended.
   */
  async run(signal: AbortSignal, lead: (leading: AbortSignal) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      if (await untilAborted(signal, this.#tryToHold(signal))) await this.#hold(signal, lead);
      else await pause(this.#clock, this.#times.retryMs, signal);
    }
  }

  async #hold(signal: AbortSignal, lead: (leading: AbortSignal) => Promise<void>): Promise<void> {
    const leading = new AbortController();
    const stop = (): void => leading.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const work = lead(leading.signal).finally(stop);
    // The work is awaited below; until then its rejection must not count as unhandled.
    work.catch(() => undefined);
    // A request that is under way then may end too late.
    const stopInTime = () =>
      this.#clock.after(this.#writtenMs + this.#times.renewDeadlineMs - this.#clock.steadyMs(), stop);
    let takeBack = stopInTime();
    try {
      while (!leading.signal.aborted) {
        await pause(this.#clock, this.#times.retryMs, leading.signal);
        if (leading.signal.aborted) break;
        if (await untilAborted(leading.signal, this.#tryToHold(leading.signal))) {
          takeBack();
          takeBack = stopInTime();
        } else if (this.otherHolder !== undefined) stop();
      }
      await work;
    } finally {
      takeBack();
      stop();
      signal.removeEventListener('abort', stop);
      await this.#giveBack();
    }
  }

  /** True when this process holds the Lease now. Failures are reported, never thrown. After an abort they are not reported. */
  async #tryToHold(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#acquireOrRenew();
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof Failure)) throw error;
      this.#options.onFailure(error);
      return false;
    }
  }

  async #acquireOrRenew(): Promise<boolean> {
    const found = await this.#read(this.#deadline());
    if (found === undefined) return await this.#write(undefined);
    const text = JSON.stringify(found.spec ?? null);
    const seenMs = this.#seen?.text === text ? this.#seen.atMs : this.#clock.steadyMs();
    this.#seen = { object: found, text, atMs: seenMs };
    const holder = found.spec?.holderIdentity ?? '';
    const lasts = (found.spec?.leaseDurationSeconds ?? 0) * 1000 || this.#times.leaseMs;
    const free = holder === '' || holder === this.#options.identity || this.#clock.steadyMs() - seenMs > lasts;
    return free && (await this.#write(found));
  }

  async #read(deadline: Deadline): Promise<LeaseObject | undefined> {
    const question = this.#question('read');
    const answer = await this.#client.send(question, deadline);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw this.#refused(question, answer.status);
    return parseAnswer(this.#client.request(question), LeaseObject, answer.text, 'Lease');
  }

  /** Takes or renews the Lease. False when another process was faster. */
  async #write(found: LeaseObject | undefined): Promise<boolean> {
    const { identity, address } = this.#options;
    const now = this.#microNow();
    const mine = found?.spec?.holderIdentity === identity;
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#times.leaseMs / 1000),
      acquireTime: mine ? (found?.spec?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (found?.spec?.leaseTransitions ?? 0) + (found === undefined || mine ? 0 : 1),
    };
    return await this.#put(found, spec, { [ADDRESS]: address }, this.#deadline());
  }

  /** Reads first: a renewal that was under way may have been the last word. */
  async #giveBack(): Promise<void> {
    const deadline = new Deadline(GIVE_BACK_MS, this.#clock);
    try {
      const found = await this.#read(deadline);
      if (found?.spec?.holderIdentity !== this.#options.identity) return;
      const spec = { ...found.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#microNow() };
      await this.#put(found, spec, {}, deadline);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#options.onFailure(error);
    }
  }

  async #put(
    found: LeaseObject | undefined,
    spec: Readonly<Record<string, unknown>>,
    annotations: Readonly<Record<string, string>>,
    deadline: Deadline,
  ): Promise<boolean> {
    const { namespace, name } = this.#options;
    const question: KubeQuestion = {
      ...this.#question(found ? 'update' : 'create'),
      method: found ? 'PUT' : 'POST',
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        // Absent for a new one: JSON leaves it out.
        metadata: { namespace, name, annotations, resourceVersion: found?.metadata.resourceVersion },
        spec,
      },
    };
    const sentMs = this.#clock.steadyMs();
    const answer = await this.#client.send(question, deadline);
    if (answer.status === 409) return false;
    if (answer.status !== 200 && answer.status !== 201) throw this.#refused(question, answer.status);
    const object = parseAnswer(this.#client.request(question), LeaseObject, answer.text, 'Lease');
    this.#seen = { object, text: JSON.stringify(object.spec ?? null), atMs: this.#clock.steadyMs() };
    this.#writtenMs = sentMs;
    return true;
  }

  /** Kubernetes' MicroTime has six digits. */
  #microNow(): string {
    return new Date(this.#clock.now()).toISOString().replace('Z', '000Z');
  }

  #question(verb: 'read' | 'create' | 'update'): KubeQuestion {
    const { namespace, name } = this.#options;
    const list = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
    return {
      what: `${verb} Lease ${namespace}/${name}`,
      path: verb === 'create' ? list : `${list}/${encodeURIComponent(name)}`,
    };
  }

  #refused(question: KubeQuestion, status: number): Failure {
    const remedy = `Grant the service account "get", "create" and "update" on "leases.coordination.k8s.io" in namespace "${this.#options.namespace}"`;
    return statusFailure(this.#client.request(question), status, 'GR-CLUSTER-10', remedy);
  }

  #deadline(): Deadline {
    return new Deadline(Math.max(1000, this.#times.renewDeadlineMs / 2), this.#clock);
  }
}
