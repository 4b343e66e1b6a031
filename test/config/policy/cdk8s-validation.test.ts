/** The policy in cdk8s' own command (F151): what any app has written is judged by the same rules. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RunnerPolicyValidation } from '../../../src/config/policy/cdk8s-validation.ts';
import { folderWith, groupYaml, runNode } from '../../support/run-cli.ts';

const policyOf = (spec: object) => JSON.stringify({ apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy', spec });
const IMAGES = { images: ['registry.example.com/ci/**'] };
const runnerGroup = (image: string, name: string, more = '') =>
  groupYaml('https://gitea.example.com', `  image: ${image}\n${more}`, name);
const ALLOWED = runnerGroup('registry.example.com/ci/runner:1', 'good');
const DENIED = runnerGroup('registry.example.com/other/runner:1', 'bad');

/** A Job by hand. @param pod fields of its pod, and of its container as `container` */
function job(image: string, { container = {}, ...pod }: Readonly<Record<string, unknown>> = {}, metadata: object = {}) {
  const containers = [{ name: 'main', image, ...(container as object) }];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'by-hand', namespace: 'runners', ...metadata },
    spec: { template: { spec: { restartPolicy: 'Never', containers, ...pod } } },
  };
}
const GOOD = job('registry.example.com/ci/tool:1');
const cronJob = (image: string) => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'nightly' },
  spec: { schedule: '@daily', jobTemplate: { spec: job(image).spec } },
});
const listOf = (...items: readonly object[]) => ({ apiVersion: 'v1', kind: 'List', items });

const texts = (documents: readonly (string | object)[]) =>
  documents.map((each) => `---\n${typeof each === 'string' ? each : `${JSON.stringify(each)}\n`}`).join('');

/** Returns the plugin's violations in these documents, called as cdk8s-cli does. */
async function judged(spec: object, ...documents: readonly (string | object)[]) {
  const folder = folderWith({ 'policy.json': policyOf(spec), 'all.k8s.yaml': texts(documents) });
  const told = { violations: [] as string[], logged: [] as string[], messages: [] as string[], status: '' };
  await new RunnerPolicyValidation({ policy: join(folder, 'policy.json') }).validate({
    manifests: documents.length > 0 ? [join(folder, 'all.k8s.yaml')] : [],
    logger: { log: (text) => told.logged.push(text.replaceAll(folder, '')) },
    report: {
      submit: (status) => Object.assign(told, { status }),
      addViolation: (found) => {
        const { ruleName, violatingResources, recommendation } = found as {
          readonly ruleName: string;
          readonly recommendation: string;
          readonly violatingResources: readonly { resourceName: string; manifestPath: string; locations: string[] }[];
        };
        expect(recommendation).toContain(`[${ruleName}]`);
        told.messages.push(recommendation.replace(/^.*: /, ''));
        for (const { resourceName, manifestPath, locations } of violatingResources) {
          expect(manifestPath).toMatch(/all\.k8s\.yaml$/);
          told.violations.push([ruleName, resourceName, ...locations].join(' '));
        }
      },
    },
  });
  expect(told.status).toBe(told.violations.length > 0 ? 'failure' : 'success');
  return told;
}

/** Runs it over an app that writes these documents. */
async function synth(policy: string, ...documents: readonly (string | object)[]) {
  const folder = folderWith({
    'policy.yaml': policy,
    'app.cjs': `const fs = require('fs'); fs.mkdirSync(process.env.CDK8S_OUTDIR, { recursive: true });
fs.writeFileSync(process.env.CDK8S_OUTDIR + '/all.k8s.yaml', ${JSON.stringify(texts(documents))});`,
    'cdk8s.yaml': JSON.stringify({
      language: 'typescript',
      app: 'node app.cjs',
      output: 'dist',
      validations: [
        {
          // A folder: cdk8s reads `main` of its package.json.
          package: process.cwd(),
          version: '0.2.0',
          class: 'RunnerPolicyValidation',
          properties: { policy: 'policy.yaml' },
        },
      ],
    }),
  });
  const cli = join(process.cwd(), 'node_modules/cdk8s-cli/bin/cdk8s');
  const args = ['synth', '--check-upgrade', 'false', '--validation-reports-output-file', 'report.json'];
  const outcome = await runNode([cli, ...args], { HOME: folder }, folder);
  const report = join(folder, 'report.json');
  return { ...outcome, report: existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).reports[0] : undefined };
}

it('the validation in the real cdk8s fails for what is denied, with rule, object and field', async () => {
  const { code, stdout, report } = await synth(
    policyOf(IMAGES),
    ALLOWED,
    DENIED,
    GOOD,
    job('docker.io/library/bash:5'),
  );

  expect(code).toBe(2);
  expect(report.violations).toMatchObject([
    {
      ruleName: 'images',
      recommendation: expect.stringMatching(/^dist\/all\.k8s\.yaml:\d+: runners\/bad: spec\.image: .* \[images\]$/),
      violatingConstructs: [{ resourceName: 'bad', manifestPath: 'dist/all.k8s.yaml', locations: ['spec.image'] }],
    },
    {
      ruleName: 'images',
      violatingConstructs: [{ resourceName: 'by-hand', locations: ['spec.template.spec.containers[0].image'] }],
    },
  ]);
  expect(stdout).toContain('runners/by-hand: spec.template.spec.containers[0].image: is "docker.io/library/bash:5"');
});

it('the validation in the real cdk8s passes what is allowed', async () => {
  const { code, report } = await synth(policyOf(IMAGES), ALLOWED, GOOD);

  expect([code, report.violations, report.summary.status]).toEqual([0, [], 'success']);
});

it('the validation in the real cdk8s fails without a report if the policy cannot be read', async () => {
  const { code, stderr, report } = await synth('kind: Nothing\n', ALLOWED);

  expect([code, report]).toEqual([1, undefined]);
  expect(stderr).toContain('policy.yaml:1:1');
});

it.each<readonly [string, object, readonly (string | object)[], readonly string[]]>([
  ['nothing at all', IMAGES, [], []],
  ['other kinds', IMAGES, [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }], []],
  ['a Job of another API group', IMAGES, [{ ...job('bash'), apiVersion: 'batch.volcano.sh/v1alpha1' }], []],
  ['a CronJob', IMAGES, [cronJob('bash')], ['images nightly spec.jobTemplate.spec.template.spec.containers[0].image']],
  [
    'Jobs in a list of lists',
    IMAGES,
    [listOf(GOOD, listOf(job('bash', {}, { name: 'inner' })))],
    ['images inner spec.template.spec.containers[0].image'],
  ],
  [
    'a pod that cannot be judged',
    {},
    [job('a:1', { container: { unknown: 1 } })],
    ['podTemplateFields by-hand spec.template.spec.containers[0].unknown'],
  ],
  ['a Job without a pod, which no API server takes', IMAGES, [{ ...GOOD, spec: {} }], []],
  ['another kind of that API group', IMAGES, [{ ...GOOD, kind: 'Other' }], []],
  [
    'an item of a JobList, which needs no type for kubectl',
    IMAGES,
    [{ apiVersion: 'batch/v1', kind: 'JobList', items: [{ metadata: job('').metadata, spec: job('bash').spec }] }],
    ['images by-hand spec.template.spec.containers[0].image'],
  ],
  [
    'a privileged pod, also if the policy says nothing of it',
    {},
    [job('a:1', { container: { securityContext: { privileged: true } } })],
    ['securityProfile by-hand spec.template'],
  ],
  ['a Job that meets the baseline', { securityProfile: { highest: 'baseline' } }, [GOOD], []],
  [
    'a Job that meets the baseline, where only restricted pods are allowed',
    { securityProfile: { highest: 'restricted' } },
    [GOOD],
    ['securityProfile by-hand spec.template'],
  ],
  [
    'a name of a registry that leads elsewhere',
    { ...IMAGES, podTemplateFields: ['spec.hostAliases'] },
    [
      job('registry.example.com/ci/tool:1', {
        hostAliases: [{ ip: '1.2.3.4', hostnames: ['registry.example.com'] }],
      }),
    ],
    ['podTemplateFields by-hand spec.template.spec.hostAliases'],
  ],
  [
    'a service account, a Secret and too much memory',
    {
      namespaces: [{ name: 'runners', secrets: ['gitea-*'], podTemplateFields: [] }],
      maxResources: { memory: '1Gi' },
    },
    [
      job('a:1', {
        serviceAccountName: 'admin',
        volumes: [{ name: 's', secret: { secretName: 'other' } }],
        container: { resources: { requests: { memory: '2Gi' } } },
      }),
    ],
    [
      'namespaces.secrets by-hand spec.template.spec.volumes[0].secret.secretName',
      'serviceAccounts by-hand spec.template.spec.serviceAccountName',
      'maxResources by-hand spec.template',
    ],
  ],
  [
    'Jobs by the entry of their namespace, `default` if they name none',
    { namespaces: [{ name: 'default', ...IMAGES }, { name: '**' }] },
    [GOOD, job('bash'), cronJob('bash')],
    ['images nightly spec.jobTemplate.spec.template.spec.containers[0].image'],
  ],
  [
    'Jobs by their labels and names, and by no scope, for they have none',
    {
      images: [],
      groups: [
        { match: { scope: 'global' }, images: ['registry.example.com/**'] },
        { match: { labels: { of: 'us' }, name: 'by-*' }, ...IMAGES },
      ],
    },
    [
      job('registry.example.com/ci/tool:1', {}, { labels: { of: 'us' } }),
      job('registry.example.com/ci/tool:1', {}, { name: 'other' }),
    ],
    ['images other spec.template.spec.containers[0].image'],
  ],
  [
    'all RunnerGroups, if the cap over them is too low',
    { maxActiveRunners: 5 },
    [ALLOWED, DENIED, GOOD],
    ['maxActiveRunners good spec.maxActiveRunners', 'maxActiveRunners bad spec.maxActiveRunners'],
  ],
  [
    'nothing of a Job that only RunnerGroups have',
    { namespaces: [], podTemplateFields: [], maxActiveRunners: 0 },
    [GOOD],
    [],
  ],
])('RunnerPolicyValidation judges %s', async (_, spec, documents, violations) => {
  expect((await judged(spec, ...documents)).violations).toEqual(violations);
});

it('RunnerPolicyValidation says of a Job what it says of a podTemplate, but no field of a RunnerGroup', async () => {
  const spec = { ...IMAGES, securityProfile: { highest: 'restricted', withReason: 'baseline' } };

  expect((await judged(spec, job('bash'))).messages).toEqual([
    'is "bash"; the policy allows registry.example.com/ci/**. Use one of them [images]',
    'is baseline; the policy allows restricted at most [securityProfile]',
  ]);
});

it('RunnerPolicyValidation names what else starts pods and is not judged', async () => {
  const container = { image: 'bash' };
  const { violations, logged } = await judged(
    IMAGES,
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Workflow',
      metadata: { name: 'build' },
      spec: { templates: [{ container }] },
    },
    {
      apiVersion: 'tekton.dev/v1',
      kind: 'PipelineRun',
      metadata: { name: 'run' },
      spec: { pipelineRef: { name: 'x' } },
    },
    {
      apiVersion: 'example.com/v1',
      kind: 'Fleet',
      metadata: { name: 'any' },
      spec: { size: 1, deep: [{ er: container }], none: null },
    },
    { apiVersion: 'example.com/v1', kind: 'Scanner', metadata: { name: 's' }, spec: { image: { tag: 'x' }, a: null } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'none' }, data: { image: 'bash' } },
    ALLOWED,
  );

  expect(violations).toEqual([]);
  expect(logged).toEqual([
    'warning: a policy judges RunnerGroups, Jobs and CronJobs, and not Workflow build, PipelineRun run, Fleet any',
  ]);
});

it('RunnerPolicyValidation names one other workload, and ten of many', async () => {
  const pod = (nth: number) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: `p${nth}` }, spec: {} });
  const many = Array.from({ length: 12 }, (_, nth) => pod(nth));

  expect((await judged(IMAGES, pod(0))).logged).toEqual([expect.stringMatching(/and not Pod p0$/)]);
  expect((await judged(IMAGES, ...many)).logged).toEqual([expect.stringMatching(/Pod p9 and 2 more$/)]);
});

it('RunnerPolicyValidation tells warnings, and what it does not check, without failing', async () => {
  const spec = { ...IMAGES, projects: ['ci'], enforcement: 'warn' };
  const { violations, logged } = await judged(spec, DENIED, job('bash'));

  expect(violations).toEqual([]);
  expect(logged).toEqual([
    'not checked, because Argo CD does not ask: projects',
    expect.stringMatching(/^warning: .*runners\/bad: spec\.image: .* \[images\]$/),
    expect.stringMatching(/^warning: .*runners\/by-hand: spec\.template\.spec\.containers\[0\]\.image: .* \[images\]$/),
  ]);
});

it('RunnerPolicyValidation knows exceptions, and when they end', async () => {
  const exception = (until: string) => ({
    ...IMAGES,
    exceptions: [{ groups: ['runners/by-*'], rules: ['images'], until, reason: 'moves' }],
  });

  expect((await judged(exception('2999-01-01'), job('bash'))).violations).toEqual([]);
  expect((await judged(exception('2001-01-01'), job('bash'))).violations).toHaveLength(1);
});

it('RunnerPolicyValidation prints no control characters of what the app has written', async () => {
  const { violations } = await judged(IMAGES, job('bash\u001b[2J', {}, { name: 'x\u001b[2J' }));

  expect(violations.join('')).not.toContain('\u001b');
  expect(violations).toHaveLength(1);
});

it.each([
  ['is not valid', groupYaml('ftp://gitea.example.com'), 'spec.gitea.url'],
  ['is misspelt', ALLOWED.replace('kind: RunnerGroup', 'kind: RunnerGruop'), 'did you mean "RunnerGroup"'],
  ['is no YAML', 'a: [', 'all.k8s.yaml'],
])('RunnerPolicyValidation ends with the words of validate if a document %s', async (_, text, words) => {
  await expect(judged(IMAGES, text)).rejects.toThrow(words);
});

it('RunnerPolicyValidation ends if a pod is no mapping', async () => {
  const words = 'all.k8s.yaml has a spec.template that cannot be judged';

  await expect(judged(IMAGES, { ...GOOD, spec: { template: ['a'] } })).rejects.toThrow(words);
});

it('RunnerPolicyValidation ends if no policy is named', async () => {
  const context = { manifests: [], report: { addViolation: () => {}, submit: () => {} }, logger: { log: () => {} } };

  await expect(new RunnerPolicyValidation({}).validate(context)).rejects.toThrow('read the policy');
});

it('a RunnerGroup is judged with the defaults of the policy (F147)', async () => {
  const plain = groupYaml('https://gitea.example.com');
  const withDefault = (runner: string) => ({ ...IMAGES, defaults: { images: { runner } } });

  expect((await judged(IMAGES, plain)).status).toBe('failure');
  expect((await judged(withDefault('registry.example.com/ci/runner:1'), plain)).status).toBe('success');
  expect((await judged(withDefault('x.example.com/r:1'), plain)).violations).toEqual(['images ci spec.image']);
});
