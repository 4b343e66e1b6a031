/**
 * Pushes of others must not end `serve` or `generate`: real processes, below the memory limits of install/. Workflows
 * have up to 200 labels of any text, and each look sees them again (law L15).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { jobRow } from '../support/gitea-stand-in.ts';
import { belowLimit } from '../support/memory-limit.ts';
import { folderWith, groupYaml } from '../support/run-cli.ts';
import { type ServeProcess, startServeProcess } from '../support/serve-process.ts';
import { serve } from '../support/server.ts';
import { TOKEN } from '../support/start-acme.ts';
import { managedGroup } from './managed-group.ts';
import { until } from './rig.ts';

const SERVE_MIB = 512;
const SIDECAR_MIB = 768;
const GENERATE_MIB = 320;
const PAGE = 50;

/** Workflows of a hostile author, or answers of a hostile Gitea. */
interface Flood {
  readonly rows: number;
  readonly labels: number;
  readonly characters: number;
  /** Length of further strings in each row. */
  readonly name?: number;
}

const PUSH: Flood = { rows: 10_000, labels: 200, characters: 20 };
const OWN_GITEA: Flood = { rows: 10_000, labels: 40, characters: 100, name: 250 };

/**
 * Starts a Gitea whose scopes all have the same jobs: one that a group covers, and the flood. `looks` returns how often
 * the first page of each scope was read.
 */
async function flooded(flood: Flood): Promise<{ readonly url: string; readonly looks: () => readonly number[] }> {
  const pages = Array.from({ length: flood.rows / PAGE }, (_, page) => pageOf(flood, page));
  const asked = new Map<string, number>();
  const handler: RequestListener = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://gitea');
    const page = Number(searchParams.get('page') ?? 1);
    response.setHeader('content-type', 'application/json');
    if (pathname.endsWith('/version')) response.end('{"version":"1.27.3"}');
    else if (pathname.endsWith('/runners')) response.end('{"runners":[],"total_count":0}');
    else if (!searchParams.getAll('status').includes('queued')) response.end('{"jobs":[],"total_count":0}');
    else {
      if (page === 1 && searchParams.getAll('status').length === 1) asked.set(pathname, (asked.get(pathname) ?? 0) + 1);
      response.end(pages[page - 1] ?? `{"jobs":[],"total_count":${flood.rows}}`);
    }
  };
  const { origin } = await serve(handler);
  return { url: origin, looks: () => [...asked.values()] };
}

function pageOf({ rows, labels, characters, name = 10 }: Flood, page: number): string {
  const jobs = Array.from({ length: PAGE }, (_, at) => {
    const id = page * PAGE + at + 1;
    const texts = Array.from({ length: labels }, (__, label) => `${id}.${label}.`.padEnd(characters, 'x'));
    const isCovered = id === 1;
    return jobRow(id, 'queued', { name: `${id}`.padEnd(name, 'n'), labels: isCovered ? ['linux'] : texts });
  });
  return JSON.stringify({ jobs, total_count: rows });
}

function peakMib(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

it('serve keeps below 70 % of its limit, with two scopes of each of two Giteas', async () => {
  const giteas = await Promise.all([PUSH, OWN_GITEA].map((flood) => flooded({ ...flood, rows: 5_000 })));
  const { child, log } = await startServe(giteas.map(({ url }) => url));

  let peak = 0;
  // The third look at a scope begins when two have ended.
  await until('two looks at each scope have ended', () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`serve has ended: ${log().slice(-2000)}`);
    peak = peakMib(child.pid ?? 0);
    return giteas.every(({ looks }) => looks().length === 2 && looks().every((count) => count >= 3));
  });

  expect(log()).not.toMatch(/GR-GITEA|FATAL/);
  expect(peak).toBeLessThanOrEqual(0.7 * SERVE_MIB);
});

it.each([
  ['a push', PUSH],
  ['another Gitea', OWN_GITEA],
])('generate takes at most 320 MiB for the jobs of %s', async (_, flood) => {
  const { url } = await flooded(flood);
  const other = groupYaml(url, '', 'other').replace('org: acme', 'org: globex');
  const folder = folderWith({ 'ci.yaml': groupYaml(url), 'other.yaml': other });
  const peakFile = join(folder, 'peak');
  const program = ['--require', join(process.cwd(), 'bench/usage.cjs'), join(process.cwd(), 'lib/gitea-runners.cjs')];
  const [command = '', ...args] = [
    ...belowLimit(SIDECAR_MIB),
    process.execPath,
    ...program,
    ...['generate', '.', '--cluster', 'off', '--timeout', '60'],
  ];
  const env = { PATH: process.env['PATH'], GITEA_URL: url, GITEA_TOKEN: TOKEN, USAGE_FILE: peakFile };
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (text: Buffer) => {
    said += text.toString();
  });
  child.stdout.resume();

  expect(await once(child, 'close'), said).toEqual([0, null]);
  expect(said).toContain('9999 with labels that no group covers');
  expect(Number.parseInt(readFileSync(peakFile, 'utf8'), 10) / 1024).toBeLessThanOrEqual(GENERATE_MIB);
});

async function startServe(urls: readonly string[]): Promise<ServeProcess> {
  const folder = folderWith({});
  for (const [index, url] of urls.entries()) {
    mkdirSync(join(folder, `gitea-${index}`));
    for (const [key, text] of Object.entries({ token: TOKEN, url })) {
      writeFileSync(join(folder, `gitea-${index}`, key), text);
    }
  }
  return await startServeProcess({
    below: belowLimit(SERVE_MIB),
    args: ['--secrets-dir', folder],
    fill: (cluster) => {
      for (const [index, url] of urls.entries()) {
        for (const org of ['acme', 'globex']) {
          const authToken = { secretRef: { name: `gitea-${index}`, key: 'token' } };
          const { metadata, ...group } = managedGroup(url, { org, authToken });
          const named = { ...metadata, name: `ci-${index}-${org}`, annotations: {} };
          cluster.put('runnergroups', { ...group, metadata: named });
        }
      }
    },
  });
}
