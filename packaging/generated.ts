/**
 * `npm run generated [-- FOLDER]`: writes everything that follows from `src/config/runnergroup/group-schema.ts`, `src/cli/flags` and `packaging`:
 * `install/`, the constructs of a RunnerGroup in `imports/` (ours, and the types of the package's), the tables of fields in
 * `docs/runnergroup.md` and `docs/policy.md`, and of flags in `docs/commands.md`. `docs/helm.md` gets a table of the chart's values, from
 * their schema. The CRD as data goes into `src`, for `gitea-runners schema --crd`. It writes into the project or, for the drift tests, into
 * another folder. It is started in the project's folder. It needs no network.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { crdText, type JsonSchema } from '../src/config/runnergroup/json-schema.ts';
import { constructDeclaration } from './construct-types.ts';
import { crd } from './crd.ts';
import { FIELD_HEAD, fieldRows, POLICY_FIELD_HEAD, policyFieldRows } from './field-tables.ts';
import { installFiles } from './files.ts';
import { flagTables } from './flag-tables.ts';
import { type GeneratedPart, markdownTable, withPart } from './generated-part.ts';

const CRD = join('install', 'crd.yaml');
/** What `gitea-runners schema --crd` prints. */
const CRD_DATA = join('src', 'config', 'runnergroup', 'crd.json');
/** What `gitea-runners policy init` prints. */
const LEVELS_DATA = join('src', 'cli', 'commands', 'policy-levels.json');
const LEVELS = ['open', 'shared', 'hostile'];
const FIELDS_PAGE = join('docs', 'runnergroup.md');
const POLICY_PAGE = join('docs', 'policy.md');
const COMMANDS_PAGE = join('docs', 'commands.md');
const HELM_PAGE = join('docs', 'helm.md');
const HELM_VALUES = 'install/chart/values.schema.json';
const CONSTRUCT = join('imports', 'construct.d.cts');
const CDK8S = join('node_modules', 'cdk8s-cli', 'bin', 'cdk8s');

function generate(folder: string): void {
  write(join(folder, CRD), crdText(crd()));
  write(join(folder, CRD_DATA), `${JSON.stringify(crd())}\n`);
  const levels = LEVELS.map((level) => [level, readFileSync(join('examples', 'policies', `${level}.yaml`), 'utf8')]);
  write(join(folder, LEVELS_DATA), `${JSON.stringify(Object.fromEntries(levels))}\n`);
  writePage(folder, FIELDS_PAGE, [fieldTable()]);
  writePage(folder, POLICY_PAGE, [policyTable()]);
  writePage(folder, COMMANDS_PAGE, flagTables());
  writePage(folder, HELM_PAGE, [valueTable()]);
  const importing = ['import', join(folder, CRD), '--output', join(folder, 'imports'), '--language', 'typescript'];
  // The output is piped, so that it shows in the error only.
  execFileSync(process.execPath, [CDK8S, ...importing, '--no-save', '--no-check-upgrade'], { stdio: 'pipe' });
  write(join(folder, CONSTRUCT), constructDeclaration());
  for (const [file, text] of Object.entries(installFiles())) write(join(folder, 'install', file), text);
}

function fieldTable(): GeneratedPart {
  return {
    name: 'fields',
    source: 'src/config/runnergroup/group-schema.ts',
    text: markdownTable(FIELD_HEAD, fieldRows()),
  };
}

function policyTable(): GeneratedPart {
  const text = markdownTable(POLICY_FIELD_HEAD, policyFieldRows());
  return { name: 'fields', source: 'src/config/policy/policy-schema.ts', text };
}

function valueTable(): GeneratedPart {
  const rows = valueRows(JSON.parse(readFileSync(HELM_VALUES, 'utf8')));
  return { name: 'values', source: HELM_VALUES, text: markdownTable(['value', 'default', 'meaning'], rows) };
}

/** One row per value that has a default. */
function valueRows({ properties = {} }: JsonSchema, path = ''): readonly (readonly string[])[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    if (!('default' in field)) return valueRows(field, `${path}${name}.`);
    return [[`\`${path}${name}\``, `\`${JSON.stringify(field['default'])}\``, String(field['description'])]];
  });
}

function writePage(folder: string, page: string, parts: readonly GeneratedPart[]): void {
  write(join(folder, page), parts.reduce(withPart, readFileSync(page, 'utf8')));
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

generate(resolve(process.argv[2] ?? '.'));
