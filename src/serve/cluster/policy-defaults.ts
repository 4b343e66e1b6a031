import { statSync } from 'node:fs';
import { defaultsOf } from '../../config/policy/defaults.ts';
import { readPolicyFile } from '../../config/policy/policy-schema.ts';
import type { GroupDefaults } from '../../config/runnergroup/to-runner-group.ts';

/**
 * What the policy file says now for groups that do not say it. The same function while nothing of it changes, so that groups stay the same
 * objects. A file that cannot be read refuses all groups (looks/targets.ts), so what it said before may stay.
 */
export function policyDefaults(file: string): () => GroupDefaults | undefined {
  let state: string | undefined;
  let said: string | undefined;
  let defaults: GroupDefaults | undefined;
  return () => {
    // A mounted ConfigMap changes by another file in its place.
    const { ctimeMs, ino, mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
    const now = [ctimeMs, ino, mtimeMs, size].join();
    if (now === state) return defaults;
    state = now;
    const read = readPolicyFile(file);
    const says = 'policy' in read ? JSON.stringify(read.policy) : said;
    if ('policy' in read && says !== said) defaults = defaultsOf(read.policy);
    said = says;
    return defaults;
  };
}
