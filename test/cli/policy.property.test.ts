/**
 * Tests for any policy: all who ask it get the same answer, and a denial leaves the other groups as they are. Those who ask are `generate`
 * with those that refuse as it does (explain, sweep, report, cdk8s synth), `validate`, `serve`, and the validation plugin of cdk8s.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { policyFrom, refusalsOf } from '../../src/cli/reading/command-settings.ts';
import { RunnerPolicyValidation } from '../../src/config/policy/cdk8s-validation.ts';
import { readPolicyFile } from '../../src/config/policy/policy-schema.ts';
import { readRunnerGroups } from '../../src/config/runnergroup/read.ts';
import { judgedBy } from '../../src/serve/looks/targets.ts';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { printingIo } from '../support/printing-io.ts';
import { fc, RUNS } from '../support/property.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';
import { KNOWS_GROUPS, objects, secretsDir } from './trouble-rig.ts';

const NAMES = ['a', 'b', 'c'] as const;
const anyGroup = fc.record({
  image: fc.constantFrom('gitea/runner:1', 'evil.example.com/x:1'),
  containerMode: fc.constantFrom('host', 'dind'),
  maxActiveRunners: fc.constantFrom(2, 9),
});
const anyRules = fc.record(
  {
    registries: fc.constantFrom([], ['docker.io']),
    securityProfile: fc.constant({ highest: 'restricted' }),
    maxActiveRunners: fc.constantFrom(4, 12, 20),
    enforcement: fc.constantFrom('deny', 'warn'),
    enforcementOf: fc.constantFrom({ registries: 'warn' }, { maxActiveRunners: 'deny' }),
    defaults: fc.constantFrom({ labels: ['x:host'] }, { podTemplate: { spec: { serviceAccountName: 'x' } } }),
  },
  { requiredKeys: [] },
);
const anyEntry = fc
  .tuple(fc.constantFrom(...NAMES, '*'), anyRules)
  .map(([name, rules]) => ({ match: { name }, ...rules }));
const anyPolicy = fc.tuple(anyRules, fc.array(anyEntry, { maxLength: 2 }), fc.constantFrom('2020-01-01', '2999-01-01'));

const Report = z.object({ findings: z.array(z.object({ code: z.string(), file: z.string(), message: z.string() })) });
const Violation = z.object({ violatingResources: z.array(z.object({ resourceName: z.string() })) });

/** Returns the names of the denied groups, by each that asks. */
async function denied(files: Readonly<Record<string, string>>, policy: string) {
  const folder = folderWith({ ...files, 'policy.json': policy });
  const file = join(folder, 'policy.json');
  const { io } = printingIo({ cwd: folder });
  const installed = await policyFrom({ policy: file }, io);
  const paths = Object.keys(files).map((name) => join(folder, name));
  const options = { paths, recursive: false, cwd: folder, defaultNamespace: 'runners', defaults: installed?.defaults };
  const { groups } = await readRunnerGroups(options);
  const all = groups.map(({ name }) => name);
  const names = (some: Iterable<string>) => [...new Set(some)].sort();

  const { byGroup } = await refusalsOf(installed, groups, io);
  const live = groups.map((group) => ({ key: group.name, object: { metadata: group } as never, group }));
  const { refusals } = judgedBy(file, readPolicyFile(file), new Map([['argocd/runners', live]]), Date.now());
  const { stdout } = await runHere(['validate', '--policy', file, '-o', 'json', ...paths], {}, folder);
  const denials = Report.parse(JSON.parse(stdout)).findings.filter(({ code }) => code === 'GR-POLICY-04');
  const violations: string[] = [];
  await new RunnerPolicyValidation({ policy: file }).validate({
    manifests: paths,
    logger: { log: () => undefined },
    report: {
      submit: () => undefined,
      addViolation: (found) => {
        violations.push(...Violation.parse(found).violatingResources.map(({ resourceName }) => resourceName));
      },
    },
  });
  return {
    generate: names([...byGroup.keys()].map(({ name }) => name)),
    serve: names([...refusals.keys()].map(({ name }) => name)),
    validate: names(
      denials.flatMap(({ file: at, message }) => {
        // A denied default of the policy names its groups.
        if (at.endsWith('policy.json')) return [...message.matchAll(/runners\/(\w+)/g)].map(([, name = '']) => name);
        return at === '.' ? all : at.replace(/^.*\/|\.yaml$/g, '');
      }),
    ),
    cdk8s: names(violations),
  };
}

/** Returns the files of groups a, b and c, and the policy. */
function written(url: string, groups: readonly object[], [top, entries, until]: readonly unknown[]) {
  const exceptions = [{ groups: ['runners/a'], rules: ['registries', 'maxActiveRunners'], until, reason: 'x' }];
  const spec = { ...(top as object), groups: entries, exceptions };
  const files = Object.fromEntries(
    groups.map((group, index) => {
      const lines = Object.entries(group).map(([field, value]) => `  ${field}: ${value}\n`);
      return [`${NAMES[index]}.yaml`, groupYaml(url, lines.join(''), NAMES[index])];
    }),
  );
  return { files, policy: JSON.stringify({ apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy', spec }) };
}

const SEED = Number(process.env['PROPERTY_SEED'] ?? 1);

it('generate, validate, serve and the plugin of cdk8s deny the same groups, for any policy', async () => {
  const counts = new Set<number>();
  const law = async (groups: readonly object[], rules: readonly unknown[]) => {
    const { files, policy } = written('https://gitea.example.com', groups, rules);
    const { generate, ...others } = await denied(files, policy);
    counts.add(generate.length);
    expect(others).toEqual({ serve: generate, validate: generate, cdk8s: generate });
  };
  const cases = fc.asyncProperty(fc.array(anyGroup, { minLength: 1, maxLength: 3 }), anyPolicy, law);
  await fc.assert(cases, { numRuns: RUNS, seed: SEED });
  expect(counts.size).toBeGreaterThan(2);
});

it('generate prints the same bytes for the allowed groups as without the denied ones, for any policy', async () => {
  const { simulator } = await startAcme();
  for (const key of ['one', 'two', 'three']) simulator.gitea.push('acme/web', { jobs: [{ key, runsOn: ['linux'] }] });
  const env = {
    ...KNOWS_GROUPS,
    ARGOCD_APP_NAME: 'runners',
    ARGOCD_APP_NAMESPACE: 'runners',
    GITEA_RUNNERS_SECRETS_DIR: secretsDir({ 'gitea-api': { url: simulator.url } }),
    GITEA_RUNNERS_KUBECONFIG: kubeconfigFor(await startCluster({ jobs: { runners: [] } })),
  };
  const seen = new Set<string>();
  const law = async (groups: readonly object[], rules: readonly unknown[]) => {
    const { files, policy } = written(simulator.url, groups, rules);
    const folder = folderWith(files);
    const generate = () =>
      runHere(['generate', folder], { ...env, GITEA_RUNNERS_POLICY: join(folderWith({ 'p.json': policy }), 'p.json') });
    const { code, stdout, stderr } = await generate();
    const deniedNames = [...stderr.matchAll(/RunnerGroup runners\/(\w) is left as it is/g)].map(([, name]) => name);
    seen.add(`exit ${code}, ${deniedNames.length} denied of ${groups.length}`);
    if (code === 3) {
      expect(stdout).toBe('');
      return;
    }
    for (const name of deniedNames) rmSync(join(folder, `${name}.yaml`));
    const alone = await generate();
    const isDenied = (text: string) =>
      objects(text).some(({ kind, metadata }) => kind === 'RunnerGroup' && deniedNames.includes(metadata.name));
    const others = stdout.split(/^(?=---\n)/m).filter((text) => !isDenied(text));
    expect(others.join('')).toBe(alone.stdout);
    expect(alone.stdout).toContain('kind: "Job"');
  };
  const cases = fc.asyncProperty(fc.array(anyGroup, { minLength: 2, maxLength: 3 }), anyPolicy, law);
  await fc.assert(cases, { numRuns: RUNS / 2, seed: SEED });
  expect([...seen]).toEqual(expect.arrayContaining(['exit 0, 1 denied of 3', 'exit 0, 2 denied of 3']));
});
