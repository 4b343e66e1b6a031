/** `gitea-runners policy`: tests a policy, explains it for each group, or prints one to begin with. It asks no server. */
import * as z from 'zod';
import { judge, levelsOf, rowsOf } from '../../config/policy/check.ts';
import type { Asker } from '../../config/policy/denial.ts';
import { placedLevels } from '../../config/policy/levels.ts';
import { RULE_NAMES, type RuleName } from '../../config/policy/policy-schema.ts';
import { readAll } from '../../config/runnergroup/documents.ts';
import { problemOf } from '../../config/runnergroup/field-problem.ts';
import { runnerGroupFromObject } from '../../config/runnergroup/from-object.ts';
import { readFiles } from '../../config/runnergroup/group-files.ts';
import { pathText, valueAt } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { InstalledPolicy } from '../../plan/settings.ts';
import { Failure } from '../../shared/failure.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { type ExitCode, type Io, paperOf } from '../../shared/io.ts';
import { keyText } from '../../shared/keys.ts';
import { count, cut, firstNames, printable } from '../../shared/printable.ts';
import { table } from '../../shared/table.ts';
import { askedOutput, type FlagsOf, flagValue } from '../flags/flags.ts';
import { askerFrom, pathsFrom, policyFrom } from '../reading/command-settings.ts';
import { noGroups, readGroups } from '../reading/read-groups.ts';
import levels from './policy-levels.json' with { type: 'json' };

const policyFailure = (message: string): Failure => new Failure('GR-POLICY-07', 2, message);

/** @throws Failure exit 2 without a policy, groups or cases */
export async function policyCommand(words: readonly string[], flags: Flags, io: Io): Promise<ExitCode> {
  const [wanted = '', ...args] = words;
  if (wanted === 'init') {
    io.out(levelNamed(args[0] ?? 'shared'));
    return 0;
  }
  const installed = await policyFrom(flags, io);
  if (!installed) throw policyFailure(`policy ${wanted}: no policy is named. Give it with --policy FILE.`);
  if (wanted === 'test') return testPolicy(installed, args, flags, io);
  const where = pathsFrom(args, flags, io);
  const { groups } = await readGroups({ ...where, defaults: installed.defaults }, io);
  if (groups.length === 0) throw noGroups({ ...where, cwd: io.cwd });
  const name = flagValue('group', flags, io);
  const chosen = groups.filter((each) => name === undefined || [each.name, keyText(each)].includes(name));
  const others = firstNames(groups.map(keyText), 5);
  if (chosen.length === 0) throw policyFailure(`policy explain: no RunnerGroup is named ${name}. There are ${others}.`);
  io.out(explainedPolicy(installed, chosen, io));
  return 0;
}

function levelNamed(name: string): string {
  const level = new Map(Object.entries(levels)).get(name);
  if (level !== undefined) return level;
  throw policyFailure(`policy init: there is no level "${printable(name)}". Name open, shared or hostile.`);
}

/** What the policy says of each group, and where each default of it stands: a table per group. */
export function explainedPolicy(installed: InstalledPolicy, groups: readonly RunnerGroup[], io: Io): string {
  return groups.map((each) => explained(installed, each, askerFrom(io, true), io)).join('\n');
}

const OPEN = 'not restricted';
type DefaultField = keyof NonNullable<InstalledPolicy['policy']['defaults']>;

/** Prints each rule and each default with its level, its text and its findings. */
function explained({ policy }: InstalledPolicy, group: RunnerGroup, asker: Asker, io: Io): string {
  const levelsOfGroup = [...levelsOf(policy, group).entries, policy];
  // `policy`, `groups[0]`, `namespaces[2]`.
  const placeOf = new Map<object, string>(
    placedLevels(policy).map(([[, ...path], level]) => [level, pathText(path) || 'policy']),
  );
  const rowOf = (name: string, level: object | undefined, value: unknown, result: string, found: string) => {
    const from = level ? (placeOf.get(level) ?? '') : '';
    const says = level ? cut(JSON.stringify(value, null, 1).replace(/\s*\n\s*/g, ' '), 1000) : '';
    return [name, from, result, says && found ? `${says}: ${found}` : says || found].map(printable);
  };
  const ofRules = rowsOf(policy, group, asker).map(({ rule, found }) => {
    const valueIn = (level: object): unknown => valueAt(level, [rule.replace('namespaces.', '')]);
    const level = levelsOfGroup.find((each) => valueIn(each) !== undefined);
    const outcomes = [...new Set(found.map(({ outcome }) => outcome))].join(', ');
    const findings = found.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
    return rowOf(rule, level, level && valueIn(level), outcomes || (level ? 'allowed' : OPEN), findings);
  });
  const fields = new Set(levelsOfGroup.flatMap(({ defaults = {} }) => Object.keys(defaults) as DefaultField[]));
  const ofDefaults = [...fields].map((field) => {
    const level = levelsOfGroup.find(({ defaults }) => defaults?.[field] !== undefined) ?? policy;
    const isOwn = valueAt(group.manifest, ['spec', field === 'images' ? 'image' : field]) !== undefined;
    const ownCounts = field === 'podTemplate' ? 'the group counts over it' : 'the group says its own';
    return rowOf(`defaults.${field}`, level, level.defaults?.[field], isOwn ? ownCounts : 'taken', '');
  });
  const rows = [...ofRules, ...ofDefaults];
  const isOpen = ([, , result]: readonly string[]): boolean => result === OPEN;
  const open = rows.filter(isOpen).map(([rule]) => rule);
  const restricted = rows.filter((row) => !isOpen(row));
  const denying = ofRules.flatMap(([rule = '', , result = '']) => (result.includes('denied') ? rule : [])).join(', ');
  const judgement = denying === '' ? 'allowed' : `denied by ${denying}`;
  const title = `${keyText(group)} (${printable(group.place.file)}:${group.place.line}): ${judgement}\n`;
  const header = ['RULE', 'FROM', 'RESULT', 'SAYS, AND WHAT WAS FOUND'];
  const said = restricted.length > 0 ? table(header, restricted, paperOf(io)) : '';
  return `${title}${said}${OPEN}: ${open.join(', ') || 'nothing'}\n`;
}

const rules = () => z.array(z.enum(RULE_NAMES)).default([]);
const text = z.string().optional();
const texts = z.record(z.string(), z.string()).optional();
const Case = z.strictObject({
  name: z.string().min(1).max(200),
  denied: rules(),
  warned: rules(),
  now: z.iso.date().optional(),
  application: z.strictObject({ namespace: text, project: text, repository: text }).default({}),
  group: z.looseObject({
    metadata: z.looseObject({ name: z.string(), namespace: z.string(), labels: texts, annotations: texts }),
    spec: z.unknown(),
  }),
});
type Case = z.output<typeof Case>;

/** `failure`: why it failed. Undefined: it did not. */
type CaseResult = Readonly<Record<'file' | 'name', string> & { line: number; failure: string | undefined }>;

type Flags = FlagsOf<'policy'>;
const NAME_CASES = `Name a file or a folder with cases: ${manual('policy.md#test-a-policy')}`;

function testPolicy(installed: InstalledPolicy, args: readonly string[], flags: Flags, io: Io) {
  const where = { ...pathsFrom(args, flags, io), cwd: io.cwd };
  const read = readFiles(where);
  const [wrong] = read.problems;
  if (wrong) throw policyFailure(`read cases: ${wrong.place.file}: ${wrong.message}. ${NAME_CASES}`);
  const cases = read.files.flatMap((source) => readAll(source)).map(caseIn);
  if (cases.length === 0) throw policyFailure(`read cases: there is none in ${where.paths.join(', ')}. ${NAME_CASES}`);
  const results = cases.map(({ data, ...at }) => ({ ...at, name: data.name, failure: failureOf(installed, data, io) }));
  const failed = results.filter(({ failure }) => failure !== undefined).length;
  io.out(askedOutput('policy', flags, io) === 'junit' ? junit(results, failed) : textOf(results, failed, installed));
  return failed > 0 ? (1 as const) : (0 as const);
}

/** @throws Failure exit 2: it is no YAML, or no case */
function caseIn(read: ReturnType<typeof readAll>[number]) {
  const { place } = 'problem' in read ? read.problem : read.document;
  const wrong = (problem: string) => policyFailure(`read cases: ${place.file}:${place.line}: ${problem}`);
  if ('problem' in read) throw wrong(read.problem.message);
  const { value } = read.document;
  const kind = valueAt(value, ['kind']);
  if (kind !== undefined)
    throw wrong(`is a ${printable(String(kind))}. A case has a name, and the group below group. ${NAME_CASES}`);
  const { data, error } = Case.safeParse(value);
  if (error) throw wrong(printable(problemOf(error, Case, value)));
  return { data, file: place.file, line: place.line };
}

function textOf(results: readonly CaseResult[], failed: number, { file }: InstalledPolicy): string {
  const lines = results.map(({ failure, ...at }) => {
    const place = `${at.file}:${at.line}: ${at.name}`;
    return printable(failure === undefined ? `ok    ${place}` : `FAIL  ${place}: ${failure}`);
  });
  return [...lines, `${count(results.length, 'case')} of ${printable(file)}, ${failed} failed\n`].join('\n');
}

function failureOf({ defaults, policy }: InstalledPolicy, tested: Case, io: Io) {
  const { metadata, spec } = tested.group;
  const read = runnerGroupFromObject({ ...metadata, spec }, defaults);
  if ('problem' in read) return `the RunnerGroup is not valid: ${read.problem}`;
  const { namespace: destination, project, repository } = tested.application;
  const nowMs = tested.now === undefined ? io.now() : Date.parse(tested.now);
  const asker = { isArgoCd: false, destination, project, repository, nowMs };
  const { denials, warnings } = judge(policy, [read.group], asker);
  const namesText = (names: readonly RuleName[]) => [...new Set(names)].sort().join(', ') || 'nothing';
  const found = { denied: denials.map(({ rule }) => rule), warned: warnings.map(({ rule }) => rule) };
  const differences = (['denied', 'warned'] as const).flatMap((word) => {
    const [is, expected] = [namesText(found[word]), namesText(tested[word])];
    return is === expected ? [] : [`${word} is ${is}, expected ${expected}`];
  });
  return differences.length === 0 ? undefined : differences.join('; ');
}

function junit(results: readonly CaseResult[], failed: number): string {
  const xml = (text: string) => printable(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const cases = results.map(({ failure, file, name }) => {
    const body = failure === undefined ? '' : `<failure message="${xml(failure)}"/>`;
    return `  <testcase classname="${xml(file)}" name="${xml(name)}">${body}</testcase>\n`;
  });
  const suite = `<testsuite name="policy" tests="${results.length}" failures="${failed}">\n${cases.join('')}</testsuite>\n`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${suite}`;
}
