/** docs/migrate.md, "From static runners", walked on a real cluster while CI jobs come all the time: none is lost, none runs twice. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { docScript } from '../packaging/doc-blocks.ts';
import { sleep, waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY, Installation, ORG } from './install.ts';
import { addBuild } from './one-job.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import { type Stack, startStack } from './stack/stack.ts';

const REPOSITORY = `${ORG}/web`;
/** The name of its pod. Those of the new ones have three more parts. */
const STATIC = /^act-runner-\w+-\w{5}$/;

let stack: Stack;
let installation: Installation;
let dispatched = 0;
let isOver = false;
let load: Promise<void> = Promise.resolve();

interface Row {
  readonly id: number;
  readonly name: string;
  readonly busy: boolean;
}

function kubectl(...args: readonly string[]): Promise<string> {
  return stack.kubernetes.kubectl(args);
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  await waitUntil(what, check, { timeoutMs: 180_000 });
}

async function completed(): Promise<readonly { readonly runner_name?: string | undefined }[]> {
  return await stack.gitea.admin.jobs(`/orgs/${ORG}`, 'completed');
}

async function staticRows(): Promise<readonly Row[]> {
  const { runners } = (await stack.gitea.admin.call('GET', `/orgs/${ORG}/actions/runners`)) as {
    readonly runners: readonly Row[];
  };
  return runners.filter(({ name }) => STATIC.test(name));
}

/** A runner that always runs, as its project's manual has it, twice. */
function oldRunners(url: string): string {
  const container = {
    name: 'runner',
    image: RUNNER_IMAGE,
    env: [
      { name: 'GITEA_INSTANCE_URL', value: url },
      { name: 'GITEA_RUNNER_LABELS', value: 'linux:host' },
      {
        name: 'GITEA_RUNNER_REGISTRATION_TOKEN',
        valueFrom: { secretKeyRef: { name: 'gitea-runner', key: 'registration-token' } },
      },
    ],
  };
  const labels = { app: 'act-runner' };
  return stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'act-runner', namespace: 'ci' },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container], terminationGracePeriodSeconds: 1 } },
    },
  });
}

beforeAll(async () => {
  stack = await startStack(inject('clusterBuilds'), (line) => void process.stdout.write(`migrate: ${line}\n`));
  installation = await Installation.prepare(stack, inject('clusterBuilds'));
  installation.program('gitea-runners', `exec ${process.execPath} ${resolve('lib/gitea-runners.cjs')} "$@"`);
  const { admin } = stack.gitea;
  await addBuild(stack, 3);
  const token = await admin.registrationToken(`/orgs/${ORG}`);
  await kubectl('create', 'namespace', 'ci');
  await kubectl(
    'create',
    'secret',
    'generic',
    'gitea-runner',
    '-n',
    'ci',
    `--from-literal=registration-token=${token}`,
  );
  await kubectl('apply', '-f', stack.machine.write('act-runner.yaml', oldRunners(stack.gitea.url)));
});

closeAfterTests(() => stack);

afterAll(async () => {
  isOver = true;
  await load;
});

it('begins with static runners that have CI jobs all the time', async () => {
  await until('both static runners are there', async () => (await staticRows()).length === 2);
  const begin = async (): Promise<void> => {
    while (!isOver) {
      await stack.gitea.admin.dispatch(REPOSITORY, 'build.yml');
      dispatched += 1;
      await sleep(1_500);
    }
  };
  load = begin();

  await until('they work', async () => (await completed()).length >= 3);
});

it('has the old and the new runners side by side', async () => {
  await installation.shell('static', docScript(readFileSync('docs/migrate.md', 'utf8'), 'static'));
  const group = parse(readFileSync(join(installation.folder, 'ci.yaml'), 'utf8'));
  expect(group).toMatchObject({
    metadata: { name: 'act-runner', namespace: 'runners' },
    spec: { org: ORG, containerMode: 'host', labels: ['linux:host'], maxActiveRunners: 2 },
  });
  await installation.install();
  const { admin } = stack.gitea;
  await admin.putFile(
    GROUPS_REPOSITORY,
    'ci.yaml',
    stringify({ ...group, spec: { ...group.spec, image: RUNNER_IMAGE, ttlSecondsAfterFinished: 5 } }),
  );
  await stack.argocd.cli('app', 'get', 'runners', '--refresh');

  await until('a new runner has had a CI job', async () =>
    (await completed()).some(({ runner_name = '' }) => runner_name !== '' && !STATIC.test(runner_name)),
  );
});

it('takes the old ones away when none of them is busy, and all CI jobs have run once', async () => {
  const { admin } = stack.gitea;
  for (const { id } of await staticRows())
    await admin.call('PATCH', `/orgs/${ORG}/actions/runners/${id}`, { disabled: true });
  await until('none of them is busy', async () => (await staticRows()).every(({ busy }) => !busy));
  await kubectl('scale', '-n', 'ci', 'deployment/act-runner', '--replicas=0');
  for (const { id } of await staticRows()) await admin.call('DELETE', `/orgs/${ORG}/actions/runners/${id}`);
  const before = (await completed()).length;
  await until('the new ones do all the work', async () => (await completed()).length >= before + 5);
  isOver = true;
  await load;

  await until('all CI jobs have ended', async () => (await completed()).length === dispatched);
  const jobs = await admin.jobs(`/orgs/${ORG}`, 'completed');
  expect(jobs.filter(({ conclusion, run_attempt }) => conclusion !== 'success' || run_attempt !== 1)).toEqual([]);
  // A task is one run of a job by one runner.
  const { total_count: tasks } = (await admin.call('GET', `/repos/${REPOSITORY}/actions/tasks`)) as {
    readonly total_count: number;
  };
  expect(tasks).toBe(dispatched);
  expect(await staticRows()).toEqual([]);
  process.stdout.write(`migrate: ${dispatched} CI jobs, each run once\n`);
});
