/** `gitea-runners sweep` as people call it: flags, what it prints, how it ends. */
import { expect, it, onTestFinished } from 'vitest';
import { sweep } from '../../../src/cli/commands/sweep.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { printingIo } from '../../support/printing-io.ts';
import { folderWith, groupYaml, runHere } from '../../support/run-cli.ts';
import { refusing } from '../../support/start-acme.ts';
import { startKubernetes } from './kubernetes.ts';
import { ownName } from './scene.ts';
import { jumpingClock, SECRET, startSweepWorld } from './start-sweeper.ts';

const [A, B] = [ownName(1), ownName(2)];

/** The command in this process, on the simulator's clock. @param names of runners that have registered and gone: Gitea shows them as offline */
async function startCommand(...names: readonly string[]) {
  const world = await startSweepWorld();
  const folder = folderWith({ 'ci.yaml': groupYaml(world.simulator.url) });
  const kubernetes = await startKubernetes(folderWith({}));
  onTestFinished(() => kubernetes.close());
  const { io, printed } = printingIo({
    env: { GITEA_URL: world.simulator.url, GITEA_TOKEN: SECRET, GITEA_RUNNERS_INSTANCE: 'north' },
    cwd: folder,
    now: () => world.clock.now,
  });
  const clock = jumpingClock(world.clock);
  const run = async (flags: Parameters<typeof sweep>[1] = { kubeconfig: kubernetes.kubeconfig }) => {
    Object.assign(printed, { out: '', err: '' });
    const code = await sweep([], flags, io, clock);
    return { code, ...printed };
  };
  for (const name of names) world.register(name);
  if (names.length > 0) world.clock.now += 61_000;
  return { ...world, kubernetes, run, printed: () => printed.out };
}

it('looks, waits, looks again, deletes and says what stays', async () => {
  const { kubernetes, run, left } = await startCommand(A, B, 'act-runner');
  kubernetes.jobs.set(B, 'active').set(A, 'Complete');

  const outcome = await run();

  expect(outcome).toEqual({
    code: 0,
    err: '1 registration seems dead; looking again in 75 s\n',
    out: `RUNNER           ID  GROUP       WHAT HAPPENS
${A}  1   runners/ci  deleted: offline, no CI job, no living Job
${B}  2   runners/ci  stays: its Job is not finished

Sweep: 1 registration deleted, 1 stays; 1 registration of other runners left alone.
`,
  });
  expect(left()).toEqual([B, 'act-runner']);
});

it('sweep does not wait when nothing seems dead', async () => {
  const { clock, run, register } = await startCommand();
  register(A);
  const startedMs = clock.now;

  const { code, out, err } = await run();

  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('stays: online');
  expect(clock.now).toBe(startedMs);
});

it('sweep goes on with fresh looks when the budget of one pass does not suffice', async () => {
  const { kubernetes, run, left } = await startCommand(A, B);

  const { out } = await run({ kubeconfig: kubernetes.kubeconfig, budget: '1' });

  expect(out).toContain('Sweep: 2 registrations deleted, 0 stay.\n');
  expect(left()).toEqual([]);
});

it('sweep prints the same as JSON', async () => {
  const { simulator, kubernetes, run } = await startCommand(A);

  const { out } = await run({ kubeconfig: kubernetes.kubeconfig, json: true });

  expect(JSON.parse(out)).toEqual({
    dryRun: false,
    groups: 1,
    registrations: [
      { namespace: 'runners', group: 'ci', gitea: simulator.url, id: 1, name: A, outcome: { is: 'deleted' } },
    ],
    foreign: 0,
    unlisted: [],
  });
});

it('sweep deletes nothing in a dry run', async () => {
  const { kubernetes, run, left } = await startCommand(A);

  const { code, out } = await run({ kubeconfig: kubernetes.kubeconfig, dryRun: true });

  expect(code).toBe(0);
  expect(out).toContain('would be deleted: offline, no CI job, no living Job');
  expect(out).toContain('Dry run: 1 registration would be deleted, 0 stay.\n');
  expect(left()).toEqual([A]);
});

it('sweep leaves a failure’s stdout empty and says what was deleted before', async () => {
  const { simulator, run, printed } = await startCommand(A, B);
  simulator.intercept(refusing(/^DELETE .*\/2$/, 500));

  const ended = run();

  await expect(ended).rejects.toThrow(Failure);
  await expect(ended).rejects.toMatchObject({
    code: 'GR-GITEA-05',
    exit: 1,
    message: expect.stringMatching(
      /^delete runner 2 of org acme: .*\n1 registration deleted before that; the others stay\.$/,
    ),
  });
  expect(printed()).toBe('');
});

it('sweep ends when Kubernetes refuses, without a deletion', async () => {
  const { kubernetes, run, left } = await startCommand(A);
  await kubernetes.close();

  await expect(run()).rejects.toMatchObject({ exit: 1, code: 'GR-HTTP-01' });
  expect(left()).toEqual([A]);
});

it('the program refuses to delete when it cannot look at Kubernetes, before it asks Gitea', async () => {
  const { simulator } = await startSweepWorld();
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url) });
  const env = { GITEA_URL: simulator.url, GITEA_TOKEN: SECRET };

  for (const args of [['sweep'], ['sweep', '--cluster', 'off']]) {
    const outcome = await runHere(args, env, folder);

    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toMatch(/^error: GR-SWEEP-01 sweep: Kubernetes cannot be looked at.* --kubeconfig/);
  }
  expect(simulator.requests).toEqual([]);
});

it('the program says in a dry run which rows are offline, also without Kubernetes', async () => {
  const { simulator, clock, register } = await startSweepWorld();
  register(A);
  clock.now += 61_000;
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url) });
  const env = { GITEA_URL: simulator.url, GITEA_TOKEN: SECRET, GITEA_RUNNERS_INSTANCE: 'north' };

  const outcome = await runHere(['sweep', '--dry-run'], env, folder);

  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  expect(outcome.stdout).toContain('stays: offline, but nobody looked whether its Job lives');
});

it.each(['0', '601', '1.5', 'many', ''])('the program refuses the budget "%s"', async (budget) => {
  const outcome = await runHere(['sweep', `--budget=${budget}`], {}, folderWith({}));

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toContain('GR-SWEEP-02 read --budget');
});

it('the program has help with examples, and finds nothing to do without RunnerGroups', async () => {
  const help = await runHere(['sweep', '--help']);
  const nothing = await runHere(['sweep', '--dry-run'], {}, folderWith({}));

  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('Examples:');
  expect(nothing).toMatchObject({ code: 0, stdout: 'No RunnerGroups found.\n' });
});
