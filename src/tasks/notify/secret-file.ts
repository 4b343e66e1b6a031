import { readFile } from 'node:fs/promises';
import { secretLine } from '../../serve/secret-line.ts';
import { isBelow } from '../../shared/base-url.ts';
import { Failure, systemCode } from '../../shared/failure.ts';

function unusable(file: string, why: string): Failure {
  return new Failure('GR-NOTIFY-05', 1, `read a secret for notifications: ${file}: ${why}.`);
}

/** A token or secret of notifications. It is read each time, so it can be replaced while we run. @throws Failure */
export async function readSecretFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unusable(file, `${systemCode(error)}. Mount the Secret`);
  });
  const secret = text.trim();
  if (secret === '') throw unusable(file, 'it is empty. Mount the Secret');
  return secret;
}

/** The secret that signs messages to this receiver: of the first line whose address is above it, or the only one. @throws Failure */
export async function readSignerOf(file: string, url: string): Promise<string> {
  const text = await readSecretFile(file);
  const lines = text.split('\n').map((line) => secretLine(line.trim()));
  if (lines.every(({ base }) => base === undefined)) return text;
  const own = lines.find(({ base }) => base !== undefined && isBelow(new URL(url), base));
  if (own) return own.secret;
  throw unusable(file, `no line is for ${new URL(url).origin}. Add a line: the address, a space, a secret of its own`);
}
