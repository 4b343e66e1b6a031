/** A code cache makes a start quicker and changes nothing else, whatever has become of its file. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCache, sealed } from '../../../src/cli/start/code-cache.ts';
import { folderWith, groupYaml, type Outcome, runNode } from '../../support/run-cli.ts';

const folder = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com') }, afterAll);
const lib = join(folder, 'lib');
const cache = join(lib, 'validate.cjs.cache');
const group = join(folder, 'ci.yaml');
let made: Buffer;

beforeAll(() => {
  cpSync('lib', lib, { recursive: true });
  made = readFileSync(cache);
});
afterAll(() => chmodSync(lib, 0o755));

function validate(...flags: readonly string[]): Promise<Outcome> {
  return runNode([...flags, join(lib, 'gitea-runners.cjs'), 'validate', group], {});
}

const GOOD: Outcome = { code: 0, stdout: '1 RunnerGroup in 1 file is valid\n', stderr: '' };

/** True if the loader has used the cache. It is asked in a process of its own. */
function isUsed(command = 'validate', ...flags: readonly string[]): boolean {
  const script = `
    const vm = require('node:vm');
    const { Script } = vm;
    let used = false;
    vm.Script = class extends Script {
      constructor(text, options) {
        super(text, options);
        used = options.cachedData !== undefined && this.cachedDataRejected === false;
      }
    };
    process.argv = [process.argv[0], 'x', ${JSON.stringify(command)}, ${JSON.stringify(group)}];
    process.on('exit', () => require('node:fs').writeSync(2, used ? 'used' : 'not used'));
    require(${JSON.stringify(join(lib, 'gitea-runners.cjs'))});
  `;
  const { stderr } = spawnSync(process.execPath, [...flags, '-e', script], { encoding: 'utf8' });
  return /(?:^|\n)used$/.test(stderr);
}

test('a code cache that npm run build made is used by the Node that made it', () => {
  writeFileSync(cache, made);

  expect(isUsed()).toBe(true);
  expect(isUsed('generate')).toBe(true);
  expect(isUsed('explain')).toBe(true);
});

test('a code cache of every part comes with the build', () => {
  expect(
    readdirSync('lib')
      .filter((file) => file.endsWith('.cache'))
      .sort(),
  ).toEqual([
    'charts.cjs.cache',
    'cli.cjs.cache',
    'documents.cjs.cache',
    'generate.cjs.cache',
    'platform.cjs.cache',
    'pods.cjs.cache',
    'policy.cjs.cache',
    'unseen.cjs.cache',
    'validate.cjs.cache',
  ]);
});

test.each<[string, () => void]>([
  ['is not there', () => rmSync(cache)],
  ['is empty', () => writeFileSync(cache, '')],
  ['is cut off', () => writeFileSync(cache, made.subarray(0, made.length - 100))],
  ['is not a cache', () => writeFileSync(cache, 'x'.repeat(made.length))],
  ['belongs to another part', () => cpSync(join(lib, 'generate.cjs.cache'), cache)],
])('a code cache that %s is not used, and nothing else changes', async (_name, spoil) => {
  writeFileSync(cache, made);

  spoil();

  expect(isUsed()).toBe(false);
  expect(await validate()).toEqual(GOOD);
});

test.each([0, 8, 40, 1000, 100_000, -1, -1000, -300_000])(
  'a code cache with a wrong bit at byte %i is not used',
  async (at) => {
    const spoilt = Buffer.from(made);
    const place = (at + made.length) % made.length;
    spoilt[place] = (spoilt[place] ?? 0) ^ 1;

    writeFileSync(cache, spoilt);

    expect(isUsed()).toBe(false);
    expect(await validate()).toEqual(GOOD);
  },
);

test('a code cache of a source with the same length and other words is not used: the new words count', async () => {
  writeFileSync(cache, made);
  const part = join(lib, 'validate.cjs');
  const source = readFileSync(part, 'utf8');
  writeFileSync(part, source.replaceAll(' valid${', ' VALID${'));

  const outcome = await validate();
  const { size } = statSync(part);
  writeFileSync(part, source);

  expect(size).toBe(source.length);
  expect(outcome).toEqual({ ...GOOD, stdout: '1 RunnerGroup in 1 file is VALID\n' });
});

test('a code cache of another Node, system or source does not fit', () => {
  const [source, data] = [Buffer.from('source'), Buffer.from('data')];
  const { arch, platform, version } = process;
  const dataIn = (bytes: Buffer): string | undefined => {
    writeFileSync(cache, bytes);
    return openCache(source, cache)?.toString();
  };

  expect(dataIn(sealed(source, data))).toBe('data');
  expect(dataIn(sealed(source, data, { arch, platform, version: 'v20.0.0' }))).toBeUndefined();
  expect(dataIn(sealed(source, data, { arch: 'arm', platform, version }))).toBeUndefined();
  expect(dataIn(sealed(source, data, { arch, platform: 'aix', version }))).toBeUndefined();
  expect(dataIn(sealed(Buffer.from('sourcf'), data))).toBeUndefined();
  expect(dataIn(sealed(Buffer.from('sources'), Buffer.from('at')))).toBeUndefined();
});

test('made under other flags of V8 is not used', async () => {
  writeFileSync(cache, made);

  expect(isUsed('validate', '--no-opt')).toBe(false);
  expect(await validate('--no-opt')).toEqual(GOOD);
});

test('a code cache is never written by the program, so its folder may be read-only', async () => {
  rmSync(cache);
  const before = readdirSync(lib);
  chmodSync(lib, 0o555);

  const outcome = await validate();

  expect(outcome).toEqual(GOOD);
  expect(readdirSync(lib)).toEqual(before);
  chmodSync(lib, 0o755);
});
