/** The process as commands see it. It is passed on as a value, so that a test can pass its own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** True when stdout is a terminal: only then colours and cursor movement are allowed. */
  readonly terminal: boolean;
  /** `COLUMNS`, else the width of the terminal; 80 when stdout is no terminal. */
  readonly columns: number;
  readonly now: () => number;
  /** A promise when not all of it has left the process. Who prints much waits for it: what waits is in memory. */
  readonly out: (text: string) => unknown;
  readonly err: (text: string) => void;
}

/** The process' exit code. 4: `explain --exit-code` found an unserved job. 130: Ctrl-C ended it; 129 and 143: another signal. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 129 | 130 | 143;
