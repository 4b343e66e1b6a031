/** Reads secrets from files, e.g. of webhooks. A Secret may be replaced at any time: each is read every ten seconds. */
import { readFile } from 'node:fs/promises';
import { Failure, systemReason } from '../../shared/failure.ts';
import { normalBase } from '../../shared/url.ts';
import type { WorkQueue } from '../queue/work-queue.ts';

/** Time between two reads of the files, ms. */
const AGAIN_MS = 10_000;
/** Time limit of one read, ms, for a file system that hangs. */
const LONGEST_READ_MS = 10_000;

/** Returns a reader of secrets in files. @param onFailure a file is unreadable; its last secrets stay valid */
export function secretFiles(queue: WorkQueue, onFailure: (failure: Failure) => void) {
  const secrets = new Map<string, readonly string[]>();
  const line = queue.open('secret-file', {
    width: 2,
    deadlineMs: LONGEST_READ_MS,
    backOffMs: () => AGAIN_MS,
    onFailure: (_, failure) => onFailure(failure),
    run: async (file) => {
      secrets.set(file, await readSecrets(file));
      return { inMs: AGAIN_MS };
    },
  });
  return async (file: string | undefined): Promise<() => readonly string[]> => {
    if (file === undefined) return () => [];
    secrets.set(file, await readSecrets(file));
    line.add(file, AGAIN_MS);
    return () => secrets.get(file) ?? [];
  };
}

/** Reads one secret per line. Ignores empty lines and white space around secrets. */
async function readSecrets(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const remedy = 'Mount the Secret, or leave out the flag that names the file';
    throw new Failure('GR-SERVE-02', 1, `read secrets: ${file}: ${systemReason(error)}. ${remedy}.`);
  });
  return text.split('\n').flatMap((line) => line.trim() || []);
}

/**
 * Parses a line of a file with secrets: `SECRET`, or `https://gitea.example.com SECRET`. A line whose first word is not
 * a base URL is one secret: a secret may have spaces. `base`: normal form of the only base URL that the secret is for.
 * Undefined: all.
 */
export function secretLine(line: string) {
  const [, url = '', secret = ''] = /^(https?:\/\/\S+)\s+(\S.*)$/.exec(line) ?? [];
  const base = normalBase(url);
  return { secret: base === undefined ? line : secret, base };
}
