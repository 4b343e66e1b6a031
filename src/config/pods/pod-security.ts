/**
 * Kubernetes' Pod Security Standards at the release of schema.ts: what the admission plugin of the API server would say about a pod
 * (k8s.io/pod-security-admission, `policy/check_*.go`). `baseline` forbids what reaches the node; `restricted` asks for hardening besides.
 *
 * A rule is called by the id of its check there. Windows: a pod with `os.name: windows` need not set what Windows does not know.
 */
import { BASELINE_RULES, REPLACED_BY_RESTRICTED } from './security-baseline.ts';
import { RESTRICTED_RULES } from './security-restricted.ts';
import { podForSecurity, type SecurityOptions, type Violation } from './security-rule.ts';
import type { Mapping } from './value.ts';

export type SecurityLevel = 'privileged' | 'baseline' | 'restricted';

/**
 * Every violation of a finished pod template (`metadata`, `spec`), by rule in the order of the admission plugin: baseline's first.
 * Empty for `privileged`. The pod must have passed `checkShape`: a value of a wrong type counts as not set.
 */
export function securityViolations(
  template: Mapping,
  level: SecurityLevel,
  options: SecurityOptions = {},
): readonly Violation[] {
  const pod = podForSecurity(template, options);
  switch (level) {
    case 'privileged':
      return [];
    case 'baseline':
      return BASELINE_RULES.flatMap((rule) => rule(pod));
    case 'restricted':
      return [...BASELINE_RULES.filter((rule) => !REPLACED_BY_RESTRICTED.has(rule)), ...RESTRICTED_RULES].flatMap(
        (rule) => rule(pod),
      );
    default:
      return level satisfies never;
  }
}
