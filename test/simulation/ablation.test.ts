/** `npm run ablation` switches rules off by the names of their functions in src/planner: each name must still be there. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

it('builds a planner without each rule, and tells that no replay costs needless runners', {
  timeout: 300_000,
}, async () => {
  const env = { ...process.env, HISTORIES: '1', FIRST: '3' };

  const { stdout } = await run(process.execPath, ['test/simulation/ablation/build.mjs', '--calm'], { env });

  const alone = stdout.slice(stdout.indexOf('| off, Gitea alone |')).split('\n');
  const rows = alone.filter((line) => line.startsWith('| '));
  const needlessAlone = (rule: string): number =>
    Number.parseFloat(rows.find((row) => row.startsWith(`| ${rule}`))?.split(' | ')[1] ?? '');
  expect(rows).toHaveLength(27);
  expect(needlessAlone('replay')).toBeGreaterThan(needlessAlone('none |'));
});
