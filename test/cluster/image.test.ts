/** Tests the image of scripts/image.mjs: its files, that it is always the same, and that it starts. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { imageLabels } from '../../scripts/oci-image.mjs';
import { readSource, sealed } from '../../src/cli/start/code-cache.ts';

let folder = '';
let root = '';
let config: z.output<typeof Config>;
let files: readonly string[];
let layers: readonly string[];

const Manifest = z.tuple([
  z.object({ Config: z.string(), Layers: z.array(z.string()), RepoTags: z.array(z.string()) }),
]);
const Config = z.object({
  config: z.object({
    User: z.string(),
    Entrypoint: z.array(z.string()),
    Cmd: z.array(z.string()),
    Labels: z.record(z.string(), z.string()),
  }),
});

/** Makes the image, unpacks it into a folder, and answers the paths of its layers there. A layer is named by the hash of its content. */
function unpacked(name: string): z.output<typeof Manifest>[0] {
  const [tar, into] = [join(folder, `${name}.tar`), join(folder, name)];
  execFileSync(process.execPath, ['scripts/image.mjs', '--out', tar, '--tag', 'argocd-gitea-runners:test']);
  mkdirSync(into);
  execFileSync('tar', ['-xf', tar, '-C', into]);
  return Manifest.parse(JSON.parse(readFileSync(join(into, 'manifest.json'), 'utf8')))[0];
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'image-'));
  root = join(folder, 'root');
  mkdirSync(root);
  const { Config: file, Layers } = unpacked('first');
  layers = Layers;
  config = Config.parse(JSON.parse(readFileSync(join(folder, 'first', file), 'utf8')));
  files = layers.flatMap((layer) => {
    const path = join(folder, 'first', layer);
    execFileSync('tar', ['-xf', path, '-C', root]);
    return execFileSync('tar', ['-tvf', path], { encoding: 'utf8' }).trim().split('\n');
  });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a program in the image's files, as its user. */
function inImage(...command: readonly string[]): string {
  return execFileSync('chroot', [`--userspec=${config.config.User}`, root, ...command], {
    encoding: 'utf8',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
}

it('the image is the same when it is made again, but for the code caches, which have a layer of their own', () => {
  const { Layers: again } = unpacked('again');

  expect(layers).toHaveLength(3);
  expect(again.slice(0, 2)).toEqual(layers.slice(0, 2));
  const caches = execFileSync('tar', ['-tf', join(folder, 'again', again[2] ?? '')], { encoding: 'utf8' });
  expect(
    caches
      .trim()
      .split('\n')
      .filter((name) => !/(?:\/|\.cache)$/.test(name)),
  ).toEqual([]);
});

it('the image holds code caches that its own Node takes', () => {
  // The program works without them, too, so only the seal can tell.
  const asked = '(({ version, arch, platform }) => JSON.stringify({ version, arch, platform }))(process)';
  const maker = JSON.parse(inImage('/usr/local/bin/node', '-p', asked));

  for (const part of ['generate', 'validate', 'cli']) {
    const file = join(root, 'opt', 'gitea-runners', `${part}.cjs`);
    const [source, cache] = [readSource(file), readFileSync(`${file}.cache`)];
    const head = sealed(source, Buffer.alloc(0), maker).length;
    // The data is there twice.
    const data = cache.subarray(head, (head + cache.length) / 2);
    expect(data.length).toBeGreaterThan(0);
    expect(cache.equals(sealed(source, data, maker)), part).toBe(true);
  }
});

it('the image runs as user 999, under an init, and shows its help when nothing else is said', () => {
  expect(config.config).toEqual({
    User: '999:999',
    Entrypoint: ['/usr/bin/tini', '--', '/usr/local/bin/gitea-runners'],
    Cmd: ['--help'],
    Labels: imageLabels(packageJson),
  });
});

it('the image holds our licence and those of the packages in it', () => {
  for (const [file, source] of [
    ['LICENSE', 'LICENSE'],
    ['THIRD-PARTY.txt', 'lib/THIRD-PARTY.txt'],
  ] as const) {
    expect(readFileSync(join(root, 'opt/gitea-runners', file), 'utf8')).toBe(readFileSync(source, 'utf8'));
  }
});

it('the image is what the Dockerfile makes: its last step, run here, gives the same files', () => {
  const made = join(folder, 'dockerfile');
  const [step = ''] = /^RUN mkdir -p \/out[\s\S]*?(?=\n\n)/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  // That image copies the Node of the base image, and this one has the one that the other image got.
  const script = step
    .replace(/^RUN /, '')
    .replace(/^ +#.*$/gm, '')
    .replaceAll('\\\n\n', '\\\n')
    .replaceAll('ldd /usr/local/bin/node', `ldd ${join(root, 'usr/local/bin/node')}`)
    .replaceAll('install -m 0755 /usr/local/bin/node', `install -m 0755 ${join(root, 'usr/local/bin/node')}`)
    .replaceAll('/out', made);

  const said = execFileSync('sh', ['-euc', script], { encoding: 'utf8' });

  expect(said.trim()).toBe(packageJson.version);
  const filesIn = (folderOfImage: string): readonly string[] =>
    readdirSync(folderOfImage, { recursive: true, encoding: 'utf8', withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(folderOfImage.length))
      // That image has tini with its libraries, and this one the static tini.
      .sort();
  expect(filesIn(made)).toEqual(filesIn(root));
});

it('the image starts in nothing but its own files', () => {
  expect(inImage('/usr/bin/tini', '-s', '--', '/usr/local/bin/gitea-runners', '--version').trim()).toBe(
    packageJson.version,
  );
});

it('the image has the command of plugin.yaml, and the plugin.yaml of install/', () => {
  const plugin = readFileSync(join(root, 'home/argocd/cmp-server/config/plugin.yaml'), 'utf8');

  expect(plugin).toBe(readFileSync('install/plugin.yaml', 'utf8'));
  const { command } = parse(plugin).spec.generate as { readonly command: readonly string[] };
  expect(inImage(...command, '--help')).toContain('generate');
});

it('the image knows its user by name, and public certificates', () => {
  expect(inImage('/usr/local/bin/node', '-p', 'os.userInfo().username').trim()).toBe('argocd');
  expect(readFileSync(join(root, 'etc/ssl/certs/ca-certificates.crt'), 'utf8')).toContain(
    '-----BEGIN CERTIFICATE-----',
  );
});

it('the image has no shell, no package manager, nothing with a set-user or set-group bit, and only /tmp to write to', () => {
  const names = files.map((line) => line.split(' ').at(-1) ?? '');

  expect(names.filter((name) => /\/(?:sh|bash|dash|busybox|npm|npx|apt|dpkg|apk)$/.test(name))).toEqual([]);
  expect(files.filter((line) => /^-..s|^-.....s/i.test(line))).toEqual([]);
  expect(files.filter((line) => /^.{8}w/.test(line)).map((line) => line.split(' ').at(-1))).toEqual(['tmp/']);
  expect(files.filter((line) => !/ 0\/0 /.test(line))).toEqual([]);
});
