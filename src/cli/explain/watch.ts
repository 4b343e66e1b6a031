/** `explain --watch`: the answer of now, again and again, until Ctrl-C. */

import { pause, systemClock } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import type { ExitCode, Io } from '../../shared/io.ts';
import { printable } from '../../shared/printable.ts';
import { canMove } from '../../shared/terminal.ts';

/** As often as `serve` looks at most. */
const EVERY_MS = 5_000;
/** Cursor to the top left, and nothing below it. The lines above, which the terminal keeps, stay. */
const CLEAR = '\x1b[H\x1b[2J';

/**
 * Shows what `show` answers. A terminal is redrawn; a pipe gets one block after another. An error is shown in its place, because the next
 * look may be good. Ctrl-C ends it with 130. @throws Failure for a mistake of the input, at the first look: later a file may be half saved
 */
export async function watch(show: () => Promise<string>, io: Io): Promise<ExitCode> {
  const ending = new AbortController();
  const stop = (): void => ending.abort();
  process.once('SIGINT', stop);
  try {
    for (let look = 1; !ending.signal.aborted; look += 1) {
      const text = await show().catch((error: unknown) => errorText(error, look));
      if (ending.signal.aborted) break;
      const time = new Date(io.now()).toISOString().slice(11, 19);
      io.out(
        `${canMove(io) ? CLEAR : ''}${time} UTC, every ${EVERY_MS / 1000} s, Ctrl-C ends\n\n${text}${canMove(io) ? '' : '\n'}`,
      );
      await pause(systemClock, EVERY_MS, ending.signal);
    }
    return 130;
  } finally {
    process.off('SIGINT', stop);
  }
}

function errorText(error: unknown, look: number): string {
  if (!(error instanceof Failure) || (error.exit !== 1 && look === 1)) throw error;
  return `error: ${error.code} ${error.message.split('\n').map(printable).join('\n')}\n`;
}
