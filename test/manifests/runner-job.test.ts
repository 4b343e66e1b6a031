import { ApiObject } from 'cdk8s';
import { expect, test } from 'vitest';
import type { ContainerMode, RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { templateHash } from '../../src/manifests/app.ts';
import type { JobManifest } from '../../src/manifests/job-manifest.ts';
import { knowsRunnerGroups } from '../../src/plan/output-of-plan.ts';
import type { EmittedRunner } from '../../src/planner/decisions.ts';
import { appOf, group, job, runner } from './fixtures.ts';

const MODES: readonly ContainerMode[] = ['dind-rootless', 'dind', 'buildkit', 'host'];

function emitted(of: RunnerGroup, ...runners: readonly EmittedRunner[]): JobManifest[] {
  return appOf([{ group: of, runners }])
    .node.findAll()
    .filter((construct) => ApiObject.isApiObject(construct))
    .map((object) => object.toJson() as JobManifest);
}

function one(of: RunnerGroup, decision: EmittedRunner): JobManifest {
  const [manifest] = emitted(of, decision);
  if (!manifest) throw new Error('no Job');
  return manifest;
}

function environment(manifest: JobManifest, of = 'runner'): Record<string, string | undefined> {
  const { containers, initContainers } = manifest.spec.template.spec;
  const container = [...(initContainers ?? []), ...containers].find(({ name }) => name === of);
  return Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
}

/** The parts of a pod that could show a secret. */
interface OpenPod {
  readonly containers: readonly OpenContainer[];
  readonly initContainers: readonly OpenContainer[];
  readonly shareProcessNamespace?: unknown;
  readonly volumes: readonly Record<string, unknown>[];
}

interface OpenContainer {
  readonly name: string;
  readonly image: string;
  readonly envFrom?: unknown;
  readonly restartPolicy?: unknown;
  readonly securityContext: { readonly privileged?: boolean; readonly runAsUser?: number };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

function openPod(manifest: JobManifest): OpenPod {
  return JSON.parse(JSON.stringify(manifest.spec.template.spec)) as OpenPod;
}

test('the spec of a Job is the same bytes for the same runner, pinned or not, whatever job it meets', () => {
  const wanted = one(group(), runner());

  const busy = one(
    group(),
    runner({ because: 'busy', pinned: true, job: job({ id: 9, repository: 'acme/other', url: '' }) }),
  );

  expect(JSON.stringify(busy.spec)).toBe(JSON.stringify(wanted.spec));
  expect(busy.metadata.labels).toEqual(wanted.metadata.labels);
  expect(busy.metadata.annotations).not.toEqual(wanted.metadata.annotations);
});

test('differs between runners of a group in the runner name and the labels made from it only', () => {
  const name = 'ci-4712-2-9c31ffff';

  const [first, second] = emitted(group(), runner(), runner({ runner: name }));

  const renamed = JSON.stringify(first)
    .replaceAll('ci-4711-1-9c31e0aa', name)
    .replaceAll('"gitea.bpg.pw/job-id":"4711"', '"gitea.bpg.pw/job-id":"4712"')
    .replaceAll('"gitea.bpg.pw/run-attempt":"1"', '"gitea.bpg.pw/run-attempt":"2"');
  expect(renamed).toBe(JSON.stringify(second));
});

test('the spec of a Job never holds the token the generator reads', () => {
  const text = JSON.stringify(emitted(group({ authToken: { name: 'reads-gitea', key: 'k' } }), runner()));

  expect(text).not.toContain('reads-gitea');
});

test.each([
  ['gitea/act_runner:nightly-dind-rootless', 'act_runner'],
  ['reg.example.com:5000/gitea/act_runner@sha256:0', 'act_runner'],
  ['gitea/runner:1.0.8-dind-rootless', 'gitea-runner'],
  ['example.com/act_runner/runner:1', 'gitea-runner'],
  ['example.com/my-act_runner:1', 'gitea-runner'],
])('the spec of a Job stops and registers the program that the image %s has: %s', (image, program) => {
  const text = JSON.stringify(one(group({ image }), runner()));

  expect(text).toContain(`"-d","/etc/s6/${program}"]`);
  expect(text).toContain(`timeout 60 ${program} register`);
});

test('the spec of a Job keeps a zero that was asked for', () => {
  const text = JSON.stringify(one(group({ ttlSecondsAfterFinished: 0, gracefulStopSeconds: 0 }), runner()));

  expect(text).toContain('"ttlSecondsAfterFinished":0');
  expect(text).toContain('shutdown_timeout: 90s');
  expect(text).toContain('"terminationGracePeriodSeconds":30');
});

const SECRET = { name: 'the-secret', key: 'the-key' };

test.each(MODES)(
  'the registration token is in the environment of the init container that registers, and nowhere else (%s)',
  (mode) => {
    const manifest = one(group({ containerMode: mode, registrationToken: SECRET }), runner());

    const { containers, initContainers, volumes, shareProcessNamespace } = openPod(manifest);
    const others = [...containers, ...initContainers.filter(({ name }) => name !== 'register')];
    const register = initContainers.find(({ name }) => name === 'register');
    // The second mention is key `url`, which names the Gitea that the token is for.
    expect(JSON.stringify(manifest).match(/the-secret|the-key/g)).toEqual(['the-key', 'the-secret', 'the-secret']);
    expect(JSON.stringify(register)).toContain(
      '{"name":"GITEA_RUNNER_REGISTRATION_TOKEN","valueFrom":{"secretKeyRef":{"key":"the-key","name":"the-secret"}}}',
    );
    expect(JSON.stringify(register)).toContain(
      '{"name":"GITEA_RUNNER_REGISTRATION_URL","valueFrom":{"secretKeyRef":{"key":"url","name":"the-secret","optional":true}}}',
    );
    expect(JSON.stringify(others)).not.toMatch(/REGISTRATION|secret/i);
    expect(others.filter(({ envFrom }) => envFrom !== undefined)).toEqual([]);
    // A volume with a Secret, a service account's token, or the processes of another container would show it.
    expect(volumes.flatMap((volume) => Object.keys(volume)).filter((key) => key !== 'name')).toSatisfy(
      (kinds: readonly string[]) => kinds.every((kind) => kind === 'emptyDir' || kind === 'downwardAPI'),
    );
    expect(shareProcessNamespace).toBeUndefined();
    // This container has no privileges. It has ended before the runner starts, and the pod is never restarted.
    expect(initContainers.at(-1)).toBe(register);
    expect(register?.restartPolicy).toBeUndefined();
    expect(register?.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(register?.securityContext.privileged).toBeUndefined();
    expect(manifest.spec).toMatchObject({ backoffLimit: 0, template: { spec: { restartPolicy: 'Never' } } });
  },
);

test.each(MODES)(
  'the registration token makes a registration that the runner finds: one image, one volume, one user, one name (%s)',
  (mode) => {
    const manifest = one(group({ containerMode: mode, image: 'the-image' }), runner());

    const { initContainers, containers } = openPod(manifest);
    const [register] = initContainers.filter(({ name }) => name === 'register');
    const [main] = containers;
    const shared = ({ volumeMounts }: OpenContainer) => volumeMounts.filter(({ name }) => !name.endsWith('-socket'));
    expect(register && shared(register)).toEqual(main && shared(main));
    expect(register?.image).toBe('the-image');
    expect(register?.securityContext.runAsUser).toBe(main?.securityContext.runAsUser);
    expect(environment(manifest, 'register')['GITEA_RUNNER_NAME']).toBe('ci-4711-1-9c31e0aa');
    for (const variable of ['GITEA_INSTANCE_URL', 'GITEA_RUNNER_NAME', 'GITEA_RUNNER_LABELS', 'CONFIG_FILE']) {
      expect(environment(manifest, 'register')[variable]).toBe(environment(manifest)[variable]);
    }
  },
);

test('Argo CD links the Job, and not its pods, to the CI job', () => {
  const url = 'https://gitea.example.com/acme/web/actions/runs/7/jobs/0';

  const { metadata, spec } = one(group(), runner({ job: job({ url }) }));

  expect(metadata.annotations).toMatchObject({ 'link.argocd.argoproj.io/external-link': url });
  expect(JSON.stringify(spec)).not.toContain('link.argocd');
});

test.each([
  ['too long', `https://gitea.example.com/${'x'.repeat(300_000)}`],
  ['no web address', 'javascript:alert(1)'],
  ['with a line break', 'https://gitea.example.com/\nkind: Secret'],
  ['with a terminal escape', 'https://gitea.example.com/\u001b[2J'],
])('a job address that is %s is left out', (_, url) => {
  const { metadata } = one(group(), runner({ job: job({ url }) }));

  expect(Object.keys(metadata.annotations ?? {})).not.toContain('gitea.bpg.pw/job-url');
  expect(Object.keys(metadata.annotations ?? {})).not.toContain('link.argocd.argoproj.io/external-link');
});

test('a repository name loses its control characters and cannot fill the annotations', () => {
  const repository = `acme/\u001b[2J\u202eweb\u0000${'x'.repeat(300_000)}`;

  const { metadata } = one(group(), runner({ job: job({ repository }) }));

  expect(metadata.annotations?.['gitea.bpg.pw/repository']).toMatch(/^acme\/\?\[2J\?web\?x{2000,2048}$/);
});

test('a dollar sign of a label reaches the runner as it is, not as the value of a variable', () => {
  const labels = [{ name: 'x', text: 'x:docker://$(GITEA_RUNNER_REGISTRATION_TOKEN)$$' }];

  const manifest = one(group({ labels }), runner());

  for (const container of ['register', 'runner']) {
    const env = environment(manifest, container);
    expect(env['GITEA_RUNNER_LABELS']).toBe('x:docker://$$(GITEA_RUNNER_REGISTRATION_TOKEN)$$$$');
  }
});

const INSIDE = { podTemplate: { spec: { hostUsers: false } } };
const podOf = (change: Partial<RunnerGroup>) => {
  const manifest = one(group({ containerMode: 'buildkit', ...change }), runner());
  return { annotations: manifest.spec.template.metadata.annotations, ...openPod(manifest) };
};

test('containerMode buildkit gives builds ids of the pod where it has its own, each once, and neither root nor the user of BuildKit', () => {
  const { annotations, initContainers } = podOf(INSIDE);

  const ranges = (annotations['gitea.bpg.pw/subordinate-ids'] ?? '').trim().split('\n');
  const ids = ranges.flatMap((line) => {
    const [, first = 0, count = 0] = line.split(':').map(Number);
    return Array.from({ length: count }, (__, index) => first + index);
  });
  expect(new Set(ids).size).toBe(65_534);
  expect(ids.filter((id) => id === 0 || id === 1000 || id > 65_535)).toEqual([]);
  const files = (of: typeof initContainers) => of[0]?.volumeMounts.filter(({ mountPath }) => /sub.id$/.test(mountPath));
  expect(files(initContainers)).toHaveLength(2);
  expect(files(podOf({}).initContainers)).toEqual([]);
});

test('containerMode buildkit leaves the pods of other modes as they are, whatever their ids', () => {
  expect(templateHash(group(INSIDE))).toBe(templateHash(group()));
});

test.each([
  ['image', { image: 'other' }],
  ['containerMode', { containerMode: 'host' }],
  ['labels', { labels: [] }],
  ['giteaUrl', { giteaUrl: 'https://other.example.com' }],
  ['registrationToken', { registrationToken: { name: 'other', key: 'k' } }],
  ['resources', { resources: { requests: {}, limits: { cpu: '1' } } }],
  ['activeDeadlineSeconds', { activeDeadlineSeconds: 1 }],
  ['ttlSecondsAfterFinished', { ttlSecondsAfterFinished: 1 }],
  ['gracefulStopSeconds', { gracefulStopSeconds: 1 }],
] satisfies [string, Partial<RunnerGroup>][])('templateHash changes with %s, because the Job does', (_, change) => {
  expect(templateHash(group(change))).not.toBe(templateHash(group()));
});

test('templateHash does not change with what leaves the Job as it is', () => {
  const change = { maxActiveRunners: 99, suspend: true, spawnTimeoutSeconds: 1, authToken: { name: 'a', key: 'b' } };

  expect(templateHash(group(change))).toBe(templateHash(group()));
});

// Names of runners hold it: another one would replace all starting runners at an update.
test.each([
  ['dind-rootless', '1bbf5c6a3f361f54'],
  ['dind', '24f2063f69fd01a2'],
  ['host', 'b66f30e8533b617f'],
] as const)('the templateHash of containerMode %s is the same as in the last release', (containerMode, hash) => {
  expect(templateHash(group({ containerMode }))).toBe(hash);
});

test('templateHash is the same in a second process: it depends on the group, not on objects or the order of quantities', () => {
  const limits = { memory: '1Gi', cpu: '1' };
  const reordered = { cpu: '1', memory: '1Gi' };

  const hashes = [limits, reordered].map((each) => templateHash(group({ resources: { requests: {}, limits: each } })));

  expect(hashes[0]).toMatch(/^[0-9a-f]{16}$/);
  expect(hashes[1]).toBe(hashes[0]);
});

test.each([
  ['batch/v1/Job,gitea.bpg.pw/v1alpha1/RunnerGroup,v1/Pod', true],
  ['gitea.bpg.pw/v1alpha1/RunnerGroup', true],
  ['gitea.bpg.pw/v1alpha1', false],
  ['gitea.bpg.pw/v1alpha1/RunnerGroupList', false],
  ['gitea.bpg.pw/v1beta1/RunnerGroup', false],
  ['', false],
  [undefined, false],
])('knowsRunnerGroups: %j -> %j', (versions, known) => {
  expect(knowsRunnerGroups({ KUBE_API_VERSIONS: versions })).toBe(known);
});
