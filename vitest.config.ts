import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Half of the tests wait for sockets, timers and child processes most of the time. So there are more workers than cores. */
const maxWorkers = 2 * availableParallelism();
const shared = {
  exclude: ['test/servers/**', 'test/cluster/**', 'test/package/**'],
  setupFiles: ['test/fixed-seed.ts'],
  // It ends what hangs, and judges nothing: on a machine with twenty other programs histories take minutes.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  maxWorkers,
};
/**
 * What takes longest, so that `npm test` stays near two minutes. `npm run test:long` runs these alone: bounds of time and memory with inputs
 * that are just small enough, processes that start and end, pauses in real time, and histories of what is rare.
 */
const LONG = [
  'test/cli/{cut-queue,hostile-answers,hostile-pods,report/truth,start/code-cache,timeout}.test.ts',
  'test/clients/gitea/{cut-queue,long-rows}.test.ts',
  'test/config/runnergroup/{budget,memory,plain-yaml.property}.test.ts',
  'test/model/histories.property.test.ts',
  'test/planner/many-labels.test.ts',
  'test/serve/{ending,lost-jobs,memory,turns,http/crowd,looks/back-off}.test.ts',
  'test/simulation/{ablation,apart,applications,kept,kept-looks,limited-apart,stuck}.test.ts',
  'test/page/{bounds,budget,hostile}.test.ts',
  'test/tasks/waits/commit-status.test.ts',
];
const isLong = process.env['LONG'] === 'true';
/** Measures the memory of its own process. */
const APART = 'test/fuzz/**/*.test.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/build-first.ts'],
    maxWorkers,
    projects: [
      ...(isLong ? [{ test: { ...shared, name: 'apart', include: [APART] } }] : []),
      {
        test: {
          ...shared,
          name: 'shared',
          // The last two play more histories then.
          include: isLong ? [...LONG, 'test/simulation/{simulation,serve/serve}.test.ts'] : ['test/**/*.test.ts'],
          exclude: [...shared.exclude, APART, ...(isLong ? [] : LONG)],
          // A worker runs many files. A process and all imports for each file took half of the time.
          isolate: false,
        },
      },
    ],
  },
});
