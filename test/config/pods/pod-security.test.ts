/** Law T3. The comparison with Kubernetes itself: test/servers/pods.test.ts; what it said of 100 pods is recorded. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Mapping } from '../../../src/config/pods/pod-schema.ts';
import { type SecurityLevel, securityViolations } from '../../../src/config/pods/pod-security.ts';
import { ourTemplate } from './full-template.ts';
import type { SecurityCase } from './security-cases.ts';

interface Row extends SecurityCase {
  readonly baseline: readonly string[];
  readonly restricted: readonly string[];
}
const ROWS = JSON.parse(readFileSync('test/config/pods/recorded/security.json', 'utf8')) as readonly Row[];

const told = (template: Mapping, level: SecurityLevel): readonly string[] =>
  securityViolations(template, level).map(({ rule, path }) => `${rule} ${path.join('.')}`);
const pod = (spec: Mapping): Mapping => ({ spec });

it.each(ROWS.map((row, index) => [index, row] as const))(
  'securityViolations names the rules that Kubernetes names, pod %i',
  (_index, row) => {
    for (const level of ['baseline', 'restricted'] as const) {
      const rules = securityViolations(row.pod, level).map(({ rule }) => rule);

      expect([...new Set(rules)].sort()).toEqual(row[level]);
    }
  },
);

it('securityViolations has enough pods', () => {
  expect(ROWS).toHaveLength(100);
});

it.each([
  ['host', 'restricted', []],
  ['dind', 'baseline', ['privileged spec.initContainers.0.securityContext.privileged']],
  ['dind-rootless', 'baseline', ['privileged spec.containers.0.securityContext.privileged']],
  ['dind', 'privileged', []],
] as const)('securityViolations says what containerMode %s is at level %s', (mode, level, wanted) => {
  expect(told(ourTemplate(mode), level)).toEqual(wanted);
});

it('securityViolations names every place, also where something is missing', () => {
  const containers = [{ name: 'a' }, { name: 'b', securityContext: { runAsNonRoot: false } }];
  const violations = told(
    pod({ containers, securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }),
    'restricted',
  );

  expect(violations.filter((text) => text.startsWith('runAsNonRoot'))).toEqual([
    'runAsNonRoot spec.containers.0.securityContext.runAsNonRoot',
    'runAsNonRoot spec.containers.1.securityContext.runAsNonRoot',
  ]);
});
