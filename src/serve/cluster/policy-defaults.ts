import { statSync } from 'node:fs';
import { defaultsOf } from '../../config/policy/defaults.ts';
import { readPolicyFile } from '../../config/policy/policy-schema.ts';
import type { GroupDefaults } from '../../config/runnergroup/to-runner-group.ts';

/**
 * Returns a function that reads the current defaults of the policy file. It returns the same object until they change,
 * so that groups stay the same objects, too. While the file cannot be read, the last defaults hold: all groups are
 * refused anyway (looks/targets.ts).
 */
export function policyDefaults(file: string): () => GroupDefaults | undefined {
  let state: string | undefined;
  let lastPolicy: string | undefined;
  let defaults: GroupDefaults | undefined;
  return () => {
    // A mounted ConfigMap changes by another file in its place.
    const { ctimeMs, ino, mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
    const now = [ctimeMs, ino, mtimeMs, size].join();
    if (now === state) return defaults;
    state = now;
    const read = readPolicyFile(file);
    const policyText = 'policy' in read ? JSON.stringify(read.policy) : lastPolicy;
    if ('policy' in read && policyText !== lastPolicy) defaults = defaultsOf(read.policy);
    lastPolicy = policyText;
    return defaults;
  };
}
