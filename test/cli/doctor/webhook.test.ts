/** Tests the check of webhooks: one leads to `serve`, and its deliveries arrive. */
import { describe, expect, it } from 'vitest';
import type { ScopeSeen } from '../../../src/cli/doctor/gitea-seen.ts';
import { webhook } from '../../../src/cli/doctor/groups.ts';
import type { Installation } from '../../../src/cli/doctor/installation.ts';
import { type Deliveries, deliveriesIn } from '../../../src/cli/doctor/installation.ts';
import type { Hook } from '../../../src/clients/gitea/set-up.ts';
import { Failure } from '../../../src/shared/failure.ts';

const NOON = Date.parse('2026-11-20T12:00:00Z');
const URL = 'http://gitea-runners.argocd.svc/webhook';
const GOOD: Hook = { url: URL, isActive: true, hasJobEvents: true, contentType: 'json' };

/** Seconds after noon at which the last delivery came, by result. */
const came = (last: Readonly<Record<string, number>>, started = 0): Deliveries => ({
  sinceMs: NOON + started * 1000,
  lastMs: new Map(Object.entries(last).map(([result, seconds]) => [result, NOON + seconds * 1000])),
});

interface Seen {
  readonly hooks?: readonly Partial<Hook>[] | Failure | undefined;
  readonly deliveries?: Deliveries | string;
  /** Seconds after noon at which the last CI job ended. */
  readonly ended?: number;
  readonly secret?: string;
}

function judge({ hooks = [{}], deliveries = came({ accepted: 10 }), ended, secret = 'x' }: Seen) {
  const job = { id: 1, status: 'completed', completedAtMs: NOON + (ended ?? 0) * 1000 };
  const scope = {
    name: 'org acme',
    hooks: hooks instanceof Failure ? hooks : hooks.map((hook) => ({ ...GOOD, ...hook })),
    look: { jobs: ended === undefined ? [] : [job], runners: [] },
  } as unknown as ScopeSeen;
  const seen = {
    argocdNamespace: 'argocd',
    deliveries,
    serveSecret: { value: { data: { 'webhook-secret': Buffer.from(secret).toString('base64') } } },
  } as unknown as Installation;
  return webhook(scope, seen);
}

it.each<readonly [string, Seen, string, string]>([
  [
    'a delivery has come',
    {},
    'good',
    'to http://gitea-runners.argocd.svc/webhook; the last delivery came at 2026-11-20T12:00:10Z',
  ],
  [
    'it came to the replica that does not lead',
    { deliveries: came({ forwarded: 10 }), ended: 12 },
    'good',
    'the last delivery came at',
  ],
  ['a job ended a moment later', { ended: 24 }, 'good', 'the last delivery came at'],
  [
    'a job ended clearly later',
    { ended: 26 },
    'bad',
    'the last delivery came at 2026-11-20T12:00:10Z, and a CI job has ended at 2026-11-20T12:00:26Z',
  ],
  ['none came and a job ended', { deliveries: came({}), ended: 20 }, 'bad', 'no delivery has come since serve started'],
  ['none came and the job ended before', { deliveries: came({}, 60), ended: 20 }, 'unknown', 'cannot be told'],
  ['none came and nothing ran', { deliveries: came({}) }, 'unknown', 'cannot be told'],
  [
    'its secret is wrong',
    { deliveries: came({ accepted: 10, signature: 11 }) },
    'bad',
    'its secret is another one than that of serve',
  ],
  [
    'its secret was wrong before',
    { deliveries: came({ accepted: 10, signature: 9 }) },
    'good',
    'the last delivery came at',
  ],
  [
    'it has no secret',
    { deliveries: came({ unsigned: 9 }) },
    'bad',
    'serve refused the last delivery: it has no secret',
  ],
  [
    'a stranger asked for another path',
    { deliveries: came({ accepted: 10, path: 11 }) },
    'good',
    'the last delivery came at',
  ],
  [
    'the metrics cannot be read',
    { deliveries: 'no right (403)' },
    'unknown',
    'whether it delivers is not known: no right (403)',
  ],
  [
    'Gitea does not show webhooks',
    { hooks: new Failure('GR-GITEA-02', 1, 'forbidden', 'forbidden') },
    'unknown',
    'could not look: GR-GITEA-02 forbidden',
  ],
  ['serve has no secret', { secret: ' \n' }, 'unknown', 'serve has no webhook secret'],
  ['there is none', { hooks: [], deliveries: came({}) }, 'bad', 'there is none'],
  [
    'there is none here, and deliveries come',
    { hooks: [], ended: 12 },
    'unknown',
    'there is none here: serve hears of a CI job only when it looks. Yet the last delivery came',
  ],
  ['there is none here any more', { hooks: [], ended: 60 }, 'bad', 'there is none'],
  ['it is off, whatever came before', { hooks: [{ isActive: false }] }, 'bad', 'but it is switched off'],
  ['it is off', { hooks: [{ isActive: false }], deliveries: came({}) }, 'bad', 'but it is switched off'],
  [
    'it has other events',
    { hooks: [{ hasJobEvents: false }], deliveries: came({}) },
    'bad',
    'it has not the event Workflow Job',
  ],
  [
    'it sends forms',
    { hooks: [{ contentType: 'form' }], deliveries: came({}) },
    'bad',
    'its content type is not application/json',
  ],
  ['one of two is good', { hooks: [{ isActive: false }, {}] }, 'good', 'the last delivery came at'],
])('a webhook is judged by what was seen: %s', (_, seen, is, text) => {
  const found = judge(seen);

  expect(found).toMatchObject({ is, text: expect.stringContaining(text) });
  expect(found?.fix === undefined).toBe(is === 'good');
});

describe('an address', () => {
  it.each([
    URL,
    'http://gitea-runners.argocd/webhook',
    'http://gitea-runners.argocd.svc.cluster.local:80/webhook/',
    'http://10.0.0.7/webhook',
    'https://ci.example.com/webhook',
  ])('%s may lead to serve', (url) => {
    expect(judge({ hooks: [{ url }] })?.is).toBe('good');
  });

  it.each([
    'http://gitea-runners.argocd.svc/',
    'http://gitea-runners.other.svc/webhook',
    'http://argocd-server.argocd.svc/api/webhook',
    'http://10.0.0.7/hook',
    'nonsense',
  ])('%s does not lead there', (url) => {
    const found = judge({ hooks: [{ url }], deliveries: came({}) });

    expect(found).toMatchObject({ is: 'bad', text: expect.stringContaining('none here leads to serve') });
  });

  it('an address is shown without what may be secret', () => {
    const found = judge({ hooks: [{ url: 'http://user:pass@10.0.0.7/elsewhere?key=hidden' }], deliveries: came({}) });

    expect(found?.text).toContain('http://10.0.0.7/elsewhere');
    expect(found?.text).not.toMatch(/pass|hidden/);
  });
});

describe('what metrics tell', () => {
  const last = 'gitea_runners_webhook_last_delivery_timestamp_seconds';

  it('the answer of the metrics is that of all pods: the latest delivery of each result, and since when all of them count', () => {
    const texts = [
      `process_start_time_seconds 100\n${last}{result="accepted"} 150.5\n`,
      `process_start_time_seconds 120\n${last}{result="accepted"} 130\n${last}{result="signature"} 140\n`,
    ];

    expect(deliveriesIn(texts)).toEqual({
      sinceMs: 120_000,
      lastMs: new Map([
        ['accepted', 150_500],
        ['signature', 140_000],
      ]),
    });
  });

  it('the answer of the metrics is nothing when one of them does not say when it started', () => {
    expect(deliveriesIn(['process_start_time_seconds 100\n', 'up 1\n'])).toBe('its metrics do not say when it started');
  });
});
