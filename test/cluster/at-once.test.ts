/** install/install.sh on a real, stock Argo CD, as README and docs/install.md show it: by Helm, and by plain YAML. It says how long each took. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { closeAfterTests } from './close-after-tests.ts';
import { GROUPS_REPOSITORY, Installation } from './install.ts';
import { addBuild, oneJobSucceeds } from './one-job.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import { type Stack, startStack } from './stack/stack.ts';

let stack: Stack;
let installation: Installation;

function say(line: string): void {
  process.stdout.write(`at once: ${line}\n`);
}

function kubectl(...args: readonly string[]): Promise<string> {
  return stack.kubernetes.kubectl(args);
}

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
  await kubectl('wait', '-n', 'runners', 'runnergroup/ci', '--for=create', '--timeout=180s');
  await kubectl('wait', '-n', 'runners', 'runnergroup/ci', '--for=condition=Ready', '--timeout=180s');
  await oneJobSucceeds(stack);
  const seconds = (ms: number): number => Math.round((ms - started) / 1000);
  say(`${how}: ${seconds(installed)} s for the command, ${seconds(Date.now())} s to the end of the first CI job`);
  return printed;
}

beforeAll(async () => {
  stack = await startStack(inject('clusterBuilds'), say);
  installation = await Installation.prepare(stack, inject('clusterBuilds'));
  symlinkSync(resolve('lib'), join(installation.folder, 'lib'));
  await addBuild(stack);
});

closeAfterTests(() => stack);

it('leads with Helm and one values file from nothing to the first CI job, and can be run again', async () => {
  const folder = await init();
  const [repository, tag] = installation.image.split(/:(?=[^:/]*$)/);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'values.yaml'), stringify({ image: { repository, tag } }));

  const printed = await installAndRun('Helm');

  expect(printed).toContain('STATUS: deployed');
  expect(printed).toContain('application.argoproj.io/runners created');
  expect(await installation.block('at-once')).toContain('application.argoproj.io/runners unchanged');
  await oneJobSucceeds(stack);
});

it('gives the sidecar the image of the values', async () => {
  const path = '{.spec.template.spec.containers[?(@.name=="gitea-runners")].image}';

  expect(await kubectl('get', '-n', 'argocd', 'deployment', 'argocd-repo-server', '-o', `jsonpath=${path}`)).toBe(
    installation.image,
  );
});

it('leads with plain YAML to the first CI job, after Helm has left', async () => {
  await installation.block('helm-uninstall');
  await installation.block('helm-remove');
  await init();

  const printed = await installAndRun('plain YAML');

  expect(printed).toContain('deployment.apps/gitea-runners serverside-applied');
});
