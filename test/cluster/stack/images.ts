/** Images for the machine's containerd, made of programs that are here: no registry is asked. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImageEntry, withLibraries, writeImage } from '../../../scripts/oci-image.mjs';

export const PAUSE_IMAGE = 'local/pause:1';
export const RUNNER_IMAGE = 'local/runner:1.0.8';
export const RUNNER_WITH_NODE_IMAGE = 'local/runner:1.0.8-node';

/** `/etc/passwd` and what else programs ask for. */
export const USERS: readonly ImageEntry[] = [
  {
    path: '/etc/passwd',
    content: 'root:x:0:0::/root:/bin/sh\nargocd:x:999:999::/home/argocd:/bin/sh\nrunner:x:1000:1000::/data:/bin/sh\n',
  },
  { path: '/etc/group', content: 'root:x:0:\nargocd:x:999:\nrunner:x:1000:\n' },
  { path: '/etc/nsswitch.conf', content: 'hosts: files dns\n' },
  { path: '/tmp', mode: 0o1777, directory: true },
];
export const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A program as a file of an image. */
export function program(path: string, source: string): ImageEntry {
  return { path, source, mode: 0o755 };
}

export async function imageOf(
  out: string,
  name: string,
  config: Parameters<typeof writeImage>[0]['config'],
  ...layers: readonly (readonly ImageEntry[])[]
): Promise<void> {
  await writeImage({ out, name, layers: layers.map((files) => ({ files })), config });
}

/** Makes the image of the container that holds a pod's network. Stock Kubernetes has its own. */
export async function pauseImage(out: string): Promise<void> {
  await imageOf(out, PAUSE_IMAGE, { Entrypoint: ['/pause', '--', '/bin/sleep', '2147483647'] }, [
    program('/pause', '/usr/bin/tini-static'),
    ...busybox('sleep'),
  ]);
}

/** Tools that CI jobs of the tests use. */
export const TOOLS: readonly string[] = [
  'sh',
  'awk',
  'mkfifo',
  'cat',
  'sleep',
  'seq',
  'mkdir',
  'rm',
  'ls',
  'echo',
  'env',
  'id',
  'date',
  'find',
  'grep',
  'sed',
  'test',
  'timeout',
  'true',
  'false',
  'cp',
  'mv',
  'touch',
  'chmod',
  'dirname',
  'basename',
  'tail',
  'tar',
  'head',
  'kill',
  'cut',
  'tr',
  'wc',
  'sort',
  'printf',
  'tee',
  'hostname',
  'uname',
  'uniq',
  'xargs',
];

/** Returns the files of every runner image. @param build folder with `gitea-runner` and `scripts/run.sh` */
export function runnerFiles(build: string): readonly ImageEntry[] {
  return [
    ...USERS,
    ...busybox(...TOOLS),
    program('/bin/bash', '/bin/bash-static'),
    { path: '/usr/bin/env', link: '/bin/busybox' },
    program('/sbin/tini', '/usr/bin/tini-static'),
    program('/usr/local/bin/gitea-runner', join(build, 'gitea-runner')),
    program('/usr/local/bin/run.sh', join(build, 'scripts', 'run.sh')),
    { path: '/data', mode: 0o777, directory: true },
  ];
}

/**
 * The runner as its project starts it: `run.sh` reads the environment, registers if nobody has, and runs.
 * @param more layers over it.
 */
export async function runnerImage(
  out: string,
  build: string,
  name = RUNNER_IMAGE,
  ...more: readonly (readonly ImageEntry[])[]
): Promise<void> {
  const config = { Entrypoint: ['/sbin/tini', '--', '/usr/local/bin/run.sh'], Env: [PATH], WorkingDir: '/data' };
  await imageOf(out, name, config, runnerFiles(build), ...more);
}

/** The runner with Node.js, GNU tar and gzip, and an action in /opt/action: what `actions/cache` needs on the host. */
export async function runnerWithNodeImage(
  out: string,
  build: string,
  action: Readonly<Record<string, string>>,
): Promise<void> {
  const files = Object.entries(action).map(([name, content]) => ({ path: `/opt/action/${name}`, content }));
  const node = withLibraries([process.execPath]).map((file) =>
    file.path === process.execPath ? { ...file, path: '/usr/bin/node' } : file,
  );
  const tools = [...node, ...withLibraries(['/bin/tar', '/bin/gzip'])];
  await runnerImage(out, build, RUNNER_WITH_NODE_IMAGE, tools, files);
}

/** Argo CD under the name that its stock manifests ask for. */
export async function argoCdImage(out: string, build: string, name: string): Promise<void> {
  const git = '/usr/lib/git-core';
  const gitPrograms = readdirSync(git).filter((file) =>
    /^git(?:-remote-https?|-upload-pack|-receive-pack)?$/.test(file),
  );
  const hack = join(build, 'hack');
  const roles = [
    'server',
    'repo-server',
    'cmp-server',
    'application-controller',
    'applicationset-controller',
    'dex',
    'notifications',
    'k8s-auth',
    'commit-server',
  ];
  await imageOf(
    out,
    name,
    {
      Entrypoint: ['/usr/bin/tini', '--'],
      Env: [PATH, 'HOME=/home/argocd', 'USER=argocd'],
      User: '999',
      WorkingDir: '/home/argocd',
    },
    [
      ...USERS,
      ...withLibraries([
        '/bin/sh',
        '/bin/cp',
        '/bin/ln',
        '/bin/cat',
        '/bin/ls',
        '/usr/bin/env',
        '/usr/bin/gpg',
        '/usr/bin/gpg-agent',
        '/usr/bin/git',
        '/usr/bin/tini',
        ...gitPrograms.map((file) => join(git, file)),
      ]),
      { path: '/etc/ssl/certs/ca-certificates.crt', source: '/etc/ssl/certs/ca-certificates.crt' },
      { path: '/home/argocd', mode: 0o777, directory: true },
      { path: '/app/config', mode: 0o777, directory: true },
      ...['git-verify-wrapper.sh', 'gpg-wrapper.sh'].map((file) => program(`/usr/local/bin/${file}`, join(hack, file))),
    ],
    [
      program('/usr/local/bin/argocd', join(build, 'argocd')),
      ...roles.map((role) => ({ path: `/usr/local/bin/argocd-${role}`, link: '/usr/local/bin/argocd' })),
    ],
  );
}

/** Redis under the name that Argo CD's stock manifests ask for; their entry point is the official image's. */
export async function redisImage(out: string, name: string): Promise<void> {
  const entry = '#!/bin/sh\nexec redis-server "$@"\n';
  await imageOf(
    out,
    name,
    { Entrypoint: ['docker-entrypoint.sh'], Cmd: ['redis-server'], Env: [PATH], WorkingDir: '/tmp' },
    [
      ...USERS,
      ...busybox('sh'),
      ...withLibraries(['/usr/bin/redis-server']),
      { path: '/usr/local/bin/docker-entrypoint.sh', content: entry, mode: 0o755 },
    ],
  );
}

export function busybox(...tools: readonly string[]): readonly ImageEntry[] {
  return [
    program('/bin/busybox', '/bin/busybox'),
    ...tools.map((tool) => ({ path: `/bin/${tool}`, link: '/bin/busybox' })),
  ];
}

/** Image names in manifests, each once. */
export function imagesIn(manifest: string): readonly string[] {
  if (!existsSync(manifest)) throw new Error(`${manifest} is missing`);
  return [
    ...new Set([...readFileSync(manifest, 'utf8').matchAll(/^\s*image: (\S+)$/gm)].map(([, image]) => image ?? '')),
  ];
}
