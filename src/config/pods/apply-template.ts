/**
 * From a group's podTemplate to its pods: every check of this room in its order, then the merge (docs/adr/0028). The one function that
 * callers need. A template costs milliseconds; groups without one should not load this file.
 */
import { checkPod } from './check-pod.ts';
import { checkShape, type Suggest } from './check-shape.ts';
import { type SecurityLevel, securityViolations, type Violation } from './pod-security.ts';
import { reservedFields } from './reserved.ts';
import { mergePodTemplate, withRunner } from './strategic-merge.ts';
import {
  boundFault,
  fieldValue,
  isMapping,
  listOf,
  type Mapping,
  stringOf,
  type TemplateFault,
  type Value,
} from './value.ts';

export interface TemplateContext {
  /** Names of the Secrets in the group's namespace that hold tokens of Gitea. */
  readonly secrets: readonly string[];
  /** What the final pod is held to. */
  readonly level: SecurityLevel;
  readonly suggest: Suggest;
}

export type AppliedTemplate =
  /** The template is wrong. Paths are the template's. */
  | { readonly faults: readonly TemplateFault[] }
  /** The final pod, and where it is weaker than the level. Paths are the pod's. */
  | { readonly pod: Mapping; readonly violations: readonly Violation[] };

/** `ours`: the `spec.template` of the group's Job. Same arguments, same answer; nothing is changed. */
export function applyTemplate(ours: Mapping, template: Value, context: TemplateContext): AppliedTemplate {
  const tooLarge = boundFault(template);
  if (tooLarge) return { faults: [tooLarge] };
  const shape = checkShape(template, context.suggest);
  if (shape.length > 0 || !isMapping(template)) return { faults: shape };
  const faults = [...reservedFields(ours, template, context.secrets), ...checkPod(ours, template)];
  if (faults.length > 0) return { faults };
  const pod = followRunner(mergePodTemplate(ours, withRunner(template)));
  return { pod, violations: securityViolations(pod, context.level) };
}

/**
 * What the init container that registers takes from the runner's container as it is. It needs the same image from the same registry. A
 * quota asks every container for resources, and a pod needs the larger of the two, not the sum.
 */
const FIELDS = ['image', 'imagePullPolicy', 'resources'];
/**
 * Of the security context only who the runner is: what one writes, the other must read and write. Never what it may do. In dind-rootless
 * the runner is privileged, and the container with the registration token stays without privileges.
 */
const IDENTITY = ['runAsUser', 'runAsGroup', 'runAsNonRoot', 'seLinuxOptions'];

/** The final pod with its init container `register` made like container `runner`. */
function followRunner(pod: Mapping): Mapping {
  const spec = fieldValue(pod, 'spec');
  const runner = listOf(spec, 'containers').find((container) => stringOf(container, 'name') === 'runner');
  const initContainers = listOf(spec, 'initContainers').map((container) => {
    if (stringOf(container, 'name') !== 'register') return container;
    const securityContext = taking(
      IDENTITY,
      fieldValue(container, 'securityContext'),
      fieldValue(runner, 'securityContext'),
    );
    return { ...taking(FIELDS, container, runner), securityContext };
  });
  return { ...pod, spec: { ...(isMapping(spec) ? spec : {}), initContainers } };
}

/** `to` with these fields as they are in `from`, also when they are absent there. */
function taking(fields: readonly string[], to: Value | undefined, from: Value | undefined): Mapping {
  const kept = Object.entries(isMapping(to) ? to : {}).filter(([field]) => !fields.includes(field));
  const taken = Object.entries(isMapping(from) ? from : {}).filter(([field]) => fields.includes(field));
  return Object.fromEntries([...kept, ...taken]);
}
