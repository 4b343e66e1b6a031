/** What `validate` found, and how it is printed. */
import packageJson from '../../../package.json' with { type: 'json' };
import type { Problem } from '../../config/runnergroup/problems.ts';
import { count, jsonText, printable } from '../../shared/printable.ts';

/** One thing that is wrong, or probably not meant. */
export interface ReportLine {
  readonly level: 'error' | 'warning';
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The field; empty when the whole document is meant. */
  readonly path: string;
  readonly message: string;
  readonly code: string;
}

/** Everything that `validate` found. */
export interface Report {
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
