/** Platforms' own apps (docs/platform.md) as files. */
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { onTestFinished } from 'vitest';
import type { Platform } from '../../src/config/runnergroup/runner-group.ts';
import { loadPlatform } from '../../src/manifests/platform.ts';
import { judgeJob } from '../../src/plan/made-job.ts';
import { folderWith } from './run-cli.ts';

/** examples/platform, built as its package.json says. Removed at the end of the test. */
export function exampleApp(): string {
  const [file] = buildSync({
    entryPoints: [join(import.meta.dirname, '../../examples/platform/main.ts')],
    bundle: true,
    platform: 'node',
    external: ['cdk8s', 'constructs'],
    write: false,
  }).outputFiles;
  return fileOf(file?.text ?? '');
}

/** @param body of `platform(app)`. `cdk8s`, and `each(change)` for the Job of each group are there. */
export function appFile(body: string): string {
  return fileOf(`const cdk8s = require('cdk8s');
const { JsonPatch } = cdk8s;
exports.platform = (app) => {
  const each = (change) => { for (const { job, group } of app.groupCharts) change(job, group); };
  const add = (path, value) => each((job) => job.addJsonPatch(JsonPatch.add(path, value)));
  ${body}
};
`);
}

export function fileOf(text: string): string {
  return join(folderWith({ 'platform.cjs': text }, onTestFinished), 'platform.cjs');
}

export function platformOf(file: string): Platform {
  const loaded = loadPlatform(file, judgeJob);
  if ('problem' in loaded) throw new Error(loaded.problem);
  return loaded.platform;
}
