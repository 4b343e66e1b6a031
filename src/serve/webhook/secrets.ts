/** The webhook secrets that are valid now. Secrets are replaced while we run, so their files are read again and again. */
import { readFile } from 'node:fs/promises';
import { Failure, systemReason } from '../../shared/failure.ts';
import type { KeyQueue, WorkQueue } from '../queue.ts';

const AGAIN_MS = 10_000;
/** A file system that hangs. */
const LONGEST_READ_MS = 10_000;

export class SecretFiles {
  /** By file. */
  readonly #secrets = new Map<string, readonly string[]>();
  readonly #line: KeyQueue;

  /** @param onFailure told when a file cannot be read any more. The secrets of before stay valid. */
  constructor(queue: WorkQueue, onFailure: (failure: Failure) => void) {
    this.#line = queue.open('secret-file', {
      width: 2,
      deadlineMs: LONGEST_READ_MS,
      backOffMs: () => AGAIN_MS,
      onFailure: (_, failure) => onFailure(failure),
      run: async (file) => {
        this.#secrets.set(file, await readSecrets(file));
        return { inMs: AGAIN_MS };
      },
    });
  }

  /**
   * Gives a function that answers the secrets of the moment.
   * @param file one secret per line; absent: there are none, and no webhook is accepted. @throws Failure when it cannot be read at the start.
   */
  async watch(file: string | undefined): Promise<() => readonly string[]> {
    if (file === undefined) return () => [];
    this.#secrets.set(file, await readSecrets(file));
    this.#line.add(file, AGAIN_MS);
    return () => this.#secrets.get(file) ?? [];
  }
}

/** One per line. White space around them and empty lines are ignored. */
export function parseSecrets(text: string): readonly string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

async function readSecrets(file: string): Promise<readonly string[]> {
  try {
    return parseSecrets(await readFile(file, 'utf8'));
  } catch (error) {
    throw new Failure(
      'GR-SERVE-02',
      1,
      `read the webhook secrets: ${file}: ${systemReason(error)}. Mount the Secret, or leave --webhook-secret-file out to do without webhooks.`,
    );
  }
}
