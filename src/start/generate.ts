/** lib/generate.cjs: `gitea-runners generate` with a plain command line, and nothing that it does not need. */
import './without-jit.ts';
import { generate } from '../cli/generate.ts';
import type { PlainLine } from '../cli/plain-line.ts';
import { exitCodeOf } from '../cli/process.ts';
import { quickEnd, quickIo } from './quick-process.ts';

/** Runs the command and ends the process. */
export async function main({ paths, flags }: Extract<PlainLine, { command: 'generate' }>): Promise<void> {
  const io = quickIo();
  quickEnd(await exitCodeOf(() => generate(paths, flags, io), flags, io));
}
