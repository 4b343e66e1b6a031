/** The login program of a kubeconfig (`exec`), as kubectl starts it. For commands that people type (docs/adr/0057). */
import { spawn } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { isatty } from 'node:tty';
import * as z from 'zod';
import { systemClock } from '../../shared/clock.ts';
import { Failure, systemCode, systemReason } from '../../shared/failure.ts';
import { oneLine, printable } from '../../shared/printable.ts';
import { isHeaderText, parseJson } from '../http/request.ts';
import { certificateOf, type LogIn, type Login, type NamedProgram, wrongKubeconfig } from './kubeconfig.ts';

const Program = z.object({
  apiVersion: z.enum(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string().min(1), value: z.string() })).nullish(),
  installHint: z.string().nullish(),
  interactiveMode: z.enum(['Never', 'IfAvailable', 'Always']).nullish(),
  provideClusterInfo: z.boolean().nullish(),
});

const Status = z.object({
  token: z.string().refine(isHeaderText).optional(),
  clientCertificateData: z.string().optional(),
  clientKeyData: z.string().optional(),
  expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
});

/** A certificate chain has some KiB. */
const LONGEST_ANSWER = 1_048_576;
/** Most characters of a program's stderr that a message repeats. */
const LONGEST_WORDS = 500;

type Answer = Login & { readonly untilMs: number };

type ExecOptions = Readonly<{ env: Readonly<Record<string, string | undefined>>; timeoutMs: number }>;

/** Answers of login programs: one per kubeconfig, so one or two in a process. */
const answers = new Map<string, Promise<Answer>>();

/** Starts each program once, and again when what it gave has expired. */
export function execLogin(options: ExecOptions): LogIn {
  return async (program) => {
    const key = JSON.stringify(program);
    const keptAnswer = answers.get(key);
    if (keptAnswer && (await keptAnswer).untilMs > systemClock.now()) return await keptAnswer;
    const answer = runLogin(program, options);
    answers.set(key, answer);
    // A failure is not kept: the next round of `--watch` starts the program again.
    answer.catch(() => answers.delete(key));
    return await answer;
  };
}

async function runLogin({ file, exec, cluster }: NamedProgram, { env, timeoutMs }: ExecOptions): Promise<Answer> {
  const parsed = Program.safeParse(exec);
  if (!parsed.success)
    throw wrongKubeconfig(file, `without usable exec.${parsed.error.issues[0]?.path.join('.') ?? ''}`);
  const { apiVersion, command, installHint, interactiveMode, provideClusterInfo, ...program } = parsed.data;
  const failure = (problem: string, todo = `See whether kubectl can log in: kubectl --kubeconfig ${file} version`) => {
    const message = `log in with the program of kubeconfig ${file}: "${printable(command)}" ${problem}. ${todo}`;
    return new Failure('GR-CLUSTER-17', 1, message, 'cluster');
  };
  const interactive = interactiveMode !== 'Never' && isatty(0);
  if (interactiveMode === 'Always' && !interactive)
    throw failure('asks a person, and standard input is no terminal', 'Type the command in a terminal.');
  const spec = { interactive, ...(provideClusterInfo && { cluster }) };
  const ownEnv = Object.fromEntries((program.env ?? []).map(({ name, value }) => [name, value]));
  const KUBERNETES_EXEC_INFO = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec });
  const options = { env: { ...env, ...ownEnv, KUBERNETES_EXEC_INFO }, interactive, timeoutMs };
  const path = command.includes('/') ? resolve(dirname(file), command) : command;
  const { error, code, errorText, out } = await run(path, program.args ?? [], options);
  const waits = 'If it waits for you, log in with kubectl first, or raise --timeout.';
  if (error?.name === 'AbortError') throw failure(`has not ended within ${timeoutMs / 1000} s`, waits);
  const install = oneLine(installHint ?? '', LONGEST_WORDS) || 'Install it, or add its folder to PATH.';
  if (error && systemCode(error) === 'ENOENT') throw failure('is not there', install);
  if (error) throw failure(`cannot be started: ${systemReason(error)}`);
  if (code !== 0) throw failure(`ended with ${code ?? 'a signal'}${errorText && `: ${errorText}`}`);
  return answerIn(out, apiVersion, failure);
}

/** Parses the output of the program. Errors never quote it: it holds the token. */
function answerIn(output: string, apiVersion: string, failure: (what: string) => Failure): Answer {
  const Credential = z.object({ apiVersion: z.literal(apiVersion), kind: z.literal('ExecCredential'), status: Status });
  const { data, error } = Credential.safeParse(parseJson(output));
  if (!data)
    throw failure(`printed no ExecCredential of ${apiVersion} (${error?.issues[0]?.path.join('.') || 'no JSON'})`);
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = data.status;
  if ((cert === undefined) !== (key === undefined) || (token ?? cert) === undefined)
    throw failure('gave no token, and no client certificate with its key');
  const untilMs = expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp);
  return { token, clientCertificate: certificateOf(cert, key), untilMs };
}

interface Ended {
  readonly out: string;
  /** The end of its stderr. Empty when that is the terminal itself. */
  readonly errorText: string;
  /** `null`: a signal ended it. */
  readonly code: number | null;
  /** Set if the program did not start or took too long. */
  readonly error?: Error;
}

async function run(
  command: string,
  args: readonly string[],
  { env, interactive, timeoutMs }: ExecOptions & { readonly interactive: boolean },
): Promise<Ended> {
  const terminal = interactive ? 'inherit' : undefined;
  const child = spawn(command, args, {
    env,
    stdio: [terminal ?? 'ignore', 'pipe', terminal ?? 'pipe'],
    signal: AbortSignal.timeout(timeoutMs),
    killSignal: 'SIGKILL',
  });
  let output = '';
  let errorText = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(0, LONGEST_ANSWER);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errorText = (errorText + text).slice(-LONGEST_WORDS);
  });
  return await new Promise((done) => {
    child.once('error', (error) => {
      // Child processes of the program may keep these streams open.
      child.stdout?.destroy();
      child.stderr?.destroy();
      done({ out: output, errorText, code: null, error });
    });
    child.once('close', (code) => done({ out: output, errorText: oneLine(errorText, LONGEST_WORDS), code }));
  });
}
