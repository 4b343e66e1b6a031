/** What ends a program whose standard output or standard error takes no more. */
import { writeSync } from 'node:fs';
import { systemCode } from '../failure.ts';

/** Ends the process with code 1: quietly when its reader has gone (`gitea-runners explain | head`), else with the reason on stderr. */
export function endOnRefusedOutput(error: unknown): never {
  const code = systemCode(error);
  if (code !== 'EPIPE') tell(`error: GR-OUTPUT-01 print: ${code}. What was printed before it is not whole.\n`);
  process.exit(1);
}

function tell(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // It may be stderr itself that takes no more.
  }
}
