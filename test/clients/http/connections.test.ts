import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { makeCertificates } from '../../support/certificate.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { listen, serve, serveTls } from '../../support/server.ts';
import { failureOfSending, request, send } from './sending.ts';

describe('a peer that is not there', () => {
  test('refuses', async () => {
    const server = await serve(() => undefined);
    await server.close();

    const failure = await failureOfSending(request(server.origin));

    expect(failure.message).toBe(
      `read it: GET ${server.origin}/: 127.0.0.1:${server.port} refused the connection. Check the URL and that the server is up.`,
    );
  });

  test('a peer that is not there has a name that nobody knows', async () => {
    const failure = await failureOfSending(request('http://gitea.invalid/'));

    expect(failure.message).toBe(
      'read it: GET http://gitea.invalid/: the name of gitea.invalid cannot be resolved. Check the URL, and the DNS of where this runs.',
    );
  });
});

describe('TLS', () => {
  const certificates = makeCertificates();

  test('trusts the CA that is given', async () => {
    const server = await serveTls(certificates, (_incoming, response) => response.end('safe'));

    expect((await send(request(server.origin), { ca: certificates.ca })).text).toBe('safe');
  });

  test.each([undefined, 'with --argocd-ca-file'])(
    'the client says where to give the CA when it is unknown (%s)',
    async (caFrom) => {
      const server = await serveTls(certificates, (_incoming, response) => response.end('safe'));
      const [unknown, noPem] = [
        await failureOfSending(request(server.origin), { caFrom }),
        await failureOfSending(request(server.origin), { ca: 'no pem', caFrom }),
      ];

      expect(unknown.message).toBe(
        `read it: GET ${server.origin}/: its certificate is signed by an unknown CA. Give the CA as PEM ${caFrom ?? 'with --ca-file'}.`,
      );
      expect(noPem).toMatchObject({ code: 'GR-HTTP-14', exit: 2 });
      expect(noPem.message).toContain(`Give the CA as PEM ${caFrom ?? 'with --ca-file'}: openssl x509 -inform der`);
    },
  );

  test('the client refuses a certificate for another name', async () => {
    const other = makeCertificates('gitea.example.com');
    const server = await serveTls(other, (_incoming, response) => response.end('safe'));

    const failure = await failureOfSending(request(server.origin), { ca: other.ca });

    expect(failure.message).toBe(
      `read it: GET ${server.origin}/: its certificate is for gitea.example.com, 127.0.0.1, and not for localhost:${server.port}. Use the name in the certificate, or renew the certificate.`,
    );
  });

  test('the client says so when the port speaks plain http', async () => {
    const server = await serve((_incoming, response) => response.end('plain'));

    const failure = await failureOfSending(request(server.origin.replace('http:', 'https:')));

    expect([failure.code, failure.message.split(': ').at(-1)]).toEqual([
      'GR-HTTP-05',
      'no TLS connection could be made. Check that the port speaks https.',
    ]);
  });
});

test('a proxy forwards plain http, with the login of its URL', async () => {
  const server = await serve((incoming, response) =>
    response.end(`${incoming.headers.host} ${incoming.headers.authorization}`),
  );
  const proxy = await proxyServer();
  const env = { HTTP_PROXY: `http://me:pass%20word@127.0.0.1:${proxy.port}` };

  const answer = await send(request(`${server.origin}/a?b=c`), { env });

  expect(answer.text).toBe(`127.0.0.1:${server.port} token s3cret`);
  expect(proxy.lines).toEqual([`GET ${server.origin}/a?b=c`]);
  expect(proxy.logins).toEqual([`Basic ${Buffer.from('me:pass word').toString('base64')}`]);
});

test('a proxy tunnels https and never sees the token', async () => {
  const certificates = makeCertificates();
  const server = await serveTls(certificates, (incoming, response) => response.end(incoming.headers.authorization));
  const proxy = await proxyServer();

  const answer = await send(request(server.origin), { env: { https_proxy: proxy.origin }, ca: certificates.ca });

  expect(answer.text).toBe('token s3cret');
  expect(proxy.lines).toEqual([`CONNECT localhost:${server.port}`]);
});

test('a proxy is left out for hosts of NO_PROXY', async () => {
  const server = await serve((_incoming, response) => response.end('direct'));
  const proxy = await proxyServer();

  const answer = await send(request(server.origin), { env: { HTTP_PROXY: proxy.origin, NO_PROXY: '127.0.0.1' } });

  expect([answer.text, proxy.lines]).toEqual(['direct', []]);
});

test('a proxy that refuses the tunnel is named', async () => {
  const proxy = await proxyServer(403);

  const failure = await failureOfSending(request('https://localhost:1/'), { env: { HTTPS_PROXY: proxy.origin } });

  expect(failure.message).toBe(
    `read it: GET https://localhost:1/: the proxy 127.0.0.1:${proxy.port} refused the connection to localhost:1. Check the proxy, or put the host into NO_PROXY.`,
  );
});

test.each(['http', 'https'])(
  'a proxy that wants another login is named, without the login that it got (%s)',
  async (scheme) => {
    const proxy = await proxyServer(407);
    const env = { [`${scheme}_proxy`]: `http://me:s3cret@127.0.0.1:${proxy.port}` };

    const failure = await failureOfSending(request(`${scheme}://localhost:1/`), { env });

    expect([failure.code, failure.exit, failure.message]).toEqual([
      'GR-HTTP-08',
      1,
      `read it: GET ${scheme}://localhost:1/: the proxy 127.0.0.1:${proxy.port} wants a login, or another one (407). Put user and password into the proxy's URL, percent-encoded.`,
    ]);
    expect(proxy.logins).toEqual([`Basic ${Buffer.from('me:s3cret').toString('base64')}`]);
  },
);

test('a proxy that is down is named, without its password', async () => {
  const gone = await listen(createServer());
  await gone.close();
  const env = { http_proxy: `http://me:s3cret@127.0.0.1:${gone.port}` };

  const failure = await failureOfSending(request('http://localhost:1/'), { env });

  expect(failure.message).toBe(
    `read it: GET http://localhost:1/: the proxy 127.0.0.1:${gone.port} refused the connection. Check the URL and that the server is up.`,
  );
});

test('a proxy that is no URL is wrong input, and its value stays unseen', async () => {
  const failure = await failureOfSending(request('http://localhost:1/'), {
    env: { HTTP_PROXY: 'socks5://me:s3cret@proxy' },
  });

  expect(failure.message).toBe(
    'choose the proxy for localhost:1: the environment variable HTTP_PROXY is no http or https URL, so nothing was sent. Write it like http://proxy.example.com:3128, or remove it to connect directly.',
  );
  expect(failure.exit).toBe(2);
});

test.each([
  ['a TLS handshake that never ends', 'https', ''],
  ['a proxy that never answers CONNECT', 'https', 'HTTPS_PROXY'],
  ['a proxy that never answers', 'http', 'HTTP_PROXY'],
])('a connection that is never made ends in time: %s', async (_name, scheme, variable) => {
  const silent = await listen(createServer());
  const env = { [variable]: silent.origin };

  const failure = await failureOfSending(request(`${scheme}://127.0.0.1:${silent.port}`), { env, attemptMs: 100 });

  expect(failure.code).toBe('GR-HTTP-09');
});
