import { defineConfig } from 'vitest/config';
import { longestFirst } from '../servers/longest-first.ts';

/** Set for .ci/run: without the files that take longest, an hour together. */
const short = process.env['CLUSTER_SCENARIOS'] === 'short';

/** The whole product on a real cluster: slow, needs root and some Debian packages (stack/packages.ts names them). */
export default defineConfig({
  test: {
    include: ['test/cluster/**/*.test.ts'],
    exclude: short
      ? [
          'install',
          'at-once',
          'actions',
          'migrate',
          'chart',
          'losses',
          'losses-ended',
          'kept',
          'kueue',
          'multikueue',
          'shards',
          'kyverno',
          'kyverno-controller',
          'doctor',
          'explain',
          'policy',
          'pods',
          'buildkit',
          'pre-pull',
        ].map((name) => `test/cluster/${name}.test.ts`)
      : [],
    globalSetup: ['test/build-first.ts', 'test/cluster/build-cluster.ts'],
    // A process of its own: it notices when vitest is gone, and ends (test/servers/process.ts).
    pool: 'forks',
    // They wait most of the time: for a poll, a pod, a timeout.
    maxWorkers: 2,
    sequence: { sequencer: longestFirst('scenarios', 'docker-modes', 'registration') },
    testTimeout: 600_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
  },
});
