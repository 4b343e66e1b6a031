/** lib/validate.cjs: `gitea-runners validate` with a plain command line, and nothing that it does not need. */
import './without-jit.ts';
import { setFlagsFromString } from 'node:v8';
import type { PlainLine } from '../cli/plain-line.ts';
import { policyFrom } from '../cli/policy.ts';
import { exitCodeOf } from '../cli/process.ts';
import { pathsFrom } from '../cli/settings.ts';
import { validate } from '../cli/validate.ts';
import { quickEnd, quickIo } from './quick-process.ts';

/** Runs the command and ends the process. */
export async function main({ paths, flags }: Extract<PlainLine, { command: 'validate' }>): Promise<void> {
  // This is one pass over files of a few lines. What V8 optimises in the background would be ready too late, and the end would wait for it.
  setFlagsFromString('--no-opt');
  const io = quickIo();
  quickEnd(
    await exitCodeOf(
      async () => validate(io, { ...pathsFrom(paths, flags, io), policy: await policyFrom(flags, io) }, flags),
      {},
      io,
    ),
  );
}
