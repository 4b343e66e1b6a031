import { defineConfig } from 'vitest/config';

/** What users download, and what they clone: packed, installed and run. A minute of work, so not part of `npm test`. */
export default defineConfig({
  test: {
    include: ['test/package/**/*.test.ts'],
    globalSetup: ['test/build-first.ts'],
    testTimeout: 120_000,
  },
});
