/** The real process: its streams, and the one place where an error becomes a message and an exit code. */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { Failure, systemCode } from '../shared/failure.ts';
import { columnsFrom, type ExitCode, type Io, paperOf } from '../shared/io.ts';
import { printable } from '../shared/printable.ts';
import { wrapped } from '../shared/table.ts';
import { flagValue, type GivenFlags } from './flags/flags.ts';

export function mainIo(): Io {
  return {
    env: process.env,
    cwd: process.cwd(),
    terminal: process.stdout.isTTY === true,
    // Asked each time: a terminal may get another width while `explain --watch` runs.
    get columns() {
      return columnsFrom(process.env) ?? process.stdout.columns ?? 80;
    },
    now: Date.now,
    out: (text) => (process.stdout.write(text) ? undefined : once(process.stdout, 'drain')),
    err: (text) => void process.stderr.write(text),
  };
}

/** Ends the process when nothing more can be printed. Node would print a stack trace. */
export function endOnClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', endOnRefusedOutput);
}

/** Ends the process with code 1: quietly when its reader has gone (`gitea-runners explain | head`), else with the reason on stderr. */
function endOnRefusedOutput(error: unknown): never {
  const code = systemCode(error);
  try {
    if (code !== 'EPIPE')
      writeSync(2, `error: GR-OUTPUT-01 print: ${code}. What was printed before it is not whole.\n`);
  } catch {
    // stderr itself may be the stream that fails.
  }
  process.exit(1);
}

/** Longest error text, in lines: Argo CD shows all of stderr in its UI and keeps it in Redis. */
const MOST_LINES = 20;

/** Prints `error: CODE message`. Of an error that is no Failure it prints the name only: the message may hold anything. */
export function reportFailure(error: unknown, io: Io, verbose: boolean): ExitCode {
  if (error instanceof Failure) {
    const lines = error.message.split('\n').slice(0, MOST_LINES).map(printable);
    io.err(`${wrapped(`error: ${error.code} ${lines.join('\n')}`, paperOf(io).columns)}\n`);
    return error.exit;
  }
  const name = error instanceof Error ? error.name : 'unknown error';
  const request = 'This is a mistake in gitea-runners: please report it with the output of -v.';
  io.err(`error: GR-INTERNAL ${printable(name)}. ${request}\n`);
  if (verbose && error instanceof Error) io.err(`${(error.stack ?? '').split('\n').map(printable).join('\n')}\n`);
  return 1;
}

/** Runs a command. Every error that it throws becomes one message and an exit code. */
export async function exitCodeOf(command: () => Promise<ExitCode>, flags: GivenFlags<'verbose'>, io: Io) {
  try {
    return await command();
  } catch (error) {
    try {
      return reportFailure(error, io, flagValue('verbose', flags, io));
    } catch (unclear) {
      // The variable that says how much to print cannot be read either: that comes first.
      return reportFailure(unclear, io, false);
    }
  }
}
