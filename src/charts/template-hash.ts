import { hash } from 'node:crypto';
import type { JobManifest } from './job-manifest.ts';

/**
 * 16 hex digits over a template. They go into the names of new runners, so one name never stands for two specs: a Job's pod
 * template cannot be changed in a cluster.
 */
export function hashOf(template: JobManifest): string {
  return hash('sha256', JSON.stringify(template)).slice(0, 16);
}
