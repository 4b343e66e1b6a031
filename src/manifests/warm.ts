/**
 * What the Job of a warm runner has besides its group's template (docs/adr/0035). It is no part of the template's hash: a pool that is
 * switched on changes no other runner.
 *
 * - It asks Gitea for work every second. Others ask after 2 s and, while they are idle, every 5 s (runner 1.0.8).
 * - Its Job may live longer, because it waits before it works. The planner exchanges an idle one before that time is over.
 */
import { POOL_LIFE_MS, slotOf } from '../planner/names.ts';
import { RUNNER_CONFIG } from '../shared/marks.ts';
import type { JobManifest } from './job-manifest.ts';

/** A line of every runner's configuration (runner-config.ts), and those that follow it in that of a warm one. */
const CAPACITY = '  capacity: 1\n';
const ASKS_OFTEN = `${CAPACITY}  fetch_interval: 1s\n  fetch_interval_max: 1s\n`;
/** `spec.runnerConfig` says itself how often its runners ask. */
const ASKS_AS_WRITTEN = /^ {2}fetch_interval(?:_max)?:/m;

/** True for a runner of a pool, whose name holds job id 0. */
export function isWarm(runner: string): boolean {
  return slotOf(runner) !== undefined;
}

/** The template of a group's warm runners. */
export function warmTemplate(template: JobManifest): JobManifest {
  const { spec } = template;
  const { metadata } = spec.template;
  const config = metadata.annotations[RUNNER_CONFIG] ?? '';
  const asksOften = ASKS_AS_WRITTEN.test(config) ? config : config.replace(CAPACITY, ASKS_OFTEN);
  const annotations = { ...metadata.annotations, [RUNNER_CONFIG]: asksOften };
  return {
    ...template,
    spec: {
      ...spec,
      activeDeadlineSeconds: spec.activeDeadlineSeconds + POOL_LIFE_MS / 1000,
      template: { ...spec.template, metadata: { ...metadata, annotations } },
    },
  };
}
