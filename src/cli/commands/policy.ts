/** `gitea-runners policy`: tests a policy, explains it for each group, or prints one to begin with. It asks no server. */
import * as z from 'zod';
import type { Asker } from '../../config/policy/denial.ts';
import { RULE_NAMES, type RuleName } from '../../config/policy/policy-schema.ts';
import { readAll } from '../../config/runnergroup/documents.ts';
import { problemOf } from '../../config/runnergroup/field-problem.ts';
import { runnerGroupFromObject } from '../../config/runnergroup/from-object.ts';
import { readFiles } from '../../config/runnergroup/group-files.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { InstalledPolicy } from '../../plan/settings.ts';
import { Failure } from '../../shared/failure.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { type ExitCode, type Io, paperOf } from '../../shared/io.ts';
import { keyText } from '../../shared/keys.ts';
import { count, cut, printable } from '../../shared/printable.ts';
import { table } from '../../shared/table.ts';
import { askedOutput, type FlagsOf, flagValue } from '../flags/flags.ts';
import { askerFrom, pathsFrom, policyFrom } from '../reading/command-settings.ts';
import { noGroups, readGroups } from '../reading/read-groups.ts';
import levels from './policy-levels.json' with { type: 'json' };

function policyFailure(message: string): Failure {
  return new Failure('GR-POLICY-07', 2, message);
}

/** @throws Failure exit 2 without a policy, groups or cases */
export async function policyCommand(words: readonly string[], flags: Flags, io: Io): Promise<ExitCode> {
  const [wanted = '', ...args] = words;
  if (wanted === 'init') {
    const [name = 'shared'] = args;
    const level = new Map(Object.entries(levels)).get(name);
    const unknown = `policy init: there is no level "${printable(name)}". Name open, shared or hostile.`;
    if (level === undefined) throw policyFailure(unknown);
    io.out(level);
    return 0;
  }
  const installed = await policyFrom(flags, io);
  if (!installed) throw policyFailure(`policy ${wanted}: no policy is named. Give it with --policy FILE.`);
  if (wanted === 'test') return await testPolicy(installed, args, flags, io);
  const { paths, recursive } = pathsFrom(args, flags, io);
  const { groups } = await readGroups({ paths, recursive, defaults: installed.defaults }, io);
  const groupName = flagValue('group', flags, io);
  const chosen = groups.filter((each) => groupName === undefined || [each.name, keyText(each)].includes(groupName));
  if (chosen.length === 0) throw noGroups({ paths, recursive, cwd: io.cwd });
  const texts = chosen.map((each) => explained(installed, each, askerFrom(io, true), io));
  io.out((await Promise.all(texts)).join('\n'));
  return 0;
}

/** Prints each rule with its level, its text and its findings. */
async function explained({ policy }: InstalledPolicy, group: RunnerGroup, asker: Asker, io: Io): Promise<string> {
  const { levelsOf, rowsOf } = await import('../../config/policy/check.ts');
  const all = [...levelsOf(policy, group).entries, policy];
  const whereOf = (level: object): string => {
    const indexOf = (list: readonly object[] = []): number => list.indexOf(level);
    const [ofGroups, ofNamespaces] = [indexOf(policy.groups), indexOf(policy.namespaces)];
    if (ofGroups >= 0) return `groups[${ofGroups}]`;
    return ofNamespaces >= 0 ? `namespaces[${ofNamespaces}]` : 'policy';
  };
  const rows = rowsOf(policy, group, asker).map(({ rule, found }) => {
    const field = rule.replace('namespaces.', '');
    const valueIn = (level: object): unknown => (level as Readonly<Record<string, unknown>>)[field];
    const level = all.find((each) => valueIn(each) !== undefined);
    const saw = found.map(({ found: { path, message } }) => `${path} ${message}`.trim());
    const results = [...new Set(found.map(({ outcome }) => outcome))].join(', ');
    if (!level) return [rule, '', '', results || 'not restricted', saw.join('; ')];
    const valueText = cut(JSON.stringify(valueIn(level)), 60);
    return [rule, whereOf(level), valueText, results || 'allowed', saw.join('; ')];
  });
  const fields = new Set(all.flatMap(({ defaults = {} }) => Object.keys(defaults) as (keyof typeof defaults)[]));
  for (const field of fields) {
    const level = all.find(({ defaults }) => defaults?.[field] !== undefined) ?? policy;
    const fields = field === 'images' ? ['image'] : [field];
    const isOwn = valueAt(group.manifest, ['spec', ...fields]) !== undefined;
    const ownCounts = field === 'podTemplate' ? 'the group counts over it' : 'the group says its own';
    const result = isOwn ? ownCounts : 'taken';
    rows.push([`defaults.${field}`, whereOf(level), cut(JSON.stringify(level.defaults?.[field]), 60), result, '']);
  }
  const title = `${keyText(group)} (${printable(group.place.file)}:${group.place.line})\n`;
  const cells = rows.map((row) => row.map(printable));
  return title + table(['RULE', 'FROM', 'SAYS', 'RESULT', 'FOUND'], cells, paperOf(io));
}

const rules = () => z.array(z.enum(RULE_NAMES)).default([]);
const texts = () => z.record(z.string(), z.string()).optional();
const Case = z.strictObject({
  name: z.string().min(1).max(200),
  denied: rules(),
  warned: rules(),
  now: z.iso.date().optional(),
  application: z
    .strictObject({ namespace: z.string(), project: z.string(), repository: z.string() })
    .partial()
    .optional(),
  group: z.looseObject({
    metadata: z.looseObject({ name: z.string(), namespace: z.string(), labels: texts(), annotations: texts() }),
    spec: z.unknown(),
  }),
});
type Case = z.output<typeof Case>;

/** `failure`: why it failed. */
type CaseResult = Readonly<Record<'file' | 'name', string> & { line: number; failure: string | undefined }>;

type Flags = FlagsOf<'policy'>;

async function testPolicy(installed: InstalledPolicy, args: readonly string[], flags: Flags, io: Io) {
  const paths = args.length > 0 ? args : ['.'];
  const read = readFiles({ paths, recursive: flagValue('recursive', flags, io), cwd: io.cwd });
  const cases = read.files.flatMap((source) => readAll(source)).map(caseIn);
  const help = `Name a file or a folder with cases: ${manual('policy.md#test-a-policy')}`;
  if (cases.length === 0) throw policyFailure(`read cases: there is none. ${help}`);
  const results = await Promise.all(
    cases.map(async ({ data, file, line }): Promise<CaseResult> => {
      return { file, line, name: data.name, failure: await failureOf(installed, data, io) };
    }),
  );
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

async function failureOf(
  { defaults, policy }: InstalledPolicy,
  { application, denied, group, now, warned }: Case,
  io: Io,
) {
  const { metadata, spec } = group;
  const read = runnerGroupFromObject({ ...metadata, spec }, defaults);
  if ('problem' in read) return `the RunnerGroup is not valid: ${read.problem}`;
  const { judge } = await import('../../config/policy/check.ts');
  const { namespace: destination, project, repository } = application ?? {};
  const nowMs = now === undefined ? io.now() : Date.parse(now);
  const asker = { isArgoCd: false, destination, project, repository, nowMs };
  const { denials, warnings } = judge(policy, [read.group], asker);
  const namesText = (names: readonly RuleName[]) => [...new Set(names)].sort().join(', ') || 'nothing';
  const differenceText = (word: string, got: readonly { readonly rule: RuleName }[], expected: readonly RuleName[]) => {
    const [is, be] = [namesText(got.map(({ rule }) => rule)), namesText(expected)];
    return is === be ? [] : [`${word} is ${is}, expected ${be}`];
  };
  const differences = [...differenceText('denied', denials, denied), ...differenceText('warned', warnings, warned)];
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
