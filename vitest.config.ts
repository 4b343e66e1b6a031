import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Half of the tests wait for sockets, timers and child processes most of the time. So there are more workers than cores. */
const maxWorkers = 2 * availableParallelism();
const shared = {
  exclude: ['test/servers/**', 'test/cluster/**', 'test/package/**'],
  setupFiles: ['test/fixed-seed.ts'],
  testTimeout: 120_000,
  maxWorkers,
};
/** Measures the memory of its own process. */
const APART = 'test/fuzz/**/*.test.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/build-first.ts'],
    maxWorkers,
    projects: [
      { test: { ...shared, name: 'apart', include: [APART] } },
      {
        test: {
          ...shared,
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...shared.exclude, APART],
          // A worker runs many files. A process and all imports for each file took half of the time.
          isolate: false,
        },
      },
    ],
  },
});
