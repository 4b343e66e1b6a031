/** `serve` between servers whose clocks differ: it says so once, and shows it. */

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { delivery, payload } from './deliveries.ts';
import { startRig, until } from './rig.ts';

/** `Date.now` as it is at each call. */
const CLOCK = { clock: { ...systemClock, now: () => Date.now() } };
const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };

it('serve reports clocks that differ, once in its log and as a metric', async () => {
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

describe('when the clock of its machine is set back by an hour', () => {
  /** Sets the clock back from now on. */
  const setBack = (): void => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
  };

  it('a webhook still leads to a look and to a runner', async () => {
    const rig = await startRig();
    const replica = await rig.start({ ...CLOCK, pollMs: 60_000 });
    await until('a look', async () => (await replica.metric('gitea_runners_looks_total')) === 1);
    setBack();
    const [job] = rig.simulator.gitea.push('acme/web', linux).jobs;
    const { headers, body } = delivery(payload({ id: job?.id ?? 0 }));
    await fetch(`http://127.0.0.1:${replica.webhooks}/webhook`, { method: 'POST', headers, body });

    await soon('a Job', () => rig.cluster.all('jobs').length === 1);
  });

  it('a status is still written', async () => {
    const rig = await startRig();
    await rig.start(CLOCK);
    await until('a status', () => rig.conditions()['Ready'] === 'True Serving');
    setBack();
    rig.fail(500);

    await soon('the failure', () => rig.conditions()['GiteaReachable'] === 'False ServerError');
  });
});

/** Waits a short time: much less than until the next poll, or than the hour after which the clock has caught up. */
const soon = (what: string, check: () => boolean) => until(what, check, 15);
