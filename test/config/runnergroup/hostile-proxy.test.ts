/** What people who mean harm may write into `proxy` and `caBundle`: nothing of it gets into a pod, no password into a message. */
import { describe, expect, test } from 'vitest';

import { complaintsOf, groupOf } from '../../support/group-files.ts';
import { ACCEPTED } from './proxy-values.ts';

const GOOD = 'http://proxy.example.com:3128';

test.each([
  'http://me:s3cret@proxy:3128',
  'http://s3cret@proxy:3128',
  'http://:s3cret@proxy:3128',
  'http://me:s3cret@proxy',
  '//me:s3cret@proxy:3128',
  'me:s3cret@proxy:3128',
  'HTTP://me:s3cret@proxy:3128',
  'http://me%3As3cret%40proxy:3128',
  'http://proxy:3128@s3cret',
  'http://proxy:3128/s3cret',
  'http://proxy:3128?s3cret',
  'http://proxy:3128#s3cret',
  'http://proxy\\@s3cret:3128',
  'file:///etc/s3cret',
  'file://s3cret:1',
  'socks5://s3cret:1080',
  'javascript:s3cret',
  'http://s3cret:3128\r\nProxy-Authorization: Basic eA==',
  'http://s3cret:3128\n',
  ' http://s3cret:3128',
  'http://s3cret\u0000:3128',
  'http://s3cret\u202e:3128',
  'http://$(GITEA_RUNNER_REGISTRATION_TOKEN).s3cret:3128',
  'http://$s3cret:3128',
  "http://s3cret':3128",
  'http://s3cret:99999',
  'http://s3cret:-1',
  'http://s3cret:',
  'http://[s3cret]:3128',
  'http://[::1:3128',
  'http://:3128',
  `http://${'s3cret'.repeat(100)}:3128`,
])('as a proxy %j is refused, and no message repeats it', async (url) => {
  for (const field of ['http', 'https']) {
    const complaints = await complaintsOf({ proxy: { [field]: url } });

    expect(complaints).toHaveLength(1);
    expect(complaints[0]).toMatch(new RegExp(`^spec\\.proxy\\.${field}: must .* \\[GR-INPUT-05\\]$`));
    expect(complaints.join()).not.toMatch(/s3cret|Basic|REGISTRATION/);
  }
});

test.each([
  '*',
  '*.example.com',
  'a,b',
  'a b',
  'a\nhttp_proxy=http://evil:1',
  "a'b",
  'a"b',
  '$(GITEA_RUNNER_REGISTRATION_TOKEN)',
  '`id`',
  'a\\b',
  '',
  '.',
  '-a',
  '10.0.0.0/33',
  '10.0.0.256/8',
  '10.0.0/8',
  'fd00::/129',
  'fd00:::/8',
  '10.0.0.0/-1',
  '10.0.0.0/',
  '/8',
  'http://example.com',
  'a/b',
  '[::1',
  '::1]',
  'a:99999999',
  'ä.example.com',
  'x'.repeat(254),
])('as a host without a proxy %j is refused', async (entry) => {
  const complaints = await complaintsOf({ proxy: { http: GOOD, noProxy: [entry] } });

  expect(complaints).toHaveLength(1);
  expect(complaints[0]).toMatch(/^spec\.proxy\.noProxy\[0\]: must .* \[GR-INPUT-05\]$/);
});

describe('the list of hosts', () => {
  test('has at most 100 entries', async () => {
    const hosts = (length: number): readonly string[] => Array.from({ length }, (_, index) => `host-${index}`);

    expect(await complaintsOf({ proxy: { http: GOOD, noProxy: hosts(100) } })).toEqual([]);
    expect(await complaintsOf({ proxy: { http: GOOD, noProxy: hosts(101) } })).toEqual([
      'spec.proxy.noProxy: must have at most 100 entries [GR-INPUT-05]',
    ]);
  });

  test('of a million entries is refused at once', async () => {
    const noProxy = Array.from({ length: 100_000 }, () => '*');

    expect(await complaintsOf({ proxy: { http: GOOD, noProxy } })).not.toEqual([]);
  });
});

test.each([
  ['the registration token', 'gitea-runner'],
  ['the API token', 'gitea-api'],
])('the login of a proxy is not the Secret with %s: CI jobs could read it', async (_, name) => {
  expect(await complaintsOf({ proxy: { http: GOOD, secretRef: { name } } })).toEqual([
    expect.stringContaining('spec.proxy.secretRef.name: is a Secret with a token of Gitea;'),
  ]);
});

test.each([
  ['proxy', { http: GOOD, username: 'me', password: 's3cret' }],
  ['proxy', { http: GOOD, secretRef: { name: '../x' } }],
  ['proxy', { http: GOOD, secretRef: 's3cret' }],
  ['proxy', { http: [GOOD] }],
  ['proxy', { http: null }],
  ['caBundle', { configMapRef: { name: 'ca', key: '..' } }],
  ['caBundle', { configMapRef: { name: 'ca', key: 'a/b' } }],
  ['caBundle', { secretRef: { name: 'ca', key: 'ca.crt' } }],
  ['caBundle', '-----BEGIN CERTIFICATE-----'],
])('%s refuses %j', async (field, value) => {
  const complaints = await complaintsOf({ [field]: value });

  expect(complaints.length).toBeGreaterThan(0);
  expect(complaints.join()).not.toContain('s3cret');
});

test.each(ACCEPTED)('%s accepts %j', async (field, value, expected) => {
  expect(await groupOf({ [field]: value })).toMatchObject(expected);
});
