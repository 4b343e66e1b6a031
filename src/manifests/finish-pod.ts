/**
 * What becomes of a group's pod before it is rendered: its podTemplate is merged over it, and it is held to its security profile.
 * A function that is handed in (src/observe/final-pods.ts), because most groups have neither and need not load the code.
 */
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { JobManifest } from './job-manifest.ts';

/** The `spec.template` of a Job. */
export type PodTemplate = JobManifest['spec']['template'];

/** From our pod to the final one. Same arguments, same answer; `ours` is not changed. Keys need not be in order. */
export type FinishPod = (group: RunnerGroup, ours: PodTemplate) => PodTemplate;
