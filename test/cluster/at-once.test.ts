/** install/install.sh on a real, stock Argo CD, as README and docs/install.md show it: by Helm, and by plain YAML. It says how long each took. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY, type Installation } from './install.ts';
import { type Begun, begin, groupIsReady, oneJobSucceeds } from './one-job.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import type { Stack } from './stack/stack.ts';

let stack: Stack;
let installation: Installation;
let say: Begun['say'];

/** A new folder of `init`, whose group this machine can run. */
async function init(): Promise<string> {
  const folder = join(installation.folder, 'my-runners');
  rmSync(folder, { recursive: true, force: true });
  const flags = `--gitea "$GITEA_URL" --owner "$GITEA_ORG" --git "$REPO_URL" --container-mode host`;
  await installation.shell('init', `node lib/gitea-runners.cjs init my-runners ${flags}`);
  const group = parse(readFileSync(join(folder, 'groups', 'ci.yaml'), 'utf8'));
  Object.assign(group.spec, { image: RUNNER_IMAGE, ttlSecondsAfterFinished: 5 });
  await stack.gitea.admin.putFile(GROUPS_REPOSITORY, 'groups/ci.yaml', stringify(group));
  return folder;
}

/** The command, and what a person waits for after it. */
async function installAndRun(how: string): Promise<string> {
  const started = Date.now();
  const printed = await installation.block('at-once');
  const installed = Date.now();
  await groupIsReady(stack);
  await oneJobSucceeds(stack);
  const seconds = (ms: number): number => Math.round((ms - started) / 1000);
  say(`${how}: ${seconds(installed)} s for the command, ${seconds(Date.now())} s to the end of the first CI job`);
  return printed;
}

beforeAll(async () => {
  ({ stack, installation, say } = await begin('at once'));
});

closeAfterTests(() => stack);

it('leads with Helm and one values file from nothing to the first CI job, and can be run again', async () => {
  const folder = await init();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'values.yaml'), stringify({ image: installation.image }));

  const printed = await installAndRun('Helm');

  const { repository, tag } = installation.image;
  expect(await installation.sidecarImage()).toBe(`${repository}:${tag}`);
  expect(printed).toContain('STATUS: deployed');
  expect(printed).toContain('application.argoproj.io/runners created');
  expect(await installation.block('at-once')).toContain('application.argoproj.io/runners unchanged');
  await oneJobSucceeds(stack);
});

it('leads with plain YAML to the first CI job, after Helm has left', async () => {
  await installation.block('helm-uninstall', 'helm-remove');
  await init();

  const printed = await installAndRun('plain YAML');

  expect(printed).toContain('deployment.apps/gitea-runners serverside-applied');
});
