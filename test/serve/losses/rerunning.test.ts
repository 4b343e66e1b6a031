/** Law V41 (docs/spec.md): each Gitea has its own pace. Real requests. */

import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { LossBook } from '../../../src/serve/losses/book.ts';
import { rerunAgainAndAgain } from '../../../src/serve/losses/rerunning.ts';
import type { LiveGroup } from '../../../src/serve/planning/live.ts';
import { survey } from '../../../src/serve/planning/survey.ts';
import { Token } from '../../../src/tokens/token.ts';
import { quietGuest } from '../../support/quiet-guest.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { serve } from '../../support/server.ts';
import { startAcme, TOKEN } from '../../support/start-acme.ts';
import { until } from '../rig.ts';

it('a Gitea that never answers does not hold up the lost jobs of another one', async () => {
  const { simulator } = await startAcme();
  simulator.gitea.addToken('anna', ['read:organization', 'write:repository'], TOKEN);
  for (let run = 0; run < 3; run += 1) {
    simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  }
  const { origin: deaf } = await serve(() => undefined);
  const scope = { kind: 'org', org: 'acme' } as const;
  const groups = [deaf, simulator.url].map((giteaUrl, nth): LiveGroup => {
    const name = ['deaf', 'good'][nth] ?? '';
    return {
      key: `runners/${name}`,
      object: { metadata: { namespace: 'runners', name, uid: name } },
      group: runnerGroup({ name, giteaUrl, scope, maxEvictionRetries: 1, evictionRetryDelaySeconds: 0 }),
    };
  });
  const nowMs = Date.now();
  const lostJobs = [1, 2, 3].map((id) => ({
    runner: `gone-${id}`,
    repository: 'acme/web',
    runId: id,
    jobId: id,
    attempt: 1,
    reason: 'Evicted',
    lostAt: new Date(nowMs - 60_000).toISOString(),
  }));
  const told: unknown[] = [];
  const tell = (event: object): void => void told.push({ ...event });
  const book = new LossBook(() => ({ lostJobs }), tell);
  const targets = groups.map(({ key, group }) => {
    const url = group?.giteaUrl ?? '';
    return { key, url, scope, token: new Token(TOKEN, url) };
  });
  const targetOf = new Map(
    groups.flatMap(({ group }, nth) => {
      const target = targets[nth];
      return group && target ? [[group, target] as const] : [];
    }),
  );
  const sight = { beganMs: nowMs, endedMs: nowMs, look: { jobs: [], runners: [] } };
  const sights = new Map(targets.map(({ key }) => [key, sight]));
  book.follow({
    survey: survey({ groups, runners: [], controlPlaneNamespace: 'argocd', nowMs }),
    targetOf,
    sights,
    nowMs,
    hasPod: () => false,
  });
  const ignore = (): void => undefined;
  const guest = quietGuest();
  const ending = new AbortController();
  const running = rerunAgainAndAgain(
    { book, guest, lookout: { timeoutMs: 20_000 }, clock: systemClock, tell, onChange: ignore },
    ending.signal,
  );
  onTestFinished(async () => {
    ending.abort();
    await guest.close();
    await running;
  });
  const beganMs = performance.now();

  const done = () => told.filter((event) => (event as { outcome?: unknown }).outcome === 'superseded');
  await until('all three of the good one', () => done().length === 3);
  expect(performance.now() - beganMs).toBeLessThan(8_000);
});
