/**
 * Runners of an installed 0.2.0 are not replaced by this version.
 *
 * `installed-0.2.0.json` has the Jobs that 0.2.0 printed for some of the cases: their names, each with the hash of its spec. They are from the
 * golden outputs of commit e5d5dca1 (2026-11-23), the first 0.2.0 with the pod template of today. Builds before it have another one in all
 * groups: there the runners that wait are exchanged once (docs/upgrade.md).
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { generate } from '../../src/cli/commands/generate.ts';
import { sorted } from '../../src/manifests/job-manifest.ts';
import { printingIo } from '../support/printing-io.ts';
import { type Case, readCase } from './case.ts';
import installed from './installed-0.2.0.json' with { type: 'json' };
import { type ClusterFile, openStage } from './stage.ts';

const Texts = z.record(z.string(), z.string());
const PodSpec = z.looseObject({
  containers: z.array(
    z.looseObject({
      name: z.string(),
      lifecycle: z.object({ preStop: z.object({ exec: z.object({ command: z.array(z.string()) }) }) }).optional(),
    }),
  ),
  nodeSelector: Texts.optional(),
  initContainers: z.array(z.looseObject({ name: z.string() })).optional(),
});
const Job = z.looseObject({
  kind: z.literal('Job'),
  metadata: z.looseObject({ namespace: z.string(), name: z.string(), annotations: Texts, labels: Texts }),
  spec: z.looseObject({ template: z.looseObject({ metadata: z.looseObject({ labels: Texts }), spec: PodSpec }) }),
});
type Job = z.infer<typeof Job>;

async function printJobs(story: Case, cluster?: ClusterFile): Promise<readonly Job[]> {
  const stage = await openStage(story.exchanges, story.secrets, cluster);
  const env = { ...stage.env, ...story.env };
  const { io, printed } = printingIo({ env, cwd: story.groups, now: () => story.nowMs });
  expect(await generate([], { secretsDir: stage.secretsDir, caFile: stage.caFile }, io), printed.err).toBe(0);
  return parseAllDocuments(printed.out).flatMap((document) => Job.safeParse(document.toJS()).data ?? []);
}

function keyOf({ metadata }: Job): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** As 0.2.0 printed it: without the nodeSelector for Linux, the last words of our containers, and what lets a runner start before it is stopped. None is in the hash of a name. */
function asPrintedBy020(job: Job): Job {
  const { containers, initContainers, nodeSelector = {}, ...pod } = job.spec.template.spec;
  const deaf = containers.map(({ lifecycle, terminationMessagePolicy: _, ...container }) => {
    const [, , , , ...command] = lifecycle?.preStop.exec.command ?? [];
    return command.length > 0 ? { ...container, lifecycle: { preStop: { exec: { command } } } } : container;
  });
  const { 'kubernetes.io/os': _, ...rest } = nodeSelector;
  const silent = initContainers?.map(({ terminationMessagePolicy, ...container }) =>
    container.name !== 'setup'
      ? container
      : { ...container, ...(terminationMessagePolicy ? { terminationMessagePolicy } : {}) },
  );
  const spec = {
    ...pod,
    containers: deaf,
    ...(silent && { initContainers: silent }),
    ...(Object.keys(rest).length > 0 && { nodeSelector: rest }),
  };
  return { ...job, spec: { ...job.spec, template: { ...job.spec.template, spec } } };
}

function specHash({ spec }: Job): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(spec)))
    .digest('hex')
    .slice(0, 16);
}

const PINNED = 'Prune=false';

function isPinned({ metadata }: Job): boolean {
  return metadata.annotations['argocd.argoproj.io/sync-options'] === PINNED;
}

/** The Jobs as they live in a cluster, with what the API server adds. The pods of pinned ones run, the others have not started. */
function living(jobs: readonly Job[], nowMs: number): ClusterFile {
  const at = (secondsAgo: number): string => new Date(nowMs - secondsAgo * 1000).toISOString();
  const uidOf = (job: Job): string => `uid-${keyOf(job)}`;
  const created = { creationTimestamp: at(90) };
  return {
    jobs: jobs.map((job) => {
      const { template } = job.spec;
      const own = { 'batch.kubernetes.io/controller-uid': uidOf(job) };
      const labels = { ...template.metadata.labels, ...own };
      const metadata = { ...template.metadata, labels };
      const spec = { ...job.spec, selector: { matchLabels: own }, template: { ...template, metadata } };
      return { ...job, metadata: { ...job.metadata, ...created, uid: uidOf(job) }, spec, status: { active: 1 } };
    }),
    pods: jobs.map((job) => {
      const { namespace, name } = job.metadata;
      const owner = { kind: 'Job', uid: uidOf(job) };
      const metadata = { namespace, name: `${name}-x`, uid: `pod-${name}`, ...created, ownerReferences: [owner] };
      const running = { name: 'runner', state: { running: { startedAt: at(80) } } };
      const status = isPinned(job) ? { phase: 'Running', containerStatuses: [running] } : { phase: 'Pending' };
      return { metadata, status };
    }),
    refused: {},
  };
}

describe.each(Object.entries(installed))('%s', (name, expected: Readonly<Record<string, string>>) => {
  test('runners have the names and templates of 0.2.0, and those that live are printed as they live', async () => {
    const story = await readCase(name);

    const jobs = (await printJobs(story)).map(asPrintedBy020);
    expect(Object.fromEntries(jobs.map((job) => [keyOf(job), specHash(job)]))).toEqual(expected);

    const cluster = living(jobs, story.nowMs);
    const again = await printJobs(story, cluster);
    expect(again.map(keyOf)).toEqual(jobs.map(keyOf));
    expect(again.map(isPinned)).toEqual(jobs.map(isPinned));
    expect(again.map(({ spec }) => spec)).toEqual(cluster.jobs.map((job) => Job.parse(job).spec));
  });
});

/** The same with other names of runners. */
function renamed<T>(value: T, names: Readonly<Record<string, string>>): T {
  const rename = (text: string, [from, to]: readonly [string, string]): string => text.replaceAll(from, to);
  return JSON.parse(Object.entries(names).reduce(rename, JSON.stringify(value)));
}

/** What changes at the update: groups whose names 0.2.0 made of something else. */
describe('runners with names of before', () => {
  test('a warm pool is exchanged once: its names now tell their scope (ADR 55)', async () => {
    const story = await readCase('a-warm-pool-stays-while-nothing-is-queued');
    const now = await printJobs(story);
    const before = { 'ci-0-1-cab91ab8': 'ci-0-1-cab9ac0d', 'ci-0-2-cab9f5b7': 'ci-0-2-cab9086c' };
    expect(now.map(({ metadata }) => metadata.name)).toEqual(Object.keys(before));

    const update = await printJobs(renamed(story, before), living(renamed(now, before), story.nowMs));
    const later = await printJobs(story, living(now, story.nowMs));

    expect(update.map(keyOf)).toEqual(now.map(keyOf));
    expect(later.map(keyOf)).toEqual(now.map(keyOf));
  });

  test('a runner of the first builds of 0.2.0 stays as it is while at work, and is exchanged while it waits', async () => {
    const story = await readCase('the-cap-holds-younger-jobs-back');
    const now = await printJobs(story);
    const before = { 'ci-6-1-cab9fc63': 'ci-6-1-cab91242', 'ci-7-1-cab9c549': 'ci-7-1-cab9aeb9' };
    expect(now.map(({ metadata }) => metadata.name)).toEqual(Object.keys(before));
    const cluster = living(renamed(now, before), story.nowMs);

    const update = await printJobs(renamed(story, before), cluster);

    expect(update.map(({ metadata }) => metadata.name)).toEqual(['ci-6-1-cab91242', 'ci-7-1-cab9c549']);
    expect(update.map(isPinned)).toEqual([true, false]);
    expect(update[0]?.spec).toEqual(Job.parse(cluster.jobs[0]).spec);
  });

  test('runners with names of before that are held for debugging stay, though the template is new', async () => {
    const story = await readCase('a-runner-whose-ci-job-failed-stays-for-a-look');
    const now = await printJobs(story, story.cluster);
    const before = { 'ci-5-1-cab94e6a': 'ci-5-1-cab94f12', 'ci-6-1-cab957ea': 'ci-6-1-cab9d85b' };
    expect(now.map(({ metadata }) => metadata.name)).toEqual(Object.keys(before));

    const update = await printJobs(renamed(story, before), renamed(story.cluster, before));

    expect(update.map(({ metadata }) => metadata.name)).toEqual(Object.values(before));
    expect(update.map(isPinned)).toEqual([true, true]);
  });
});
