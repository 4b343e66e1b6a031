/**
 * Runs a container's command in a real shell, with folders and programs of the test in place of those of the pod and
 * the image.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Ended {
  readonly code: number | null;
  /** Output on stdout and stderr. */
  readonly said: string;
}

interface Start {
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Shell in place of the one that the command names. */
  readonly shell?: string | undefined;
  /** Hears all that was said so far. `stop` is what a pod gets that is deleted: SIGTERM. */
  readonly hear?: ((said: string, stop: () => void) => void) | undefined;
}

/** A container of a test, which closes it. Its folder has `bin` and `data`. */
export class Container {
  readonly folder = mkdtempSync(join(tmpdir(), 'container-'));
  /** Started processes. Each leads a session. */
  readonly #started: ChildProcess[] = [];

  constructor() {
    for (const made of ['data', 'bin']) mkdirSync(join(this.folder, made));
  }

  close(): void {
    for (const child of this.#started) endSession(child);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A shell script that the container finds under this name. */
  program(name: string, text: string): void {
    const file = join(this.folder, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
  }

  /** Starts the command as the kubelet does: Kubernetes makes one dollar sign of two. */
  start(command: readonly string[], { env, shell: other, hear = () => undefined }: Start = {}): Promise<Ended> {
    const [shell = '', ...words] = command.map((word) =>
      word.replaceAll('$$', () => '$').replaceAll(/\/(?:data|run|etc\/s6)(?=[/\s]|$)/g, (place) => this.folder + place),
    );
    const PATH = `${join(this.folder, 'bin')}:${process.env['PATH'] ?? ''}`;
    const child = spawn(other ?? shell, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH, ...env },
      detached: true,
    });
    this.#started.push(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        said += chunk;
        hear(said, () => void child.kill('SIGTERM'));
      });
    }
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      // A process that nobody waits for, e.g. a `sleep`, keeps the pipes open. In a pod it ends with the container.
      child.on('exit', () => endSession(child));
      child.on('close', (code) => resolve({ code, said }));
    });
  }
}

/** Ends all processes of the container: `timeout` leads a process group of its own, but stays in the session. */
function endSession({ pid }: ChildProcess): void {
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      // After the name: state, parent, group, session (proc_pid_stat(5)).
      const session = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3];
      if (session === String(pid)) process.kill(Number(entry), 'SIGKILL');
    } catch {
      // The process has ended.
    }
  }
}
