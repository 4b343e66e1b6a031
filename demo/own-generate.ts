import { spawn } from 'node:child_process';
import type { Generate } from './demo.ts';

/** Starts this very program as Argo CD would: `gitea-runners generate` with nothing but `env`, in the folder `cwd`. */
export const ownGenerate: Generate = (env, cwd) => ownCommand(['generate'], env, cwd);

/** The same for the question of a person. */
export const ownExplain: Generate = (env, cwd) => ownCommand(['explain', '--state', 'unserved'], env, cwd);

function ownCommand(args: readonly string[], env: Record<string, string>, cwd: string): ReturnType<Generate> {
  const program = process.argv[1];
  if (program === undefined) throw new Error('the path of this program is unknown');
  const child = spawn(process.execPath, [program, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ exitCode: code ?? 1, stdout, stderr }));
  });
}
