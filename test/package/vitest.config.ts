import { defineConfig } from 'vitest/config';

/** Tests of downloads and clones: packed, installed and run. A minute of work, so not part of `npm test`. */
export default defineConfig({
  test: {
    include: ['test/package/**/*.test.ts'],
    globalSetup: ['test/build-first.ts'],
    // These limits end only tests that hang: a busy machine needs minutes to delete a folder.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
