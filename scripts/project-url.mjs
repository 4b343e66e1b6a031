/**
 * Sets where this project lives, in one go: `PROJECT_URL=https://git.example.org/ops/argocd-gitea-runners npm run project-url`.
 *
 * `homepage` of package.json is the source. The repository, the bug tracker, the label in the Dockerfile, the chart and the published
 * workflow begin with the same address and change with it. scripts/image.mjs reads it from package.json.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const wanted = (process.env['PROJECT_URL'] ?? '').replace(/\/+$/, '');
if (!/^https:\/\/[A-Za-z0-9][A-Za-z0-9.:-]*(?:\/[A-Za-z0-9._~-]+)+$/.test(wanted)) {
  throw new Error('PROJECT_URL must be the https address of the repository, e.g. https://git.example.org/ops/runners');
}
const { homepage } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const file of ['package.json', 'Dockerfile', 'install/chart/Chart.yaml', 'docs/examples/check-runnergroups.yml']) {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(homepage, wanted));
}
