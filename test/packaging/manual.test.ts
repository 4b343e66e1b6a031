import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { docBlocks, docScript } from './doc-blocks.ts';
import { installText } from './manifests.ts';

const manual = readFileSync('docs/install.md', 'utf8');
const blocks = docBlocks(manual);

it('docs/install.md marks every block of commands as run by a test, or says why it is not', () => {
  expect(blocks.filter(({ notRun }) => notRun === undefined).map(({ name }) => name)).toEqual([
    'at-once',
    'install',
    'secrets',
    'application',
    'look',
    'webhook',
    'helm',
    'helm-sidecar',
    'kustomize',
    'settings',
    'second-gitea',
    'uninstall',
    'helm-uninstall',
    'helm-remove',
  ]);
  expect(blocks.length).toBe(manual.split('```sh\n').length - 1);
});

it.each(blocks.map(({ name, script }) => ({ name, script })))(
  'docs/install.md has a block "$name" that a shell can read',
  ({ script }) => {
    expect(() => execFileSync('sh', ['-n'], { input: script, stdio: 'pipe' })).not.toThrow();
  },
);

it('introduces every variable that its commands use', () => {
  const used = new Set(
    blocks.flatMap(({ script }) => [...script.matchAll(/\$\{?([A-Z_]{3,})/g)].map(([, name]) => name)),
  );
  const set = new Set(
    [...manual.matchAll(/(?:^|export )([A-Z_]{3,})=|^`([A-Z_]{3,})` is /gm)].flatMap(([, a, b]) => a ?? b),
  );

  expect([...used].filter((name) => !set.has(name))).toEqual([]);
});

it('docs/install.md names files that exist', () => {
  const files = blocks.flatMap(({ script }) =>
    [...script.matchAll(/\b(?:install|scripts)\/[\w./-]+/g)].map(([file]) => file),
  );
  const links = [...manual.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link]) => `docs/${link}`);

  expect(files.length).toBeGreaterThan(5);
  expect([...files, ...links].filter((file) => !existsSync(file))).toEqual([]);
});

it('docs/install.md puts the reader’s image in the place of the one in the manifests', () => {
  const image = `argocd-gitea-runners:${packageJson.version}`;

  expect(docScript(manual, 'install')).toContain(`s|${image}|$IMAGE|`);
  expect(installText('install.yaml').split(`image: ${image}\n`).length - 1).toBe(2);
  expect(installText('install.yaml').split(`${image}`).length - 1).toBe(2);
});

it('docs/install.md applies with a field manager of its own wherever it applies parts of Argo CD’s objects', () => {
  const applying = blocks
    .flatMap(({ script }) => script.replaceAll('\\\n', ' ').replaceAll('|\n', '| ').split('\n'))
    .filter((line) => /install\.yaml|remove-from-argocd/.test(line));

  expect(applying.length).toBe(3);
  for (const line of applying) expect(line).toContain('--server-side --field-manager=gitea-runners');
});

it('docs/install.md names a version of the chart in every command that installs one, of our chart that of the product', () => {
  const commands = blocks.flatMap(({ script }) => script.match(/helm (?:upgrade|install)\b.*/g) ?? []);

  expect(commands).toHaveLength(2);
  for (const command of commands) expect(command).toMatch(/ --version \d+\.\d+\.\d+ /);
  expect(docScript(manual, 'helm')).toContain(`"$CHART" --version ${packageJson.version} `);
  expect(manual).toContain(`  tag: ${packageJson.version}\n`);
});

it('docs/install.md puts no secret on a command line of kubectl', () => {
  const literals = blocks.flatMap(({ script }) => script.match(/--from-literal=\S+/g) ?? []);

  expect(literals).toEqual([
    ...Array.from({ length: 4 }, () => '--from-literal=url="$GITEA_URL"'),
    '--from-literal=GITEA_RUNNERS_INSTANCE=production',
    '--from-literal=url="$GITEA_URL"',
  ]);
});

it.each(['at-once'])('README.md shows step "%s" as the manual has it, where a test runs it', (name) => {
  expect(readFileSync('README.md', 'utf8')).toContain(docScript(manual, name));
});
