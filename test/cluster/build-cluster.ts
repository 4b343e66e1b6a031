import type { TestProject } from 'vitest/node';
import { buildCluster, type ClusterBuilds } from '../servers/build.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly clusterBuilds: ClusterBuilds;
  }
}

/** Builds the servers before the tests, outside every test's timeout, and says how long each took. */
export function setup(project: TestProject): void {
  project.provide(
    'clusterBuilds',
    buildCluster((line) => process.stdout.write(`servers: ${line}\n`)),
  );
}
