import { expect, it } from 'vitest';
import type { ServeEvent } from '../../src/serve/planning/events.ts';
import { Failure } from '../../src/shared/failure.ts';
import { type Log, logTo } from '../../src/telemetry/log.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { verdictOf } from '../support/verdict.ts';

/** Lines as `<level> <message>`, and the clock that the log reads. */
function openTestLog() {
  const lines: string[] = [];
  const clock = { nowMs: 0 };
  const write = (level: string) => (fields: unknown, message?: string) => {
    lines.push(`${level} ${typeof fields === 'string' ? fields : message}`);
  };
  const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  return { lines, clock, tell: logTo(log, () => clock.nowMs) };
}

const dropped = (listener: 'webhooks' | 'metrics') => ({ is: 'connection-dropped', listener }) as const;
const late = (origin: string) => ({ is: 'visit-waited', origin, ms: 9_000, lateScopes: 60 }) as const;
const differ = (...origins: readonly string[]): ServeEvent => {
  const groups = origins.map((giteaUrl) => ({ live: { group: runnerGroup({ giteaUrl }) } }));
  const clockWarnings = [{ code: 'GR-CLOCK-01', message: 'compare clocks: …' }] as const;
  return { is: 'planned', verdict: verdictOf({ clockWarnings, groups: groups as never }), ms: 1 };
};

it.each<[string, ServeEvent, ServeEvent, number]>([
  ['dropped connections, by port', dropped('webhooks'), dropped('metrics'), 60_000],
  ['looks that come late, by Gitea', late('https://a'), late('https://b'), 60_000],
  ['clocks, by servers', differ('https://a'), differ('https://a', 'https://b'), 3_600_000],
])('warns of %s, and not again for a time', (_, first, other, pauseMs) => {
  const { clock, lines, tell } = openTestLog();
  for (const event of [first, first, other]) tell(event);
  clock.nowMs = pauseMs - 1;
  tell(first);
  expect(lines).toHaveLength(2);

  clock.nowMs = pauseMs;
  tell(first);
  expect(lines).toHaveLength(3);
});

it('remembers 1,000 warnings at most: an addressee can make each one differ by its Retry-After', () => {
  const { lines, tell } = openTestLog();
  const retried = (message: string) =>
    tell({
      is: 'notified',
      to: 'webhook',
      result: 'retried',
      failure: new Failure('GR-HTTP-10', 1, message, 'told-to-wait'),
    });
  retried('wait 1 s');
  retried('wait 1 s');
  expect(lines).toHaveLength(1);

  for (let seconds = 2; seconds <= 1_001; seconds += 1) retried(`wait ${seconds} s`);
  expect(lines).toHaveLength(1_001);
  // It is forgotten, so nothing of it is in memory.
  retried('wait 1 s');
  expect(lines).toHaveLength(1_002);
});

it('the log of a wake says why the sync before it has failed, and does not call that an error of the wake', () => {
  const told: unknown[] = [];
  const write = (fields: unknown): void => void told.push(fields);
  const outcome = { is: 'synced', message: 'Job.batch "ci-1" is invalid' } as const;

  const tell = logTo({ debug: write, info: write, warn: write, error: write });
  tell({ is: 'woken', application: 'argocd/ci', outcome, ms: 1, waitedMs: 0, steps: [] });

  expect(told).toEqual([{ application: 'argocd/ci', outcome: 'synced', ms: 1, failedSync: outcome.message }]);
});

it.each<[ServeEvent, readonly string[]]>([
  [
    { is: 'woken', application: 'argocd/ci', outcome: { is: 'synced' }, ms: 1, waitedMs: 0, steps: [] },
    ['info woke Argo CD'],
  ],
  [
    { is: 'woken', application: 'argocd/ci', outcome: { is: 'busy' }, ms: 1, waitedMs: 0, steps: [] },
    ['info Argo CD is busy'],
  ],
  [
    { is: 'woken', application: 'argocd/ci', outcome: { is: 'failed', message: 'x' }, ms: 1, waitedMs: 0, steps: [] },
    ['warn could not wake Argo CD'],
  ],
  [
    { is: 'looked', origin: 'https://a', target: 'look 1', url: 'https://gitea.example.com', beganMs: 0, endedMs: 1 },
    [],
  ],
  [{ is: 'not-leading' }, ['info not leading any more']],
  // A sweep.
  [{ is: 'visit-waited', origin: 'https://a', ms: 9_000 }, []],
  [{ is: 'plan-shown', application: 'argocd/ci', ms: 1 }, []],
])('the event %j is logged as %j', (event, expected) => {
  const { lines, tell } = openTestLog();

  tell(event);

  expect(lines).toEqual(expected);
});
