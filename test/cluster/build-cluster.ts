import type { TestProject } from 'vitest/node';
import { buildCluster, type ClusterBuilds } from '../servers/build.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly clusterBuilds: ClusterBuilds;
  }
}

/** Builds the servers before the tests, outside every test's timeout, and says how long each took. */
export function setup(project: TestProject): void {
  // Minutes that only one file needs.
  const named = process.argv.filter((word) => word.endsWith('.test.ts'));
  const buildkit =
    named.length > 0 ? named.some((file) => file.includes('buildkit')) : process.env['CLUSTER_SCENARIOS'] !== 'short';
  project.provide(
    'clusterBuilds',
    buildCluster((line) => process.stdout.write(`servers: ${line}\n`), buildkit),
  );
}
