/**
 * node scripts/release-notes.mjs v0.2.0: prints what CHANGELOG.md says of this version. It fails when the tag is not the version of
 * package.json and of the chart, or when the changelog has no date for it: then the release is not prepared.
 */
import { readFileSync } from 'node:fs';

const [tag = ''] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
if (tag !== `v${version}`) throw new Error(`the tag ${tag} is not v${version}, the version in package.json`);
const chart = /^version: (\S+)$/m.exec(readFileSync('install/chart/Chart.yaml', 'utf8'))?.[1];
if (chart !== version) throw new Error(`install/chart has version ${chart}, not ${version}: run "npm run set-version"`);

const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^(?=## )/m);
const section = sections.find((text) => text.startsWith(`## [${version}] `));
if (section === undefined) throw new Error(`CHANGELOG.md has no section "## [${version}]"`);
const [heading = '', ...lines] = section.split('\n');
if (!/ - \d{4}-\d{2}-\d{2}$/.test(heading))
  throw new Error(`CHANGELOG.md has no date for ${version}: "${heading}". Write the day of the release there`);
process.stdout.write(`${lines.join('\n').trim()}\n`);
