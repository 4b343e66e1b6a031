import { defineConfig } from 'vitest/config';
import { longestFirst } from './longest-first.ts';

const other = process.env['RECORD_GITEA'] === '1' ? 'record.ts' : process.env['PAGE_PICTURES'] && 'page-pictures.ts';

/**
 * Tests with real servers: slow, so not part of `npm test`. RECORD_GITEA=1 writes test/clients/gitea/recorded again
 * instead, PAGE_PICTURES=1 the pictures of the page.
 */
export default defineConfig({
  test: {
    include: [other ? `test/servers/${other}` : 'test/servers/**/*.test.ts'],
    globalSetup: ['test/build-first.ts', 'test/servers/build-servers.ts'],
    // A process of its own: it notices when vitest is gone, and ends (process.ts).
    pool: 'forks',
    // They wait most of the time: for a poll, a pod, a timeout.
    maxWorkers: 3,
    sequence: { sequencer: longestFirst('sweep', 'load', 'project-workflows') },
    testTimeout: 600_000,
    // The load runs in one.
    hookTimeout: 480_000,
    teardownTimeout: 60_000,
  },
});
