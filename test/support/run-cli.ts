import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { runProgram } from '../../src/cli/cli.ts';
import { columnsFrom } from '../../src/shared/io.ts';
import { printingIo } from './printing-io.ts';

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the built program as users do, with nothing in its environment but `env`. */
export function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = '.',
  timeoutMs = 0,
): Promise<Outcome> {
  return runNode([join(process.cwd(), 'lib/gitea-runners.cjs'), ...args], env, cwd, timeoutMs);
}

/** Runs a command in this process, without the 0.2 s of a start. For tests of a command, not of the process. */
export async function runHere(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = '.',
): Promise<Outcome> {
  const { io, printed } = printingIo({ env, cwd: resolve(cwd), columns: columnsFrom(env) ?? 80 });
  const code = await runProgram(args, io);
  return { code, stdout: printed.out, stderr: printed.err };
}

/** Starts a Node.js program with nothing in its environment but `env`, and waits for its end. @param timeoutMs it is ended then; 0: never */
export function runNode(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = '.',
  timeoutMs = 0,
): Promise<Outcome> {
  return runCommand(process.execPath, args, { PATH: process.env['PATH'], ...env }, cwd, timeoutMs);
}

/** Starts any program, and waits for its end. */
export function runCommand(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
  timeoutMs = 0,
): Promise<Outcome> {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
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
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** A temporary folder with these files and their folders, removed at the end of the test. Concurrent tests hand in their own `onTestFinished`. */
export function folderWith(
  files: Readonly<Record<string, string>>,
  atEnd: (cleanUp: () => void) => void = onTestFinished,
): string {
  const folder = mkdtempSync(join(tmpdir(), 'groups-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** A RunnerGroup of org acme as a person would write it. */
export function groupYaml(url: string, spec = '', name = 'ci'): string {
  return `apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerGroup
metadata: {name: ${name}, namespace: runners}
spec:
  scope: org
  org: acme
  gitea: {url: "${url}"}
${spec.includes('containerMode') ? '' : '  containerMode: host\n'}  defaultLabels: false
  labels: ["linux:host"]
${spec.includes('maxActiveRunners') ? '' : '  maxActiveRunners: 5\n'}  registrationToken: {secretRef: {name: gitea-runner, key: token}}
  authToken: {secretRef: {name: gitea-api, key: token}}
${spec.includes('resources') ? '' : '  resources: {requests: {cpu: 1}}\n'}${spec}`;
}
