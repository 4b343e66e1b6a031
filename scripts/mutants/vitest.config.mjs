// Runs the planner's tests in one process, in which every test meets every mutant that it reaches (runner.mjs).
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { allMutants, testFiles } from './files.mjs';
import { instrument } from './instrument.mjs';

const { firstIds } = allMutants();
const order = testFiles(process.env.MUTANTS_QUICK === '1');
const place = ({ moduleId }) => order.indexOf(relative('.', moduleId));

export default defineConfig({
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      transform(source, path) {
        const file = relative('.', path);
        const firstId = firstIds.get(file);
        return firstId === undefined ? undefined : { code: instrument(file, source, firstId), map: null };
      },
    },
  ],
  test: {
    include: order,
    runner: './scripts/mutants/runner.mjs',
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    isolate: false,
    testTimeout: 110_000,
    setupFiles: ['test/fixed-seed.ts'],
    sequence: {
      sequencer: class {
        shard = (files) => files;
        sort = (files) => files.sort((a, b) => place(a) - place(b));
      },
    },
    // A mutant may break a promise that nobody waits for.
    dangerouslyIgnoreUnhandledErrors: true,
  },
});
