/** Law V86 (docs/spec.md) on the page: a group that is suspended in the cluster. */
import { expect, it } from 'vitest';
import { FRESH_MS } from '../../src/page/look.ts';
import { until } from '../serve/rig.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { startPage } from './start-page.ts';

it('the page says how a suspension in the cluster ends, and not who made it', async () => {
  const clock = new SkippingClock();
  const { signIn, annotate, got, simulator } = await startPage({ clock });
  annotate({ 'gitea.bpg.pw/suspended': 'by canary-person' });
  const [job] = simulator.gitea.push('acme/web', { jobs: [{ key: 'held', runsOn: ['linux'] }] }).jobs;
  const anna = await signIn('anna');
  let page = '';

  await until('the job is held', async () => {
    clock.leaveOut(FRESH_MS);
    page = (await got(anna, `/jobs/${job?.id}`)).text;
    return page.includes('is suspended');
  });

  expect(page).toContain('annotate runnergroup ci gitea.bpg.pw/suspended-');
  expect(page).not.toContain('canary-person');
  expect(page).not.toContain('spec.suspend');
});
