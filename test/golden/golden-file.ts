/** Compares an output with the file that holds the expected one. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

/** `UPDATE_GOLDENS=1` writes expected files instead of comparing; refused where CI=true: nobody reviews there. */
export function isUpdating(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['UPDATE_GOLDENS'] !== '1') return false;
  if (env['CI'] === 'true') throw new Error('UPDATE_GOLDENS=1 is refused in CI: update on your machine and review');
  return true;
}

/** Fails with a unified diff, and leaves `got.<file>` beside the expected file, when they differ. */
export function expectFile(folder: string, name: string, got: string): void {
  const expected = join(folder, name);
  const beside = join(folder, `got.${name}`);
  rmSync(beside, { force: true });
  if (existsSync(expected) && readFileSync(expected, 'utf8') === got) return;
  if (isUpdating(process.env)) {
    writeFileSync(expected, got);
    return;
  }
  writeFileSync(beside, got);
  const old = existsSync(expected) ? name : '/dev/null';
  const labels = ['--label', `expected ${name}`, '--label', `got.${name}`];
  const { stdout } = spawnSync('diff', ['-u', ...labels, old, `got.${name}`], { cwd: folder, encoding: 'utf8' });
  expect.fail(`${name} differs from what was printed, which is in ${beside}:\n${stdout ?? ''}`);
}
