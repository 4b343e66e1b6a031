/**
 * Tests which address is used for each `gitea.url`, and for each name of an organisation, user or repository. The
 * groups come from a file, the token from a Secret, and both servers are real: one is the Gitea that the token is bound
 * to, and the other must get no request.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readRunnerGroups } from '../../../src/config/runnergroup/read.ts';
import { lookAndPlan } from '../../../src/plan/look-and-plan.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { json } from '../../support/gitea-stand-in.ts';
import { document } from '../../support/group-files.ts';
import { folderWith } from '../../support/run-cli.ts';
import { serve } from '../../support/server.ts';

const TOKEN = 'secret-token-of-this-test-0123456789';

/** Result for a group: the code of its refusal, or the requested paths of its Gitea. */
type Outcome = string | readonly string[];

/** A Gitea below any path. `targets`: request targets as they came, each once. */
async function gitea() {
  const targets: string[] = [];
  const { port } = await serve((request, response) => {
    const path = (request.url ?? '').replace(/\?.*$/, '');
    if (!targets.includes(path)) targets.push(path);
    json(response, path.endsWith('/version') ? { version: '1.27.3' } : { jobs: [], total_count: 0 });
  });
  return { port, targets };
}

/** Looks at Gitea for a group as `generate` does. @param bound what the Secret's `url` says. */
async function look(spec: Readonly<Record<string, unknown>>, bound: string): Promise<string | undefined> {
  const cwd = folderWith({
    'ci.json': document(spec, { namespace: 'runners' }),
    'secrets/gitea-api/token': TOKEN,
    'secrets/gitea-api/url': bound,
  });
  try {
    const { groups } = await readRunnerGroups({
      paths: ['ci.json'],
      recursive: false,
      cwd,
      defaultNamespace: 'runners',
    });
    const settings = { secretsDir: join(cwd, 'secrets'), cluster: 'off', timeoutMs: 20_000, instance: '' } as const;
    await lookAndPlan(groups, { ...settings, env: {}, now: Date.now }, { includeBlocked: false });
    return undefined;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    expect(error.message).not.toContain(TOKEN);
    return error.code;
  }
}

const SHAPE = 'GR-INPUT-05';
const FOREIGN = 'GR-TOKEN-05';
/** The one address that is asked, besides the version, below this path. */
const asked = (path = ''): Outcome => [`${path}/api/v1/orgs/acme/actions/jobs`, `${path}/api/v1/version`];

/** {A}: host and port of the Gitea that the token is for; {a}, {b}: the ports of both servers; {B}: the other server. */
const URLS: readonly (readonly [url: string, outcome: Outcome])[] = [
  ['http://{A}', asked()],
  ['http://{A}/', asked()],
  ['http://{A}//', asked()],
  ['http://127.0.0.1:0{a}', asked()],
  ['http://127.0.0.1.:{a}', asked()],
  ['http://127.1:{a}', asked()],
  ['http://①②⑦.0.0.1:{a}', asked()],
  ['http://{A}/git', asked('/git')],
  ['http://{A}/git/', asked('/git')],
  ['http://{A}/a/../git', asked('/git')],
  ['http://{A}/../../../git', asked('/git')],
  ['http://{A}/%2e%2e/%2E%2E/git', asked('/git')],
  ['http://{A}/git/%2e', asked('/git')],
  ['http://{A}//{B}/', asked('//{B}')],
  ['http://{A}/;{B}', asked('/;{B}')],
  ['http://{A}/a%2fb', asked('/a%2Fb')],
  ['http://{A}/a%5cb', asked('/a%5Cb')],
  ['http://{A}/g%C3%AEt', asked('/g%C3%AEt')],
  ['http://{A}/gît', asked('/g%C3%AEt')],
  ['http://{A}/%00', asked('/%00')],
  ['http://{A}/%0d%0aHost:%20evil', asked('/%0D%0AHost:%20evil')],
  ['http://{A}/%3Fx%23y', asked('/%3Fx%23y')],
  // Another server, or another spelling of this machine: never with this token. ../tokens/url-binding.test.ts has more.
  ['http://{B}', FOREIGN],
  ['http://①②⑦.0.0.1:{b}', FOREIGN],
  ['http://[::ffff:127.0.0.1]:{a}', FOREIGN],
  ['http://localhost:{a}', FOREIGN],
  ['https://{A}', FOREIGN],
  // These do not have the form of an address.
  ['http://{A}@{B}', SHAPE],
  ['http://{B}\\@{A}', SHAPE],
  ['http://{A}\n', SHAPE],
];

test.each(URLS)('gitea.url: %j', async (url, outcome) => {
  const [legit, evil] = [await gitea(), await gitea()];
  const fill = (text: string): string =>
    text
      .replaceAll('{A}', `127.0.0.1:${legit.port}`)
      .replaceAll('{B}', `127.0.0.1:${evil.port}`)
      .replaceAll('{a}', String(legit.port))
      .replaceAll('{b}', String(evil.port));
  // The Secret is of a person who knows this Gitea: it names the very address, path and all, when there is one.
  const bound = typeof outcome === 'string' ? `http://127.0.0.1:${legit.port}` : fill(url);

  const code = await look({ gitea: { url: fill(url) } }, bound);

  expect(code ?? legit.targets.sort()).toEqual(typeof outcome === 'string' ? outcome : outcome.map(fill));
  if (code !== undefined) expect(legit.targets).toEqual([]);
  expect(evil.targets).toEqual([]);
});

const INVALID = 'GR-GITEA-14';
const repo = (name: string): Outcome => [`/api/v1/repos/${name}/actions/jobs`, '/api/v1/version'];
const org = (name: string): Outcome => [`/api/v1/orgs/${name}/actions/jobs`, '/api/v1/version'];

const NAMES: readonly (readonly [spec: Readonly<Record<string, string>>, outcome: Outcome])[] = [
  [{ org: 'acme' }, org('acme')],
  [{ org: 'ACME.io_x-y' }, org('ACME.io_x-y')],
  [{ org: 'x'.repeat(100) }, org('x'.repeat(100))],
  [{ org: 'x'.repeat(101) }, INVALID],
  [{ org: '..' }, SHAPE],
  [{ org: '' }, SHAPE],
  [{ org: 'a/b' }, SHAPE],
  [{ org: '%2e%2e' }, SHAPE],
  [{ org: 'a\\b' }, SHAPE],
  [{ org: 'a?b' }, SHAPE],
  [{ org: 'a\n' }, SHAPE],
  [{ org: 'ａｃｍｅ' }, SHAPE],
  [{ scope: 'repo', org: 'acme', repo: 'web.js_-' }, repo('acme/web.js_-')],
  [{ scope: 'repo', org: 'acme', repo: 'acme/web' }, repo('acme/web')],
  [{ scope: 'repo', org: 'acme', repo: '..' }, SHAPE],
  [{ scope: 'repo', org: 'acme', repo: 'acme/..' }, SHAPE],
  [{ scope: 'repo', org: 'acme', repo: 'acme/web/actions' }, SHAPE],
  [{ scope: 'repo', org: 'acme', repo: 'web/' }, SHAPE],
  [{ scope: 'repo', org: 'acme', repo: 'web%2f..' }, SHAPE],
  [{ scope: 'repo', org: 'acme', repo: 'x'.repeat(101) }, INVALID],
];

test.each(NAMES)('names in paths: %j', async (spec, outcome) => {
  const server = await gitea();
  const url = `http://127.0.0.1:${server.port}`;

  const code = await look({ ...spec, gitea: { url } }, url);

  expect(code ?? server.targets.sort()).toEqual(outcome);
  if (code !== undefined) expect(server.targets).toEqual([]);
});
