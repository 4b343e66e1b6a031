/** Tests that warnings of a policy appear in every command, and change nothing of the output (law F130). */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, runHere } from '../support/run-cli.ts';
import { stage, yaml } from './trouble-rig.ts';

const BAD_IMAGE = '  image: evil.example.com/runner:1\n';
const RULES = 'registries: [docker.io]';

function policy(spec: string): string {
  const text = `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: {${spec}}\n`;
  return join(folderWith({ 'policy.yaml': text }), 'policy.yaml');
}

const WARNED =
  /^warning: GR-WARN-15 .*bad\.yaml:\d+: runners\/bad: spec\.image: comes from evil\.example\.com; .* \[registries\]$/m;

const untimed = (text: string): string => text.replace(/\d+(?=[smh])/g, 'N');

it.each(['generate', 'explain'])('%s tells it and prints the same as without a policy', async (command) => {
  const { env, folder } = await stage({ badSpec: BAD_IMAGE });
  const without = await runHere([command, folder], env);

  const outcome = await runHere([command, folder, '--policy', policy(`${RULES}, enforcement: warn`)], env);

  expect(outcome).toMatchObject({ code: 0, stderr: expect.stringMatching(WARNED) });
  expect(untimed(outcome.stdout)).toBe(untimed(without.stdout));
  expect(without.stderr).not.toContain('GR-WARN-15');
});

it('sweep tells it and goes on', async () => {
  const { env, folder } = await stage({ badSpec: BAD_IMAGE });

  const outcome = await runHere(['sweep', folder, '--dry-run', '--policy', policy(`${RULES}, enforcement: warn`)], env);

  expect(outcome).toMatchObject({ code: 0, stderr: expect.stringMatching(WARNED) });
});

it('stderr has 15 of them, and where the others are', async () => {
  const { warningLines } = await import('../../src/config/policy/denial.ts');
  const warning = { rule: 'images', path: 'spec.image', message: 'x' } as const;

  const lines = warningLines(
    'p.yaml',
    Array.from({ length: 17 }, () => warning),
  );

  expect(lines).toHaveLength(16);
  expect(lines[0]).toBe('warning: GR-WARN-15 spec.image: x [images]');
  expect(lines[15]).toContain('2 more');
});

it.each<[string, readonly string[], number, RegExp]>([
  ['a warning', [], 0, /all\.yaml:\d+:\d+: warning: spec\.image: .* \[registries\] \[GR-WARN-15\]/],
  ['an error with --strict', ['--strict'], 2, /all\.yaml:\d+:\d+: error: spec\.image: .* \[GR-WARN-15\]/],
])('validate has it as %s', async (_, flags, code, line) => {
  const folder = folderWith({ 'all.yaml': yaml('one', 'https://gitea.example.com', BAD_IMAGE) });

  const outcome = await runHere(['validate', folder, ...flags, '--policy', policy(`${RULES}, enforcement: warn`)]);

  expect(outcome).toMatchObject({ code, stderr: expect.stringMatching(line) });
});

it('SARIF has it as a warning with its place', async () => {
  const folder = folderWith({ 'all.yaml': yaml('one', 'https://gitea.example.com', BAD_IMAGE) });

  const { stdout } = await runHere([
    'validate',
    folder,
    '-o',
    'sarif',
    '--policy',
    policy(`${RULES}, enforcement: warn`),
  ]);

  const [result] = JSON.parse(stdout).runs[0].results.filter(
    ({ ruleId }: { ruleId: string }) => ruleId === 'GR-WARN-15',
  );
  expect(result).toMatchObject({ level: 'warning', message: { text: expect.stringContaining('evil.example.com') } });
  expect(result.locations[0].physicalLocation.region.startLine).toBeGreaterThan(1);
});

it('an exception ends by the clock of the command', async () => {
  const folder = folderWith({ 'all.yaml': yaml('one', 'https://gitea.example.com', BAD_IMAGE) });
  const until = (day: string) =>
    policy(`${RULES}, exceptions: [{groups: ['*/one'], rules: [registries], until: ${day}, reason: moves}]`);

  expect(await runHere(['validate', folder, '--policy', until('2999-12-31')])).toMatchObject({ code: 0 });
  expect(await runHere(['validate', folder, '--policy', until('2020-12-31')])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('its exception ended on 2020-12-31: moves'),
  });
});
