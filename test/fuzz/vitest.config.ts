import { defineConfig } from 'vitest/config';

/** `npm run fuzz`: minutes for each target with a new seed (campaign.ts). In `npm test` the same files run for seconds with a fixed one. */
export default defineConfig({
  test: {
    include: ['test/fuzz/**/*.test.ts'],
    // Each target has a process of its own, whose memory is measured.
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 24 * 3_600_000,
    env: { FUZZ_SECONDS: process.env['FUZZ_SECONDS'] ?? '120' },
  },
});
