/** State of the cluster besides Jobs and pods, for `explain`: `serve`, Argo CD's Applications, statuses of RunnerGroups. */
import type { RunnerGroupObject } from '../clients/kubernetes/resources.ts';
import { RunnerGroupStatus } from '../config/runnergroup/status.ts';
import { defined } from '../shared/defined.ts';
import { keyText } from '../shared/keys.ts';
import type { Scope } from '../shared/scope.ts';

export interface WhereIAm {
  /** `https://host:port` */
  readonly server: string;
  /** The context of the kubeconfig. Absent: the service account of this pod is used. */
  readonly context?: string;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  /** Namespaces where the person who asks may start no pod. Absent: none, or nobody looked. */
  readonly readOnly?: readonly string[];
  /** Namespaces of `serve`. Empty: all. Absent: not known. */
  readonly servedNamespaces?: readonly string[];
  /** Time of the look by the cluster's clock, ISO 8601. */
  readonly lookedAt: string;
  readonly serve: ServeSeen;
  readonly applications: readonly ApplicationSeen[];
  /** RunnerGroups that cannot be served. They are in no other list. */
  readonly broken: readonly UnservedGroup[];
  /** Statuses that `serve` wrote into the RunnerGroups. */
  readonly statuses: readonly StatusSeen[];
}

/** The leader of `serve`. `unread`: why it is not known. Times are ISO 8601. */
export type ServeSeen =
  | { readonly leader: string; readonly renewedAt?: string; readonly isLate: boolean }
  /** `isMissing`: it is known that no replica leads. */
  | { readonly unread: string; readonly isMissing?: true };

export interface ApplicationSeen {
  /** `argocd/runners` */
  readonly name: string;
  readonly sync?: string;
  readonly health?: string;
  /** The last error of the Application or of its last sync. */
  readonly error?: string;
  /** Argo CD's words about the operation under way, and in conditions that are not errors. */
  readonly says?: string;
  /** Duration of the operation under way, ms, if it is too long. `end`: the command that ends it. */
  readonly lastsMs?: number;
  readonly end?: string;
  /** The operation asked for does not begin: when Argo CD last compared the Application. */
  readonly idleSinceMs?: number;
  /** Repository and folder of its manifests. */
  readonly source?: string;
  /** Types of its sources, if none of them has the plugin: `source type Directory`. */
  readonly pluginless?: string;
  /** `runners/ci`: the RunnerGroups that it prints. Absent: not known. */
  readonly groups?: readonly string[];
  /** Those of them that differ from git. Absent: none. */
  readonly differing?: readonly string[];
  /** `error` is of its last sync, and not of the comparison. */
  readonly isSyncFailed?: true;
  /** The Application that made it, `argocd/root`. Absent: none, or not known. */
  readonly parent?: string;
  /** Argo CD syncs it by itself. Absent: not known. */
  readonly isAutomated?: boolean;
  readonly unread?: string;
  /** True if the Application is known not to exist. */
  readonly isMissing?: true;
}

/** A RunnerGroup that cannot be served. */
export interface UnservedGroup {
  /** `runners/ci` */
  readonly group: string;
  readonly problem: string;
  /** Names of its labels, and its scope. Absent: not known, so any job may be meant for it. */
  readonly labels?: readonly string[];
  readonly scope?: Scope;
}

export type StatusSeen = Readonly<ReturnType<typeof statusSeen>>;

/** @param application that made the RunnerGroup: `argocd/runners` */
export function statusSeen({ metadata, status }: RunnerGroupObject, application?: string) {
  const { data } = RunnerGroupStatus.safeParse(status ?? {});
  const conditionOf = (type: string) => data?.conditions?.find((each) => each.type === type);
  const messageOf = (type: string, expectedStatus: string) => {
    const condition = conditionOf(type);
    return condition?.status === expectedStatus ? condition.message : undefined;
  };
  const [ready, synced, stuck] = ['Ready', 'ArgoCDSynced', 'PodsStuck'].map(conditionOf);
  const isUnready = ready && ready.status !== 'True';
  return defined({
    group: keyText(metadata),
    application,
    /** When `serve` last looked at Gitea for the group. */
    lastCheckTime: data?.lastCheckTime,
    /** What `serve` waits for while the cluster differs from the plan, and until when. */
    waits: synced?.reason === 'Waiting' ? synced.message : undefined,
    /** Pods that cannot start: Kubernetes' reason for the first one. */
    stuck: stuck?.status === 'True' ? { reason: stuck.reason, message: stuck.message } : undefined,
    /** Levels at which `serve` cannot register runners, with its message, also if the group is ready. */
    unregistered: data?.unregistered?.length ? data.unregistered : undefined,
    unregisteredText: messageOf('Registered', 'False'),
    /** Jobs are held back. */
    full: messageOf('AtCapacity', 'True'),
    /** Why the group is not ready: reason and message. */
    notReady: isUnready ? `${ready.reason}: ${ready.message}` : undefined,
    reason: isUnready ? ready.reason : undefined,
    /** `serve` has not read the newest spec. */
    isOutdated: (data?.observedGeneration ?? metadata.generation) === metadata.generation ? undefined : true,
  });
}
