/** The process as commands see it: a value that is passed on, so that a test can hand in its own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** True when stdout is a terminal: only then colours and cursor movement are allowed. */
  readonly terminal: boolean;
  /** Terminal width in columns; 80 when stdout is no terminal. */
  readonly columns: number;
  readonly now: () => number;
  readonly out: (text: string) => void;
  /** As `out` with all of them joined; absent: there is no better way. A long text that comes often is to be the same string each time. */
  readonly outPieces?: (texts: readonly string[]) => void;
  readonly err: (text: string) => void;
}

/** What a command answers: the process' exit code. Errors are thrown as `Failure` and printed in one place (`src/cli.ts`). */
export type ExitCode = 0 | 1 | 2 | 3;
