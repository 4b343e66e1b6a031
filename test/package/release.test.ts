/**
 * Tests the checks of a release before it pushes anything, and its pushes. docker, npm and Go are stand-ins that record
 * their calls.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { folderWith } from '../support/run-cli.ts';

const VERSION = packageJson.version;
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const TOOLS: Readonly<Record<string, string>> = {
  npm: `echo npm "$@" >> "$CALLS"; touch dist/argocd-gitea-runners-${VERSION}.tgz`,
  docker: `echo docker "$@" >> "$CALLS"; while [ "$1" != --metadata-file ]; do shift; done; echo '{"containerimage.digest": "${DIGEST}"}' > "$2"`,
  helm: `echo helm "$@" >> "$CALLS"; touch dist/gitea-runners-${VERSION}.tgz`,
  go: `echo go "$@" >> "$CALLS"; case "$*" in *public-key*) echo KEY ;; *" push "*) echo "Digest: ${DIGEST}" ;; esac`,
};

/** Copies the files that a release reads, with a changelog of its own. */
function prepared(heading = `## [${VERSION}] - 2026-11-30`): string {
  const folder = folderWith({
    'CHANGELOG.md': `# Changelog\n\n${heading}\n\n### Added\n\n- All.\n\n## [0.0.1] - 2020-01-01\n\n- Old.\n`,
  });
  for (const file of [
    'package.json',
    'scripts/release-notes.mjs',
    'install/chart/Chart.yaml',
    '.ci/release',
    '.ci/packages',
  ])
    cpSync(file, join(folder, file));
  mkdirSync(join(folder, 'bin'));
  for (const [name, script] of Object.entries(TOOLS)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
  return folder;
}

interface Released {
  readonly code: number | null;
  readonly stderr: string;
  /** The programs that were called, one line each. */
  readonly calls: readonly string[];
}

function release(
  folder: string,
  tag: string,
  env: Readonly<Record<string, string>> = { COSIGN_PRIVATE_KEY: 'k', COSIGN_PASSWORD: '' },
): Released {
  const calls = join(folder, 'calls');
  const PATH = `${join(folder, 'bin')}:${process.env['PATH']}`;
  const { status, stderr } = spawnSync('.ci/release', [tag, 'r.example.com/me', 'dist'], {
    cwd: folder,
    env: { PATH, HOME: folder, CALLS: calls, HELM: join(folder, 'bin', 'helm'), ...env },
    encoding: 'utf8',
  });
  const written = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  return { code: status, stderr, calls: written };
}

describe('a release', () => {
  it('pushes image and chart, signs both by digest, and signs the files', () => {
    const folder = prepared();

    const { code, stderr, calls } = release(folder, `v${VERSION}`);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const docker = calls.find((call) => call.startsWith('docker'));
    for (const flag of [
      '--platform linux/amd64,linux/arm64',
      '--provenance=mode=max',
      '--sbom=true',
      '--push',
      `--tag r.example.com/me/argocd-gitea-runners:${VERSION}`,
    ])
      expect(docker).toContain(flag);
    const signed = calls.flatMap((call) => / sign(?:-blob)? .* (\S+)$/.exec(call)?.[1] ?? []);
    expect(signed).toEqual([
      `r.example.com/me/argocd-gitea-runners@${DIGEST}`,
      `r.example.com/me/charts/gitea-runners@${DIGEST}`,
      `dist/argocd-gitea-runners-${VERSION}.tgz`,
      `dist/gitea-runners-${VERSION}.tgz`,
    ]);
    expect(readFileSync(join(folder, 'dist', 'notes.md'), 'utf8')).toBe('### Added\n\n- All.\n');
    expect(readFileSync(join(folder, 'dist', 'cosign.pub'), 'utf8')).toBe('KEY\n');
  });

  it.each([
    ['the tag is of another version', prepared, 'v9.9.9', `is not v${VERSION}`],
    ['the changelog has no date', () => prepared(`## [${VERSION}] - not released`), `v${VERSION}`, 'has no date'],
    ['the changelog does not know it', () => prepared('## [0.0.2] - 2020-02-02'), `v${VERSION}`, 'has no section'],
  ])('calls no program when %s', (_, make, tag, words) => {
    const { code, stderr, calls } = release(make(), tag);

    expect(code).not.toBe(0);
    expect(stderr).toContain(words);
    expect(calls).toEqual([]);
  });

  it('pushes nothing without a key, or when docker gives no digest', () => {
    const [keyless, broken] = [prepared(), prepared()];
    writeFileSync(join(broken, 'bin', 'docker'), '#!/bin/sh\nexit 1\n');

    expect(release(keyless, `v${VERSION}`, {})).toMatchObject({ code: 1, calls: [] });
    const { code, calls } = release(broken, `v${VERSION}`);
    expect(code).not.toBe(0);
    expect(calls.filter((call) => / push | sign /.test(call))).toEqual([]);
  });
});

const headings = readFileSync('CHANGELOG.md', 'utf8').match(/^##+ .*$/gm) ?? [];
const versions = headings.filter((heading) => heading.startsWith('## '));

it('CHANGELOG.md begins with the version of the package, and only that one may have no date', () => {
  const [first, ...others] = versions;

  expect(first).toMatch(
    new RegExp(`^## \\[${VERSION.replaceAll('.', '\\.')}\\] - (?:not released|\\d{4}-\\d{2}-\\d{2})$`),
  );
  expect(others.filter((heading) => !/^## \[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/.test(heading))).toEqual([]);
});

it('CHANGELOG.md has the headings of Keep a Changelog and no others', () => {
  const kinds = headings.filter((heading) => heading.startsWith('### '));

  expect(kinds.length).toBeGreaterThan(0);
  expect(kinds.filter((kind) => !/^### (?:Added|Changed|Deprecated|Removed|Fixed|Security)$/.test(kind))).toEqual([]);
});

const NAMING = [
  'package.json',
  'package-lock.json',
  'Dockerfile',
  'README.md',
  'docs',
  'examples/cdk8s',
  'examples/platform',
  'install/chart/Chart.yaml',
  'install/install.sh',
];

/** `npm run docs` installs packages below docs/. */
function isOurs(path: string): boolean {
  return !path.endsWith('node_modules');
}

function setVersion(version: string): { readonly folder: string; readonly code: number | null } {
  const folder = folderWith({});
  for (const file of NAMING) cpSync(file, join(folder, file), { recursive: true, filter: isOurs });
  const env = { PATH: process.env['PATH'], VERSION: version };
  return { folder, code: spawnSync('node', [resolve('scripts/set-version.mjs')], { cwd: folder, env }).status };
}

it('VERSION is set in every file that names it for readers, and nothing else changes', () => {
  const { folder, code } = setVersion('9.8.7');

  expect(code).toBe(0);
  const own = new RegExp(
    `(?:argocd-gitea-runners[:-]|--version |tag: |/v|newTag: |"version": "|^version: |^appVersion: |version=")${VERSION.replaceAll('.', '\\.')}`,
    'm',
  );
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(?:md|ya?ml|json)$|file$/.test(name),
  )) {
    const [before, after] = [readFileSync(file, 'utf8'), readFileSync(join(folder, file), 'utf8')];
    expect([file, own.test(after.replaceAll(/^## .*$/gm, ''))]).toEqual([file, false]);
    expect([file, after.replaceAll('9.8.7', VERSION)]).toEqual([file, before]);
  }
});

it.each(['', '1.2', 'v1.2.3', '1.2.3-rc.1'])('a VERSION that is %j changes nothing', (version) => {
  const { folder, code } = setVersion(version);

  expect(code).toBe(1);
  expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(readFileSync('package.json', 'utf8'));
});
