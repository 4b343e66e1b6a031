import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import { concerns, WebhookGate } from '../../../src/serve/webhook/gate.ts';
import { secretFiles } from '../../../src/serve/webhook/secret-files.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { delivery, payload, SECRET, sign } from '../deliveries.ts';

const DAY_MS = 24 * 3_600_000;

/** Makes a gate. Requests that are refused by their bytes alone: hostile-webhooks.test.ts. */
function gate(secrets = (): readonly string[] => [SECRET], nowMs = () => 0): WebhookGate {
  return new WebhookGate(secrets, nowMs);
}

it('the signature may be of any of the secrets, so that they can be exchanged', () => {
  const both = gate(() => ['the new one', SECRET]);

  expect(both.judge(delivery()).is).toBe('accepted');
});

it('the signature is refused as soon as its secret is no longer valid', () => {
  let secrets = [SECRET];
  const changing = gate(() => secrets);
  expect(changing.judge(delivery(payload({ id: 1 }))).is).toBe('accepted');

  secrets = ['the new one'];

  expect(changing.judge(delivery(payload({ id: 2 })))).toMatchObject({ reason: 'signature' });
});

it('the signature is of no use while no secret is configured', () => {
  const closed = gate(() => []);

  expect(closed.judge(delivery(payload(), { 'x-gitea-signature': sign(Buffer.from(''), '') }))).toMatchObject({
    status: 404,
    reason: 'no-secret',
  });
});

it('an event may hold anything in the fields that are not used', () => {
  const odd = '{"__proto__": {"polluted": true}, "action": "", "sender": null, "organization": [[[]]], "x": 1e999}';
  const body = JSON.stringify(payload()).slice(0, -1).concat(',', odd.slice(1));

  expect(gate().judge(delivery(body)).is).toBe('accepted');
  expect('polluted' in {}).toBe(false);
});

it('an event is refused or well-formed, whatever is signed', () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string({ unit: 'binary' })), (body) => {
      const verdict = gate().judge(delivery(body));

      expect(verdict.is === 'refused' && verdict.status).toBe(422);
    }),
  );
});

it('a replay is not what a refused delivery leaves behind', () => {
  const once = gate();
  const { headers, body } = delivery();
  once.judge({ body, headers: { ...headers, 'x-gitea-event': 'push' } });

  expect(once.judge({ body, headers }).is).toBe('accepted');
});

it('a replay is accepted after the delivery was forgotten because it could not be passed on', () => {
  const once = gate();
  const first = delivery();
  once.judge(first);

  once.forget(first);

  expect(once.judge(first).is).toBe('accepted');
});

it('a replay is known for a day', () => {
  const beganMs = Date.parse('2026-01-01');
  let nowMs = beganMs;
  const once = gate(undefined, () => nowMs);
  const first = delivery();
  once.judge(first);

  nowMs = beganMs + DAY_MS;
  expect(once.judge(first)).toMatchObject({ reason: 'replayed' });

  nowMs = beganMs + DAY_MS + 1;
  expect(once.judge(first).is).toBe('accepted');
});

it('a replay is known among 10,000, and no longer', () => {
  const once = gate();
  const deliveries = Array.from({ length: 10_001 }, (_, index) => delivery(payload({ id: index + 1 })));
  expect(new Set(deliveries.map((each) => once.judge(each).is))).toEqual(new Set(['accepted']));
  const [oldest, second] = deliveries;

  expect(second && once.judge(second)).toMatchObject({ reason: 'replayed' });
  expect(oldest && once.judge(oldest).is).toBe('accepted');
});

it('a secret that names a Gitea speaks for that Gitea alone, whatever the body says', () => {
  const own = gate(() => [`https://B.example.com/git/ ${SECRET}`, 'another']).judge(delivery(payload()));
  const any = gate(() => [`https://b.example.com ${SECRET}`, SECRET]).judge(delivery(payload()));
  if (own.is !== 'accepted' || any.is !== 'accepted') throw new Error('refused');
  const at = (url: string) => ({ url, scope: { kind: 'global' } as const });

  expect(concerns(own.event, at('https://b.example.com/git'))).toBe(true);
  expect(concerns(own.event, at('https://a.example.com/git'))).toBe(false);
  expect(concerns(own.event, at('https://b.example.com'))).toBe(false);
  expect(concerns(any.event, at('https://a.example.com'))).toBe(true);
});

it.each([
  ['acme/web', true],
  ['ACME-Inc/web', true],
  ['acme-in/web', false],
  ['other/acme-inc', false],
])('a webhook of %s concerns org acme, which is called acme-inc now: %s', (full_name, expected) => {
  const verdict = gate().judge(delivery(payload({}, { repository: { full_name } })));
  if (verdict.is !== 'accepted') throw new Error('refused');
  const at = { scope: { kind: 'org', org: 'acme' }, url: 'https://a.example.com' } as const;

  expect(concerns(verdict.event, { ...at, scope: { ...at.scope, now: 'Acme-Inc' } })).toBe(expected);
  expect(concerns(verdict.event, at)).toBe(full_name === 'acme/web');
});

it.each([
  ['first \r\n\n  second with words\n', ['first', 'second with words']],
  [' \n', []],
])('a file of webhook secrets has one per line, without the white space around it: %j', async (text, expected) => {
  const file = join(mkdtempSync(join(tmpdir(), 'secrets-')), 'secrets');
  writeFileSync(file, text);
  const queue = new WorkQueue(systemClock);
  onTestFinished(() => queue.close());

  const secrets = await secretFiles(queue, () => undefined)(file);

  expect(secrets()).toEqual(expected);
});
