/**
 * The CRD's rules on a real API server: what `validate` accepts is never refused, and what CEL can say is refused at once. And what becomes
 * of a Job that a policy of the cluster changes as it is stored.
 */
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { ADMISSION_RULES } from '../../packaging/admission.ts';
import { Deadline } from '../../src/clients/http/request.ts';
import { KubeClient } from '../../src/clients/kubernetes/kube-client.ts';
import { readKubeconfig } from '../../src/clients/kubernetes/kubeconfig.ts';
import { readOneDocument } from '../../src/config/runnergroup/documents.ts';
import { runnerGroupFromObject } from '../../src/config/runnergroup/from-object.ts';
import { document } from '../support/group-files.ts';
import { folderWith, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';
import { BAD, EDGES, GOOD, type SpecValues, writtenSpecs } from './admission-groups.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { type Cluster, startCluster } from './stack/cluster.ts';
import { installCrd } from './stack/crd.ts';
import type { Kubernetes } from './stack/kubernetes.ts';

let cluster: Cluster;
let kubectl: Kubernetes['kubectl'];
let client: KubeClient;

beforeAll(async () => {
  cluster = await startCluster('admission', inject('clusterBuilds'));
  kubectl = cluster.kubernetes.kubectl;
  client = new KubeClient(await readKubeconfig(cluster.kubernetes.kubeconfig, readOneDocument));
  await installCrd(cluster.kubernetes);
});

closeAfterTests(() => cluster);

afterAll(async () => await client?.close());

function groupOf(name: string, spec: unknown): object {
  return { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup', metadata: { name }, spec };
}

const Status = z.object({ message: z.string() });

/** Returns the API server's message about a new group. Undefined: it is accepted. */
async function refusal(spec: unknown): Promise<string | undefined> {
  const question = {
    what: 'create a RunnerGroup',
    method: 'POST',
    path: '/apis/gitea.bpg.pw/v1alpha1/namespaces/default/runnergroups',
    query: { dryRun: 'All', fieldValidation: 'Strict' },
    body: groupOf('ci', spec),
  } as const;
  const { status, text } = await client.send(question, new Deadline(30_000));
  return status === 201 ? undefined : Status.parse(JSON.parse(text)).message;
}

function isValid(spec: unknown): boolean {
  return 'group' in runnerGroupFromObject({ namespace: 'default', name: 'ci', spec });
}

/** Makes a spec as it is sent: without absent fields. */
function specWith(change: SpecValues): SpecValues {
  return JSON.parse(JSON.stringify({ ...GOOD, ...change }));
}

it.each(BAD)('a group that validate refuses is refused by the API server, too: %j', async (change, message) => {
  const spec = specWith(change);

  const said = await refusal(spec);

  expect(isValid(spec)).toBe(false);
  expect(said).toContain(message);
});

it('a group that validate refuses stands in the table for each rule', () => {
  const told = BAD.map(([, message]) => message);

  const missing = ADMISSION_RULES.filter(([, , message]) => !told.some((begin) => message.startsWith(begin)));

  expect(missing).toEqual([]);
});

const written = writtenSpecs(['test/golden/cases', 'examples', 'install/examples']).filter(([, spec]) => isValid(spec));

it('a group that validate accepts is accepted: all of the golden cases and examples', async () => {
  const said = await Promise.all(written.map(async ([file, spec]) => [file, await refusal(spec)] as const));

  expect(said.filter(([, message]) => message !== undefined)).toEqual([]);
  expect(written.length).toBeGreaterThan(80);
});

it.each([{}, ...EDGES])('a group that validate accepts is accepted: %j', async (change) => {
  const spec = specWith(change);

  const said = await refusal(spec);

  expect(isValid(spec)).toBe(true);
  expect(said).toBeUndefined();
});

it('a group in the cluster is listed with the category gitea and its reason', async () => {
  const condition = { type: 'Ready', status: 'False', reason: 'Unauthorized', message: 'x' };
  const status = { conditions: [{ ...condition, lastTransitionTime: '2026-11-22T10:00:00Z' }] };
  await cluster.kubernetes.apply(groupOf('told', GOOD));
  await kubectl(['patch', 'rg', 'told', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);

  const table = await kubectl(['get', 'gitea']);

  expect(table).toMatch(/^NAME .* READY +REASON +CHECKED +AGE\n/);
  expect(table).toMatch(/\ntold .* False +Unauthorized /);
});

it('a group that an older CRD let in can still get a status', async () => {
  const crd = 'runnergroups.gitea.bpg.pw';
  const spec = specWith({ repo: 'web' });
  const rules = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations';
  await kubectl(['patch', 'crd', crd, '--type=json', '-p', JSON.stringify([{ op: 'remove', path: rules }])]);
  await expect.poll(async () => await refusal(spec), { timeout: 30_000 }).toBeUndefined();
  await cluster.kubernetes.apply(groupOf('old', spec));
  await kubectl(['apply', '--server-side', '--force-conflicts', '-f', resolve('install/crd.yaml')]);
  await expect.poll(async () => await refusal(spec), { timeout: 30_000 }).toContain('repo does not go');

  const patch = ['--subresource=status', '--type=merge', '-p', '{"status":{"activeRunners":1}}'];
  expect(await kubectl(['patch', 'rg', 'old', ...patch])).toContain('patched');
});

/** A label, an annotation, a mirror for images and a toleration for each Job. As MutatingPolicy, Kyverno takes the same expressions. */
const CHANGES = [
  {
    patchType: 'ApplyConfiguration',
    applyConfiguration: {
      expression: `Object{
        metadata: Object.metadata{
          labels: Object.metadata.labels{team: "ci"},
          annotations: Object.metadata.annotations{seen: "yes"}
        },
        spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
          containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
            name: c.name, image: c.image.startsWith("mirror.") ? c.image : "mirror.example.com/" + c.image
          })
        }}}
      }`,
    },
  },
  {
    patchType: 'JSONPatch',
    jsonPatch: {
      expression:
        '[JSONPatch{op: "add", path: "/spec/template/spec/tolerations", value: [{"key": "pool", "operator": "Exists"}]}]',
    },
  },
];

const Stored = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().optional(), labels: z.record(z.string(), z.string()) }),
});

const LATER = '[JSONPatch{op: "add", path: "/spec/template/spec/priorityClassName", value: "low"}]';

// Kubernetes has these policies since 1.36.
if (process.env['KUBERNETES_VERSION'] !== '1.34')
  describe('a Job that a policy of the cluster changes', () => {
    async function install(name: string, operations: readonly string[], mutations: readonly object[]): Promise<void> {
      const kind = 'MutatingAdmissionPolicy';
      const object = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name } };
      const jobs = { apiGroups: ['batch'], apiVersions: ['v1'], operations, resources: ['jobs'] };
      const spec = { matchConstraints: { resourceRules: [jobs] }, reinvocationPolicy: 'Never', mutations };
      await cluster.kubernetes.apply({ ...object, spec });
      await cluster.kubernetes.apply({ ...object, kind: `${kind}Binding`, spec: { policyName: name } });
    }

    /** Applies manifests like a sync of an Application with ServerSideApply. */
    async function sync(manifests: string, ...flags: readonly string[]): Promise<z.output<typeof Stored>> {
      const args = ['apply', '--server-side', '--force-conflicts', '--field-manager=argocd-controller', '-f', '-'];
      return Stored.parse(JSON.parse(await kubectl([...args, '-o', 'json', ...flags], manifests)));
    }

    /** An API server counts each change of an object. */
    async function expectNoChange(manifests: string): Promise<void> {
      const before = (await sync(manifests)).metadata.resourceVersion;
      expect(before).toBeDefined();
      expect((await sync(manifests)).metadata.resourceVersion).toBe(before);
    }

    it('a Job that a policy of the cluster changes stays as it was stored, and no sync changes it again, unless a policy changes pods of Jobs that live', async () => {
      await kubectl(['create', 'namespace', 'runners']);
      const { simulator, env } = await startAcme();
      simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
      const spec = { gitea: { url: simulator.url }, containerMode: 'host', labels: ['linux:host'] };
      const folder = folderWith({ 'ci.yaml': document(spec, { namespace: 'runners' }) });
      const generate = async (): Promise<string> => {
        const args = ['generate', '--kubeconfig', cluster.kubernetes.kubeconfig, folder];
        const { stdout } = await runHere(args, env);
        return stdout.split('---\n').find((text) => text.includes('kind: "Job"')) ?? '';
      };
      const printed = await generate();
      await install('changes', ['CREATE', 'UPDATE'], CHANGES);
      const isActive = async () => (await sync(printed, '--dry-run=server')).metadata.labels['team'];
      await expect.poll(isActive, { timeout: 60_000, interval: 500 }).toBe('ci');

      const made = await sync(printed);
      const text = JSON.stringify(made);
      for (const change of ['"seen":"yes"', '"image":"mirror.example.com/gitea', '"key":"pool"'])
        expect(text).toContain(change);
      const again = await generate();
      expect(again).toContain('"mirror.example.com/gitea');
      // The first one notes that Argo CD owns the spec, too.
      const { resourceVersion: _, ...kept } = (await sync(again)).metadata;
      expect(made.metadata).toMatchObject(kept);
      await expectNoChange(again);

      const pinned = again.replace(
        '  annotations:\n',
        '  annotations:\n    argocd.argoproj.io/sync-options: Prune=false\n',
      );
      expect(JSON.stringify(await sync(pinned))).toContain('Prune=false');
      await expectNoChange(pinned);

      const later = [{ patchType: 'JSONPatch', jsonPatch: { expression: LATER } }];
      await install('later', ['UPDATE'], later);
      await expect.poll(() => sync(again).then(String, String), { timeout: 60_000 }).toContain('field is immutable');
      await kubectl(['delete', 'mutatingadmissionpolicybinding', 'later']);
      await install('later-made', ['CREATE'], later);
      await expect.poll(() => sync(again).then(() => 'good', String), { timeout: 60_000 }).toBe('good');
    });
  });
