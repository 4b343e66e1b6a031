/** Writes the pictures of the page in docs/img: `npm run page-pictures`. A simulated Gitea, so that there is something to see. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { runnerName } from '../../src/planner/names.ts';
import { podOf, startPage } from '../page/start-page.ts';
import { until } from '../serve/rig.ts';
import { startChromium } from './page-rig.ts';

const HOUR_MS = 3_600_000;
const LINUX = { runsOn: ['linux'] };

it('pictures of the page', async () => {
  // Gitea's past is made in a moment: its own times are in the past.
  let agoMs = 11 * HOUR_MS;
  const { cluster, page, provider, simulator } = await startPage(
    { logUrl: 'https://logs.example.com/?pod={pod}' },
    { now: () => Date.now() - agoMs },
  );
  const { gitea } = simulator;
  for (const repository of ['acme/shop', 'acme/docs']) gitea.addRepo(repository);
  const startRunner = (name: string) =>
    gitea.register({ name, labels: ['linux'], scope: { kind: 'owner', owner: 'acme' }, ephemeral: true });
  const named = { namespace: 'runners', name: 'ci', origin: simulator.url, templateHash: 'past' };
  for (let index = 0; agoMs > HOUR_MS / 2; index += 1) {
    const [job] = gitea.push('acme/shop', { jobs: [{ key: 'build', name: `build ${index + 1}`, ...LINUX }] }).jobs;
    agoMs -= (5 + ((index * 37) % 90)) * 1_000;
    const { id } = startRunner(runnerName('', named, { id: job?.id ?? 0, attempt: 1 }, 0));
    gitea.poll(id);
    agoMs -= 240_000;
    gitea.finish(id, index % 9 === 4 ? 'failure' : 'success');
    agoMs -= (((index * 53) % 50) + 1) * 60_000;
  }
  agoMs = 180_000;
  const jobs = ['lint', 'unit tests', 'build', 'browser tests', 'package', 'publish', 'deploy preview'];
  gitea.push('acme/shop', { jobs: jobs.map((name, index) => ({ key: `j${index}`, name, ...LINUX })) });
  gitea.push('acme/docs', { jobs: [{ key: 'site', name: 'build the site', runsOn: ['lunix'] }] });
  await until('Jobs are there', () => cluster.all('jobs').length >= 5);
  for (const [index, { metadata }] of cluster.all('jobs').entries()) {
    cluster.put('pods', podOf(metadata, `node-${(index % 2) + 1}`));
    gitea.poll(startRunner(metadata.name).id);
  }
  agoMs = 0;

  const browser = await startChromium();
  onTestFinished(() => browser.close());
  provider.user = 'anna';
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 900, height: 700 } });
    const tab = await context.newPage();
    await tab.goto(`${page}/sign-in`);
    await until('the runners are seen', async () => {
      await sleep(1_000);
      await tab.goto(page);
      return (await tab.locator('li.running').count()) >= 5;
    });
    await tab.screenshot({ path: `docs/img/page-jobs-${colorScheme}.png` });
    await tab.setViewportSize({ width: 900, height: 1100 });
    await tab.goto(`${page}/groups/runners/ci`);
    await tab.screenshot({ path: `docs/img/page-group-${colorScheme}.png` });
    expect(await tab.locator('rect.median').count()).toBe(12);
    await context.close();
  }
});
