/**
 * Leader election by a Lease, with the rules and times of client-go: the holder renews. Another replica takes over
 * when it has seen no renewal for the lease's duration. An update carries the resourceVersion, so only one wins.
 */
import * as z from 'zod';
import { pause, untilAborted } from '../../shared/clock.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
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

/** A holder that cannot renew gives up before another may take over. A Lease stores whole seconds. */
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

type LeaseSpec = NonNullable<LeaseObject['spec']>;

/** The Lease as last read, and since when this process has seen it unchanged. Other machines' clocks are not trusted. */
type LeaseSeen = Readonly<{ lease: LeaseObject; sinceMs: number }>;

function afterRead(seen: LeaseSeen | undefined, lease: LeaseObject, nowMs: number): LeaseSeen {
  const isSame = seen !== undefined && JSON.stringify(seen.lease.spec) === JSON.stringify(lease.spec);
  return { lease, sinceMs: isSame ? seen.sinceMs : nowMs };
}

/** True if `identity` may write the Lease: it holds it, nobody does, or its holder has not renewed in time. */
function mayWrite({ lease: { spec }, sinceMs }: LeaseSeen, identity: string, nowMs: number, leaseMs: number): boolean {
  const holder = spec?.holderIdentity ?? '';
  const lastsMs = (spec?.leaseDurationSeconds ?? 0) * 1000 || leaseMs;
  return holder === '' || holder === identity || nowMs - sinceMs > lastsMs;
}

/** The spec with which `identity` takes or renews the Lease. */
function heldBy(identity: string, before: LeaseObject | undefined, now: string, leaseMs: number): LeaseSpec {
  const isMine = before?.spec?.holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    acquireTime: isMine ? (before.spec?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: (before?.spec?.leaseTransitions ?? 0) + (before === undefined || isMine ? 0 : 1),
  };
}

function leaseRequests(client: KubeApi, namespace: string, name: string) {
  const list = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const questionTo = (verb: 'read' | 'create' | 'update'): KubeQuestion => ({
    what: `${verb} Lease ${namespace}/${name}`,
    path: verb === 'create' ? list : `${list}/${encodeURIComponent(name)}`,
  });
  const parse = (question: KubeQuestion, text: string): LeaseObject =>
    parseAnswer(client.request(question), LeaseObject, text, 'Lease');
  const refused = (question: KubeQuestion, status: number): Failure => {
    const grant = `Grant the service account "get", "create" and "update" on "leases.coordination.k8s.io" in namespace "${namespace}"`;
    const remedy = status === 403 ? grant : 'Check the API server';
    return statusFailure(client.request(question), status, 'GR-CLUSTER-10', remedy);
  };

  return {
    /** Undefined: there is none. */
    read: async (deadline: Deadline): Promise<LeaseObject | undefined> => {
      const question = questionTo('read');
      const { status, text } = await client.send(question, deadline);
      if (status === 404) return undefined;
      if (status !== 200) throw refused(question, status);
      return parse(question, text);
    },

    /** Replaces the Lease `before`, or creates one. Undefined: another process was faster. */
    write: async (
      before: LeaseObject | undefined,
      spec: LeaseSpec,
      annotations: Texts,
      deadline: Deadline,
    ): Promise<LeaseObject | undefined> => {
      // JSON leaves out the version of a new one.
      const metadata = { namespace, name, annotations, resourceVersion: before?.metadata.resourceVersion };
      const question: KubeQuestion = {
        ...questionTo(before ? 'update' : 'create'),
        method: before ? 'PUT' : 'POST',
        body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
      };
      const answer = await client.send(question, deadline);
      if (answer.status === 409) return undefined;
      if (answer.status !== 200 && answer.status !== 201)
        throw admissionFailure(client.request(question), answer) ?? refused(question, answer.status);
      return parse(question, answer.text);
    },
  };
}

/** A replica's part in the election. `run` competes, `otherHolder` is the leader's address. */
export function leaseOf(client: KubeApi, options: LeaseOptions) {
  const { namespace, name, identity, address, onFailure, times = CLIENT_GO } = options;
  const { clock } = client;
  const requests = leaseRequests(client, namespace, name);
  let seen: LeaseSeen | undefined;
  /** When the last successful write was sent, ms: other replicas count from then at the earliest. */
  let writtenMs = 0;

  /** Address of the holder when that is another process; undefined when unknown. */
  const otherHolder = (): string | undefined => {
    const holder = seen?.lease.spec?.holderIdentity;
    return holder && holder !== identity ? seen?.lease.metadata.annotations?.[ADDRESS] : undefined;
  };

  /** Kubernetes' MicroTime has six digits. */
  const microNow = (): string => new Date(clock.now()).toISOString().replace('Z', '000Z');

  /** Takes or renews the Lease if it may. True if this process holds it now. @throws Failure */
  const acquireOrRenew = async (): Promise<boolean> => {
    const ownDeadline = () => new Deadline(Math.max(1000, times.renewDeadlineMs / 2), clock);
    const lease = await requests.read(ownDeadline());
    if (lease) {
      seen = afterRead(seen, lease, clock.steadyMs());
      if (!mayWrite(seen, identity, clock.steadyMs(), times.leaseMs)) return false;
    }
    const sentMs = clock.steadyMs();
    const spec = heldBy(identity, lease, microNow(), times.leaseMs);
    const written = await requests.write(lease, spec, { [ADDRESS]: address }, ownDeadline());
    if (!written) return false;
    seen = { lease: written, sinceMs: clock.steadyMs() };
    writtenMs = sentMs;
    return true;
  };

  /** True if this process holds the Lease now. Failures are reported, never thrown; after an abort, not even reported. */
  const tryToHold = async (signal: AbortSignal): Promise<boolean> => {
    const isHeld = await orFailure(acquireOrRenew());
    if (!(isHeld instanceof Failure)) return isHeld;
    if (!signal.aborted) onFailure(isHeld);
    return false;
  };

  /** Reads the Lease first: a renewal under way may have changed it, or another replica may hold it. */
  const giveBack = async (): Promise<void> => {
    const deadline = new Deadline(GIVE_BACK_MS, clock);
    const lease = await requests.read(deadline);
    if (lease?.spec?.holderIdentity !== identity) return;
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microNow() };
    await requests.write(lease, spec, {}, deadline);
  };

  const hold = async (signal: AbortSignal, lead: (leading: AbortSignal) => Promise<void>): Promise<void> => {
    const leading = new AbortController();
    const stop = (): void => leading.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const work = lead(leading.signal).finally(stop);
    // The work is awaited below; until then its rejection must not count as unhandled.
    work.catch(() => undefined);
    // Stops on a timer: a renewal under way may end after another replica may take over.
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
      const failed = await orFailure(giveBack());
      if (failed) onFailure(failed);
    }
  };

  /** Competes until `signal` is aborted. While this process leads, `lead` runs; the Lease is given back after its end. */
  const run = async (signal: AbortSignal, lead: (leading: AbortSignal) => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      if (await untilAborted(signal, tryToHold(signal))) await hold(signal, lead);
      else await pause(clock, times.retryMs, signal);
    }
  };

  return { run, otherHolder };
}
