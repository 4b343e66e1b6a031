/**
 * CI jobs whose labels together are longer than an answer may be, on a real Gitea: jobs of others get their runners.
 */
import { describe, expect, it } from 'vitest';
import { GITEA_VERSIONS } from './build.ts';
import { waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

/** Gitea reads 1 MiB of a workflow (seen with 1.26.0 and 1.27.3). */
const LABEL = 'x'.repeat(1_000_000);
/** An answer may have 4 MiB. */
const RUNS = 6;

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  const files = {
    'long.yml': workflow({ job: { runsOn: LABEL } }),
    'good.yml': workflow({ job: { runsOn: 'linux' } }),
  };
  const groups = [{ name: 'ci', labels: ['linux:host'], cap: 5 }];
  const site = useSite('long-label', { version, repositories: { web: files }, groups });

  it('takes such labels, and they stop nobody else', async () => {
    for (let run = 0; run < RUNS; run += 1) await site.admin.dispatch('acme/web', 'long.yml');
    await site.admin.dispatch('acme/web', 'good.yml');
    const areQueued = async () => (await site.jobsNamed('job', 'queued')).length === RUNS + 1;
    await waitUntil('all CI jobs are queued', areQueued, { running: site.gitea.running });

    expect((await site.manifests()).map(({ kind }) => kind)).toEqual(['Job']);
  });
});
