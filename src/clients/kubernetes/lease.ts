/**
 * Leader election by a Lease, with the rules and times of client-go: the holder renews. Who has seen no renewal for the
 * lease's duration takes over. An update carries the resourceVersion, so only one wins.
 */
import * as z from 'zod';
import { pause, untilAborted } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import type { Texts } from '../../shared/marks.ts';
import { Deadline } from '../http/request.ts';
import { admissionFailure, type KubeApi, type KubeQuestion, parseAnswer, statusFailure } from './kube-client.ts';

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

/** A holder that could not renew gives up before another may take over. A Lease has whole seconds. */
const CLIENT_GO = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
export type LeaseTimes = Readonly<typeof CLIENT_GO>;
/** Time limit for giving the Lease back, ms. If it is not given back, other replicas wait 15 s. */
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

/** A replica's part in the election. `run` competes, `otherHolder` is the leader's address. */
export function leaseOf(client: KubeApi, options: LeaseOptions) {
  const { namespace, name, identity, address, onFailure, times = CLIENT_GO } = options;
  const { clock } = client;
  /** The Lease as it was last read, and when this process saw it change: clocks of other machines prove nothing. */
  let lastSeen: { readonly object: LeaseObject; readonly text: string; readonly atMs: number } | undefined;
  /** When the last successful write was sent, ms: other replicas count from then at the earliest. */
  let writtenMs = 0;

  /** Address of the holder when that is another process; undefined when unknown. */
  const otherHolder = (): string | undefined => {
    const holder = lastSeen?.object.spec?.holderIdentity;
    return holder && holder !== identity ? lastSeen?.object.metadata.annotations?.[ADDRESS] : undefined;
  };

  /** Competes until `signal` is aborted. While this process leads, `lead` runs; the Lease is given back after its end. */
  const run = async (signal: AbortSignal, lead: (leading: AbortSignal) => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      if (await untilAborted(signal, tryToHold(signal))) await hold(signal, lead);
      else await pause(clock, times.retryMs, signal);
    }
  };

  const hold = async (signal: AbortSignal, lead: (leading: AbortSignal) => Promise<void>): Promise<void> => {
    const leading = new AbortController();
    const stop = (): void => leading.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const work = lead(leading.signal).finally(stop);
    // The work is awaited below; until then its rejection must not count as unhandled.
    work.catch(() => undefined);
    // A request that is under way then may end too late.
    const stopInTime = () => clock.after(writtenMs + times.renewDeadlineMs - clock.steadyMs(), stop);
    let takeBack = stopInTime();
    try {
      while (!leading.signal.aborted) {
        await pause(clock, times.retryMs, leading.signal);
        if (leading.signal.aborted) break;
        if (await untilAborted(leading.signal, tryToHold(leading.signal))) {
          takeBack();
          takeBack = stopInTime();
        } else if (otherHolder() !== undefined) stop();
      }
      await work;
    } finally {
      takeBack();
      stop();
      signal.removeEventListener('abort', stop);
      await giveBack();
    }
  };

  /** True if this process holds the Lease now. Failures are reported, never thrown; after an abort, not even reported. */
  const tryToHold = async (signal: AbortSignal): Promise<boolean> => {
    try {
      return await acquireOrRenew();
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof Failure)) throw error;
      onFailure(error);
      return false;
    }
  };

  const acquireOrRenew = async (): Promise<boolean> => {
    const lease = await read(ownDeadline());
    if (lease === undefined) return await write(undefined);
    const text = JSON.stringify(lease.spec ?? null);
    const seenMs = lastSeen?.text === text ? lastSeen.atMs : clock.steadyMs();
    lastSeen = { object: lease, text, atMs: seenMs };
    const holder = lease.spec?.holderIdentity ?? '';
    const lasts = (lease.spec?.leaseDurationSeconds ?? 0) * 1000 || times.leaseMs;
    const free = holder === '' || holder === identity || clock.steadyMs() - seenMs > lasts;
    return free && (await write(lease));
  };

  const read = async (deadline: Deadline): Promise<LeaseObject | undefined> => {
    const question = questionTo('read');
    const answer = await client.send(question, deadline);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw refused(question, answer.status);
    return parseAnswer(client.request(question), LeaseObject, answer.text, 'Lease');
  };

  /** Takes or renews the Lease. False when another process was faster. */
  const write = async (lease: LeaseObject | undefined): Promise<boolean> => {
    const now = microNow();
    const mine = lease?.spec?.holderIdentity === identity;
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(times.leaseMs / 1000),
      acquireTime: mine ? (lease?.spec?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (lease?.spec?.leaseTransitions ?? 0) + (lease === undefined || mine ? 0 : 1),
    };
    return await put(lease, spec, { [ADDRESS]: address }, ownDeadline());
  };

  /** Reads first: a renewal that was under way may have been the last word. */
  const giveBack = async (): Promise<void> => {
    const deadline = new Deadline(GIVE_BACK_MS, clock);
    try {
      const lease = await read(deadline);
      if (lease?.spec?.holderIdentity !== identity) return;
      await put(
        lease,
        { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microNow() },
        {},
        deadline,
      );
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      onFailure(error);
    }
  };

  const put = async (
    lease: LeaseObject | undefined,
    spec: NonNullable<LeaseObject['spec']>,
    annotations: Texts,
    deadline: Deadline,
  ): Promise<boolean> => {
    const question: KubeQuestion = {
      ...questionTo(lease ? 'update' : 'create'),
      method: lease ? 'PUT' : 'POST',
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        // Absent for a new one: JSON leaves it out.
        metadata: { namespace, name, annotations, resourceVersion: lease?.metadata.resourceVersion },
        spec,
      },
    };
    const sentMs = clock.steadyMs();
    const answer = await client.send(question, deadline);
    if (answer.status === 409) return false;
    if (answer.status !== 200 && answer.status !== 201)
      throw admissionFailure(client.request(question), answer) ?? refused(question, answer.status);
    const object = parseAnswer(client.request(question), LeaseObject, answer.text, 'Lease');
    lastSeen = { object, text: JSON.stringify(object.spec ?? null), atMs: clock.steadyMs() };
    writtenMs = sentMs;
    return true;
  };

  /** Kubernetes' MicroTime has six digits. */
  const microNow = (): string => new Date(clock.now()).toISOString().replace('Z', '000Z');

  const questionTo = (verb: 'read' | 'create' | 'update'): KubeQuestion => {
    const list = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
    const path = verb === 'create' ? list : `${list}/${encodeURIComponent(name)}`;
    return { what: `${verb} Lease ${namespace}/${name}`, path };
  };

  const refused = (question: KubeQuestion, status: number): Failure => {
    const remedy =
      status === 403
        ? `Grant the service account "get", "create" and "update" on "leases.coordination.k8s.io" in namespace "${namespace}"`
        : 'Check the API server';
    return statusFailure(client.request(question), status, 'GR-CLUSTER-10', remedy);
  };

  const ownDeadline = () => new Deadline(Math.max(1000, times.renewDeadlineMs / 2), clock);

  return { run, otherHolder };
}
