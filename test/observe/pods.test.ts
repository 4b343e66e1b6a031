/** Final pods of RunnerGroups: what src/observe makes of src/config/pods and the reader. test/cli/hostile-pods.test.ts has what is refused. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { withImages } from '../../src/config/runnergroup/to-runner-group.ts';
import { podTemplate, templateHash } from '../../src/manifests/app.ts';
import { finishOwn, podProblem } from '../../src/observe/own-pod.ts';
import { podsOf } from '../../src/observe/pods.ts';
import { FULL_TEMPLATE } from '../config/pods/full-template.ts';
import { readFiles } from '../support/group-files.ts';
import { groupYaml, runHere } from '../support/run-cli.ts';

const GITEA = 'https://gitea.example.com';

/** A label of a group in mode `dind` has no `:host`. */
function yamlOf(spec: string): string {
  const text = groupYaml(GITEA, spec);
  return spec.includes('containerMode: dind\n') ? text.replace('linux:host', 'linux') : text;
}

async function read(spec: string): Promise<RunnerGroup> {
  const [group] = (await readFiles({ 'ci.yaml': yamlOf(spec) })).groups;
  if (!group) throw new Error('no group');
  return group;
}

async function hashOf(spec: string): Promise<string> {
  return templateHash(await read(spec), finishOwn);
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** The containers of a group's final pod, by name. */
async function containers(spec: string): Promise<Readonly<Record<string, Container>>> {
  const group = await read(spec);
  expect(podProblem(group)).toBeUndefined();
  const { initContainers, containers: all } = podTemplate(group, finishOwn).spec.template.spec;
  return Object.fromEntries(
    [...initContainers, ...all].map((container) => [container.name, container as unknown as Container]),
  );
}

const TEMPLATE = `
  podTemplate:
    metadata: {labels: {team: web, a: b}}
    spec:
      nodeSelector: {disk: ssd, zone: a}
`;

describe('the hash of the template', () => {
  it('changes with the podTemplate', async () => {
    const hashes = await Promise.all(['', TEMPLATE, TEMPLATE.replace('ssd', 'hdd')].map(hashOf));

    expect(new Set(hashes).size).toBe(3);
  });

  it('does not show how the podTemplate is written down', async () => {
    const other = `
  podTemplate:
    spec: {"nodeSelector": {zone: "a", disk: 'ssd'}}
    metadata:
      labels: {a: b, team: web}
`;

    expect(await hashOf(other)).toBe(await hashOf(TEMPLATE));
  });

  it('is the same with an empty podTemplate, and with any profile that the pod meets', async () => {
    const [plain, ...others] = await Promise.all(
      ['', '  podTemplate: {}\n', '  securityProfile: restricted\n', '  securityProfile: baseline\n'].map(hashOf),
    );

    expect(others).toEqual([plain, plain, plain]);
  });

  it('is the same in generate and in serve', async () => {
    const spec = `  podTemplate: ${JSON.stringify(FULL_TEMPLATE)}\n  containerMode: dind\n`;
    const files = await readFiles({ 'ci.yaml': yamlOf(spec) });
    const [group] = files.groups;
    const pods = await podsOf(files);
    if (!group || !pods) throw new Error('no group with a pod of its own');

    expect(templateHash(group, pods.finish)).toBe(templateHash(group, finishOwn));
    await pods.check();
  });
});

const OF_RUNNER = (fields: string) => `
  podTemplate:
    spec:
      containers:
        - name: runner
${fields
  .split('\n')
  .map((line) => `          ${line}`)
  .join('\n')}
`;

describe('all podTemplates together', () => {
  const long = `  podTemplate: {metadata: {annotations: {example.com/a: ${'x'.repeat(131_000)}}}}\n`;
  const many = async (count: number) => {
    const one = await read(long);
    const groups = Array.from({ length: count }, (_, index) => ({ ...one, name: `g${index}` }));
    const pods = await podsOf({ groups, sources: new Map() });
    for (const group of groups) templateHash(group, pods?.finish);
    await pods?.check();
  };

  it('are refused beyond 16 MiB, with what to do', async () => {
    await expect(many(129)).rejects.toThrow(/^.*\n.*podTemplates together longer than 16777216 characters: shorten/);
  });

  it('are fine below it', async () => {
    await expect(many(127)).resolves.toBeUndefined();
  });
});

describe('the init container that registers', () => {
  it('has the image, pull policy, resources and user of the runner', async () => {
    const { register, runner } = await containers(
      OF_RUNNER(`image: registry.example.com/runner:1
imagePullPolicy: Always
resources: {limits: {memory: 1Gi}}
securityContext: {runAsUser: 2000, runAsGroup: 2000}`),
    );

    for (const container of [register, runner]) {
      expect(container).toMatchObject({
        image: 'registry.example.com/runner:1',
        imagePullPolicy: 'Always',
        resources: { limits: { memory: '1Gi' } },
        securityContext: { runAsUser: 2000, runAsGroup: 2000, allowPrivilegeEscalation: false },
      });
    }
  });

  it('has no user either when the runner has none, as OpenShift wants it', async () => {
    const { register } = await containers(OF_RUNNER('securityContext: {runAsUser: null, runAsGroup: null}'));

    expect(register?.securityContext).not.toHaveProperty('runAsUser');
    expect(register?.securityContext).not.toHaveProperty('runAsGroup');
    expect(register?.securityContext).toMatchObject({ runAsNonRoot: true, capabilities: { drop: ['ALL'] } });
  });

  it('gets no privileges of a privileged runner', async () => {
    const { register, runner } = await containers(
      `${OF_RUNNER('securityContext: {privileged: true, runAsUser: 1001}')}  containerMode: dind-rootless\n`,
    );

    expect(runner?.securityContext).toMatchObject({ privileged: true, runAsUser: 1001 });
    expect(register?.securityContext).toMatchObject({ allowPrivilegeEscalation: false, runAsUser: 1001 });
    expect(register?.securityContext).not.toHaveProperty('privileged');
  });
});

describe('a profile', () => {
  const DIND = '  containerMode: dind\n';
  const BUILDKIT = '  containerMode: buildkit\n';
  const sidecar = (fields: string) => `
  podTemplate:
    spec:
      containers:
        - {name: side, image: x${fields}}
`;

  it.each([
    ['restricted', DIND, /docker.*privileged.*restricted/],
    ['baseline', DIND, /spec\.securityProfile .*\[docker\]\.securityContext\.privileged must not be true/],
    ['privileged', DIND, undefined],
    ['restricted', '  containerMode: host\n', undefined],
    [
      'restricted',
      BUILDKIT,
      /buildkit\].* containerMode buildkit meets baseline at most: set that, or containerMode: host$/,
    ],
    ['baseline', BUILDKIT, undefined],
    ['privileged', BUILDKIT, undefined],
  ])('%s and %s', async (profile, mode, problem) => {
    const found = podProblem(await read(`  securityProfile: ${profile}\n${mode}`));

    if (problem) expect(found).toMatch(problem);
    else expect(found).toBeUndefined();
  });

  it('that nobody wrote is restricted in host mode: a sidecar must be hardened, or the group asks for less', async () => {
    expect(podProblem(await read(sidecar('')))).toContain('the default of containerMode host');
    expect(podProblem(await read(`${sidecar('')}  securityProfile: baseline\n`))).toBeUndefined();
  });

  it('that nobody wrote is baseline beside dockerd: a plain sidecar may come, a privileged one may not', async () => {
    expect(podProblem(await read(sidecar('') + DIND))).toBeUndefined();
    expect(podProblem(await read(sidecar(', securityContext: {privileged: true}') + DIND))).toBe(
      'spec.podTemplate.spec.containers[0].securityContext.privileged must not be true (rule privileged of securityProfile baseline, the default of containerMode dind)',
    );
  });

  it('that nobody wrote is baseline beside BuildKit: no other container may be unconfined', async () => {
    const unconfined = ', securityContext: {seccompProfile: {type: Unconfined}}';

    expect(podProblem(await read(sidecar('') + BUILDKIT))).toBeUndefined();
    expect(podProblem(await read(sidecar(unconfined) + BUILDKIT))).toMatch(/rule seccompProfile_baseline/);
  });

  it('baseline takes profiles of the node for BuildKit from the template, and nothing else of its security', async () => {
    const context = (text: string) => `
  podTemplate:
    spec:
      initContainers:
        - {name: buildkit, securityContext: ${text}}
`;
    const profile = '{seccompProfile: {type: Localhost, localhostProfile: buildkit.json}}';
    const found = async (text: string, more: string) => podProblem(await read(context(text) + BUILDKIT + more));

    expect(await found(profile, '  securityProfile: baseline\n')).toBeUndefined();
    expect(await found('{seccompProfile: {type: Unconfined}}', '  securityProfile: baseline\n')).toMatch(
      /must be Runt/,
    );
    expect(await found('{privileged: true}', '  securityProfile: baseline\n')).toMatch(/is reserved/);
    // It is unconfined already.
    expect(await found(profile, '')).toMatch(/is reserved/);
  });
});

it('a fault has its place, also when the installation names the images', async () => {
  const found = await readFiles({ 'ci.yaml': groupYaml(GITEA, '  podTemplate: {spec: {hostNetwork: true}}\n') });
  const groups = found.groups.map((group) => withImages(group, { runner: 'reg/runner:1' }));
  const pods = await podsOf({ ...found, groups });
  for (const group of groups) templateHash(group, pods?.finish);

  expect(groups[0]).not.toBe(found.groups[0]);
  await expect(pods?.check()).rejects.toThrow(/^ci\.yaml:15:24: spec\.podTemplate\.spec\.hostNetwork: /m);
});

describe('examples/pods', () => {
  const folder = join('examples', 'pods');
  const files = readdirSync(folder);

  it.each(files)('%s is valid, and changes the pod', async (file) => {
    const { code, stderr } = await runHere(['validate', join(folder, file)]);
    const [group] = (await readFiles({ 'ci.yaml': readFileSync(join(folder, file), 'utf8') })).groups;
    if (!group) throw new Error('no group');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(templateHash(group, finishOwn)).not.toBe(templateHash(group));
  });

  it('are at least three', () => {
    expect(files.length).toBeGreaterThanOrEqual(3);
  });
});
