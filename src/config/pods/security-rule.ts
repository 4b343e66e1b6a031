/** What the rules of the Pod Security Standards have in common: the pod as they see it, and what they answer. */
import { type FieldPath, fieldValue, isMapping, listOf, type Mapping, type Value } from './value.ts';

/** One field that breaks a rule. A rule that asks for a field names the place where it is missing. */
export interface Violation {
  /** Id of the check in k8s.io/pod-security-admission, e.g. `runAsNonRoot`. */
  readonly rule: string;
  readonly path: FieldPath;
  /** What follows `PATH: `. */
  readonly message: string;
}

export interface SecurityOptions {
  /**
   * Pods with `hostUsers: false` need not run as another user than root. Only where the API server has the feature gate
   * UserNamespacesPodSecurityStandards, which is off by default.
   */
  readonly relaxForUserNamespaces?: boolean;
}

/** A container, init container or ephemeral container. */
export interface SecuredContainer {
  readonly path: FieldPath;
  readonly container: Mapping;
  readonly context: Value | undefined;
}

export interface SecuredPod {
  readonly metadata: Value | undefined;
  readonly spec: Value | undefined;
  /** `spec.securityContext` */
  readonly context: Value | undefined;
  readonly containers: readonly SecuredContainer[];
  readonly isWindows: boolean;
  /** Rules about the user do not apply. */
  readonly isRelaxed: boolean;
}

export type SecurityRule = (pod: SecuredPod) => readonly Violation[];

/** The lists of containers, in the order in which the checks visit them. */
const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'];
export const POD_CONTEXT: FieldPath = ['spec', 'securityContext'];

/** A pod template as the rules see it. */
export function podForSecurity(template: Mapping, { relaxForUserNamespaces = false }: SecurityOptions): SecuredPod {
  const spec = fieldValue(template, 'spec');
  return {
    metadata: fieldValue(template, 'metadata'),
    spec,
    context: fieldValue(spec, 'securityContext'),
    containers: CONTAINER_LISTS.flatMap((list) =>
      listOf(spec, list).flatMap((container, index) => {
        if (!isMapping(container)) return [];
        return [{ path: ['spec', list, index], container, context: fieldValue(container, 'securityContext') }];
      }),
    ),
    isWindows: fieldValue(fieldValue(spec, 'os'), 'name') === 'windows',
    isRelaxed: relaxForUserNamespaces && fieldValue(spec, 'hostUsers') === false,
  };
}

/** Every security context that the pod has, the pod's own first, with its place. */
export function contextsOf(pod: SecuredPod): readonly { readonly path: FieldPath; readonly context: Value }[] {
  const own = pod.context === undefined ? [] : [{ path: POD_CONTEXT, context: pod.context }];
  return [
    ...own,
    ...pod.containers.flatMap(({ path, context }) =>
      context === undefined ? [] : [{ path: [...path, 'securityContext'], context }],
    ),
  ];
}
