import { execFileSync } from 'node:child_process';

/** Builds lib/ once before all tests, because the end-to-end tests start the program that users start. */
export function setup(): void {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
}
