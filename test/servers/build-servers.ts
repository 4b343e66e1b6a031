import type { TestProject } from 'vitest/node';
import { type Builds, buildAll } from './build.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly builds: Builds;
  }
}

/** Builds the servers before the tests, outside every test's timeout, and says how long each took. */
export function setup(project: TestProject): void {
  project.provide(
    'builds',
    buildAll((line) => process.stdout.write(`servers: ${line}\n`)),
  );
}
