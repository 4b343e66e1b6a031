/**
 * Tests install/install.sh on a real, stock Argo CD, as README and docs/install.md show it: by Helm, and by plain YAML.
 * Prints the time of each.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY, type Installation, refresh } from './install.ts';
import { type Begun, begin, groupIsReady, oneJobSucceeds } from './one-job.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import type { Stack } from './stack/stack.ts';

let stack: Stack;
let installation: Installation;
let say: Begun['say'];

/** A new folder of `init`, whose group this machine can run. */
async function init(...more: readonly string[]): Promise<string> {
  const folder = join(installation.folder, 'my-runners');
  rmSync(folder, { recursive: true, force: true });
  const flags = `--gitea "$GITEA_URL" --owner "$GITEA_ORG" --git "$REPO_URL" --container-mode host ${more.join(' ')}`;
  await installation.shell('init', `node lib/gitea-runners.cjs init my-runners ${flags}`);
  const group = parse(readFileSync(join(folder, 'groups', 'ci.yaml'), 'utf8'));
  Object.assign(group.spec, { image: RUNNER_IMAGE, ttlSecondsAfterFinished: 5 });
  await stack.gitea.admin.putFile(GROUPS_REPOSITORY, 'groups/ci.yaml', stringify(group));
  return folder;
}

/** `serve` registers its runners, and no registration token is in the namespace. */
async function isRegisteredByServe(): Promise<void> {
  const { kubernetes } = stack;
  const secrets = await kubernetes.kubectl(['get', 'secrets', '-n', 'runners', '-o', 'name']);
  expect(secrets).not.toContain('gitea-runner\n');
  expect(await kubernetes.field('{.spec.registration.by}', 'runnergroup', 'ci', '-n', 'runners')).toBe('serve');
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
  ({ stack, installation, say } = await begin('at once', 1, {
    tokenScopes: ['read:organization', 'write:repository'],
  }));
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

it('becomes with Helm an installation whose runners serve registers', async () => {
  await stack.kubernetes.kubectl(['delete', 'secret', '-n', 'runners', 'gitea-runner']);
  const folder = await init('--registration', 'bound');
  await refresh(stack);
  writeFileSync(join(folder, 'values.yaml'), stringify({ image: installation.image }));

  await installAndRun('Helm, runners that serve registers');

  await isRegisteredByServe();
});

it('leads with plain YAML to the first CI job, after Helm has left', async () => {
  await installation.block('helm-uninstall', 'helm-remove');
  await init('--registration', 'bound');

  const printed = await installAndRun('plain YAML');

  await isRegisteredByServe();

  expect(printed).toContain('deployment.apps/gitea-runners serverside-applied');
});
