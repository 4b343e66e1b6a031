import { describe, expect, it } from 'vitest';
import { isAllowedUrl, readAllowedUrls } from '../../../src/tasks/notify/allowed-urls.ts';

const allowed = readAllowedUrls('https://hooks.example.com/ci, http://10.0.0.1:8080', { name: '--notify-urls' });

describe('an address for webhooks', () => {
  it.each([
    'https://hooks.example.com/ci',
    'https://hooks.example.com/ci/',
    'https://hooks.example.com/ci/team?x=1',
    'https://HOOKS.example.com:443/ci/team',
    'http://10.0.0.1:8080/anything',
  ])('%s is allowed', (url) => {
    expect(isAllowedUrl(url, allowed)).toBe(true);
  });

  it.each([
    ['another scheme', 'http://hooks.example.com/ci'],
    ['another port', 'https://hooks.example.com:8443/ci'],
    ['a longer host', 'https://hooks.example.com.evil.example/ci'],
    ['a login that looks like the host', 'https://hooks.example.com@evil.example/ci'],
    ['a login', 'https://user:pw@hooks.example.com/ci'],
    ['a longer segment', 'https://hooks.example.com/circus'],
    ['the path above', 'https://hooks.example.com/'],
    ['dot segments', 'https://hooks.example.com/ci/../admin'],
    ['encoded dot segments', 'https://hooks.example.com/ci/%2e%2e/admin'],
    ['an encoded slash', 'https://hooks.example.com/ci/..%2Fadmin'],
    ["dot segments of Java's servers", 'https://hooks.example.com/ci/..;x/admin'],
    ['dot segments that are encoded twice', 'https://hooks.example.com/ci/%252e%252e/admin'],
    ['an encoded slash with a line break in it', 'https://hooks.example.com/ci/..%2\nfadmin'],
    ['a backslash', 'https://hooks.example.com/ci/..\\admin'],
    ['a double slash', 'https://hooks.example.com/ci//evil.example'],
    ['an address in other digits', 'http://167772161:8080@evil/'],
    ['the metadata service', 'http://169.254.169.254/latest'],
    ['a file', 'file:///etc/passwd'],
    ['no URL', 'hooks'],
    ['nothing', ''],
  ])('an address for webhooks with %s is not allowed: %s', (_, url) => {
    expect(isAllowedUrl(url, allowed)).toBe(false);
  });

  it('an address for webhooks is never allowed when the administrator names none', () => {
    expect(isAllowedUrl('https://hooks.example.com/ci', [])).toBe(false);
    expect(readAllowedUrls(' , ', { name: '--notify-urls' })).toEqual([]);
  });

  it.each(['hooks.example.com', 'ftp://hooks.example.com', 'https://a:b@hooks.example.com', 'https://h/?x=1'])(
    'a prefix of addresses for webhooks must be a plain URL: %s',
    (text) => {
      expect(() => readAllowedUrls(text, { name: '--notify-urls' })).toThrow(/^read --notify-urls: each entry must/);
    },
  );
});
