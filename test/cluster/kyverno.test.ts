/**
 * Tests real Kyverno on our Jobs, and the life of a Job that it has changed (docs/policy.md). Uses its command alone,
 * which judges like its admission controller: it needs no cluster. Not in the short set: Kyverno is built first.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { buildKyverno } from '../servers/build.ts';
import { document } from '../support/group-files.ts';
import { folderWith, runCommand, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

interface Job {
  readonly kind: string;
  readonly metadata: Readonly<Record<'labels' | 'annotations', object>> & { readonly name: string };
  readonly spec: { readonly template: { readonly metadata: { readonly labels: object } } };
}

let kyverno: string;
let podSecurity: string;

beforeAll(() => {
  const build = buildKyverno((line) => process.stdout.write(`servers: ${line}\n`));
  kyverno = join(build, 'kubectl-kyverno');
  // The policies as Kyverno's own chart installs them.
  const chart = ['template', 'x', join(build, 'charts', 'kyverno-policies'), '--set', 'podSecurityStandard=restricted'];
  podSecurity = execFileSync(join(inject('clusterBuilds').helm, 'helm'), chart, { encoding: 'utf8' });
}, 1_800_000);

/** Runs `kyverno apply` on these manifests. Returns its output and the folder with the changed ones. */
async function apply(policy: string, manifests: string): Promise<{ readonly said: string; readonly changed: string }> {
  const folder = folderWith({ 'policy.yaml': policy, 'manifests.yaml': manifests, 'changed/.keep': '' });
  const args = ['apply', 'policy.yaml', '--resource', 'manifests.yaml', '--remove-color', '-o', 'changed'];
  const { stdout } = await runCommand(kyverno, args, { PATH: process.env['PATH'], HOME: folder }, folder);
  return { said: stdout, changed: join(folder, 'changed') };
}

/** A Gitea with one queued job, and what `generate` prints for it by a level of `policy init`. */
async function stage(level: string, spec: object) {
  const [namespace, org] = level === 'hostile' ? ['team-a', 'team-a'] : ['runners', 'acme'];
  const { simulator, env } = await startAcme();
  if (org !== 'acme') simulator.gitea.addOrg(org, { owners: ['anna'] });
  simulator.gitea.addRepo(`${org}/app`);
  simulator.gitea.push(`${org}/app`, { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  const fields = { org, gitea: { url: simulator.url }, defaultLabels: false, ...spec };
  const folder = folderWith({ 'ci.yaml': document(fields, { namespace }) });
  const policy = ['--policy', join(process.cwd(), 'examples', 'policies', `${level}.yaml`)];
  const generate = async (...cluster: readonly string[]) =>
    await runHere(['generate', ...cluster, ...policy, folder], env);
  return { generate, namespace };
}

const HOST = { containerMode: 'host', labels: ['linux:host'] };
const withDocker = (containerMode: string) => ({ containerMode, labels: ['linux'] });
const BUILDKIT = { ...HOST, containerMode: 'buildkit' };

/** Returns the policies of the restricted set that a Job breaks, those of the baseline set first. */
async function brokenBy(level: string, spec: object): Promise<readonly string[]> {
  const { stdout } = await (await stage(level, spec)).generate('--cluster', 'off');
  const { said } = await apply(podSecurity, stdout);
  expect(said).toMatch(/pass: \d+, fail: \d+, warn: 0, error: 0, skip: 0/);
  expect(said).toMatch(/Applying 17 policy rule\(s\) to 1 resource/);
  return [...said.matchAll(/^policy (\S+) -> resource \S+\/Job\/\S+ failed/gm)].map(([, name = '']) => name);
}

const BASELINE = [
  ...['disallow-capabilities', 'disallow-host-namespaces', 'disallow-host-path', 'disallow-host-ports'],
  ...['disallow-host-process', 'disallow-privileged-containers', 'disallow-proc-mount', 'disallow-selinux'],
  ...['restrict-apparmor-profiles', 'restrict-seccomp', 'restrict-sysctls'],
];

describe("Kyverno's policies of Pod Security", () => {
  it.each(['open', 'shared', 'hostile'])(
    'restricted takes a runner with containerMode host of level %s',
    async (level) => {
      expect(await brokenBy(level, HOST)).toEqual([]);
    },
  );

  it.each(['dind', 'dind-rootless'])(
    'baseline refuses a runner with containerMode %s, which is privileged',
    async (mode) => {
      for (const level of ['open', 'shared'])
        expect(await brokenBy(level, withDocker(mode))).toContain('disallow-privileged-containers');
    },
  );

  it('baseline takes a runner with BuildKit, if its securityProfile is baseline', async () => {
    const ofBaseline = async (spec: object) => (await brokenBy('open', spec)).filter((name) => BASELINE.includes(name));

    expect(await ofBaseline({ ...BUILDKIT, securityProfile: 'baseline' })).toEqual([]);
    expect(await ofBaseline(BUILDKIT)).toEqual(['restrict-apparmor-profiles', 'restrict-seccomp']);
    expect(await brokenBy('open', { ...BUILDKIT, securityProfile: 'baseline' })).not.toEqual([]);
  });

  it.each(['dind', 'dind-rootless', 'buildkit'])(
    'need not see a Job with containerMode %s of level hostile',
    async (mode) => {
      const { generate } = await stage('hostile', mode === 'buildkit' ? BUILDKIT : withDocker(mode));

      expect(await generate('--cluster', 'off')).toMatchObject({ code: 3, stdout: '' });
    },
  );
});

/** A label, a mirror for images, a pull policy and a toleration. */
const CHANGES = `apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: changes}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [jobs]}]
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: >-
          Object{
            metadata: Object.metadata{
              labels: Object.metadata.labels{team: "ci"},
              annotations: Object.metadata.annotations{seen: "yes"}
            },
            spec: Object.spec{template: Object.spec.template{
              metadata: Object.spec.template.metadata{labels: Object.spec.template.metadata.labels{team: "ci"}},
              spec: Object.spec.template.spec{
                containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
                  name: c.name, image: "mirror.example.com/" + c.image, imagePullPolicy: "Always"
                })
              }
            }}
          }
    - patchType: JSONPatch
      jsonPatch:
        expression: '[JSONPatch{op: "add", path: "/spec/template/spec/tolerations", value: [{"key": "pool"}]}]'
`;

/** The last Job of these manifests. Kyverno writes one after each of its changes. */
function jobIn(manifests: string): Job {
  const objects = parseAllDocuments(manifests).map((each) => each.toJS() as Job | null);
  const job = objects.findLast((object) => object?.kind === 'Job');
  if (!job) throw new Error(`no Job in ${manifests}`);
  return job;
}

/** Makes a Job as an API server stores it. */
function stored({ metadata, spec: { template, ...spec }, ...job }: Job) {
  const mark = { 'batch.kubernetes.io/controller-uid': 'uid-1' };
  const labels = { ...template.metadata.labels, ...mark };
  return {
    ...job,
    metadata: { ...metadata, uid: 'uid-1', creationTimestamp: new Date().toISOString() },
    spec: {
      ...spec,
      selector: { matchLabels: mark },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
    status: { active: 1 },
  };
}

it.each(['open', 'shared', 'hostile'])(
  'a Job of level %s that Kyverno changed is printed as it lives, so Argo CD has nothing to change',
  async (level) => {
    const { generate, namespace } = await stage(level, HOST);
    const printed = jobIn((await generate('--cluster', 'off')).stdout);
    const { changed } = await apply(CHANGES, JSON.stringify(printed));
    const live = stored(jobIn(readFileSync(join(changed, `${printed.metadata.name}-mutated.yaml`), 'utf8')));
    for (const change of ['"team":"ci"', '"seen":"yes"', 'mirror.example.com/gitea', '"Always"', '"key":"pool"'])
      expect(JSON.stringify(live)).toContain(change);
    const kubeconfig = kubeconfigFor(await startCluster({ jobs: { [namespace]: [live] } }));

    const again = jobIn((await generate('--kubeconfig', kubeconfig)).stdout);

    expect(again.metadata.name).toBe(printed.metadata.name);
    expect(again.spec).toEqual(live.spec);
    // Server-side apply keeps fields that it does not name. So none of our fields may differ.
    expect(live.metadata).toMatchObject({ labels: again.metadata.labels, annotations: again.metadata.annotations });
  },
);
