/** Our program as a process of its own, for at most a minute. */
import { runCli } from '../support/run-cli.ts';

/** What one run gave. */
export interface Ran {
  /** 1 as well for a run that was ended from outside. */
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** @param env besides PATH: nothing is handed on. */
export async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  timeoutMs = 60_000,
): Promise<Ran> {
  const { code, stdout, stderr } = await runCli(args, env, '.', timeoutMs);
  return { exit: code ?? 1, stdout, stderr };
}
