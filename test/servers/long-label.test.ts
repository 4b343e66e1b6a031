/** CI jobs whose labels are longer together than an answer may be, on a real Gitea: jobs of others get their runners. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { GITEA_VERSIONS } from './build.ts';
import { generate, writeGroups } from './generate.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { readManifests } from './manifest.ts';
import { Playground, waitUntil } from './process.ts';
import { workflow } from './workflows.ts';

/** Gitea reads 1 MiB of a workflow (seen with 1.26.0 and 1.27.3). */
const LABEL = 'x'.repeat(1_000_000);
/** An answer may have 4 MiB. */
const RUNS = 6;

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let playground: Playground;
  let gitea: Gitea;

  beforeAll(async () => {
    playground = new Playground(`long-label-${version}`);
    gitea = await startGitea(version, inject('builds').gitea[version], playground);
  });

  afterAll(() => playground.close(false));

  it('takes such labels, and they stop nobody else', async () => {
    const { admin, url } = gitea;
    await admin.createOrg('acme');
    await admin.createRepo('web', 'acme');
    await admin.addWorkflow('acme/web', 'long.yml', workflow({ job: { runsOn: LABEL, seconds: 1 } }));
    await admin.addWorkflow('acme/web', 'good.yml', workflow({ job: { runsOn: 'linux', seconds: 1 } }));
    for (let run = 0; run < RUNS; run += 1) await admin.dispatch('acme/web', 'long.yml');
    await admin.dispatch('acme/web', 'good.yml');
    const areQueued = async (): Promise<boolean> => (await admin.jobs('/orgs/acme', 'queued')).length === RUNS + 1;
    await waitUntil('all CI jobs are queued', areQueued, { timeoutMs: 60_000, running: gitea.running });
    const folder = playground.makeFolder('groups');
    writeGroups(folder, url, [
      { name: 'ci', scope: { scope: 'org', org: 'acme' }, labels: ['linux:host'], cap: 5, secret: 'runner' },
    ]);

    const { exit, stdout, stderr } = await generate(folder, url, admin.token);

    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(readManifests(stdout).map(({ kind }) => kind)).toEqual(['Job']);
  });
});
