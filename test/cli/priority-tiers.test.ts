/** Priority tiers need sight of the Jobs in the cluster (docs/adr/0034). */
import { expect, it } from 'vitest';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

const TIERS = '  priorityTiers: [{priorityClassName: runner-critical, threshold: 5}]';

it.each([['generate'], ['explain']])('without a cluster %s does as it should', async (command) => {
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url, TIERS) });
  const { code, stdout, stderr } = await runHere([command, folder, '--cluster', 'off'], env);

  if (command === 'explain') {
    expect([code, stderr]).toEqual([0, '']);
    return;
  }
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/GR-INPUT-92.*RunnerGroup runners\/ci has priorityTiers.*--cluster off.*remove priorityTiers/);
});
