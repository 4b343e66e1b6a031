import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/servers/**', 'test/cluster/**'],
    globalSetup: ['test/build-first.ts'],
    setupFiles: ['test/fixed-seed.ts'],
    testTimeout: 60_000,
    maxWorkers: '100%',
  },
});
