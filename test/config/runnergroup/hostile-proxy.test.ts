/** Tests hostile values of `proxy` and `caBundle`: none gets into a pod, and no password into a message. */
import { expect, test } from 'vitest';

import { complaintsOf } from '../../support/group-files.ts';

const GOOD = 'http://proxy.example.com:3128';

test.each([
  'http://me:s3cret@proxy:3128',
  '//me:s3cret@proxy:3128',
  'me:s3cret@proxy:3128',
  'HTTP://me:s3cret@proxy:3128',
  'http://me%3As3cret%40proxy:3128',
  'http://proxy:3128@s3cret',
  'http://proxy:3128/s3cret',
  'http://proxy:3128#s3cret',
  'http://proxy\\@s3cret:3128',
  'file:///etc/s3cret',
  'socks5://s3cret:1080',
  'http://s3cret:3128\r\nProxy-Authorization: Basic eA==',
  'http://s3cret:3128\n',
  ' http://s3cret:3128',
  'http://s3cret\u0000:3128',
  'http://s3cret\u202e:3128',
  'http://$(GITEA_RUNNER_REGISTRATION_TOKEN).s3cret:3128',
  "http://s3cret':3128",
  'http://s3cret:99999',
  'http://s3cret:',
  'http://[s3cret]:3128',
  'http://[::1:3128',
  'http://:3128',
  `http://${'s3cret'.repeat(100)}:3128`,
])('the proxy %j is refused, and no message repeats it', async (url) => {
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
  '$(GITEA_RUNNER_REGISTRATION_TOKEN)',
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
])('the host without a proxy %j is refused', async (entry) => {
  const complaints = await complaintsOf({ proxy: { http: GOOD, noProxy: [entry] } });

  expect(complaints).toHaveLength(1);
  expect(complaints[0]).toMatch(/^spec\.proxy\.noProxy\[0\]: must .* \[GR-INPUT-05\]$/);
});

test.each([
  { http: GOOD, username: 'me', password: 's3cret' },
  { http: GOOD, secretRef: 's3cret' },
])('a login at another place is refused, and no message repeats it: %j', async (proxy) => {
  const complaints = await complaintsOf({ proxy });

  expect(complaints.length).toBeGreaterThan(0);
  expect(complaints.join()).not.toContain('s3cret');
});
