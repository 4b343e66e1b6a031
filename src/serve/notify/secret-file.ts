import { readFile } from 'node:fs/promises';
import { isBelow } from '../../base-url.ts';
import { Failure, systemCode } from '../../failure.ts';
import { secretLine } from '../secret-line.ts';

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

/**
 * The secret that signs messages to one receiver: that of the first line whose address the receiver has, or lies below. A file without
 * addresses holds one secret for all. @throws Failure also when no line is for this receiver
 */
export async function readSignerOf(file: string, url: string): Promise<string> {
  const text = await readSecretFile(file);
  const lines = text.split('\n').map((line) => secretLine(line.trim()));
  if (lines.every(({ base }) => base === undefined)) return text;
  const own = lines.find(({ base }) => base !== undefined && isBelow(new URL(url), base));
  if (own) return own.secret;
  const why = `no line is for ${new URL(url).origin}. Add a line: the address, a space, a secret of its own`;
  throw new Failure('GR-NOTIFY-05', 1, `read a secret for notifications: ${file}: ${why}.`);
}
