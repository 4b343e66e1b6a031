/** A local action of a test repository that caches as `actions/cache` does: with the npm package that is behind it, in one file. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

/** `INPUT_DO` is `save` or `restore`; a miss ends well and says so. */
const MAIN = `
const { restoreCache, saveCache } = require('@actions/cache');
const [paths, key] = [[process.env.INPUT_PATH], process.env.INPUT_KEY];
const done = process.env.INPUT_DO === 'save' ? saveCache(paths, key) : restoreCache(paths, key);
done.then(
  (result) => console.log('the cache answered: ' + (result === undefined ? 'nothing' : result)),
  (error) => { console.error(error); process.exit(1); },
);
`;

const ACTION = `name: cache
description: Saves or restores a path.
inputs: {do: {required: true}, path: {required: true}, key: {required: true}}
runs: {using: node20, main: index.js}
`;

/** The files of the action, by name. Installs the package from the registry, as `test/servers/npm/actions-cache` pins it. */
export function cacheAction(): Readonly<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'actions-cache-'));
  try {
    cpSync(join(import.meta.dirname, 'npm', 'actions-cache'), folder, { recursive: true });
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'pipe' });
    const [entry, outfile] = [join(folder, 'main.js'), join(folder, 'index.js')];
    writeFileSync(entry, MAIN);
    buildSync({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: 'node',
      target: 'node20',
      minify: true,
      logLevel: 'error',
    });
    return { 'action.yml': ACTION, 'index.js': readFileSync(outfile, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
