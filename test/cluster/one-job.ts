import { expect } from 'vitest';
import { waitUntil } from '../servers/process.ts';
import { workflow } from '../servers/workflows.ts';
import { ORG } from './install.ts';
import type { Stack } from './stack/stack.ts';

/** A repository whose CI job of so many seconds a person can start. */
export async function addBuild({ gitea: { admin } }: Stack, seconds = 1): Promise<void> {
  await admin.createRepo('web', ORG);
  await admin.addWorkflow(`${ORG}/web`, 'build.yml', workflow({ build: { runsOn: 'linux', seconds } }));
}

/** One CI job, from its start by a person to its success. */
export async function oneJobSucceeds({ gitea: { admin } }: Stack): Promise<void> {
  const done = () => admin.jobs(`/orgs/${ORG}`, 'completed');
  const before = (await done()).length;
  await admin.dispatch(`${ORG}/web`, 'build.yml');
  await waitUntil('the CI job ends', async () => (await done()).length > before, { timeoutMs: 120_000 });
  expect((await done()).at(-1)).toMatchObject({ conclusion: 'success' });
}
