import { type Denial, denialLine } from '../config/policy/denial.ts';
import { PASS_WORKLOADS } from '../config/policy/without-policy.ts';
import { valueAt } from '../config/runnergroup/paths.ts';
import {
  byPlace,
  formatProblem,
  InputProblems,
  type Problem,
  type ReadInSpite,
} from '../config/runnergroup/problems.ts';
import type { PassThrough } from '../config/runnergroup/read.ts';
import { hasOwnPod } from '../config/runnergroup/runner-group.ts';
import { podsOf } from '../observe/pods.ts';
import { groupBy } from '../shared/group-by.ts';
import type { ExitCode, Io } from '../shared/io.ts';
import { keyText } from '../shared/key-text.ts';
import { count, printable } from '../shared/printable.ts';
import { isOn } from './flags/flag.ts';
import { askedOutput, type FlagsOf, flagValue, type OutputOf } from './flags/flags.ts';
import { askerFrom, type InstalledPolicy, judgeByPolicy } from './policy.ts';
import { noGroups, readGroups } from './read-groups.ts';
import { imagesFrom } from './settings.ts';

interface ValidateOptions {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  /** Absent: none. */
  readonly policy?: InstalledPolicy | undefined;
}

interface Checked extends Pick<ReadInSpite, 'count' | 'files' | 'groups' | 'sources'> {
  readonly problems: readonly Problem[];
  readonly denials: readonly Denial[];
  readonly warnings: readonly Problem[];
}

/**
 * `gitea-runners validate`: reads RunnerGroups as `generate` does, without any request. Every problem and warning is one line on
 * stderr, in the order of files and lines, and then their number. The exit code is 2 for problems, 3 for denials of the policy. With
 * `--output` the report goes to stdout instead, whatever the exit code: it is the answer.
 * @throws Failure exit 2 when there is no RunnerGroup: a check that read nothing must not look good
 */
export async function validate(io: Io, options: ValidateOptions, flags: FlagsOf<'validate'>): Promise<ExitCode> {
  // A value that `generate` would refuse is refused here, too.
  imagesFrom(flags, io);
  const format = askedOutput('validate', flags, io) ?? 'text';
  const isStrict = flagValue('strict', flags, io);
  const checked = await check(io, options);
  const { problems, denials, warnings } = checked;
  if (format === 'text') await printText(io, checked, options, isStrict);
  else io.out(await reportText(checked, format, isStrict));
  if (problems.length > 0) return 2;
  if (denials.length > 0) return 3;
  return isStrict && warnings.length > 0 ? 2 : 0;
}

async function check(io: Io, options: ValidateOptions): Promise<Checked> {
  const { problems: ofFiles, others, ...read } = await readInSpite(io, options);
  const problems = [...ofFiles, ...(await problemsOfPods(read))].sort(byPlace);
  const warnings = await warn(read, others, options, io);
  if (problems.length > 0 || !options.policy) return { ...read, problems, denials: [], warnings };
  const { denials, note } = await judgeByPolicy(options.policy, read.groups, askerFrom(io.env, true));
  if (note !== undefined) io.err(`${note}\n`);
  return { ...read, problems, denials, warnings };
}

/** What can be read, and what is wrong with the rest. @throws Failure exit 2 when there is no RunnerGroup */
async function readInSpite(
  io: Io,
  options: ValidateOptions,
): Promise<ReadInSpite & { readonly problems: readonly Problem[]; readonly others: readonly PassThrough[] }> {
  try {
    const { groups, files, sources, others } = await readGroups(options, io);
    if (groups.length === 0) throw noGroups({ ...options, cwd: io.cwd });
    return { count: groups.length, files, groups, pods: [], sources, problems: [], others };
  } catch (error) {
    if (!(error instanceof InputProblems) || !error.read) throw error;
    return { ...error.read, problems: error.problems, others: [] };
  }
}

async function warn(
  { groups, sources }: Pick<ReadInSpite, 'groups' | 'sources'>,
  others: readonly PassThrough[],
  { policy }: ValidateOptions,
  { env }: Io,
): Promise<readonly Problem[]> {
  const { warningsAbout, warningsOf } = await import('./validate/warnings.ts');
  const beside = isOn(env[PASS_WORKLOADS] || undefined, PASS_WORKLOADS) ? [] : warningsAbout(others);
  const found = await warningsOf(groups, policy !== undefined);
  if (found.length === 0) return beside;
  const { placed } = await import('../config/runnergroup/placed.ts');
  return [...beside, ...(await placed(found, sources))].sort(byPlace);
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
  const without = checked.groups.filter(({ manifest }) => valueAt(manifest, ['metadata', 'namespace']) === undefined);
  const [first] = without;
  if (first && io.env['ARGOCD_APP_NAMESPACE'] === undefined) {
    const which = count(without.length, 'RunnerGroup');
    io.err(
      `note: ${which} without metadata.namespace: Argo CD takes the destination namespace, here it is ${first.namespace}\n`,
    );
  }
  const more = warnings.length === 0 ? '' : `; ${count(warnings.length, 'warning')}`;
  io.out(`${count(groups, 'RunnerGroup')} in ${count(files, 'file')} ${be} valid${allowed}${more}\n`);
}

async function reportText(checked: Checked, format: OutputOf<'validate'>, isStrict: boolean): Promise<string> {
  const { annotations, reportJson, sarif } = await import('./validate/report.ts');
  return { json: reportJson, sarif, github: annotations }[format](await reportOf(checked, isStrict));
}

async function reportOf(checked: Checked, isStrict: boolean) {
  const { problems, denials, warnings, count: groups, files } = checked;
  const { lineOf, problemsOfDenials } = await import('./validate/report.ts');
  const findings = [
    ...[...problems, ...(await problemsOfDenials(denials, checked))].map((problem) => lineOf(problem, 'error')),
    ...warnings.map((warning) => lineOf(warning, isStrict ? 'error' : 'warning')),
  ];
  return { groups, files, findings };
}

/** Makes the pods that `generate` would make, also of groups that are wrong elsewhere. Of two groups with one name the first one counts. */
async function problemsOfPods({ groups, pods: others, sources }: ReadInSpite): Promise<readonly Problem[]> {
  const byName = groupBy([...groups, ...others], keyText);
  const single = [...byName.values()].flatMap(([first]) => first ?? []);
  const pods = await podsOf({ groups: single, sources });
  if (!pods) return [];
  const { RunnersApp } = await import('../manifests/app.ts');
  new RunnersApp(single.filter(hasOwnPod), { finish: pods.finish });
  try {
    await pods.check();
    return [];
  } catch (error) {
    if (!(error instanceof InputProblems)) throw error;
    return error.problems;
  }
}
