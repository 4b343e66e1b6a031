/** Questions on a terminal. */
import { createInterface } from 'node:readline/promises';
import type { ExitCode, Io } from '../../shared/io.ts';
import type { AskPerson } from './answers.ts';

/**
 * Runs a command that may ask, and asks all before it writes. `ask` is undefined when no person sits there.
 * @returns 130 when the person ends it with Ctrl-C or Ctrl-D
 */
export async function asking(
  io: Io,
  command: (ask: AskPerson | undefined) => Promise<ExitCode>,
  { stdin, stdout }: Pick<NodeJS.Process, 'stdin' | 'stdout'> = process,
): Promise<ExitCode> {
  if (!io.terminal || stdin.isTTY !== true) return command(undefined);
  const lines = createInterface({ input: stdin, output: stdout });
  try {
    return await command(async (question, byDefault) => {
      const answer = await lines.question(`${question}${byDefault === undefined ? '' : ` [${byDefault}]`}: `);
      return answer.trim();
    });
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
    io.err('\nStopped. Nothing was written.\n');
    return 130;
  } finally {
    lines.close();
  }
}
