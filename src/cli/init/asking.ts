/** Questions on a terminal. */
import { createInterface } from 'node:readline/promises';
import type { ExitCode, Io } from '../io.ts';
import type { AskPerson } from './answers.ts';

/** Runs a command that may ask. `ask` is undefined when no person sits there. */
export async function asking(io: Io, command: (ask: AskPerson | undefined) => Promise<ExitCode>): Promise<ExitCode> {
  if (!io.terminal || process.stdin.isTTY !== true) return command(undefined);
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await command(async (question, byDefault) => {
      const answer = await lines.question(`${question}${byDefault === undefined ? '' : ` [${byDefault}]`}: `);
      return answer.trim();
    });
  } finally {
    lines.close();
  }
}
