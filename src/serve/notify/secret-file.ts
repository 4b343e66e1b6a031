import { readFile } from 'node:fs/promises';
import { Failure, systemCode } from '../../failure.ts';

/** A token or secret of notifications. It is read each time, so it can be replaced while we run. @throws Failure */
export async function readSecretFile(file: string): Promise<string> {
  const unusable = (why: string): Failure =>
    new Failure('GR-NOTIFY-05', 1, `read a secret for notifications: ${file}: ${why}. Mount the Secret.`);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unusable(systemCode(error));
  });
  const secret = text.trim();
  if (secret === '') throw unusable('it is empty');
  return secret;
}
