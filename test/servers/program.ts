/** Our program as a process of its own. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

const PROGRAM = join(import.meta.dirname, '..', '..', 'lib', 'gitea-runners.cjs');

/** What one run gave. */
export interface Ran {
  /** 1 as well for a run that was ended from outside. */
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** @param env besides PATH: nothing is handed on. */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  timeoutMs = 60_000,
): Promise<Ran> {
  const options = { env: { PATH: process.env['PATH'] ?? '', ...env }, maxBuffer: 1 << 26, timeout: timeoutMs };
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], options, (error, stdout, stderr) => {
      resolve({ exit: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, stdout, stderr });
    });
  });
}
