/** The CRD's rules on a real API server: what `validate` accepts is never refused, and what CEL can say is refused at once. */
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { ADMISSION_RULES } from '../../packaging/admission.ts';
import { Deadline } from '../../src/clients/http/request.ts';
import { KubeClient } from '../../src/clients/kubernetes/kube-client.ts';
import { readKubeconfig } from '../../src/clients/kubernetes/kubeconfig.ts';
import { readOneDocument } from '../../src/config/runnergroup/documents.ts';
import { runnerGroupFromObject } from '../../src/config/runnergroup/from-object.ts';
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

/** What the API server says about a new group; undefined: it is accepted. */
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

/** As it goes over the wire: without absent fields. */
function specWith(change: SpecValues): SpecValues {
  return JSON.parse(JSON.stringify({ ...GOOD, ...change }));
}

describe('a group that validate refuses', () => {
  it.each(BAD)('is refused by the API server, too: %j', async (change, message) => {
    const spec = specWith(change);

    const said = await refusal(spec);

    expect(isValid(spec)).toBe(false);
    expect(said).toContain(message);
  });

  it('stands in the table for each rule', () => {
    const told = BAD.map(([, message]) => message);

    const missing = ADMISSION_RULES.filter(([, , message]) => !told.some((begin) => message.startsWith(begin)));

    expect(missing).toEqual([]);
  });
});

describe('a group that validate accepts', () => {
  const written = writtenSpecs(['test/golden/cases', 'examples', 'install/examples']).filter(([, spec]) =>
    isValid(spec),
  );

  it('is accepted: all of the golden cases and examples', async () => {
    const said = await Promise.all(written.map(async ([file, spec]) => [file, await refusal(spec)] as const));

    expect(said.filter(([, message]) => message !== undefined)).toEqual([]);
    expect(written.length).toBeGreaterThan(80);
  });

  it.each([{}, ...EDGES])('is accepted: %j', async (change) => {
    const spec = specWith(change);

    const said = await refusal(spec);

    expect(isValid(spec)).toBe(true);
    expect(said).toBeUndefined();
  });
});

describe('a group in the cluster', () => {
  it('is listed with the category gitea and its reason', async () => {
    const condition = { type: 'Ready', status: 'False', reason: 'Unauthorized', message: 'x' };
    const status = { conditions: [{ ...condition, lastTransitionTime: '2026-11-22T10:00:00Z' }] };
    await cluster.kubernetes.apply(groupOf('told', GOOD));
    await kubectl(['patch', 'rg', 'told', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);

    const table = await kubectl(['get', 'gitea']);

    expect(table).toMatch(/^NAME .* READY +REASON +CHECKED +AGE\n/);
    expect(table).toMatch(/\ntold .* False +Unauthorized /);
  });

  it('that an older CRD let in can still get a status', async () => {
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
});
