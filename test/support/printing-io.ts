/** The process as a command sees it, in the test's own process: what the command prints is kept. */
import type { Io } from '../../src/shared/io.ts';

export interface Printed {
  out: string;
  err: string;
}

/** An Io with defaults: no terminal, 80 columns, an empty environment, the root folder and the real clock. */
export function printingIo(wanted: Partial<Omit<Io, 'out' | 'err'>> = {}): {
  readonly io: Io;
  readonly printed: Printed;
} {
  const printed = { out: '', err: '' };
  const io: Io = {
    env: {},
    cwd: '/',
    terminal: false,
    columns: 80,
    now: Date.now,
    ...wanted,
    out: (text) => {
      printed.out += text;
    },
    err: (text) => {
      printed.err += text;
    },
  };
  return { io, printed };
}
