import { Failure } from '../failure.ts';
import { podsOf } from '../look/pods.ts';
import type { Denial } from '../policy/denial.ts';
import { denialLine } from '../policy/refuse.ts';
import { count, printable } from '../printable.ts';
import { byPlace, formatProblem, InputProblems, type Problem, type ReadInSpite } from '../runnergroup/problems.ts';
import type { ReadResult } from '../runnergroup/read.ts';
import { hasOwnPod } from '../runnergroup/runner-group.ts';
import { type FlagsOf, flagValue } from './flags/flags.ts';
import type { ExitCode, Io } from './io.ts';
import { askerFrom, type InstalledPolicy, judgeByPolicy } from './policy.ts';
import { readGroups } from './read-groups.ts';
import { imagesFrom } from './settings.ts';

/** What is checked, and against which policy. */
export interface ValidateOptions {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  /** Absent: none. */
  readonly policy?: InstalledPolicy | undefined;
}

/** Everything that was found. */
interface Checked extends Pick<ReadInSpite, 'count' | 'files'> {
  readonly problems: readonly Problem[];
  readonly denials: readonly Denial[];
  readonly warnings: readonly Problem[];
}

type Format = 'text' | 'json' | 'sarif' | 'github';

/**
 * `gitea-runners validate`: reads RunnerGroups as `generate` does, without any request. Every problem and warning is one line on
 * stderr, in the order of files and lines, and then their number. The exit code is 2 for problems, 3 for denials of the policy. With
 * `--output` the report goes to stdout instead, whatever the exit code: it is the answer.
 * @throws Failure exit 2 when there is no RunnerGroup: a check that read nothing must not look good
 */
export async function validate(io: Io, options: ValidateOptions, flags: FlagsOf<'validate'>): Promise<ExitCode> {
  // A value that `generate` would refuse is refused here, too.
  imagesFrom(flags, io);
  const format = formatFrom(flags, io);
  const isStrict = flagValue('strict', flags, io);
  const checked = await check(io, options);
  const { problems, denials, warnings } = checked;
  if (format === 'text') await printText(io, checked, options, isStrict);
  else io.out(await reportText(checked, format, isStrict));
  if (problems.length > 0) return 2;
  if (denials.length > 0) return 3;
  return isStrict && warnings.length > 0 ? 2 : 0;
}

function formatFrom(flags: FlagsOf<'validate'>, io: Io): Format {
  const output = flagValue('output', flags, io);
  if (output !== 'wide') return output ?? 'text';
  throw new Failure('GR-FLAG-16', 2, 'read --output: validate prints json, sarif or github, not wide.');
}

async function check(io: Io, options: ValidateOptions): Promise<Checked> {
  let read: ReadResult | undefined;
  try {
    read = await readGroups(options, io);
    const { groups, files } = read;
    if (groups.length === 0) throw (await import('./no-groups.ts')).noGroups({ ...options, cwd: io.cwd });
    await checkPods(read);
    const { denials, note } = options.policy
      ? await judgeByPolicy(options.policy, groups, askerFrom(io.env, true))
      : { denials: [], note: undefined };
    if (note !== undefined) io.err(`${note}\n`);
    return { count: groups.length, files, problems: [], denials, warnings: await warn(read, options) };
  } catch (error) {
    if (!(error instanceof InputProblems)) throw error;
    // Pods are checked after reading, so their problems come with everything read.
    const { files, groups, sources } = error.read ?? read ?? NOTHING;
    const seen = error.read?.count ?? groups.length;
    const warnings = await warn({ groups, sources }, options);
    return { count: seen, files, problems: error.problems, denials: [], warnings };
  }
}

const NOTHING: Pick<ReadResult, 'files' | 'groups' | 'sources'> = { files: 0, groups: [], sources: new Map() };

async function warn(
  { groups, sources }: Pick<ReadResult, 'groups' | 'sources'>,
  { policy }: ValidateOptions,
): Promise<readonly Problem[]> {
  const { warningsOf } = await import('./validate/warnings.ts');
  const found = await warningsOf(groups, policy !== undefined);
  if (found.length === 0) return [];
  const { placed } = await import('../runnergroup/placed.ts');
  return [...(await placed(found, sources))].sort(byPlace);
}

async function printText(io: Io, checked: Checked, { policy }: ValidateOptions, isStrict: boolean): Promise<void> {
  const { problems, denials, warnings, count: groups, files } = checked;
  const lines = [
    ...problems.map(formatProblem),
    ...denials.map(denialLine),
    ...warnings.map((warning) =>
      formatProblem({ ...warning, path: `${isStrict ? 'error' : 'warning'}: ${warning.path}` }),
    ),
  ];
  const isGood = problems.length === 0 && denials.length === 0 && !(isStrict && warnings.length > 0);
  if (!isGood) lines.push((await import('./validate/report.ts')).summaryText(await reportOf(checked, isStrict)));
  if (lines.length > 0) io.err(`${lines.join('\n')}\n`);
  if (!isGood) return;
  const be = groups === 1 ? 'is' : 'are';
  const allowed = policy ? `, and allowed by ${printable(policy.file)}` : '';
  const more = warnings.length === 0 ? '' : `; ${count(warnings.length, 'warning')}`;
  io.out(`${count(groups, 'RunnerGroup')} in ${count(files, 'file')} ${be} valid${allowed}${more}\n`);
}

async function reportText(checked: Checked, format: Exclude<Format, 'text'>, isStrict: boolean): Promise<string> {
  const { annotations, reportJson, sarif } = await import('./validate/report.ts');
  const print = { json: reportJson, sarif, github: annotations }[format];
  return print(await reportOf(checked, isStrict));
}

async function reportOf({ problems, denials, warnings, count: groups, files }: Checked, isStrict: boolean) {
  const { lineOf } = await import('./validate/report.ts');
  const denied = denials.map(
    ({ group, path, message, rule }): Problem => ({
      place: group?.place ?? { file: '.', line: 1, column: 1 },
      path,
      message: `${message} [${rule}]`,
      code: 'GR-POLICY-04',
    }),
  );
  const findings = [
    ...[...problems, ...denied].map((problem) => lineOf(problem, 'error')),
    ...warnings.map((warning) => lineOf(warning, isStrict ? 'error' : 'warning')),
  ];
  return { groups, files, findings };
}

/** Makes the pods that `generate` would make. */
async function checkPods(read: ReadResult): Promise<void> {
  const pods = await podsOf(read);
  if (!pods) return;
  const { RunnersApp } = await import('../charts/app.ts');
  new RunnersApp(read.groups.filter(hasOwnPod), { finish: pods.finish });
  await pods.check();
}
