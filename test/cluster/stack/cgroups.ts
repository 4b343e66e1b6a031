/**
 * Makes a separate tree of control groups for one kubelet. Otherwise all kubelets of this kernel use the same
 * `/kubepods`, and each removes the others' pods from it: control groups are not part of a mount or process namespace.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/**
 * Makes the group `/<name>` in every hierarchy. `before` is called with each folder just before it is made, so that it is
 * removed whatever happens next. The kubelet refuses a root that is missing in one hierarchy.
 */
export function makeControlGroups(name: string, before: (folder: string) => void): void {
  for (const hierarchy of hierarchies()) {
    const folder = join(hierarchy, name);
    before(folder);
    mkdirSync(folder, { recursive: true });
    // Version 1: a new group has no processors and no memory until they are given to it.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) copy(join(hierarchy, file), join(folder, file));
  }
}

/**
 * Returns the hierarchies. Version 2 has one, version 1 one for each controller (and names that link to one of them).
 */
function hierarchies(): readonly string[] {
  if (existsSync(join(ROOT, 'cgroup.controllers'))) {
    shareControllers();
    return [ROOT];
  }
  return readdirSync(ROOT)
    .map((name) => join(ROOT, name))
    .filter((folder) => !lstatSync(folder).isSymbolicLink() && existsSync(join(folder, 'cgroup.procs')));
}

/**
 * Shares the controllers with groups below. In version 2, a group has the controllers that its parent shares. The
 * kubelet names missing ones in its error.
 */
function shareControllers(): void {
  for (const controller of readFileSync(join(ROOT, 'cgroup.controllers'), 'utf8').trim().split(' ')) {
    try {
      writeFileSync(join(ROOT, 'cgroup.subtree_control'), `+${controller}`);
    } catch {
      // It is shared already by another rule, or cannot be shared.
    }
  }
}

function copy(from: string, to: string): void {
  if (existsSync(from) && existsSync(to)) writeFileSync(to, readFileSync(from));
}
