/** Finds the traces of a stack on this side of its machine. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';

/** Marks of a stack that distinguish it from others. */
export interface Mark {
  readonly folder: string;
  /** Its machine's address for this side. */
  readonly outside: string;
}

export interface Traces {
  /** Command lines. */
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly controlGroups: readonly string[];
  readonly cards: readonly string[];
  readonly folders: readonly string[];
}

export const NOTHING: Traces = { processes: [], mounts: [], controlGroups: [], cards: [], folders: [] };

const CGROUPS = '/sys/fs/cgroup';

/** A process belongs to the stack that its command line, its environment or its control group names. */
export function tracesOf({ folder, outside }: Mark): Traces {
  const name = basename(folder);
  const mentions = (...files: readonly string[]): boolean => files.some((file) => read(file).includes(name));
  const processes = readdirSync('/proc')
    .filter((entry) => /^[0-9]+$/.test(entry) && Number(entry) !== process.pid)
    .filter((pid) => mentions(`/proc/${pid}/cmdline`, `/proc/${pid}/environ`, `/proc/${pid}/cgroup`))
    .map((pid) => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 120));
  const cards = Object.entries(networkInterfaces()).filter(([, on]) => on?.some(({ address }) => address === outside));
  return {
    processes,
    mounts: read('/proc/self/mountinfo')
      .split('\n')
      .filter((line) => line.includes(name)),
    controlGroups: ['', ...readdirSync(CGROUPS)].map((part) => join(CGROUPS, part, name)).filter(existsSync),
    cards: cards.map(([card]) => card),
    folders: [folder].filter(existsSync),
  };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}
