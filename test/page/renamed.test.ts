/** Law V99 (docs/spec.md) on the page: who owns an organization still sees its group after a rename, and who takes the old name does not. */
import { expect, it } from 'vitest';
import { FRESH_MS } from '../../src/page/look.ts';
import { until } from '../serve/rig.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { startPage } from './start-page.ts';

it('the page shows a group to owners of the organization under its new name, and not to the owner of the old name', async () => {
  const clock = new SkippingClock();
  const { signIn, got, simulator } = await startPage({ clock });
  const { gitea } = simulator;
  gitea.addUser('eve');
  const [anna, eve] = [await signIn('anna'), await signIn('eve')];
  expect((await got(anna, '/groups')).text).toContain('runners/ci');

  gitea.renameOwner('acme', 'acme-inc');
  const [job] = gitea.push('acme-inc/web', { jobs: [{ key: 'after-the-rename', runsOn: ['linux'] }] }).jobs;

  await until('the job under its new name', async () => {
    clock.leaveOut(FRESH_MS);
    return (await got(anna, '/')).text.includes('after-the-rename');
  });
  expect((await got(anna, `/jobs/${job?.id}`)).text).toContain('acme-inc/web');
  expect((await got(anna, '/groups')).text).toContain('runners/ci');
  expect((await got(eve, '/groups')).text).not.toContain('runners/ci');

  gitea.addOrg('acme', { owners: ['eve'] });
  expect((await got(eve, '/groups')).text).not.toContain('runners/ci');
});
