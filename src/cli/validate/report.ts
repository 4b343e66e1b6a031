/** What `validate` found, and how it is printed. */
import packageJson from '../../../package.json' with { type: 'json' };
import type { Denial } from '../../config/policy/denial.ts';
import type { Path } from '../../config/runnergroup/documents.ts';
import { type LateProblem, placed } from '../../config/runnergroup/placed.ts';
import type { Problem, ReadInSpite } from '../../config/runnergroup/problems.ts';
import { keyText } from '../../shared/key-text.ts';
import { count, jsonText, printable } from '../../shared/printable.ts';

interface ReportLine {
  readonly level: 'error' | 'warning';
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The field; empty when the whole document is meant. */
  readonly path: string;
  readonly message: string;
  readonly code: string;
}

interface Report {
  /** RunnerGroups, broken ones too. */
  readonly groups: number;
  readonly files: number;
  /** In the order of files, lines and columns. */
  readonly findings: readonly ReportLine[];
}

export function lineOf({ place, path, message, code }: Problem, level: ReportLine['level']): ReportLine {
  return { level, ...place, path, message, code };
}

/** `3 RunnerGroups in 2 files: 2 errors, 1 warning` */
export function summaryText({ groups, files, findings }: Report): string {
  const { errors, warnings } = amounts(findings);
  const counts = [
    ...(errors > 0 ? [count(errors, 'error')] : []),
    ...(warnings > 0 ? [count(warnings, 'warning')] : []),
  ];
  return `${count(groups, 'RunnerGroup')} in ${count(files, 'file')}: ${counts.join(', ') || 'no errors'}`;
}

/** `validate -o json`: the report and its counts. */
export function reportJson(report: Report): string {
  const { errors, warnings } = amounts(report.findings);
  return jsonText({ valid: errors === 0, errors, warnings, ...report });
}

function amounts(findings: Report['findings']) {
  const errors = findings.filter(({ level }) => level === 'error').length;
  return { errors, warnings: findings.length - errors };
}

/** `validate -o github`: annotations, which Gitea Actions and GitHub Actions read from the log of a step. */
export function annotations({ findings }: Report): string {
  return findings
    .map(({ level, file, line, column, path, message, code }) => {
      const text = path === '' ? message : `${path}: ${message}`;
      return `::${level} file=${property(file)},line=${line},col=${column},title=${code}::${data(printable(text))}\n`;
    })
    .join('');
}

/** What ends a message of an annotation, or begins an escape in it (@actions/core, `escapeData`). */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/** `validate -o sarif`: SARIF 2.1.0 (OASIS), which code scanning reads. */
export function sarif({ findings }: Report): string {
  const rules = [...new Set(findings.map(({ code }) => code))].sort();
  return jsonText({
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'gitea-runners',
            version: packageJson.version,
            informationUri: packageJson.homepage,
            rules: rules.map((id) => ({ id, help: { text: `docs/errors.md explains ${id}.` } })),
          },
        },
        // The files are relative to the folder in which the command ran.
        columnKind: 'utf16CodeUnits',
        results: findings.map(({ level, file, line, column, path, message, code }) => ({
          ruleId: code,
          ruleIndex: rules.indexOf(code),
          level,
          message: { text: path === '' ? message : `${path}: ${message}` },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(file) },
                region: { startLine: line, startColumn: column },
              },
            },
          ],
        })),
      },
    ],
  });
}

/** A path as part of a URI. */
function uriOf(file: string): string {
  return file.split('/').map(encodeURIComponent).join('/');
}

const CODE = 'GR-POLICY-04';

/** A denial of a field has the place of the field. Those of the whole Application come first. */
export async function problemsOfDenials(
  denials: readonly Denial[],
  { groups, sources }: Pick<ReadInSpite, 'groups' | 'sources'>,
): Promise<readonly Problem[]> {
  const byName = new Map(groups.map((group) => [keyText(group), group]));
  const ofFields: LateProblem[] = [];
  const others: Problem[] = [];
  for (const { group: denied, path, message: said, rule } of denials) {
    const message = `${said} [${rule}]`;
    const group = denied && byName.get(denied.name);
    if (group) ofFields.push({ group, path: stepsOf(path), message, code: CODE });
    else others.push({ place: denied?.place ?? { file: '.', line: 1, column: 1 }, path, message, code: CODE });
  }
  return [...others, ...(await placed(ofFields, sources))];
}

/** `spec.labels[0]` -> `spec`, `labels`, 0 */
function stepsOf(path: string): Path {
  return [...path.matchAll(/\[(\d+)\]|\["(.*?)"\]|([^.[\]]+)/g)].map(([, index, key, name = '']) =>
    index === undefined ? (key ?? name) : Number(index),
  );
}
