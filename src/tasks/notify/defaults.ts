/** The file `--notify-file`: what `spec.notify` is for RunnerGroups that have none. */
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { type NotifyTarget, NotifyTargets } from '../../config/runnergroup/notify-fields.ts';
import { Failure, systemCode } from '../../shared/failure.ts';

/** A ConfigMap has at most 1 MiB, and ten addressees need a hundredth of that. */
const LONGEST_FILE = 65_536;

/** @throws Failure exit 2 */
export async function readNotifyFile(file: string): Promise<readonly NotifyTarget[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw wrong(file, `it cannot be read: ${systemCode(error)}`);
  });
  if (text.length > LONGEST_FILE) throw wrong(file, `it has more than ${LONGEST_FILE} characters`);
  const document = parseDocument(text);
  if (document.errors.length > 0) throw wrong(file, 'it is no YAML');
  const { data, error } = NotifyTargets.safeParse(document.toJS({ maxAliasCount: 10 }) ?? []);
  if (data) return data;
  const [issue] = error.issues;
  throw wrong(file, `${issue?.path.join('.') || 'the list'}: ${issue?.message ?? 'is wrong'}`);
}

function wrong(file: string, what: string): Failure {
  return new Failure('GR-NOTIFY-06', 2, `read --notify-file ${file}: ${what}. Write a list like spec.notify.`);
}
