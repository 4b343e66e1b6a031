/** Reads RunnerGroups for a command, and tells what in their folders is no manifest. */

import { type ReadResult, readRunnerGroups } from '../config/runnergroup/read.ts';
import type { Io } from '../shared/io.ts';
import { count, printable } from '../shared/printable.ts';
import { defaultNamespace } from './settings.ts';

/** Skipped files that the line names; the others are counted. */
const SHOWN = 5;

/** Reads what `paths` name. One line on stderr names what was skipped. @throws InputProblems exit 2 */
export async function readGroups(
  where: { readonly paths: readonly string[]; readonly recursive: boolean; readonly isolate?: boolean },
  io: Io,
): Promise<ReadResult> {
  const read = await readRunnerGroups({ ...where, cwd: io.cwd, defaultNamespace: defaultNamespace(io) });
  const { skipped } = read;
  if (skipped.length > 0) {
    const more = skipped.length > SHOWN ? ` and ${count(skipped.length - SHOWN, 'other')}` : '';
    io.err(
      `${printable(`skipped, because not a Kubernetes manifest: ${skipped.slice(0, SHOWN).join(', ')}${more}`)}\n`,
    );
  }
  return read;
}
