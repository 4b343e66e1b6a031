/** Tests the content of images, and their references: no default image floats, and the image says what it is. */
import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { imageLabels } from '../../scripts/oci-image.mjs';
import { matchesGlob } from '../../src/config/policy/policy-patterns.ts';
import { DEFAULT_IMAGES, DEFAULT_LABELS } from '../../src/config/runnergroup/group-schema.ts';
import { modeParts } from '../../src/manifests/container-mode.ts';
import { folderWith, type Outcome } from '../support/run-cli.ts';
import { runnerGroup } from '../support/runner-group.ts';

const dockerfile = readFileSync('Dockerfile', 'utf8');
const DIGEST = /@sha256:[0-9a-f]{64}$/;

/** Tag of an image reference; `latest` is what a registry takes when none is given. */
function tagOf(image: string): string {
  const [name = ''] = image.split('@');
  return /:([^/:]+)$/.exec(name)?.[1] ?? 'latest';
}

const own = [...dockerfile.matchAll(/^ARG \w+_IMAGE=(\S+)$/gm)].map(([, image]) => image ?? '');
const docker = modeParts(runnerGroup({ containerMode: 'dind' })).sidecar?.image ?? '';

it('an image that is used by default is never the latest one', () => {
  const labels = DEFAULT_LABELS.map((label) => label.replace(/^[^:]+:docker:\/\//, ''));
  const all = [...own, docker, ...Object.values(DEFAULT_IMAGES), ...labels];

  expect(all.length).toBeGreaterThan(6);
  expect(all.filter((image) => tagOf(image) === 'latest')).toEqual([]);
});

it('an image that is used by default is named by digest where the digest is known: the base of our own image, and docker', () => {
  expect([...own, docker].filter((image) => !DIGEST.test(image))).toEqual([]);
});

it('an image that is used by default is an argument of the Dockerfile, and no stage has another base', () => {
  expect(own).toHaveLength(1);
  expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)).toEqual([`\${NODE_IMAGE}`, 'scratch']);
});

/** The sources of the COPY lines in this text of a Dockerfile. */
function sourcesOf(text: string): readonly string[] {
  return [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) => names.split(' '));
}

/** True when a COPY line with this source takes the file of the context. */
function takes(source: string, path: string): boolean {
  return source.endsWith('/') ? path.startsWith(source) : matchesGlob(source, path);
}

it('the Dockerfile copies all that the build needs before it builds, and makes every file that it copies', async () => {
  const context = folderWith({});
  const sent = readFileSync('.dockerignore', 'utf8').match(/(?<=^!).*/gm) ?? [];
  for (const file of sent) cpSync(file, join(context, file), { recursive: true });
  const present = readdirSync(context, { recursive: true, encoding: 'utf8' });
  const [beforeTheBuild = '', after = ''] = dockerfile.split('RUN npm run build');
  const early = sourcesOf(beforeTheBuild);

  const missing = [...early, ...sourcesOf(after)].filter((source) => !present.some((path) => takes(source, path)));
  expect(missing).toEqual([]);
  expect(early.length).toBeGreaterThan(6);
  for (const path of present) {
    const isFile = statSync(join(context, path)).isFile();
    if (isFile && !early.some((source) => takes(source, path))) rmSync(join(context, path));
  }
  symlinkSync(resolve('node_modules'), join(context, 'node_modules'));
  const built = await new Promise((done) => {
    const { PATH } = process.env;
    execFile('npm', ['run', 'build'], { cwd: context, env: { PATH, HOME: context } }, (error) => done(error));
  });

  expect(built).toBeNull();
  const [, programs = ''] = /install -m 0644 (gitea-runners\.cjs .*) \*\.cache/.exec(dockerfile) ?? [];
  const made = readdirSync(join(context, 'lib'));
  expect(programs.split(' ').filter((file) => !made.includes(file))).toEqual([]);
  expect(programs).toContain('generate.cjs');
}, 60_000);

describe('the programs of the image', () => {
  const [, programs = ''] = /install -m 0644 (gitea-runners\.cjs .*) THIRD-PARTY/.exec(dockerfile) ?? [];
  const copied = programs.split(' ').sort();

  it('the programs of the image are those that they load, and no part is missing', () => {
    const loaded = copied.flatMap((file) => {
      const text = readFileSync(join('lib', file), 'utf8');
      return [...text.matchAll(/require\("\.\/([\w-]+\.cjs)"\)/g)].map(([, part = '']) => part);
    });

    expect(loaded.length).toBeGreaterThan(5);
    expect(loaded.filter((part) => !copied.includes(part))).toEqual([]);
  });

  it('the programs of the image are the same in the Dockerfile and in scripts/image.mjs', () => {
    const [, list = ''] = /const PROGRAMS = \[([^\]]*)\]/.exec(readFileSync('scripts/image.mjs', 'utf8')) ?? [];

    expect([...list.matchAll(/'([\w-]+)'/g)].map(([, name = '']) => `${name}.cjs`).sort()).toEqual(copied);
  });
});

it('the labels of the image are the same in the Dockerfile and in scripts/image.mjs', () => {
  const [, url = ''] = /^ARG PROJECT_URL=(\S+)$/m.exec(dockerfile) ?? [];
  const labels = [...dockerfile.matchAll(/(org\.opencontainers\.image\.\w+)="([^"]*)"/g)].map(
    ([, name = '', value = '']) => [name, value.replace(`\${PROJECT_URL}`, url)],
  );

  expect(Object.fromEntries(labels)).toEqual(imageLabels(packageJson));
  expect(imageLabels(packageJson)).toMatchObject({
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.version': packageJson.version,
  });
});

const sources = ['package.json', 'Dockerfile', 'install/chart/Chart.yaml', 'docs/examples/check-runnergroups.yml'];

function setProjectUrl(folder: string, url: string): Promise<Pick<Outcome, 'code' | 'stderr'>> {
  return new Promise((done) => {
    const script = resolve('scripts/project-url.mjs');
    execFile(process.execPath, [script], { cwd: folder, env: { PROJECT_URL: url } }, (error, _, stderr) => {
      done({ code: error === null ? 0 : 1, stderr });
    });
  });
}

it('PROJECT_URL sets every address of the project, and nothing else', async () => {
  const folder = folderWith({});
  for (const file of sources) cpSync(file, join(folder, file));

  const outcome = await setProjectUrl(folder, 'https://git.example.org/ops/runners/');

  expect(outcome).toEqual({ code: 0, stderr: '' });
  const [changed, ...others] = sources.map((file) => readFileSync(join(folder, file), 'utf8'));
  expect(JSON.parse(changed ?? '')).toEqual({
    ...packageJson,
    homepage: 'https://git.example.org/ops/runners',
    repository: { type: 'git', url: 'git+https://git.example.org/ops/runners.git' },
    bugs: { url: 'https://git.example.org/ops/runners/issues' },
  });
  const before = sources.slice(1).map((file) => readFileSync(file, 'utf8'));
  expect(others).toEqual(
    before.map((text) => text.replace(packageJson.homepage, 'https://git.example.org/ops/runners')),
  );
  expect(before.filter((text) => text.split(packageJson.homepage).length !== 2)).toEqual([]);
});

it.each(['', 'http://git.example.org/a', 'https://git.example.org', 'https://git.example.org/a b', 'git@x:a/b'])(
  'a PROJECT_URL that is %j changes nothing',
  async (url) => {
    const folder = folderWith({});
    for (const file of sources) cpSync(file, join(folder, file));

    const { code, stderr } = await setProjectUrl(folder, url);

    expect(code).toBe(1);
    expect(stderr).toContain('PROJECT_URL must be');
    for (const file of sources) expect(readFileSync(join(folder, file), 'utf8')).toBe(readFileSync(file, 'utf8'));
  },
);
