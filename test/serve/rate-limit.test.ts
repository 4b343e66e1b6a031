/** `serve` and a Gitea that limits requests: what the group says, and that nobody sends more. */
import { expect, it } from 'vitest';
import { delivery, payload } from './deliveries.ts';
import { startRig, until } from './rig.ts';

const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };

it('serve says RateLimited, and neither looks nor wakes before the time, whatever webhooks come', async () => {
  const rig = await startRig();
  const replica = await rig.start();
  await until('a good look', () => rig.conditions()['Ready'] === 'True Serving');
  rig.fail(429, { 'retry-after': '120' });
  await until('the limit', () => rig.conditions()['Ready'] === 'False RateLimited');
  const asked = rig.simulator.requests.length;

  for (let jobId = 1; jobId <= 20; jobId += 1) {
    const { headers, body } = delivery(payload({ id: jobId }));
    await fetch(`http://127.0.0.1:${replica.webhooks}/webhook`, { method: 'POST', headers, body });
  }
  rig.simulator.gitea.push('acme/web', linux);
  // A look or a wake would come within 100 ms.
  await new Promise((resolve) => setTimeout(resolve, 1_000));

  expect(rig.simulator.requests.length).toBe(asked);
  expect(rig.conditions()['GiteaReachable']).toBe('False RateLimited');
  expect(rig.argocd.lines().filter((line) => line.includes('refresh'))).toEqual([]);
  expect(await replica.metric('gitea_runners_gitea_failing')).toBe(1);
});
