/**
 * `npm run generated [-- FOLDER]` writes everything that follows from `src/runnergroup/schema.ts` and `src/install`: `install/`, the
 * construct of a RunnerGroup in `imports/`, the field table in `docs/runnergroup.md`. It writes into the project or, for the drift
 * tests, into another folder. It is started in the project's folder. It needs no network.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { crdText } from '../runnergroup/crd.ts';
import { withFieldTable } from '../runnergroup/field-table.ts';
import { installFiles } from './files.ts';

const CRD = join('install', 'crd.yaml');
const MANUAL = join('docs', 'runnergroup.md');
const CDK8S = join('node_modules', 'cdk8s-cli', 'bin', 'cdk8s');

function generate(folder: string): void {
  write(join(folder, CRD), crdText());
  write(join(folder, MANUAL), withFieldTable(readFileSync(MANUAL, 'utf8')));
  const importing = ['import', join(folder, CRD), '--output', join(folder, 'imports'), '--language', 'typescript'];
  // The output is piped, so that it shows in the error only.
  execFileSync(process.execPath, [CDK8S, ...importing, '--no-save', '--no-check-upgrade'], { stdio: 'pipe' });
  for (const [file, text] of Object.entries(installFiles())) write(join(folder, 'install', file), text);
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

generate(resolve(process.argv[2] ?? '.'));
