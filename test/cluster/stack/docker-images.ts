/**
 * The images of the two container modes with docker, made of Debian's docker 20.10: no registry is asked. The scripts are the runner
 * project's own. dockerd copies layers: it needs no overlay on an overlay. Any registry may be asked without TLS.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ImageEntry, withLibraries } from '../../../scripts/oci-image.mjs';
import { busybox, imageOf, PATH, program, runnerFiles, runnerImage, TOOLS, USERS } from './images.ts';

/** The name that the product gives its sidecar (src/manifests/container-mode.ts). */
const SIDECAR_IMAGE = 'docker:29.5.2-dind';
/** The basic runner image, with a docker client. */
export const RUNNER_WITH_CLIENT_IMAGE = 'local/runner:1.0.8-client';
export const RUNNER_WITH_BUILDX_IMAGE = 'local/runner:1.0.8-buildx';
export const ROOTLESS_IMAGE = 'local/runner:1.0.8-dind-rootless';

const CLIENT = '/usr/bin/docker';
const PLUGINS = '/usr/libexec/docker/cli-plugins';

/** @param compose `docker compose`, as it was built; undefined: without it */
function composePlugin(compose: string | undefined): readonly ImageEntry[] {
  return compose === undefined ? [] : [program(`${PLUGINS}/docker-compose`, compose)];
}

const DAEMON = [
  '/usr/sbin/dockerd',
  '/usr/bin/containerd',
  '/usr/bin/containerd-shim-runc-v2',
  '/usr/sbin/runc',
  CLIENT,
];
const SETTINGS: ImageEntry = {
  path: '/etc/docker/daemon.json',
  content: JSON.stringify({ 'storage-driver': 'vfs', 'insecure-registries': ['0.0.0.0/0'], 'userland-proxy': false }),
};
/** dockerd makes a network for each CI job with iptables, which loads its extensions by itself. */
const EXTENSIONS = '/usr/lib/x86_64-linux-gnu/xtables';
const NETWORK_TOOLS = [
  '/usr/sbin/iptables',
  '/usr/sbin/ip6tables',
  '/bin/ip',
  ...readdirSync(EXTENSIONS)
    .filter((file) => /^lib(?:xt|ipt|ip6t)_/.test(file))
    .map((file) => join(EXTENSIONS, file)),
];
const S6 = ['svscan', 'supervise', 'svscanctl', 'svc', 'svwait', 'notifyoncheck', 'ftrigrd', 'svstat', 'svlisten1'];

/** dockerd as the product's sidecar. */
export async function sidecarImage(out: string): Promise<void> {
  const entry = '#!/bin/sh\nexec "$@"\n';
  await imageOf(out, SIDECAR_IMAGE, { Entrypoint: ['dockerd-entrypoint.sh'], Env: [PATH] }, [
    ...USERS,
    ...busybox('sh', 'cat', 'grep', 'env'),
    ...withLibraries([...DAEMON, ...NETWORK_TOOLS]),
    SETTINGS,
    { path: '/usr/local/bin/dockerd-entrypoint.sh', content: entry, mode: 0o755 },
  ]);
}

export async function runnerWithClientImage(out: string, build: string, compose?: string): Promise<void> {
  const docker = [...withLibraries([CLIENT]), ...composePlugin(compose)];
  await runnerImage(out, build, RUNNER_WITH_CLIENT_IMAGE, docker);
}

/**
 * s6 runs dockerd and the runner as user 1000, as in the runner project's Dockerfile. dockerd is slow to start, as on a busy node: s6 as
 * the image has it would have given up.
 */
export async function rootlessImage(out: string, build: string, compose?: string): Promise<void> {
  const script = (path: string): ImageEntry => program(`/etc/s6/${path}`, join(build, 'scripts', 's6', path));
  const entry = `#!/bin/sh
export XDG_RUNTIME_DIR=/run/user/1000
mkdir -p "$XDG_RUNTIME_DIR"
sleep 9
exec rootlesskit --net=slirp4netns --mtu=1500 --disable-host-loopback --port-driver=builtin --copy-up=/etc --copy-up=/run dockerd --host="$DOCKER_HOST" --config-file=/etc/docker/daemon.json
`;
  await imageOf(
    out,
    ROOTLESS_IMAGE,
    {
      Entrypoint: ['s6-svscan', '/etc/s6'],
      Env: [PATH, 'DOCKER_HOST=unix:///run/user/1000/docker.sock'],
      User: '1000:1000',
      WorkingDir: '/data',
    },
    [
      ...runnerFiles(build),
      ...withLibraries([
        ...DAEMON,
        ...NETWORK_TOOLS,
        '/usr/bin/slirp4netns',
        '/usr/bin/nsenter',
        '/usr/bin/rootlesskit',
        '/usr/bin/rootlesskit-docker-proxy',
        ...S6.map((tool) => `/usr/bin/s6-${tool}`),
      ]),
      ...withLibraries(['/usr/bin/newuidmap', '/usr/bin/newgidmap']).map((file) =>
        /new.idmap$/.test(file.path) ? { ...file, mode: 0o4755 } : file,
      ),
      ...composePlugin(compose),
      SETTINGS,
      { path: '/etc/subuid', content: 'runner:100000:65536\n' },
      { path: '/etc/subgid', content: 'runner:100000:65536\n' },
      { path: '/run/user', mode: 0o1777, directory: true },
      { path: '/usr/local/bin/dockerd-entrypoint.sh', content: entry, mode: 0o755 },
      ...['', '/docker', '/gitea-runner', '/docker/data'].map(
        (path): ImageEntry => ({ path: `/etc/s6${path}`, mode: 0o777, directory: true }),
      ),
      ...['docker/run', 'docker/finish', 'docker/notification-fd', 'docker/data/check'].map(script),
      ...['gitea-runner/run', 'gitea-runner/finish'].map(script),
    ],
  );
}

/** Makes the runner's image with the clients of BuildKit. @param clients folder with `buildctl` and `docker-buildx` */
export async function runnerWithBuildxImage(out: string, build: string, clients: string): Promise<void> {
  await runnerImage(out, build, RUNNER_WITH_BUILDX_IMAGE, [
    ...withLibraries([CLIENT]),
    program(`${PLUGINS}/docker-buildx`, join(clients, 'docker-buildx')),
    program('/usr/bin/buildctl', join(clients, 'buildctl')),
  ]);
}

/** Numbers of linux/capability.h. */
const CAP_SETGID = 6;
const CAP_SETUID = 7;

/**
 * Makes BuildKit's image like its own Dockerfile. Alpine's newuidmap needs nothing else. Debian's needs capabilities of
 * its file, so the image sets them on newuidmap and newgidmap.
 */
export async function buildkitImage(out: string, build: string): Promise<void> {
  const ids: ImageEntry[] = ['/etc/subuid', '/etc/subgid'].map((path) => ({ path, content: 'user:100000:65536\n' }));
  const home = '/home/user';
  await imageOf(
    out,
    'docker.io/moby/buildkit:v0.34.2-rootless',
    {
      Entrypoint: ['rootlesskit', 'buildkitd'],
      User: '1000:1000',
      Env: [PATH, `HOME=${home}`, 'USER=user', 'XDG_RUNTIME_DIR=/run/user/1000', `TMPDIR=${home}/.local/tmp`],
    },
    [
      { path: '/etc/passwd', content: `root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::${home}:/bin/sh\n` },
      { path: '/etc/group', content: 'root:x:0:\nuser:x:1000:\n' },
      ...ids,
      { path: '/tmp', mode: 0o1777, directory: true },
      ...busybox('sh'),
      ...withLibraries(['/usr/bin/rootlesskit', '/usr/sbin/runc', '/usr/bin/newuidmap', '/usr/bin/newgidmap']).map(
        withCapability,
      ),
      ...['buildkitd', 'buildctl'].map((name) => program(`/usr/bin/${name}`, join(build, name))),
      ...['/run/user/1000', home, `${home}/.local/tmp`].map((path) => ({
        path,
        mode: 0o777,
        directory: true as const,
      })),
    ],
  );
}

function withCapability(file: ImageEntry): ImageEntry {
  if (!('source' in file) || !/new[ug]idmap$/.test(file.path)) return file;
  return { ...file, capability: file.path.endsWith('newuidmap') ? CAP_SETUID : CAP_SETGID };
}

/**
 * Makes the image of CI jobs, with a web server that says `hello from a service` on port 8080. `programs`: further
 * programs of this machine.
 */
export async function ciImage(out: string, ...programs: readonly string[]): Promise<void> {
  await imageOf(out, 'ci:1', { Cmd: ['httpd', '-f', '-p', '8080', '-h', '/www'], Env: [PATH] }, [
    ...USERS,
    ...busybox(...TOOLS, 'httpd', 'wget', 'nslookup'),
    ...withLibraries([...programs]),
    program('/bin/bash', '/bin/bash-static'),
    { path: '/www/index.html', content: 'hello from a service\n' },
  ]);
}
