/** Every fault of `test/clients/gitea/faults.ts` once more, from outside: exit 1, nothing on stdout, a short text without secrets. */
import { describe, expect, it } from 'vitest';
import { FAULTS, LEAK } from '../clients/gitea/faults.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { serve } from '../support/server.ts';

const TOKEN = 'secret-token-of-this-test-0123456789';

describe('generate fails closed when Gitea', () => {
  it.concurrent.for(FAULTS.map((fault) => [fault.name, fault] as const))(
    '%s',
    async ([, fault], { expect, onTestFinished }) => {
      const { origin: url } = await serve(fault.handler(), onTestFinished);
      const folder = folderWith({ 'ci.yaml': groupYaml(url) }, onTestFinished);
      // Long enough for a busy machine to read all pages of a list without end.
      const timeout = fault.lasts ? '1' : '300';

      const outcome = await runHere(
        ['generate', '-v', '--timeout', timeout],
        { GITEA_URL: url, GITEA_TOKEN: TOKEN },
        folder,
      );

      expect(outcome).toMatchObject({ code: 1, stdout: '' });
      expect(outcome.stderr).toContain(`error: ${fault.code} `);
      expect(outcome.stderr.split('\n').filter((line) => !/^(GET|POST) /.test(line)).length).toBeLessThanOrEqual(20);
      expect(outcome.stderr).not.toContain(TOKEN);
      expect(outcome.stderr).not.toContain(LEAK);
      expect(outcome.stderr).not.toMatch(/\n\s+at /);
    },
  );
});

it.each([
  ['a page that forbids', 403, 'a web page instead of JSON through the proxy'],
  ['a page that the gateway has failed', 502, 'what stands before Gitea got no answer from it (502) through the proxy'],
])('generate names the proxy that answers %s in the place of Gitea', async (_, status, says) => {
  const proxy = await serve((_request, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<html>squid</html>'),
  );
  const folder = folderWith({ 'ci.yaml': groupYaml('http://gitea-http.gitea.svc:3000') });
  const env = { GITEA_TOKEN: TOKEN, GITEA_URL: 'http://gitea-http.gitea.svc:3000', HTTP_PROXY: proxy.origin };

  const { code, stderr, stdout } = await runHere(['generate', folder], env);

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(`${says} 127.0.0.1:${proxy.port}`);
  expect(stderr).toContain('If the proxy is not to be used for gitea-http.gitea.svc, add it to NO_PROXY.');
});
