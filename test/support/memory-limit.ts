/**
 * A memory limit as the kubelet sets it: a control group, which only root can make. Without root the process has no
 * limit, and only its memory is measured.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { until } from '../serve/rig.ts';

const ROOT = '/sys/fs/cgroup';

/** Returns the beginning of a command line; the rest of it runs below the limit. */
export function belowLimit(mib: number): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const group = makeGroup(mib * 1024 * 1024);
  onTestFinished(() => until('its processes have left the control group', () => removed(group)));
  return ['/bin/sh', '-c', `echo $$ > ${join(group, 'cgroup.procs')} && exec "$@"`, 'sh'];
}

function makeGroup(bytes: number): string {
  const isSecond = existsSync(join(ROOT, 'cgroup.controllers'));
  const group = join(ROOT, isSecond ? '' : 'memory', `gitea-runners-test-${process.pid}-${Date.now()}`);
  try {
    if (isSecond) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+memory');
    mkdirSync(group);
    writeFileSync(join(group, isSecond ? 'memory.max' : 'memory.limit_in_bytes'), String(bytes));
  } catch (error) {
    throw new Error(
      `root can make no control group with a limit of memory in ${ROOT}: mount it writable for this test`,
      { cause: error },
    );
  }
  return group;
}

function removed(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch {
    return false;
  }
}
