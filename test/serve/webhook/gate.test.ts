import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WorkQueue } from '../../../src/serve/queue.ts';
import { concerns, WebhookGate, type WebhookGateOptions } from '../../../src/serve/webhook/gate.ts';
import { secretFiles } from '../../../src/serve/webhook/secrets.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { delivery, payload, RECORDED, recorded, SECRET, sign } from '../deliveries.ts';

const HOUR_MS = 3_600_000;

function gate(options: Partial<WebhookGateOptions> = {}): WebhookGate {
  return new WebhookGate({ secrets: () => [SECRET], nowMs: () => 0, ...options });
}

describe('a delivery of a real Gitea', () => {
  it.each(RECORDED)('%s is accepted', (name, event) => {
    const { secret, headers, body } = recorded(name);

    const verdict = gate({ secrets: () => [secret] }).judge({ headers, body: Buffer.from(body) });

    expect(verdict).toEqual({ is: 'accepted', event: { owner: 'acme', repo: 'web', ...event } });
  });

  it('is refused when one byte of it has changed', () => {
    const { secret, headers, body } = recorded('gitea-1.27.3-queued');
    const forged = Buffer.from(body.replace('"id": 1', '"id": 2'));

    expect(gate({ secrets: () => [secret] }).judge({ headers, body: forged })).toMatchObject({
      status: 403,
      reason: 'signature',
    });
  });
});

describe('the signature', () => {
  it.each([
    ['is missing', undefined],
    ['is empty, as without a secret in Gitea', ''],
    ['is too short', 'abcd'],
    ['is too long', `${sign(Buffer.from('x'))}00`],
    ['is no hex', 'z'.repeat(64)],
    ['has another form', `sha256=${sign(Buffer.from('x'))}`],
    ['comes twice', `${sign(Buffer.from('x'))}, ${sign(Buffer.from('x'))}`],
  ])('is refused with 401 when it %s', (_, signature) => {
    expect(gate().judge(delivery(payload(), { 'x-gitea-signature': signature }))).toMatchObject({
      is: 'refused',
      status: 401,
      reason: 'unsigned',
    });
  });

  it('is refused with 403 when it was made with another secret', () => {
    const { body, headers } = delivery();

    const verdict = gate().judge({ body, headers: { ...headers, 'x-gitea-signature': sign(body, 'another') } });

    expect(verdict).toMatchObject({ is: 'refused', status: 403, reason: 'signature' });
  });

  it('may be of any of the secrets, so that they can be exchanged', () => {
    const both = gate({ secrets: () => ['the new one', SECRET] });

    expect(both.judge(delivery()).is).toBe('accepted');
  });

  it('is refused as soon as its secret is no longer valid', () => {
    let secrets = [SECRET];
    const changing = gate({ secrets: () => secrets });
    expect(changing.judge(delivery(payload({ id: 1 }))).is).toBe('accepted');

    secrets = ['the new one'];

    expect(changing.judge(delivery(payload({ id: 2 })))).toMatchObject({ reason: 'signature' });
  });

  it('is of no use while no secret is configured', () => {
    const closed = gate({ secrets: () => [] });

    expect(closed.judge(delivery(payload(), { 'x-gitea-signature': sign(Buffer.from(''), '') }))).toMatchObject({
      status: 404,
      reason: 'no-secret',
    });
  });
});

describe('an event', () => {
  it.each(['push', 'workflow_run', '', undefined, 'workflow_job, push', 'WORKFLOW_JOB'])(
    'named %j is refused, although it is signed',
    (event) => {
      expect(gate().judge(delivery(payload(), { 'x-gitea-event': event }))).toMatchObject({
        status: 422,
        reason: 'event',
      });
    },
  );

  it.each([
    ['no JSON', 'secret words'],
    ['nothing', ''],
    ['half a JSON', '{"action": "que'],
    ['null', 'null'],
    ['a list', '[]'],
    ['100,000 open brackets', '['.repeat(100_000)],
    ['a deep object', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
    ['no job', { action: 'queued', repository: { full_name: 'acme/web' } }],
    ['a job of null', payload({}, { workflow_job: null })],
    ['no repository', payload({}, { repository: undefined })],
    ['an id of text', payload({ id: '7' })],
    ['an id beyond what a number can hold', '{"action":"queued","workflow_job":{"id":1e308}}'],
    ['an id that is not exact', payload({ id: 2 ** 53 })],
    ['a broken id', payload({ id: 7.5 })],
    ['an id below one', payload({ id: 0 })],
    ['an unknown status', payload({ status: 'dancing' })],
    ['an endless name', payload({}, { repository: { full_name: `acme/${'a'.repeat(10_000)}` } })],
    ['a name with a path', payload({}, { repository: { full_name: 'acme/web/../../x' } })],
    ['a name with a control character', payload({}, { repository: { full_name: 'acme/we\u001bb' } })],
    ['a name with a line break', payload({}, { repository: { full_name: 'acme/web\n' } })],
    ['a name without an owner', payload({}, { repository: { full_name: 'web' } })],
    ['fields of a prototype', '{"__proto__": {"action": "queued", "workflow_job": {"id": 7}}, "constructor": 1}'],
  ])('of %s is refused, although it is signed', (_, body) => {
    const verdict = gate().judge(delivery(body));

    expect(verdict).toMatchObject({ is: 'refused', status: 422, reason: 'payload' });
    expect(JSON.stringify(verdict)).not.toContain('secret words');
  });

  it('may hold anything in the fields that are not used', () => {
    const odd = '{"__proto__": {"polluted": true}, "action": "", "sender": null, "organization": [[[]]], "x": 1e999}';
    const body = JSON.stringify(payload()).slice(0, -1).concat(',', odd.slice(1));

    expect(gate().judge(delivery(body)).is).toBe('accepted');
    expect('polluted' in {}).toBe(false);
  });

  it('is refused or well-formed, whatever is signed', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string({ unit: 'binary' })), (body) => {
        const verdict = gate().judge(delivery(body));

        expect(verdict.is === 'refused' && verdict.status).toBe(422);
      }),
    );
  });
});

describe('a replay', () => {
  it('is refused, also under the name of another delivery', () => {
    const once = gate();
    const first = delivery();
    expect(once.judge(first).is).toBe('accepted');

    const again = once.judge(first);
    const renamed = once.judge({ ...first, headers: { ...first.headers, 'x-gitea-delivery': 'another' } });
    const unnamed = once.judge({ ...first, headers: { ...first.headers, 'x-gitea-delivery': '' } });

    expect([again, renamed, unnamed]).toMatchObject(Array(3).fill({ status: 409, reason: 'replayed' }));
  });

  it('is refused when the delivery comes again with another body', () => {
    const once = gate();
    const first = delivery();
    once.judge(first);

    const verdict = once.judge(delivery(payload({ id: 8 }), { 'x-gitea-delivery': first.headers['x-gitea-delivery'] }));

    expect(verdict).toMatchObject({ status: 409, reason: 'replayed' });
  });

  it('is not what a refused delivery leaves behind', () => {
    const once = gate();
    const { headers, body } = delivery();
    once.judge({ body, headers: { ...headers, 'x-gitea-event': 'push' } });

    expect(once.judge({ body, headers }).is).toBe('accepted');
  });

  it('is accepted after the delivery was forgotten because it could not be passed on', () => {
    const once = gate();
    const first = delivery();
    once.judge(first);

    once.forget(first);

    expect(once.judge(first).is).toBe('accepted');
  });

  it('is known for as long as is remembered', () => {
    const beganMs = Date.parse('2026-01-01');
    let nowMs = beganMs;
    const once = gate({ nowMs: () => nowMs, memory: { deliveries: 10, ms: HOUR_MS } });
    const first = delivery();
    once.judge(first);

    nowMs = beganMs + HOUR_MS;
    expect(once.judge(first)).toMatchObject({ reason: 'replayed' });

    nowMs = beganMs + HOUR_MS + 1;
    expect(once.judge(first).is).toBe('accepted');
  });

  it('is known among as many as are remembered, and no longer', () => {
    const once = gate({ memory: { deliveries: 10, ms: HOUR_MS } });
    const deliveries = Array.from({ length: 11 }, (_, index) => delivery(payload({ id: index + 1 })));
    for (const each of deliveries) expect(once.judge(each).is).toBe('accepted');

    const [oldest, ...others] = deliveries;

    expect(others.map((each) => once.judge(each))).toMatchObject(Array(10).fill({ reason: 'replayed' }));
    expect(oldest && once.judge(oldest).is).toBe('accepted');
  });
});

it('a secret that names a Gitea speaks for that Gitea alone, whatever the body says', () => {
  const own = gate({ secrets: () => [`https://B.example.com/git/ ${SECRET}`, 'another'] }).judge(delivery(payload()));
  const any = gate({ secrets: () => [`https://b.example.com ${SECRET}`, SECRET] }).judge(delivery(payload()));
  if (own.is !== 'accepted' || any.is !== 'accepted') throw new Error('refused');
  const at = (url: string) => ({ url, scope: { kind: 'global' } as const });

  expect(concerns(own.event, at('https://b.example.com/git'))).toBe(true);
  expect(concerns(own.event, at('https://a.example.com/git'))).toBe(false);
  expect(concerns(own.event, at('https://b.example.com'))).toBe(false);
  expect(concerns(any.event, at('https://a.example.com'))).toBe(true);
});

it.each([
  ['first \r\n\n  second with words\n', ['first', 'second with words']],
  [' \n', []],
])('reads one secret per line of a file, without the white space around it: %j', async (text, expected) => {
  const file = join(mkdtempSync(join(tmpdir(), 'secrets-')), 'secrets');
  writeFileSync(file, text);
  const queue = new WorkQueue(systemClock);
  onTestFinished(() => queue.close());

  const secrets = await secretFiles(queue, () => undefined)(file);

  expect(secrets()).toEqual(expected);
});
