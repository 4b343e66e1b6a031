/** What stands in the cluster besides Jobs and pods, for `explain`: `serve`, Argo CD's Applications, statuses of RunnerGroups. */
import type { RunnerGroupObject } from '../clients/kubernetes/resources.ts';
import { RunnerGroupStatus } from '../config/runnergroup/status.ts';
import { keyText } from '../shared/keys.ts';

export interface WhereIAm {
  /** `https://host:port` */
  readonly server: string;
  /** Of the kubeconfig. Absent: the service account of this pod. */
  readonly context?: string;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  /** When, by the clock of the cluster, ISO 8601. */
  readonly lookedAt: string;
  readonly serve: ServeSeen;
  readonly applications: readonly ApplicationSeen[];
  /** RunnerGroups that cannot be served. They are in no other list. */
  readonly broken: readonly UnservedGroup[];
  /** What `serve` wrote into the RunnerGroups. */
  readonly statuses: readonly StatusSeen[];
}

/** `unread`: why nothing is known. Times are ISO 8601. */
export type ServeSeen =
  | { readonly leader: string; readonly renewedAt?: string; readonly isLate: boolean }
  /** `isMissing`: it is known that no replica leads. */
  | { readonly unread: string; readonly isMissing?: true };

export interface ApplicationSeen {
  /** `argocd/runners` */
  readonly name: string;
  readonly sync?: string;
  readonly health?: string;
  /** Its last error, or that of its last sync. */
  readonly error?: string;
  /** Of the operation under way, and in conditions that are no errors. */
  readonly says?: string;
  /** The operation under way lasts too long: how long, ms, and the command that ends it. */
  readonly lastsMs?: number;
  readonly end?: string;
  /** Repository and folder of its manifests. */
  readonly source?: string;
  /** Argo CD syncs it by itself. Absent: not known. */
  readonly isAutomated?: boolean;
  readonly unread?: string;
  /** It is known that there is none. */
  readonly isMissing?: true;
}

/** `group`: `runners/ci`. */
export type UnservedGroup = Readonly<Record<'group' | 'problem', string>>;

export type StatusSeen = Readonly<ReturnType<typeof statusSeen>>;

/** @param made the Application that made it: `argocd/runners` */
export function statusSeen({ metadata, status }: RunnerGroupObject, made?: string) {
  const { data } = RunnerGroupStatus.safeParse(status ?? {});
  const conditionOf = (wanted: string) => data?.conditions?.find(({ type }) => type === wanted);
  const [ready, waits, stuck, full] = ['Ready', 'ArgoCDSynced', 'PodsStuck', 'AtCapacity'].map(conditionOf);
  const registered = conditionOf('Registered');
  return {
    group: keyText(metadata),
    ...(made !== undefined && { application: made }),
    /** When `serve` last looked at Gitea for it. */
    ...(data?.lastCheckTime !== undefined && { lastCheckTime: data.lastCheckTime }),
    /** What `serve` waits for while the cluster does not show the plan, and until when. */
    ...(waits?.reason === 'Waiting' && { waits: waits.message }),
    /** Its pods that cannot start: Kubernetes' reason for the first one. */
    ...(stuck?.status === 'True' && { stuck: { reason: stuck.reason, message: stuck.message } }),
    /** Where `serve` cannot register runners, and what it says if the group is ready nevertheless. */
    ...(data?.unregistered?.length && { unregistered: data.unregistered }),
    ...(registered?.status === 'False' && { unregisteredText: registered.message }),
    /** Jobs are held back. */
    ...(full?.status === 'True' && { full: full.message }),
    /** Why it is not ready: reason and message. */
    ...(ready && ready.status !== 'True' && { notReady: `${ready.reason}: ${ready.message}`, reason: ready.reason }),
  };
}
