import { expect, inject } from 'vitest';
import { waitUntil } from '../servers/process.ts';
import { workflow } from '../servers/workflows.ts';
import { exampleGroup, GROUPS_REPOSITORY, Installation, type InstallOptions, ORG, refresh } from './install.ts';
import { type Stack, startStack } from './stack/stack.ts';

/** Start of the tests of an installation. */
export interface Begun {
  readonly stack: Stack;
  readonly installation: Installation;
  readonly kubectl: (...args: readonly string[]) => Promise<string>;
  readonly say: (line: string) => void;
}

/**
 * Starts a stack, the reader's shell in it, and a repository with a CI job of so many seconds that a person can start.
 * @param name prefix of each line
 */
export async function begin(name: string, seconds = 1, options: InstallOptions = {}): Promise<Begun> {
  const say = (line: string): void => void process.stdout.write(`${name}: ${line}\n`);
  const stack = await startStack(inject('clusterBuilds'), say);
  const installation = await Installation.prepare(stack, inject('clusterBuilds'), options);
  const { admin } = stack.gitea;
  await admin.createRepo('web', ORG);
  await admin.addWorkflow(`${ORG}/web`, 'build.yml', workflow({ build: { runsOn: 'linux', seconds } }));
  return { stack, installation, kubectl: (...args) => stack.kubernetes.kubectl(args), say };
}

/** Puts the example's group into git, and has Argo CD look. */
export async function addGroup(stack: Stack): Promise<void> {
  await stack.gitea.admin.putFile(GROUPS_REPOSITORY, 'ci.yaml', exampleGroup(stack));
  await refresh(stack);
}

export async function groupIsReady({ kubernetes }: Stack): Promise<void> {
  for (const what of ['create', 'condition=Ready'])
    await kubernetes.kubectl(['wait', '-n', 'runners', 'runnergroup/ci', `--for=${what}`, '--timeout=180s']);
}

/** Runs one CI job, from its start by a person to its success. */
export async function oneJobSucceeds({ gitea: { admin } }: Stack): Promise<void> {
  const done = () => admin.jobs(`/orgs/${ORG}`, 'completed');
  const before = (await done()).length;
  await admin.dispatch(`${ORG}/web`, 'build.yml');
  await waitUntil('the CI job ends', async () => (await done()).length > before, { timeoutMs: 120_000 });
  expect((await done()).at(-1)).toMatchObject({ conclusion: 'success' });
}
