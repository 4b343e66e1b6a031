import { expect, test } from 'vitest';
import { ConnectionTurns } from '../../../src/clients/http/http-client.ts';
import { proxyFor } from '../../../src/clients/http/proxy.ts';
import { retryAfterMs } from '../../../src/clients/http/retry-after.ts';

const env = { HTTPS_PROXY: 'http://up:1', HTTP_PROXY: 'http://plain:2' };
const pick = (url: string, more: Record<string, string> = {}) => proxyFor(new URL(url), { ...env, ...more })?.host;

test('proxyFor takes the variable of the scheme, lower case first', () => {
  expect([pick('https://g/'), pick('http://g/'), pick('https://g/', { https_proxy: 'low:3' })]).toEqual([
    'up:1',
    'plain:2',
    'low:3',
  ]);
});

test('proxyFor takes none of the other scheme, and an empty value as none', () => {
  expect(proxyFor(new URL('https://g/'), { HTTP_PROXY: 'http://plain:2' })).toBeUndefined();
  expect(pick('https://g/', { https_proxy: '' })).toBeUndefined();
});

test.each([
  ['https://git.example.com/', 'example.com', false],
  ['https://git.example.com/', '.example.com', false],
  ['https://git.example.com/', '*.example.com', false],
  ['https://git.example.com/', 'other, GIT.example.com', false],
  ['https://git.example.com/', 'git.example.com:443', false],
  ['https://git.example.com/', 'git.example.com:8443', true],
  ['https://notexample.com/', 'example.com', true],
  ['https://10.1.2.3/', '10.0.0.0/8', false],
  ['https://11.1.2.3/', '10.0.0.0/8', true],
  ['https://10.1.2.3/', '10.0.0.0/99', true],
  ['https://git.example.com/', '10.0.0.0/8', true],
  ['https://[fd00::1]/', 'fd00::/8', false],
  ['https://[fd00::1]:8443/', '[fd00::1]:8443', false],
  ['https://[fd00::1]/', 'fd00::1', false],
  ['https://1.2.3.4/', '3.4', true],
  ['https://anything/', '*', false],
])('a request to %s with NO_PROXY "%s" uses a proxy: %s', (url, noProxy, used) => {
  expect(pick(url, { NO_PROXY: noProxy }) !== undefined).toBe(used);
});

const now = Date.parse('2026-08-01T10:00:00Z');

test.each([
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7000],
  ['Sat, 01 Aug 2026 10:00:30 GMT', 30_000],
  ['Sat, 01 Aug 2026 09:00:00 GMT', 0],
  ['-1', undefined],
  ['7.5', undefined],
  ['1e3', undefined],
  ['99999999999', undefined],
  ['soon', undefined],
  ['Sunny', undefined],
  ['', undefined],
  [undefined, undefined],
])('retryAfterMs reads %j as %s', (header, wanted) => {
  expect(retryAfterMs(header, now)).toBe(wanted);
});

test('ConnectionTurns frees the place of work that failed', async () => {
  const turns = new ConnectionTurns(1);
  const signal = new AbortController().signal;

  await expect(turns.pass(signal, '', () => Promise.reject(new Error('no')))).rejects.toThrow('no');

  expect(await turns.pass(signal, '', async () => 'in')).toBe('in');
});

test('ConnectionTurns does not start work that waited past the end', async () => {
  const turns = new ConnectionTurns(1);
  const controller = new AbortController();
  let release: () => void = () => undefined;
  const first = turns.pass(controller.signal, '', () => new Promise<void>((resolve) => (release = resolve)));
  let started = false;
  const second = turns.pass(controller.signal, '', async () => {
    started = true;
  });

  controller.abort();
  release();

  await first;
  await expect(second).rejects.toThrow();
  expect(started).toBe(false);
});
