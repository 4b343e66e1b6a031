/** `gitea-runners validate`: checks RunnerGroups, and prints the problems and warnings in one of five formats. */
import { readFileSync } from 'node:fs';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Denial } from '../../config/policy/denial.ts';
import { PASS_WORKLOADS } from '../../config/policy/without-policy.ts';
import type { Path } from '../../config/runnergroup/documents.ts';
import { pathText, stepsOf, valueAt } from '../../config/runnergroup/paths.ts';
import { type LateProblem, placed } from '../../config/runnergroup/placed.ts';
import {
  byPlace,
  formatProblem,
  InputProblems,
  type Problem,
  type ReadInSpite,
} from '../../config/runnergroup/problems.ts';
import type { FilePlace } from '../../config/runnergroup/runner-group.ts';
import type { Comparison } from '../../plan/against.ts';
import { problemsOfPods } from '../../plan/group-pods.ts';
import type { InstalledPolicy } from '../../plan/settings.ts';
import { Failure } from '../../shared/failure.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { type ExitCode, type Io, paperOf } from '../../shared/io.ts';
import { groupBy, keyText } from '../../shared/keys.ts';
import { count, firstNames, jsonText, printable } from '../../shared/printable.ts';
import { table } from '../../shared/table.ts';
import { isOn } from '../flags/flag.ts';
import { askedOutput, type FlagsOf, flagValue } from '../flags/flags.ts';
import { askerFrom, installationFrom, judgeByPolicy, pathsFrom, policyFrom } from '../reading/command-settings.ts';
import { oddPolicy } from '../reading/odd-policy.ts';
import { noGroups, readGroups } from '../reading/read-groups.ts';
import { warningsAbout, warningsOf } from '../reading/warnings.ts';

type Paths = ReturnType<typeof pathsFrom>;

interface Checked extends Pick<ReadInSpite, 'count' | 'files' | 'groups' | 'sources'> {
  readonly problems: readonly Problem[];
  readonly denials: readonly Denial[];
  readonly warnings: readonly Problem[];
  readonly place?: typeof placed;
}

/** Reads RunnerGroups as `generate` does, and sends nothing. @throws Failure exit 2 if there is none */
export async function validate(args: readonly string[], flags: FlagsOf<'validate'>, io: Io): Promise<ExitCode> {
  const paths = pathsFrom(args, flags, io);
  const policy = await policyFrom(flags, io);
  // A value that `generate` would refuse is refused here, too.
  await installationFrom(flags, io);
  const format = askedOutput('validate', flags, io) ?? 'text';
  const isStrict = flagValue('strict', flags, io);
  const shows = flagValue('show', flags, io);
  if (shows && (!policy || format !== 'text'))
    throw new Failure('GR-POLICY-07', 2, 'validate --show: it needs --policy FILE, and prints text only.');
  const checked = await check(io, paths, policy);
  const { problems } = checked;
  const code = exitCodeOfReport(checked, isStrict);
  const base = flagValue('against', flags, io);
  const reading = { recursive: paths.recursive, defaults: policy?.defaults };
  const against =
    base !== undefined && problems.length === 0
      ? await (await import('./validate-against.ts')).compareAgainst({ path: base, ...reading }, checked, flags, io)
      : undefined;
  if (format === 'text') {
    await printText(io, checked, policy?.file, isStrict);
    if (against && code === 0) io.out(await comparisonText(against, io));
    if (shows && policy && problems.length === 0) {
      const { explainedPolicy } = await import('./policy.ts');
      io.out(`\n${explainedPolicy(policy, checked.groups, io)}`);
    }
  } else {
    const report = { ...(await reportOf(checked, isStrict)), ...(against && { against }) };
    const json = (): string => jsonText({ valid: report.errors === 0, ...report });
    io.out(await { json, sarif, github: annotations, markdown }[format](report));
  }
  return code;
}

function exitCodeOfReport({ problems, denials, warnings }: Checked, isStrict: boolean): ExitCode {
  if (problems.length > 0) return 2;
  if (denials.length > 0) return 3;
  return isStrict && warnings.length > 0 ? 2 : 0;
}

async function check(io: Io, paths: Paths, policy: InstalledPolicy | undefined): Promise<Checked> {
  const { problems: ofFiles, others, ...read } = await readInSpite(io, paths, policy);
  const { sources } = read;
  const place = await placerFor(policy);
  const ofPods = await problemsOfPods([...read.groups, ...read.pods], sources, place);
  const problems = [...ofFiles, ...ofPods].sort(byPlace);
  const workloadWarnings = isOn(io.env[PASS_WORKLOADS] || undefined, PASS_WORKLOADS) ? [] : warningsAbout(others);
  const groupWarnings = await warningsOf(read.groups, policy !== undefined);
  const warnings =
    groupWarnings.length === 0
      ? workloadWarnings
      : [...workloadWarnings, ...(await placed(groupWarnings, read.sources))].sort(byPlace);
  if (problems.length > 0 || !policy) return { ...read, problems, denials: [], warnings };
  const { denials, note, ...judgement } = await judgeByPolicy(policy, read.groups, askerFrom(io, true));
  if (note !== undefined) io.err(`${note}\n`);
  const all = [
    ...warnings,
    ...(await problemsOfDenials(judgement.warnings, sources, place, 'GR-WARN-15')),
    ...(await warningsOfPolicy(policy, io.now())),
  ];
  return { ...read, problems, denials, warnings: all.sort(byPlace), place };
}

/** Reads the valid groups, and the problems of the rest. @throws Failure exit 2 if there is no RunnerGroup */
async function readInSpite(io: Io, paths: Paths, policy: InstalledPolicy | undefined) {
  try {
    const { groups, files, sources, others } = await readGroups({ ...paths, defaults: policy?.defaults }, io);
    if (groups.length === 0) throw noGroups({ ...paths, cwd: io.cwd });
    return { count: groups.length, files, groups, pods: [], sources, problems: [], others };
  } catch (error) {
    if (!(error instanceof InputProblems) || !error.read) throw error;
    return { ...error.read, problems: error.problems, others: [] };
  }
}

async function printText(io: Io, checked: Checked, policyFile: string | undefined, isStrict: boolean): Promise<void> {
  const { problems, denials, warnings, count: groups, files } = checked;
  const lines = [
    ...[...problems, ...(await problemsOfDenials(denials, checked.sources, checked.place))].map(formatProblem),
    ...warnings.map((each) => formatProblem({ ...each, path: `${isStrict ? 'error' : 'warning'}: ${each.path}` })),
  ];
  const isGood = problems.length === 0 && denials.length === 0 && !(isStrict && warnings.length > 0);
  if (!isGood) lines.push(summaryText(await reportOf(checked, isStrict)));
  if (lines.length > 0) io.err(`${lines.join('\n')}\n`);
  if (!isGood) return;
  const be = groups === 1 ? 'is' : 'are';
  const allowed = policyFile === undefined ? '' : `, and allowed by ${printable(policyFile)}`;
  const without = checked.groups.filter(({ manifest }) => valueAt(manifest, ['metadata', 'namespace']) === undefined);
  const [first] = without;
  if (first && io.env['ARGOCD_APP_NAMESPACE'] === undefined) {
    const which = count(without.length, 'RunnerGroup');
    const taken = `Argo CD takes the destination namespace, here it is ${first.namespace}`;
    io.err(`note: ${which} without metadata.namespace: ${taken}\n`);
  }
  const warningsText = warnings.length === 0 ? '' : `; ${count(warnings.length, 'warning')}`;
  io.out(`${count(groups, 'RunnerGroup')} in ${count(files, 'file')} ${be} valid${allowed}${warningsText}\n`);
}

/** Errors and warnings are counted. `groups`: broken ones too. `findings`: in the order of files, lines and columns. */
async function reportOf(checked: Checked, isStrict: boolean) {
  const { problems, warnings, count: groups, files } = checked;
  const lineOf =
    (level: 'error' | 'warning') =>
    ({ place, path, message, code }: Problem) => ({ level, ...place, path, message, code });
  const errorsOfAll = [...problems, ...(await problemsOfDenials(checked.denials, checked.sources, checked.place))];
  const findings = [...errorsOfAll.map(lineOf('error')), ...warnings.map(lineOf(isStrict ? 'error' : 'warning'))];
  const errors = findings.filter(({ level }) => level === 'error').length;
  return { errors, warnings: findings.length - errors, groups, files, findings };
}

/** `against`: with `--against`, when both sides are valid. */
type Report = Awaited<ReturnType<typeof reportOf>> & { readonly against?: Comparison };

/** `3 RunnerGroups in 2 files: 2 errors, 1 warning` */
function summaryText({ errors, warnings, groups, files }: Report): string {
  const counts = [errors > 0 && count(errors, 'error'), warnings > 0 && count(warnings, 'warning')];
  return `${count(groups, 'RunnerGroup')} in ${count(files, 'file')}: ${counts.filter(Boolean).join(', ') || 'no errors'}`;
}

const messageAt = (path: string, message: string): string => (path === '' ? message : `${path}: ${message}`);

/** Formats the comparison for people. It is printed below the line that counts the groups. */
async function comparisonText(against: Comparison, io: Io): Promise<string> {
  const { summary, tables } = (await import('./validate-against.ts')).comparisonParts(against);
  const texts = tables.map(({ head, rows, rest }) => `\n${table(head, rows, paperOf(io))}${restText(rest)}`);
  return `${summary}\n${texts.join('')}`;
}

function restText(restCount: number): string {
  return restCount > 0 ? `… and ${restCount} more: -o json\n` : '';
}

/** `validate -o markdown`: a comment on a pull request. Its first line tells a workflow which comment is its own. */
async function markdown(report: Report): Promise<string> {
  // Authors of pull requests write these strings. Outside code, Gitea makes links and mentions of them.
  const code = (text: string) => `\`${printable(text).replaceAll('`', "'")}\``;
  const rowText = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  const findingLines = report.findings.map(({ level, file, line, path, message }) => {
    return `* ${level}: ${code(`${file}:${line}: ${messageAt(path, message)}`)}\n`;
  });
  const compared = report.against && (await import('./validate-against.ts')).comparisonParts(report.against);
  const tables = compared?.tables.map(({ head, rows, rest }) => {
    const body = rows.map((cells) => rowText(cells.map(code))).join('');
    return `${rowText(head)}${rowText(head.map(() => '---'))}${body}${rest > 0 ? `\n${restText(rest)}` : ''}`;
  });
  const parts = [
    `${summaryText(report)}.${compared ? ` ${compared.summary}.` : ''}\n`,
    findingLines.join(''),
    ...(tables ?? []),
  ];
  return `<!-- gitea-runners validate -->\n${parts.filter((part) => part !== '').join('\n')}`;
}

/** `validate -o github`: annotations, which Gitea Actions and GitHub Actions read from the log of a step. */
function annotations({ findings }: Report): string {
  // Escapes as `escapeData` and `escapeProperty` of @actions/core do.
  const data = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = (text: string) => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  const texts = findings.map(({ level, file, line, column, path, message, code }) => {
    const text = printable(messageAt(path, message));
    return `::${level} file=${property(file)},line=${line},col=${column},title=${code}::${data(text)}\n`;
  });
  return texts.join('');
}

/** `validate -o sarif`: SARIF 2.1.0 (OASIS), which code scanning reads. */
function sarif({ findings }: Report): string {
  const codes = [...new Set(findings.map(({ code }) => code))].sort();
  const rules = codes.map((id) => ({ id, help: { text: `${manual('errors.md')} explains ${id}.` } }));
  const { version, homepage: informationUri } = packageJson;
  const results = findings.map(({ level, file, line, column, path, message, code }) => {
    const artifactLocation = { uri: file.split('/').map(encodeURIComponent).join('/') };
    const region = { startLine: line, startColumn: column };
    const locations = [{ physicalLocation: { artifactLocation, region } }];
    const text = messageAt(path, message);
    return { ruleId: code, ruleIndex: codes.indexOf(code), level, message: { text }, locations };
  });
  // The files are relative to the folder in which the command ran.
  const tool = { driver: { name: 'gitea-runners', version, informationUri, rules } };
  const runs = [{ tool, columnKind: 'utf16CodeUnits', results }];
  return jsonText({ $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs });
}

/** Returns the problems of denials at the places of their fields. Those of the whole Application come first. */
async function problemsOfDenials(
  denials: readonly Denial[],
  sources: ReadInSpite['sources'],
  place: typeof placed = placed,
  code: Problem['code'] = 'GR-POLICY-04',
): Promise<readonly Problem[]> {
  const ofFields: LateProblem[] = [];
  const otherProblems: Problem[] = [];
  for (const { group, origin, path, message: denialMessage, rule } of denials) {
    const problem = { message: `${denialMessage} [${rule}]`, code };
    if (group) ofFields.push({ group, path: stepsOf(path), ...problem, ...(origin && { origin }) });
    else otherProblems.push({ place: { file: '.', line: 1, column: 1 }, path, ...problem });
  }
  return [...otherProblems, ...(await place(ofFields, sources))];
}

/** Returns `placed`, but values of a policy's defaults have their places there. Groups that share one are one problem. */
async function placerFor(policy: InstalledPolicy | undefined): Promise<typeof placed> {
  if (!policy?.defaults) return placed;
  const [{ originOf }, placeOf] = [await import('../../config/policy/check.ts'), await placesIn(policy.file)];
  return async (problems, sources) => {
    const withOrigins = problems.map((each) => {
      return { ...each, origin: each.origin ?? originOf(policy.policy, each.group, pathText(each.path)) };
    });
    const shared = withOrigins.filter(({ origin }) => origin);
    const own = withOrigins.filter(({ origin }) => !origin);
    const sharing = [...groupBy(shared, ({ origin, message }) => jsonText([origin, message])).values()];
    const ofPolicy = sharing.flatMap((all) =>
      all.slice(0, 1).map(({ origin = [], message, code }): Problem => {
        const names = firstNames([...new Set(all.map(({ group }) => keyText(group)))], 3);
        const text = `${message} (a default of the policy, for ${names})`;
        return { place: placeOf(origin), path: pathText(origin), message: text, code };
      }),
    );
    return [...ofPolicy, ...(await placed(own, sources))];
  };
}

async function warningsOfPolicy({ file, policy }: InstalledPolicy, nowMs: number): Promise<readonly Problem[]> {
  const odd = oddPolicy(policy, nowMs);
  if (odd.length === 0) return [];
  const placeOf = await placesIn(file);
  return odd.map(([path, message]) => ({ place: placeOf(path), path: pathText(path), message, code: 'GR-WARN-14' }));
}

/** Returns where the fields of a policy stand. The file is read once more, as only reports need places. */
async function placesIn(file: string): Promise<(path: Path) => FilePlace> {
  const { readAll } = await import('../../config/runnergroup/documents.ts');
  const [read] = readAll({ name: file, text: readFileSync(file, 'utf8') });
  const document = read && 'document' in read ? read.document : undefined;
  return document?.placeOf ?? (() => ({ file, line: 1, column: 1 }));
}
