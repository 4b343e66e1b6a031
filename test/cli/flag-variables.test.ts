/** Variables of switches that had none, through the built program. */
import { expect, test } from 'vitest';
import { runHere } from '../support/run-cli.ts';

test('GITEA_RUNNERS_CRD prints the CustomResourceDefinition', async () => {
  const { code, stdout } = await runHere(['schema'], { GITEA_RUNNERS_CRD: 'true' });

  expect(code).toBe(0);
  expect(stdout).toContain('\nkind: CustomResourceDefinition\n');
});

test('a switch that is set to false is off', async () => {
  const { code, stdout } = await runHere(['schema'], { GITEA_RUNNERS_CRD: 'false' });

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ title: 'RunnerGroup' });
});

test('a switch that is neither is an error, and stdout is empty', async () => {
  expect(await runHere(['schema'], { GITEA_RUNNERS_CRD: 'yes' })).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: GR-FLAG-03 read GITEA_RUNNERS_CRD: it must be true or false.\n',
  });
});

test('a speed that is no number is an error', async () => {
  expect(await runHere(['demo', '--speed', 'fast'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: GR-FLAG-10 read --speed: it must be a number from 0.1 to 100.\n',
  });
});
