/** The process as commands see it, and what its terminal can show. */
import { styleText } from 'node:util';

/** The process as commands see it. It is an argument, so that a test can pass its own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** True when stdout is a terminal: only then colours and cursor movement are allowed. */
  readonly terminal: boolean;
  /** Width: `COLUMNS`, else that of the terminal; 80 if stdout is not a terminal. */
  readonly columns: number;
  readonly now: () => number;
  /** Writes to stdout. Returns a promise if a part is still in memory: code with much output waits for it. */
  readonly out: (text: string) => unknown;
  readonly err: (text: string) => void;
}

/** The process' exit code. 4: `explain --exit-code` found an unserved job. 130: Ctrl-C; 129, 143: another signal. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 129 | 130 | 143;

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** What can be shown. Without `columns` lines may have any length, as on a pipe. */
export type Paper = Readonly<{ columns?: number; colour: boolean }>;

/** A terminal has its width. `COLUMNS` limits a pipe, too. */
export function paperOf({ terminal, columns, env }: Pick<Io, 'terminal' | 'columns' | 'env'>): Paper {
  const isLimited = terminal || columnsFrom(env) !== undefined;
  return { colour: canColour({ terminal, env }), ...(isLimited && { columns }) };
}

/** True if colours may be used: not with `NO_COLOR` (no-color.org), nor on a terminal that can only print. */
export function canColour({ terminal, env }: Pick<Io, 'terminal' | 'env'>): boolean {
  return terminal && !env['NO_COLOR'] && canMove({ terminal, env });
}

/** `TERM=dumb`: the cursor cannot be moved. */
export function canMove({ terminal, env }: Pick<Io, 'terminal' | 'env'>): boolean {
  return terminal && env['TERM'] !== 'dumb';
}

export function painted(style: Style, text: string, { colour }: Pick<Paper, 'colour'>): string {
  return colour ? styleText(style, text, { validateStream: false }) : text;
}

/** `COLUMNS` of the environment, from 20 to 1000. Undefined: it says nothing. */
export function columnsFrom(env: Io['env']): number | undefined {
  const text = env['COLUMNS'] ?? '';
  const columns = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  return columns >= 20 && columns <= 1000 ? columns : undefined;
}
