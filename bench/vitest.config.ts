import { defineConfig } from 'vitest/config';

/** Benches that need real servers. They print figures and assert nothing about time. */
export default defineConfig({
  test: {
    include: ['bench/**/*.bench.ts'],
    globalSetup: ['test/build-first.ts', 'test/cluster/build-cluster.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
  },
});
