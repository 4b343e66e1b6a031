/** The webhook secrets that are valid now. Secrets are replaced while we run, so their file is read again and again. */

import { readFile } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { pause } from '../../clock.ts';
import { Failure, systemReason } from '../../failure.ts';
import { parseSecrets } from './gate.ts';

const AGAIN_MS = 10_000;

export interface SecretsOptions {
  /** One secret per line; absent: there are none, and no webhook is accepted. */
  readonly file: string | undefined;
  /** Told when the file cannot be read any more. The secrets of before stay valid. */
  readonly onFailure: (failure: Failure) => void;
  readonly clock: Clock;
}

/** Gives a function that answers the secrets of the moment. @throws Failure when the file cannot be read at the start. */
export async function watchSecrets(
  { clock, file, onFailure }: SecretsOptions,
  signal: AbortSignal,
): Promise<() => readonly string[]> {
  if (file === undefined) return () => [];
  let secrets = await readSecrets(file);
  const again = async (): Promise<void> => {
    try {
      secrets = await readSecrets(file);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      onFailure(error);
    }
    await later();
  };
  const later = async (): Promise<void> => {
    await pause(clock, AGAIN_MS, signal);
    if (!signal.aborted) await again();
  };
  void later();
  return () => secrets;
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
