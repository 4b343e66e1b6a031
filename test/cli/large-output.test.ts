/**
 * Tests how much one run may print, and how many idle runners it may plan: other Applications share the memory of the
 * sidecar.
 */
import { expect, it } from 'vitest';
import { folderWith, groupYaml, runCli } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

/** A podTemplate of 130,000 characters, which every Job repeats. */
const LONG_TEMPLATE = `  podTemplate: {metadata: {annotations: {example.com/note: "${'x'.repeat(130_000)}"}}}\n`;

function pool(url: string, name: string, template = ''): string {
  return groupYaml(url, `  minIdleRunners: 500\n${template}`, name).replace(
    'maxActiveRunners: 5',
    'maxActiveRunners: 500',
  );
}

it('generate fails instead of printing 130 MB', async () => {
  const { simulator, env } = await startAcme();
  const folder = folderWith({
    'a.yaml': pool(simulator.url, 'a', LONG_TEMPLATE),
    'b.yaml': pool(simulator.url, 'b', LONG_TEMPLATE),
  });

  const { code, stdout, stderr } = await runCli(['generate', '--cluster', 'off'], env, folder);

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: GR-OUTPUT-02 print manifests: they have 13\d{7} characters, more than 67108864/);
});

it('generate fails instead of planning warm pools of 10,500 runners', async () => {
  const { simulator, env } = await startAcme();
  const files = Array.from({ length: 21 }, (_, at) => [`${at}.yaml`, pool(simulator.url, `g${at}`)] as const);

  const { code, stdout, stderr } = await runCli(
    ['generate', '--cluster', 'off'],
    env,
    folderWith(Object.fromEntries(files)),
  );

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(
    /^error: GR-INPUT-93 plan: minIdleRunners of all RunnerGroups together is 10500, more than 10000/,
  );
});
