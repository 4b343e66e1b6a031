/** Tests the stack itself, without the product: its parts work together, and nothing of it is left, however it ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { Playground, waitUntil } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { choose } from './stack/network.ts';
import { PACKAGES } from './stack/packages.ts';
import { type Stack, startStack } from './stack/stack.ts';
import { type Mark, NOTHING, tracesOf } from './stack/traces.ts';

const builds = inject('clusterBuilds');
const MINUTE = { timeoutMs: 60_000 };

/** A process, and the kernel with a network card, need a moment to end. */
async function leavesNothing(mark: Mark): Promise<void> {
  await waitUntil('clean up', async () => Object.values(tracesOf(mark)).flat().length === 0, MINUTE).catch(() => {});
  expect(tracesOf(mark)).toEqual(NOTHING);
}

/** The test of the test: a look that finds nothing while all is there would always be content. */
function hasTraces(mark: Mark): void {
  const { processes, controlGroups, cards, folders } = tracesOf(mark);
  // A process that the test started, one that containerd started, and one in a pod.
  for (const program of [/kube-apiserver/, /containerd-shim/, /^\/usr\/local\/bin\/argocd-application-controller/])
    expect(processes).toContainEqual(expect.stringMatching(program));
  expect(controlGroups.length).toBeGreaterThan(0);
  expect([cards.length, folders.length]).toEqual([1, 1]);
}

describe('a stack', () => {
  let stack: Stack;

  beforeAll(async () => {
    stack = await startStack(builds, (line) => process.stdout.write(`stack: ${line}\n`));
    await stack.gitea.admin.createOrg('acme');
  });

  closeAfterTests(() => stack);

  it('a stack has an Argo CD that applies, changes and prunes what is committed to Gitea, and passes over what it is to skip', async () => {
    const { kubernetes, argocd, gitea } = stack;
    const admin = gitea.admin;
    const repository = { name: 'deploy', auto_init: true, default_branch: 'main', private: false };
    await admin.call('POST', '/orgs/acme/repos', repository);
    const put = (file: number, text: string): Promise<void> => admin.putFile('acme/deploy', `apps/${file}.yaml`, text);
    await put(1, configMap('one', 'first'));
    await put(2, configMap('two', 'first'));
    const source = ['--repo', `${gitea.url}/acme/deploy.git`, '--path', 'apps'];
    const destination = ['--dest-server', 'https://kubernetes.default.svc', '--dest-namespace', 'default'];
    await argocd.cli('app', 'create', 'plain', ...source, ...destination);
    const sync = async (): Promise<string> => {
      await argocd.cli('app', 'get', 'plain', '--hard-refresh');
      await argocd.cli('app', 'sync', 'plain', '--prune', '--timeout', '60');
      const fields = '{range .items[*]}{.metadata.name}={.data.text} {end}';
      return await kubernetes.field(fields, 'configmaps', '-n', 'default', '-l', 'app=stack-test');
    };
    const state = (): Promise<string> =>
      kubernetes.field('{.status.sync.status} {.status.health.status}', 'application', '-n', 'argocd', 'plain');

    expect(await sync()).toBe('one=first two=first ');
    await put(1, configMap('one', 'second'));
    await admin.deleteFile('acme/deploy', 'apps/2.yaml');
    expect(await sync()).toBe('one=second ');

    // Argo CD leaves these objects as they are, makes none, and misses none.
    const skipped = (name: string): string => configMap(name, 'third', { 'argocd.argoproj.io/hook': 'Skip' });
    await put(1, skipped('one'));
    await put(3, skipped('three'));
    expect([await sync(), await state()]).toEqual(['one=second ', 'Synced Healthy']);
    await kubernetes.kubectl(['delete', 'configmap', '-n', 'default', 'one']);
    expect([await sync(), await state()]).toEqual(['', 'Synced Healthy']);
  });

  it('a stack leaves no process, mount, control group, network card or folder when it is closed', async () => {
    const mark = { folder: stack.machine.folder, outside: stack.machine.outside };
    hasTraces(mark);

    await stack.close();

    await leavesNothing(mark);
  });
});

describe('a stack whose test was killed', () => {
  let playground: Playground;
  let child: ChildProcess | undefined;

  beforeAll(() => {
    playground = new Playground('killed');
  });

  afterAll(async () => {
    child?.kill('SIGKILL');
    await playground.close();
  });

  it('a stack whose test was killed leaves nothing either', async () => {
    const program = join(playground.folder, 'hold.cjs');
    await build({
      entryPoints: [join(import.meta.dirname, 'stack', 'hold.ts')],
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      // The bundle finds guard.mjs beside itself.
      define: { 'import.meta.dirname': JSON.stringify(join(import.meta.dirname, '..', 'servers')) },
    });
    child = spawn(process.execPath, [program, JSON.stringify(builds)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    const line = await new Promise<string>((resolve, reject) => {
      child?.stdout?.setEncoding('utf8').once('data', resolve);
      void ended.then((code) => reject(new Error(`hold.ts ended with ${code}`)));
    });
    const mark = z.object({ folder: z.string(), outside: z.string() }).parse(JSON.parse(line));
    hasTraces(mark);

    child.kill('SIGKILL');
    await ended;

    await leavesNothing(mark);
  });
});

describe('a stack that cannot start', () => {
  let playground: Playground;
  const temporary = process.env['TMPDIR'];

  beforeAll(() => {
    playground = new Playground('broken');
    // All files of the stack are in this folder.
    process.env['TMPDIR'] = playground.makeFolder('tmp');
  });

  afterAll(async () => {
    if (temporary === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = temporary;
    await playground.close();
  });

  it('a stack that cannot start says which part did not, with the end of its log, and leaves nothing', async () => {
    const kubernetes = playground.makeFolder('kubernetes');
    for (const name of readdirSync(builds.kubernetes))
      symlinkSync(join(builds.kubernetes, name), join(kubernetes, name));
    rmSync(join(kubernetes, 'kubelet'));
    writeFileSync(join(kubernetes, 'kubelet'), '#!/bin/sh\necho a broken kubelet\nexit 3\n', { mode: 0o755 });

    const start = startStack({ ...builds, kubernetes }, () => {});

    await expect(start).rejects.toThrow(/did not start .*start kubelet: the process has ended:\na broken kubelet/);
    expect(readdirSync(join(playground.folder, 'tmp'))).toEqual([]);
  });
});

it('a playground that is to be kept keeps its logs but not its large parts', async () => {
  const playground = new Playground('kept');
  writeFileSync(join(playground.folder, 'log.txt'), '');
  playground.removeAtEnd(playground.makeFolder('large', 'deep'));

  await playground.close(true);

  expect(readdirSync(playground.folder)).toEqual(['large', 'log.txt']);
  expect(readdirSync(join(playground.folder, 'large'))).toEqual([]);
  rmSync(playground.folder, { recursive: true });
});

it('the addresses of a stack have nothing in common with those that are in use', () => {
  const used = Array.from({ length: 250 }, (_, index) => `10.214.${index + 1}.7/32`).filter((_, index) => index !== 41);

  expect(choose(['127.0.0.1/8', ...used])).toEqual({ link: '10.213.42', pods: '10.214.42', services: '10.215.42' });
});

it('the addresses of a stack lie in another range on a computer with a route to all of 10', () => {
  expect(choose(['10.0.0.0/8', '172.28.0.0/17']).link).toMatch(/^172\.28\.(?:12[89]|1[3-9]\d|2\d\d)$/);
});

it('the addresses of a stack are refused, with what is in use, where nothing is free', () => {
  expect(() => choose(['10.0.0.0/8', '172.16.0.0/12'])).toThrow(
    /no free private network in 10\.213, .*172\.16\.0\.0\/12/,
  );
});

it.each(PACKAGES)('.ci/run installs %s', (name) => {
  const [, needed = ''] = /^needed=\(\n(.*?)^\)/ms.exec(readFileSync('.ci/run', 'utf8')) ?? [];

  expect(needed.match(/(?<=:)\S+/g)).toContain(name);
});

function configMap(name: string, text: string, annotations: Readonly<Record<string, string>> = {}): string {
  const metadata = { name, labels: { app: 'stack-test' }, annotations };
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text } })}\n`;
}
