/**
 * docs/migrate.md, walked on a real cluster while CI jobs come all the time: none is lost, none runs twice. MIGRATE_FROM=keda adds the walk
 * from KEDA, which is built for it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { docScript } from '../packaging/doc-blocks.ts';
import type { ApiJob } from '../servers/account.ts';
import { sleep, waitUntil } from '../servers/process.ts';
import { workflow } from '../servers/workflows.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY, type Installation, ORG, refresh } from './install.ts';
import { apply, OPERATOR_NAMESPACE, startKeda, startOperator, staticRunners } from './migrate-old.ts';
import { type Begun, begin } from './one-job.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import type { Stack } from './stack/stack.ts';

let stack: Stack;
let installation: Installation;
let kubectl: Begun['kubectl'];

interface Row {
  readonly id: number;
  readonly name: string;
  readonly busy: boolean;
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  await waitUntil(what, check, { timeoutMs: 240_000 });
}

/** Most waiting or running jobs. Above it, no further job is started: a slow machine would never finish them. */
const MOST_ACTIVE = 5;

/** Starts a CI job of three seconds every one and a half, with this label, in a repository of that name. */
class Load {
  readonly #repository: `${string}/${string}`;
  readonly #running: Promise<void>;
  #started = 0;
  #isOver = false;

  private constructor(label: string) {
    this.#repository = `${ORG}/${label}`;
    this.#running = this.#run();
  }

  static async start(label: string): Promise<Load> {
    const { admin } = stack.gitea;
    await admin.createRepo(label, ORG);
    await admin.addWorkflow(`${ORG}/${label}`, 'build.yml', workflow({ build: { runsOn: label, seconds: 3 } }));
    const load = new Load(label);
    onTestFinished(async () => await load.#end());
    return load;
  }

  /** The CI jobs that ended on new runners, whose names have the id of a job, or on old ones. */
  async ended(on: 'new' | 'old'): Promise<number> {
    const names = (await this.#ended()).map(({ runner_name = '' }) => runner_name);
    return names.filter((name) => /-\d+-1-[0-9a-f]{8}$/.test(name) === (on === 'new')).length;
  }

  /** Waits for some more jobs on the new runners, and ends the load. */
  async eachRanOnce(): Promise<void> {
    const before = await this.ended('new');
    await until('the new runners do the work', async () => (await this.ended('new')) >= before + 3);
    await this.#end();
    await until('all CI jobs have ended', async () => (await this.#ended()).length === this.#started);
    const ended = await this.#ended();
    expect(ended.filter(({ conclusion, run_attempt }) => conclusion !== 'success' || run_attempt !== 1)).toEqual([]);
    // A task is one run of a job by one runner.
    const tasks = await stack.gitea.admin.call('GET', `/repos/${this.#repository}/actions/tasks`);
    expect(tasks).toMatchObject({ total_count: this.#started });
    const [old, fresh] = [await this.ended('old'), await this.ended('new')];
    process.stdout.write(
      `migrate: ${this.#repository}: each CI job ran once, ${old} on old runners, ${fresh} on new\n`,
    );
  }

  #ended(): Promise<readonly ApiJob[]> {
    return stack.gitea.admin.jobs(`/repos/${this.#repository}`, 'completed');
  }

  async #run(): Promise<void> {
    for (; !this.#isOver; await sleep(1_500)) {
      const active = await stack.gitea.admin.jobs(`/repos/${this.#repository}`, 'queued', 'waiting', 'in_progress');
      if (active.length >= MOST_ACTIVE) continue;
      await stack.gitea.admin.dispatch(this.#repository, 'build.yml');
      this.#started += 1;
    }
  }

  async #end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }
}

async function step(block: string): Promise<void> {
  await installation.shell(block, docScript(readFileSync('docs/migrate.md', 'utf8'), block));
}

/** The RunnerGroup that a block of the page has written. */
async function imported(block: string) {
  await step(block);
  return parse(readFileSync(join(installation.folder, 'ci.yaml'), 'utf8'));
}

let installed: Promise<void> | undefined;

/** Installs once: the other walks use the installation of the first one. */
async function install(): Promise<void> {
  installed ??= installation.install();
  await installed;
}

/** Commits it, for this machine, and waits for the first CI job of its runners. */
async function commit({ spec, ...group }: Awaited<ReturnType<typeof imported>>, load: Load): Promise<void> {
  const here = { image: RUNNER_IMAGE, containerMode: 'host', defaultLabels: false, ttlSecondsAfterFinished: 5 };
  const file = `${group.metadata.name}.yaml`;
  await stack.gitea.admin.putFile(GROUPS_REPOSITORY, file, stringify({ ...group, spec: { ...spec, ...here } }));
  await refresh(stack);
  await until('a new runner has had a CI job', async () => (await load.ended('new')) > 0);
}

async function runners(): Promise<readonly Row[]> {
  const answer = await stack.gitea.admin.call('GET', `/orgs/${ORG}/actions/runners`);
  return (answer as { readonly runners: readonly Row[] }).runners;
}

/** Waits for the Jobs of busy runners, and deletes those of idle ones. A runner's name begins with that of its Job. */
async function endJobs(namespace: string): Promise<void> {
  const path = '{.items[?(@.status.active)].metadata.name}';
  const names = () => stack.kubernetes.field(path, 'jobs', '-n', namespace);
  const active = async () => (await names()).split(' ').filter(Boolean);
  await until('no old runner is busy', async () => {
    const [left, rows] = [await active(), await runners()];
    return left.every((job) => rows.some(({ name, busy }) => name.startsWith(job) && !busy));
  });
  for (const job of await active()) await kubectl('delete', 'job', '-n', namespace, job);
}

beforeAll(async () => {
  ({ stack, installation, kubectl } = await begin('migrate'));
  await kubectl('create', 'namespace', 'ci');
  const token = await stack.gitea.admin.registrationToken(`/orgs/${ORG}`);
  await stack.kubernetes.putSecret('ci', 'gitea-runner', { 'registration-token': token });
});

closeAfterTests(() => stack);

it('the operator is stopped, its CustomResourceDefinition stays, its runners finish', async () => {
  const load = await Load.start('operated');
  const operator = await startOperator(stack, 'operated');
  await until('its runners work', async () => (await load.ended('old')) >= 3);

  const group = await imported('operator');
  expect(group).toMatchObject({
    metadata: { name: 'operated', namespace: 'runners' },
    spec: { org: ORG, labels: ['operated:host'], maxActiveRunners: 3 },
  });
  await operator.stop();
  await expect(installation.block('install')).rejects.toThrow('conflict');
  await step('operator-crd');
  await install();
  await commit(group, load);

  await endJobs(OPERATOR_NAMESPACE);
  await kubectl('delete', 'runnergroups', '--all', '-n', OPERATOR_NAMESPACE);
  await kubectl('delete', 'namespace', OPERATOR_NAMESPACE);
  await load.eachRanOnce();
  expect(await kubectl('get', 'runnergroups', '-A', '-o', 'name')).toBe('runnergroup.gitea.bpg.pw/operated\n');
});

it('static runners work beside ours, and go when none of them is busy', async () => {
  const { admin } = stack.gitea;
  const isStatic = ({ name }: Row): boolean => /^act-runner-\w+-\w{5}$/.test(name);
  const load = await Load.start('static');
  await apply(stack, staticRunners(stack, 'static'));
  await until('both static runners are there', async () => (await runners()).filter(isStatic).length === 2);
  await until('they work', async () => (await load.ended('old')) >= 3);

  const group = await imported('static');
  expect(group).toMatchObject({
    metadata: { name: 'act-runner', namespace: 'runners' },
    spec: { org: ORG, containerMode: 'host', labels: ['static:host'], maxActiveRunners: 2 },
  });
  await install();
  await commit(group, load);

  const old = (await runners()).filter(isStatic);
  for (const { id } of old) await admin.call('PATCH', `/orgs/${ORG}/actions/runners/${id}`, { disabled: true });
  await until('none of them is busy', async () => !(await runners()).some((row) => isStatic(row) && row.busy));
  await kubectl('scale', '-n', 'ci', 'deployment/act-runner', '--replicas=0');
  for (const { id } of old) await admin.call('DELETE', `/orgs/${ORG}/actions/runners/${id}`);
  await load.eachRanOnce();
  expect((await runners()).filter(isStatic)).toEqual([]);
});

it.skipIf(process.env['MIGRATE_FROM'] !== 'keda')(
  'runners of KEDA work beside ours, KEDA is paused, and its ScaledJob goes when they are done',
  async () => {
    installation.set('SCALED_JOB', 'scaled');
    // First, because nothing else goes on while KEDA is built.
    await startKeda(stack, 'scaled');
    const load = await Load.start('scaled');
    await until('its runners work', async () => (await load.ended('old')) >= 3);

    const group = await imported('keda');
    expect(group).toMatchObject({
      metadata: { name: 'scaled', namespace: 'runners' },
      spec: { org: ORG, containerMode: 'host', labels: ['scaled:host'], maxActiveRunners: 3 },
    });
    await install();
    await commit(group, load);

    await step('keda-pause');
    await endJobs('ci');
    await step('keda-delete');
    await load.eachRanOnce();
    expect(await kubectl('get', 'jobs', '-n', 'ci', '-o', 'name')).toBe('');
  },
  // KEDA is built first.
  3_600_000,
);
