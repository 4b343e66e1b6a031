/** Processes of the server tests: each in its own session and folder, with a log file, ended whatever happens to the test. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { chownSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A process that was started. */
export interface Running {
  readonly pid: number;
  readonly logFile: string;
  /** Exit code, or the signal that ended it; resolves when the process itself (not its children) has ended. */
  readonly exited: Promise<number | NodeJS.Signals>;
  readonly hasExited: () => boolean;
  readonly signal: (signal: NodeJS.Signals) => void;
}

export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment, but for `PATH` and `USER`, which are added. */
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Put before PATH. */
  readonly binaries?: string;
  /** Keep this process' user instead of becoming `nobody`. */
  readonly asMyself?: boolean;
}

/**
 * A folder and the processes that run in it. As root, processes run as `nobody`: Gitea refuses root, and CI steps
 * should not be root either. `close` ends every process with its children and removes the folder; the end of this
 * process by any cause does the same (guard.mjs). With the environment variable KEEP=1 the folder stays.
 */
export class Playground {
  readonly folder: string;
  readonly #user: { readonly uid: number; readonly gid: number } | undefined;
  readonly #guard: ChildProcess;
  readonly #guardEnded: Promise<unknown>;
  #closed = false;

  constructor(name: string) {
    if (process.platform !== 'linux') throw new Error('the server tests need Linux: they find processes through /proc');
    this.#user = process.getuid?.() === 0 ? nobody() : undefined;
    this.folder = mkdtempSync(join(tmpdir(), `gitea-runners-${name}-`));
    this.#own(this.folder);
    this.#guard = spawn(process.execPath, [join(import.meta.dirname, 'guard.mjs')], {
      detached: true,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    // Vitest itself was interrupted or killed: this worker would go on alone.
    process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
    this.#guardEnded = new Promise((resolve) => this.#guard.once('exit', resolve));
    if (process.env['KEEP'] !== '1') this.removeAtEnd(this.folder);
  }

  /** True from the moment `close` was called: nothing can be started any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Makes a folder (and those above it) for the processes. */
  makeFolder(...parts: readonly string[]): string {
    let folder = this.folder;
    for (const part of parts) {
      folder = join(folder, part);
      mkdirSync(folder, { recursive: true });
      this.#own(folder);
    }
    return folder;
  }

  /** Starts a process and returns at once. */
  start({ command, args, cwd, env, logFile, binaries, asMyself = false }: Start): Running {
    if (this.#closed) throw new Error(`${command} is to be started in a playground that is closed`);
    const log = openSync(logFile, 'a');
    const path = [binaries, process.env['PATH'] ?? '/usr/bin:/bin'].filter(Boolean).join(':');
    const user = asMyself ? undefined : this.#user;
    const child = spawn(command, args, {
      cwd,
      env: { ...env, PATH: path, USER: user ? 'nobody' : (process.env['USER'] ?? 'nobody') },
      detached: true,
      stdio: ['ignore', log, log],
      ...user,
    });
    closeSync(log);
    const pid = child.pid;
    let ended = pid === undefined;
    const exited = new Promise<number | NodeJS.Signals>((resolve) => {
      child.once('exit', (code, signal) => resolve(code ?? signal ?? 1));
      child.once('error', () => resolve(127));
    }).finally(() => {
      ended = true;
    });
    if (pid === undefined) throw new Error(`${command} could not be started; is it there and executable?`);
    this.#tellGuard(`+${pid}`);
    return { pid, logFile, exited, hasExited: () => ended, signal: (signal) => void child.kill(signal) };
  }

  /** Runs a process to its end. @throws with the end of its log when its exit code is not 0. */
  async run(start: Start): Promise<void> {
    const running = this.start(start);
    const result = await running.exited;
    if (result !== 0)
      throw new Error(`${start.command} ${start.args[0] ?? ''} ended with ${result}:\n${tail(start.logFile)}`);
  }

  /** Ends the rest of a process' session, e.g. CI steps that outlived their runner. */
  endSession(running: Running): void {
    this.#tellGuard(`-${running.pid}`);
  }

  /** Removes a folder at the end in any case, e.g. a large part of the own folder of which only the logs may stay. */
  removeAtEnd(folder: string): void {
    this.#tellGuard(`rm ${folder}`);
  }

  /** Ends what runs in a tree of control groups and removes it, at the end in any case. */
  removeControlGroupsAtEnd(tree: string): void {
    this.#tellGuard(`rmdir ${tree}`);
  }

  /** Removes a network card, `gr<number>`, at the end in any case. */
  removeCardAtEnd(card: string): void {
    this.#tellGuard(`card ${card}`);
  }

  /** Ends everything. The folder stays when `keep`, so that its logs can be read. */
  async close(keep = false): Promise<void> {
    if (keep) this.#tellGuard(`keep ${this.folder}`);
    this.#closed = true;
    this.#guard.stdin?.end();
    await this.#guardEnded;
  }

  #tellGuard(word: string): void {
    // The end of its stdin has told it to end all sessions.
    if (this.#closed) return;
    if (this.#guard.exitCode !== null) throw new Error('guard.mjs has ended; nobody would end the processes');
    this.#guard.stdin?.write(`${word}\n`);
  }

  #own(folder: string): void {
    if (this.#user) chownSync(folder, this.#user.uid, this.#user.gid);
  }
}

/** The unprivileged user that every Linux has. */
function nobody(): { uid: number; gid: number } {
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }).trim());
  return { uid: id('-u'), gid: id('-g') };
}

/** The last 40 lines of a log. */
export function tail(logFile: string): string {
  return readFileSync(logFile, 'utf8').split('\n').slice(-40).join('\n');
}

/**
 * Returns a free TCP port of the loopback interface. It is below the ports that Linux gives for port 0 (32768 to
 * 60999), so that no other test gets it by chance while this one still needs it.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 30_000);
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!isFree) return freePort();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Asks `check` every 100 ms until there is something, and returns that.
 * @throws after `timeoutMs`, or as soon as `running` has ended.
 */
export async function waitUntil<T>(
  what: string,
  check: () => T | false | undefined | Promise<T | false | undefined>,
  { timeoutMs = 120_000, running }: { readonly timeoutMs?: number; readonly running?: Running } = {},
): Promise<T> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const found = await check();
    if (found) return found;
    const log = running ? `\n${tail(running.logFile)}` : '';
    if (running?.hasExited()) throw new Error(`${what}: the process has ended:${log}`);
    if (Date.now() > until) throw new Error(`${what}: not after ${timeoutMs / 1000} s${log}`);
    await sleep(100);
  }
}

/** Returns the status at this address. 0 while nobody answers. */
export async function statusOf(url: string): Promise<number> {
  return await fetch(url).then(
    ({ status }) => status,
    () => 0,
  );
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
