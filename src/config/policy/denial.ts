/** What a policy is asked about, and what it answers. */
import { firstNames } from '../../shared/printable.ts';
import type { FilePlace, RunnerGroup } from '../runnergroup/runner-group.ts';
import type { Policy } from './schema.ts';

export type SecurityProfile = 'privileged' | 'baseline' | 'restricted';

/** Fields of a RunnerGroup that a policy judges and that not every RunnerGroup has. */
export interface PolicedFields {
  /** A PodTemplateSpec that has passed the checks of src/config/pods; one that has not is denied. */
  readonly podTemplate?: unknown;
  /** Absent: what our own pods are, `restricted` with containerMode `host`, else `privileged`. */
  readonly securityProfile?: SecurityProfile | undefined;
  readonly priorityTiers?: readonly { readonly priorityClassName: string }[] | undefined;
}

export type PolicedGroup = RunnerGroup & PolicedFields;

/** Who asks for runners. */
export interface Asker {
  /**
   * True: Argo CD asks, and what it does not tell is denied. False: a check before a merge, or a person; a rule about what is not told
   * is skipped.
   */
  readonly isArgoCd: boolean;
  /** Argo CD's `ARGOCD_APP_NAMESPACE`, `ARGOCD_APP_PROJECT_NAME`, `ARGOCD_APP_SOURCE_REPO_URL`; absent: not told. */
  readonly destination?: string;
  readonly project?: string;
  readonly repository?: string;
}

/** The fields of a policy, which are also the names of its rules. `namespaces.scopes` is the rule `scopes` of a namespace. */
export type RuleName = keyof Policy | `namespaces.${'destinations' | 'scopes' | 'secrets'}`;

/** One thing that a rule denies. */
export interface Finding {
  /** The field as people write it, e.g. `spec.image`; empty when the whole Application is meant. */
  readonly path: string;
  /** What came and what to do. May hold text from the file: print it through `printable`. */
  readonly message: string;
}

export interface Denial extends Finding {
  readonly rule: RuleName;
  /** `namespace/name` and the place of the RunnerGroup; absent when the whole Application is meant. */
  readonly group?: { readonly name: string; readonly place: FilePlace };
}

export type GroupRule = (policy: Policy, group: PolicedGroup, asker: Asker) => readonly Finding[];
export type ApplicationRule = (policy: Policy, groups: readonly PolicedGroup[], asker: Asker) => readonly Finding[];

/** The annotation of a RunnerGroup that says why it needs a higher profile. */
export const PROFILE_REASON = 'gitea.bpg.pw/profile-reason';

export const NONE: readonly Finding[] = [];

/** What a list of patterns allows, for a message. */
export function allowedBy(patterns: readonly string[]): string {
  return `the policy allows ${patterns.length === 0 ? 'none' : firstNames(patterns, 5)}`;
}
