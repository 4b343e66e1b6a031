/** Starts the built program and measures its peak of memory. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

export interface Run {
  readonly code: number | null;
  readonly stderr: string;
  /** Peak of the resident set, in MB (10^6 bytes). */
  readonly peakMb: number;
}

/** `gitea-runners …`; what it prints on stdout is dropped. */
export function runMeasured(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Run> {
  const root = process.cwd();
  const child = spawn(
    process.execPath,
    ['--require', join(root, 'bench/usage.cjs'), join(root, 'lib/gitea-runners.cjs'), ...args],
    {
      cwd: options.cwd,
      env: { PATH: process.env['PATH'], USAGE_FD: '3', ...options.env },
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    },
  );
  const texts = { stderr: '', usage: '' };
  child.stderr?.on('data', (chunk: Buffer) => {
    texts.stderr += chunk.toString();
  });
  child.stdio[3]?.on('data', (chunk: Buffer) => {
    texts.usage += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const [peakKib = Number.NaN] = texts.usage.split(' ').map(Number);
      resolve({ code, stderr: texts.stderr, peakMb: (peakKib * 1024) / 1e6 });
    });
  });
}
