/** `serve` between servers whose clocks differ: it says so once, and shows it. */
import { expect, it } from 'vitest';
import { startRig, until } from './rig.ts';

const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };

it('tells of clocks that differ, once in its log and as a metric', async () => {
  const rig = await startRig();
  rig.simulator.intercept((_, response) => {
    response.setHeader('Date', new Date(Date.now() + 60_000).toUTCString());
    return false;
  });
  const replica = await rig.start({ pollMs: 20 });
  rig.simulator.gitea.push('acme/web', linux);
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  await until('ten looks', async () => (await replica.metric('gitea_runners_looks_total')) >= 10);

  const skew = await replica.metric('gitea_runners_clock_skew_seconds');
  expect(skew).toBeGreaterThanOrEqual(-61);
  expect(skew).toBeLessThanOrEqual(-59);
  expect(replica.log.filter(({ code }) => code === 'GR-CLOCK-01')).toEqual([
    expect.objectContaining({
      error: expect.stringMatching(/^compare clocks: that of Kubernetes \(http:\/\/127\.0\.0\.1:\d+\) is \d+ s behind/),
    }),
  ]);
});

it('says nothing of clocks that are equal', async () => {
  const rig = await startRig();
  const replica = await rig.start({ pollMs: 20 });
  await until('ten looks', async () => (await replica.metric('gitea_runners_looks_total')) >= 10);

  expect(Math.abs(await replica.metric('gitea_runners_clock_skew_seconds'))).toBeLessThanOrEqual(1);
  expect(replica.log.filter(({ code }) => String(code).startsWith('GR-CLOCK'))).toEqual([]);
});
