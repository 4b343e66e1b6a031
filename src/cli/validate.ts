import { podsOf } from '../look/pods.ts';
import { denialLine } from '../policy/refuse.ts';
import { count, printable } from '../printable.ts';
import { formatProblem, InputProblems } from '../runnergroup/problems.ts';
import type { ReadResult } from '../runnergroup/read.ts';
import { hasOwnPod } from '../runnergroup/runner-group.ts';
import type { ExitCode, Io } from './io.ts';
import { askerFrom, type InstalledPolicy, judge } from './policy.ts';
import { readGroups } from './read-groups.ts';
import { type ImageFlags, imagesFrom } from './settings.ts';

const NO_POLICY = { denials: [], note: undefined } as const;

/** What is checked, and against which policy. */
export interface ValidateOptions {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  /** Absent: none. */
  readonly policy?: InstalledPolicy | undefined;
}

/**
 * `gitea-runners validate`: reads RunnerGroups as `generate` does, without any request. Every problem is one line on
 * stderr, in the order of files and lines; then the exit code is 2. With a policy every denial is one, and the exit code is 3.
 * @throws Failure exit 2 when there is no RunnerGroup: a check that read nothing must not look good
 */
export async function validate(io: Io, options: ValidateOptions, flags: ImageFlags): Promise<ExitCode> {
  // A value that `generate` would refuse is refused here, too.
  imagesFrom(flags, io);
  try {
    const read = await readGroups(options, io);
    const { groups, files } = read;
    if (groups.length === 0) throw (await import('./no-groups.ts')).noGroups({ ...options, cwd: io.cwd });
    await checkPods(read);
    const { denials, note } = options.policy ? await judge(options.policy, groups, askerFrom(io.env, true)) : NO_POLICY;
    if (note !== undefined) io.err(`${note}\n`);
    if (denials.length > 0) {
      io.err(`${denials.map(denialLine).join('\n')}\n`);
      return 3;
    }
    const be = groups.length === 1 ? 'is' : 'are';
    const allowed = options.policy ? `, and allowed by ${printable(options.policy.file)}` : '';
    io.out(`${count(groups.length, 'RunnerGroup')} in ${count(files, 'file')} ${be} valid${allowed}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof InputProblems)) throw error;
    io.err(`${error.problems.map(formatProblem).join('\n')}\n`);
    return error.exit;
  }
}

/** Makes the pods that `generate` would make. */
async function checkPods(read: ReadResult): Promise<void> {
  const pods = await podsOf(read);
  if (!pods) return;
  const { RunnersApp } = await import('../charts/app.ts');
  new RunnersApp(read.groups.filter(hasOwnPod), { finish: pods.finish });
  await pods.check();
}
