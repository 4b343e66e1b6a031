/**
 * Measures the cost of the page for developers in `serve`: memory and CPU time without it, with it, and while a person
 * reloads it every second. `npm run bench:page`; `JOBS=5000` for more queued CI jobs, `PAGES=100` for so many open
 * pages of twenty people instead. From /proc, so Linux only. Prints; asserts nothing.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { it } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../simulator/kubernetes/objects.ts';
import { FRESH_MS } from '../src/page/look.ts';
import { Browser } from '../test/page/browser.ts';
import { CLIENT, startProvider } from '../test/page/oauth-provider.ts';
import { freePort } from '../test/servers/process.ts';
import { kubeconfigOf, startApiServer } from '../test/support/api-server.ts';
import { makeCertificates } from '../test/support/certificate.ts';
import { groupYaml } from '../test/support/run-cli.ts';
import { startAcme, TOKEN } from '../test/support/start-acme.ts';
import { SERVE_FLAGS } from './measure.ts';

const JOBS = Number(process.env['JOBS'] ?? 1000);
const PAGES = Number(process.env['PAGES'] ?? 0);
const PEOPLE = 20;
const SECONDS = 30;

it.each([false, true])('serve, with the page: %s', async (hasPage) => {
  const { simulator } = await startAcme();
  const provider = startProvider(simulator, 'anna');
  const tls = makeCertificates();
  const cluster = await startApiServer({ tls });
  cluster.put('runnergroups', parse(groupYaml(simulator.url)) as KubeObject);
  for (let left = JOBS; left > 0; left -= 100)
    simulator.gitea.push('acme/web', {
      jobs: Array.from({ length: Math.min(left, 100) }, (_, index) => ({ key: `part-${index}`, runsOn: ['linux'] })),
    });
  const folder = mkdtempSync(join(tmpdir(), 'bench-page-'));
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const page = `http://127.0.0.1:${await freePort()}`;
  const any = '127.0.0.1:0';
  const child = spawn(
    process.execPath,
    [
      ...SERVE_FLAGS,
      ...['lib/gitea-runners.cjs', 'serve', '--kubeconfig', write('config', kubeconfigOf(cluster.config.url, tls.ca))],
      ...['--argocd-url', 'http://127.0.0.1:1', '--argocd-token-file', write('argocd', 'x'), '--lease', 'off'],
      ...['--listen', any, '--metrics-listen', any, '--probe-listen', any],
      ...(hasPage
        ? [
            ...['--page-listen', new URL(page).host, '--page-url', page, '--page-gitea', simulator.url],
            ...['--page-client-id', CLIENT.id, '--page-client-secret-file', write('secret', CLIENT.secret)],
            ...['--page-key-file', write('key', 'x'.repeat(40))],
          ]
        : []),
    ],
    { env: { ...process.env, GITEA_URL: simulator.url, GITEA_TOKEN: TOKEN }, stdio: 'ignore' },
  );
  try {
    await sleep(15_000);
    const idle = usage(child.pid ?? 0);
    const browser = new Browser();
    if (hasPage) await browser.open(`${page}/sign-in`);
    const openPages: Promise<void>[] = [];
    for (let person = 0; person < (hasPage && PAGES > 0 ? PEOPLE : 0); person += 1) {
      simulator.gitea.addUser(`person-${person}`);
      provider.user = `person-${person}`;
      const own = new Browser();
      await own.open(`${page}/sign-in`);
      for (let nth = 0; nth < PAGES / PEOPLE; nth += 1) openPages.push(keepOpen(own, `${page}/`));
    }
    for (let second = 0; second < SECONDS; second += 1) {
      if (hasPage && PAGES === 0) await browser.open(`${page}/`);
      await sleep(1_000);
    }
    await Promise.all(openPages);
    const { cpuMs, mib, mostMib } = usage(child.pid ?? 0);
    const text = `${idle.mib} MiB idle, ${mib} MiB after ${SECONDS} s of visits (peak ${mostMib}), ${((cpuMs - idle.cpuMs) / SECONDS).toFixed(0)} ms of CPU per second`;
    process.stdout.write(`${JOBS} jobs, page ${hasPage ? 'on' : 'off'}: ${text}\n`);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
});

/** A page asks again after each look. */
async function keepOpen(browser: Browser, url: string): Promise<void> {
  const endMs = Date.now() + SECONDS * 1_000;
  for (let atMs = Date.now() + Math.random() * FRESH_MS; atMs < endMs; atMs += FRESH_MS) {
    await sleep(Math.max(0, atMs - Date.now()));
    const { status } = await browser.ask(url);
    if (status !== 200) process.stdout.write(`an open page got ${status}\n`);
  }
}

function usage(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mibOf = (name: string): number => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
  const [user = 0, system = 0] =
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11).map(Number) ?? [];
  return { mib: mibOf('VmRSS'), mostMib: mibOf('VmHWM'), cpuMs: (user + system) * 10 };
}
