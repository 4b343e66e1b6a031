/**
 * src/pods beside Kubernetes' own code: the same merge, the same fields, the same verdicts. With RECORD_PODS=1 the tables of
 * test/pods/recorded are written anew; without it they must be what Kubernetes says.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkShape } from '../../src/pods/check-shape.ts';
import { type SecurityLevel, securityViolations } from '../../src/pods/pod-security.ts';
import { mergePodTemplate } from '../../src/pods/strategic-merge.ts';
import type { Mapping, TemplateFault } from '../../src/pods/value.ts';
import { buildOracle } from '../pods/ask-kubernetes.ts';
import { asKubectlSends, isWorthRecording, mergePairs, withoutNulls } from '../pods/merge-cases.ts';
import { culpritOf, namedIn, securityCases } from '../pods/security-cases.ts';
import { shapeCases } from '../pods/shape-cases.ts';

const oracle = buildOracle();
afterAll(() => oracle.close());

const RECORDED = join(import.meta.dirname, '../pods/recorded');

function recorded(file: string, rows: readonly object[]): void {
  const path = join(RECORDED, file);
  const text = `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`;
  if (process.env['RECORD_PODS'] === '1') writeFileSync(path, text);
  expect(readFileSync(path, 'utf8'), `RECORD_PODS=1 writes ${file} anew`).toBe(text);
}

describe('strategic merge', () => {
  const pairs = [...mergePairs(500, 0.33), ...mergePairs(500, 0.06)];
  const answers = oracle.ask<{ readonly result?: Mapping; readonly error?: string }>(
    pairs.map((pair) => ({ do: 'merge', base: pair.base, patch: asKubectlSends(pair) })),
  );

  it('merges 1,000 pairs as k8s.io/apimachinery does', () => {
    for (const [index, { base, patch }] of pairs.entries()) {
      const { result, error } = answers[index] ?? {};

      expect(error).toBeUndefined();
      expect(mergePodTemplate(base, patch), `pair ${index}`).toEqual(withoutNulls(result ?? {}));
    }
  });

  it('is recorded', () => {
    const rows = pairs.map((pair, index) => ({ ...pair, merged: withoutNulls(answers[index]?.result ?? {}) }));

    recorded('merge.json', rows.filter(isWorthRecording).slice(0, 100));
  });
});

describe('shape', () => {
  it('finds a mistake in the same of 3,000 templates as the strict decoding of the API server', () => {
    const templates = shapeCases(3000, 1);
    const answers = oracle.ask<{ readonly unknown: readonly string[] }>(
      templates.map((pod) => ({ do: 'validate', pod })),
    );
    const wrong = templates.map((template) => checkShape(template, () => undefined).filter(isAboutTypes));

    const differences = answers.flatMap(({ unknown }, index) =>
      (wrong[index]?.length ?? 0) > 0 === unknown.length > 0
        ? []
        : [{ index, ours: wrong[index], kubernetes: unknown }],
    );

    expect(differences).toEqual([]);
    expect(wrong.filter((faults) => faults.length > 0).length).toBeGreaterThan(500);
  });
});

/**
 * Decoding knows no required fields, and it lets elements repeat: validation finds those later. `fieldsV1` it does not read at all; no
 * template may have it (src/pods/reserved.ts).
 */
function isAboutTypes({ message, path }: TemplateFault): boolean {
  return !/is missing|repeats/.test(message) && !path.includes('fieldsV1');
}

interface Verdict {
  readonly rule: string;
  readonly detail: string;
}

describe('Pod Security Standards', () => {
  const cases = securityCases(2000);
  const answers = oracle.ask<{ readonly baseline: readonly Verdict[]; readonly restricted: readonly Verdict[] }>(
    cases.map((one) => ({ do: 'security', ...one })),
  );

  it.each(['baseline', 'restricted'] as const)(
    '%s: 2,000 pods break the rules that the admission plugin names',
    (level) => {
      const differences = cases.flatMap(({ pod, relax }, index) => {
        const ours = brokenRules(pod, level, relax);
        const kubernetes = (answers[index]?.[level] ?? []).map(({ rule }) => rule);
        return JSON.stringify(ours) === JSON.stringify(kubernetes) ? [] : [{ index, ours, kubernetes, pod }];
      });

      expect(differences.slice(0, 3)).toEqual([]);
    },
  );

  it.each(['baseline', 'restricted'] as const)('%s: and by the same containers and volumes', (level) => {
    const differences = cases.flatMap(({ pod, relax }, index) =>
      (answers[index]?.[level] ?? []).flatMap(({ rule, detail }) => {
        const found = securityViolations(pod, level, { relaxForUserNamespaces: relax }).filter(
          (one) => one.rule === rule,
        );
        const ours = new Set(found.map(({ path }) => culpritOf(pod, path)));
        // The plugin does not name who lacks a field while others have it wrong. We do.
        const missing = namedIn(detail).filter((name) => !ours.has(name));
        return missing.length === 0 ? [] : [{ index, rule, detail, missing }];
      }),
    );

    expect(differences.slice(0, 3)).toEqual([]);
  });

  it('the pods break every rule, and some break none', () => {
    const broken = new Set(
      answers.flatMap(({ restricted, baseline }) => [...restricted, ...baseline].map(({ rule }) => rule)),
    );

    expect([...broken].sort()).toEqual(ALL_RULES);
    expect(answers.filter(({ restricted }) => restricted.length === 0).length).toBeGreaterThan(50);
    expect(answers.filter(({ baseline }) => baseline.length === 0).length).toBeGreaterThan(200);
  });

  it('is recorded', () => {
    const rows = cases.slice(0, 100).map((one, index) => ({
      ...one,
      baseline: (answers[index]?.baseline ?? []).map(({ rule }) => rule),
      restricted: (answers[index]?.restricted ?? []).map(({ rule }) => rule),
    }));

    recorded('security.json', rows);
  });
});

function brokenRules(pod: Mapping, level: SecurityLevel, relax: boolean): readonly string[] {
  const rules = securityViolations(pod, level, { relaxForUserNamespaces: relax }).map(({ rule }) => rule);
  return [...new Set(rules)].sort();
}

const ALL_RULES = [
  'allowPrivilegeEscalation',
  'appArmorProfile',
  'capabilities_baseline',
  'capabilities_restricted',
  'hostNamespaces',
  'hostPathVolumes',
  'hostPorts',
  'hostProbesAndHostLifecycle',
  'privileged',
  'procMount',
  'restrictedVolumes',
  'runAsNonRoot',
  'runAsUser',
  'seLinuxOptions',
  'seccompProfile_baseline',
  'seccompProfile_restricted',
  'sysctls',
  'windowsHostProcess',
];
