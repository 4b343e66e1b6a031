/**
 * From a group's podTemplate to its pods: every check of this room in its order, then the merge (docs/adr/0028). The one function that
 * callers need. A template costs milliseconds; groups without one should not load this file.
 */
import { checkPod } from './check-pod.ts';
import { checkShape, type Suggest } from './check-shape.ts';
import { followRunner } from './follow-runner.ts';
import { type SecurityLevel, securityViolations } from './pod-security.ts';
import { reservedFields } from './reserved.ts';
import type { Violation } from './security-rule.ts';
import { mergePodTemplate, withRunner } from './strategic-merge.ts';
import { boundFault, isMapping, type Mapping, type TemplateFault, type Value } from './value.ts';

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
  const faults = [...reservedFields(ours, template, context), ...checkPod(ours, template)];
  if (faults.length > 0) return { faults };
  const pod = followRunner(mergePodTemplate(ours, withRunner(template)));
  return { pod, violations: securityViolations(pod, context.level) };
}
