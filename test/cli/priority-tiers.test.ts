/** Tests fields that require a cluster that can be read (docs/adr/0034, docs/adr/0037). */
import { expect, it } from 'vitest';
import { runHere } from '../support/run-cli.ts';
import { startWithJob } from '../support/start-acme.ts';

const TIERS = '  priorityTiers: [{priorityClassName: runner-critical, threshold: 5}]';
const KEEPS = '  keepFailedSeconds: 600\n';

it.each([
  ['priorityTiers', TIERS, ['--cluster', 'off']],
  ['keepFailedSeconds', KEEPS, ['--cluster', 'off']],
  ['keepFailedSeconds', KEEPS, []],
])('generate refuses a group with %s where nobody sees its Jobs', async (field, spec, flags) => {
  const { env, folder } = await startWithJob(spec);

  const { code, stdout, stderr } = await runHere(['generate', folder, ...flags], env);

  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(
    new RegExp(`GR-INPUT-92.*RunnerGroup runners/ci has ${field}.*--cluster off.*remove ${field}`),
  );
});

it('explain only reads, and takes it', async () => {
  const { env, folder } = await startWithJob(TIERS);

  expect(await runHere(['explain', folder, '--cluster', 'off'], env)).toMatchObject({ code: 0, stderr: '' });
});
