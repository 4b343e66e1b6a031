/**
 * Sets the version of everything, in one go: `VERSION=0.3.0 npm run set-version`. It writes package.json and each file that names the
 * version for readers, and the chart. Then `npm run generated` writes the manifests.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** Nothing else in them looks like our version. */
const FILES = [
  'package.json',
  'Dockerfile',
  'README.md',
  'docs/install.md',
  'docs/construct.md',
  'docs/platform.md',
  'docs/tutorial.md',
  'docs/examples/check-runnergroups.yml',
  'examples/cdk8s/cdk8s.yaml',
  'examples/cdk8s/package.json',
  'examples/platform/package.json',
  'examples/platform/Dockerfile',
  'install/chart/Chart.yaml',
  'install/install.sh',
];

const wanted = process.env['VERSION'] ?? '';
if (!/^\d+\.\d+\.\d+$/.test(wanted)) throw new Error('VERSION must be three numbers, e.g. 0.3.0');
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const file of FILES) {
  const text = readFileSync(file, 'utf8');
  if (!text.includes(version)) throw new Error(`${file} does not name ${version}`);
  writeFileSync(file, text.replaceAll(version, wanted));
}
// npm's file names versions of other packages, too: ours stands in its head.
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
lock.version = wanted;
lock.packages[''].version = wanted;
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
