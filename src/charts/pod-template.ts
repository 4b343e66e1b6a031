/** One Job per RunnerGroup as a template; each runner's Job is a copy of it (a kplus.Job each would cost 550 ms per 1000). */
import { hash } from 'node:crypto';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import type { Json } from './container-mode.ts';
import { type JobManifest, sorted } from './job-manifest.ts';
import { blanksOf, fillIn } from './skeleton.ts';
import skeletons from './skeletons.json' with { type: 'json' };

export type { EnvEntry, JobManifest } from './job-manifest.ts';

const made = new WeakMap<RunnerGroup, JobManifest>();
const FORMS: Readonly<Record<RunnerGroup['containerMode'], Json>> = skeletons;

/**
 * The group's Job with everything but what belongs to one runner: its name is empty, there as in `GITEA_RUNNER_NAME`.
 * Same group, same bytes. Made once per group object; frozen.
 */
export function podTemplate(group: RunnerGroup): JobManifest {
  const known = made.get(group);
  if (known) return known;
  const template = sorted(fillIn(FORMS[group.containerMode], blanksOf(group))) as JobManifest;
  made.set(group, template);
  return template;
}

/**
 * 16 hex digits over the template. It goes into the names of new runners, so one name never stands for two specs:
 * a Job's pod template cannot be changed in a cluster.
 */
export function templateHash(group: RunnerGroup): string {
  return hash('sha256', JSON.stringify(podTemplate(group))).slice(0, 16);
}
