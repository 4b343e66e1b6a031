/**
 * Compares src/config/pods with Kubernetes' own code: the same merge, the same fields, the same verdicts. With
 * RECORD_PODS=1 the tables of test/config/pods/recorded are written again; without it they must match Kubernetes.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { pinnedKubernetes, podSchema } from '../../scripts/pod-schema.mjs';
import { mergePodTemplate, withRunner } from '../../src/config/pods/apply-template.ts';
import { checkPod } from '../../src/config/pods/check-pod.ts';
import { checkShape } from '../../src/config/pods/check-shape.ts';
import { KUBERNETES_VERSION, type Mapping, type TemplateFault, type Value } from '../../src/config/pods/pod-schema.ts';
import { type SecurityLevel, securityViolations } from '../../src/config/pods/pod-security.ts';
import { buildOracle } from '../config/pods/ask-kubernetes.ts';
import { FULL_TEMPLATE, ourTemplate, placesIn, withValue } from '../config/pods/full-template.ts';
import { asKubectlSends, isWorthRecording, mergePairs, withoutNulls } from '../config/pods/merge-cases.ts';
import { MISTAKES } from '../config/pods/mistakes.ts';
import { pick, randomFrom } from '../config/pods/random-template.ts';
import { culpritOf, namedIn, securityCases } from '../config/pods/security-cases.ts';
import { shapeCases } from '../config/pods/shape-cases.ts';

const oracle = buildOracle();
afterAll(() => oracle.close());

const RECORDED = join(import.meta.dirname, '../config/pods/recorded');

function recorded(file: string, rows: readonly object[]): void {
  const path = join(RECORDED, file);
  const text = `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`;
  if (process.env['RECORD_PODS'] === '1') writeFileSync(path, text);
  expect(readFileSync(path, 'utf8'), `RECORD_PODS=1 writes ${file} anew`).toBe(text);
}

it('the schema is what `node scripts/pod-schema.mjs` makes of the published file', () => {
  const told = execFileSync('go', ['mod', 'download', '-json', `k8s.io/kubernetes@v${KUBERNETES_VERSION}`], {
    cwd: tmpdir(),
    encoding: 'utf8',
  });
  const { Dir: folder } = JSON.parse(told) as { readonly Dir: string };
  const swagger = JSON.parse(readFileSync(join(folder, 'api/openapi-spec/swagger.json'), 'utf8'));
  const { version, checksum } = pinnedKubernetes();

  expect(readFileSync('src/config/pods/pod-schema.json', 'utf8')).toBe(podSchema(swagger, version, checksum));
});

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

it('checkShape and the strict decoding of the API server refuse the same of 3,000 templates', () => {
  const templates = shapeCases(3000, 1);
  const answers = oracle.ask<{ readonly unknown: readonly string[] }>(
    templates.map((pod) => ({ do: 'validate', pod })),
  );
  const faultsByTemplate = templates.map((template) => checkShape(template, () => undefined).filter(isAboutTypes));

  const differences = answers.flatMap(({ unknown }, index) =>
    (faultsByTemplate[index]?.length ?? 0) > 0 === unknown.length > 0
      ? []
      : [{ index, ours: faultsByTemplate[index], kubernetes: unknown }],
  );

  expect(differences).toEqual([]);
  expect(faultsByTemplate.filter((faults) => faults.length > 0).length).toBeGreaterThan(500);
});

describe('validation', () => {
  interface Validated {
    readonly unknown: readonly string[];
    readonly faults: readonly string[];
  }
  const OTHERS: readonly Value[] = [
    '',
    'A_b',
    'x'.repeat(70),
    'a b',
    '../a',
    '/a',
    'Always',
    'a',
    0,
    -1,
    101,
    70_000,
    true,
    {},
    [],
  ];
  const places = placesIn(FULL_TEMPLATE).filter((path) => path.length > 1);
  const random = randomFrom(16);
  const templates = Array.from({ length: 4000 }, () => {
    const path = pick(random, places);
    return {
      path,
      template: withValue(FULL_TEMPLATE, path, random() < 0.15 ? undefined : pick(random, OTHERS)) as Mapping,
    };
  });

  it.each(['host', 'dind', 'dind-rootless'] as const)(
    'Kubernetes takes the full template in a pod of mode %s',
    (mode) => {
      const pod = mergePodTemplate(ourTemplate(mode), withRunner(FULL_TEMPLATE));

      expect(oracle.ask<Validated>([{ do: 'validate', pod }])).toEqual([{ unknown: [], faults: [] }]);
    },
  );

  it.each(MISTAKES)('Kubernetes refuses what is wrong at $at, too', ({ template }) => {
    const pod = mergePodTemplate(ourTemplate(), withRunner(template));
    const [answer] = oracle.ask<Validated>([{ do: 'validate', pod }]);

    expect([...(answer?.unknown ?? []), ...(answer?.faults ?? [])]).not.toEqual([]);
  });

  it('validation refuses no template, of 4,000 with one change, whose pod Kubernetes would take', () => {
    const judged = templates.map(({ path, template }) => {
      const shape = checkShape(template, () => undefined);
      return { path, faults: shape.length > 0 ? shape : checkPod(ourTemplate(), template), template };
    });
    const pods = judged.map(({ faults, template }) =>
      // A template that does not merge is asked without our pod.
      faults.some(({ message }) => /is missing|unknown|must be a (?:list|mapping)/.test(message))
        ? template
        : mergePodTemplate(ourTemplate(), withRunner(template)),
    );
    const answers = oracle.ask<Validated>(pods.map((pod) => ({ do: 'validate', pod })));
    const taken = (index: number): boolean =>
      answers[index]?.unknown.length === 0 && answers[index]?.faults.length === 0;

    const tooStrict = judged.filter(({ faults }, index) => faults.length > 0 && taken(index));
    const refused = judged.filter((_, index) => !taken(index));
    const seen = refused.filter(({ faults }) => faults.length > 0);
    process.stdout.write(
      `pods: of ${refused.length} templates that Kubernetes refuses ${seen.length} are refused here\n`,
    );
    expect(tooStrict.map(({ path, faults }) => ({ path, faults })).slice(0, 10)).toEqual([]);
    expect(seen.length / refused.length).toBeGreaterThan(0.9);
  });
});

/**
 * Decoding knows no required fields, and it lets elements repeat: validation finds those later. `fieldsV1` it does not read at all; no
 * template may have it (src/config/pods/reserved.ts).
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
      const differences = cases.flatMap(({ pod }, index) => {
        const ours = brokenRules(pod, level);
        const kubernetes = (answers[index]?.[level] ?? []).map(({ rule }) => rule);
        return JSON.stringify(ours) === JSON.stringify(kubernetes) ? [] : [{ index, ours, kubernetes, pod }];
      });

      expect(differences.slice(0, 3)).toEqual([]);
    },
  );

  it.each(['baseline', 'restricted'] as const)('%s: and by the same containers and volumes', (level) => {
    const differences = cases.flatMap(({ pod }, index) =>
      (answers[index]?.[level] ?? []).flatMap(({ rule, detail }) => {
        const found = securityViolations(pod, level).filter((one) => one.rule === rule);
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

    expect(oracle.ask<readonly string[]>([{ do: 'rules' }])).toEqual([[...broken].sort()]);
    expect(broken.size).toBeGreaterThan(0);
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

function brokenRules(pod: Mapping, level: SecurityLevel): readonly string[] {
  const rules = securityViolations(pod, level).map(({ rule }) => rule);
  return [...new Set(rules)].sort();
}
