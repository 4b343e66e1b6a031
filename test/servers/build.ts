/**
 * Builds the real servers from the Go module proxy, once per machine: `go/<name>/go.mod` and `go.sum` pin everything.
 *
 * A finished build lies in a folder of its own, named by a hash of all its inputs, and is never changed. Root's cache lies in
 * /var/cache, because the servers run as `nobody`, who may not read root's home.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

interface Recipe {
  /** Folder below `go/`. */
  readonly name: string;
  readonly title: string;
  /** Binary to package. Of several, each is named as Go names it: the end of its package. */
  readonly binaries: Readonly<Record<string, string>>;
  readonly cgo: boolean;
  readonly flags: readonly string[];
  /** Folders of the module that the program reads when it runs. */
  readonly module: string;
  readonly assets: readonly string[];
  /** The release of Go, where the machine's own is too old. Go gets it as a module. */
  readonly toolchain?: string;
}

/** Folders of the builds: `<folder>/<binary>` and the assets beside it. */
export interface Builds {
  /** Folder with `gitea-runner` and `scripts/run.sh`. */
  readonly runner: string;
  /** Folder of each version, with `gitea` and its `templates`, `options`, `public`. */
  readonly gitea: Readonly<Record<GiteaVersion, string>>;
  /** Folder with `helm`. */
  readonly helm: string;
  /** Folder with `actionlint`. */
  readonly actionlint: string;
  /** Folder with `collector`, of OpenTelemetry. */
  readonly collector: string;
}

export const GITEA_VERSIONS = ['1.27.3', '1.26.0'] as const;
export type GiteaVersion = (typeof GITEA_VERSIONS)[number];

/** A program in Go alone, without debug information, unless something else is said. A build's hash counts the fields in this order. */
function recipe({
  name,
  title,
  binaries,
  cgo = false,
  flags = ['-ldflags', '-s -w'],
  module,
  assets = [],
}: Pick<Recipe, 'name' | 'title' | 'binaries' | 'module'> & Partial<Recipe>): Recipe {
  return { name, title, binaries, cgo, flags, module, assets };
}

const RUNNER = recipe({
  name: 'runner',
  title: 'Gitea runner 1.0.8',
  binaries: { 'gitea-runner': 'gitea.com/gitea/runner' },
  flags: [],
  module: 'gitea.com/gitea/runner',
  assets: ['scripts'],
});

/** Folders that Gitea's API needs without a built web frontend (`STATIC_ROOT_PATH`). */
const GITEA_ASSETS = ['options', 'public', 'templates'];

const GITEA: Readonly<Record<GiteaVersion, Recipe>> = {
  '1.27.3': recipe({
    name: 'gitea127',
    title: 'Gitea 1.27.3',
    binaries: { gitea: 'gitea.dev' },
    flags: ['-ldflags', '-X main.Version=1.27.3'],
    module: 'gitea.dev',
    assets: GITEA_ASSETS,
  }),
  '1.26.0': recipe({
    name: 'gitea126',
    title: 'Gitea 1.26.0',
    binaries: { gitea: 'code.gitea.io/gitea' },
    // Up to 1.26 SQLite is C.
    cgo: true,
    flags: ['-tags', 'sqlite sqlite_unlock_notify', '-ldflags', '-X main.Version=1.26.0'],
    module: 'code.gitea.io/gitea',
    assets: GITEA_ASSETS,
  }),
};

/** Versions of Kubernetes. `KUBERNETES_VERSION` chooses one; default: 1.37. */
const KUBERNETES: Readonly<Record<string, Recipe>> = {
  '1.34': kubernetes('k8s', '1.34.4'),
  '1.37': kubernetes('k8s137', '1.37.2'),
};

function kubernetes(name: string, version: string): Recipe {
  const variable = 'k8s.io/component-base/version';
  const [major, minor] = version.split('.');
  const programs = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy', 'kubectl'];
  return recipe({
    name,
    title: `Kubernetes ${version}`,
    binaries: Object.fromEntries(programs.map((program) => [program, `k8s.io/kubernetes/cmd/${program}`])),
    flags: [
      '-ldflags',
      `-s -w -X ${variable}.gitVersion=v${version} -X ${variable}.gitMajor=${major} -X ${variable}.gitMinor=${minor}`,
    ],
    module: 'k8s.io/kubernetes',
  });
}

/** Versions of Argo CD. `ARGOCD_VERSION` chooses one; default: 3.5. */
const ARGOCD: Readonly<Record<string, Recipe>> = {
  '3.5': argoCd('argocd', '3.5.3'),
  '3.6': { ...argoCd('argocd36', '3.6.1'), toolchain: 'go1.27.0' },
};

function argoCd(name: string, version: string): Recipe {
  return recipe({
    name,
    title: `Argo CD ${version}`,
    binaries: { argocd: 'github.com/argoproj/argo-cd/v3/cmd' },
    flags: ['-ldflags', `-s -w -X github.com/argoproj/argo-cd/v3/common.version=${version}`],
    module: 'github.com/argoproj/argo-cd/v3',
    assets: ['manifests', 'hack'],
  });
}

function chosen(variable: string, recipes: Readonly<Record<string, Recipe>>, byDefault: string): Recipe {
  const version = process.env[variable] ?? byDefault;
  const found = recipes[version];
  if (found) return found;
  throw new Error(`${variable} is ${version}. Set it to ${Object.keys(recipes).join(' or ')}, or leave it out.`);
}

const HELM = recipe({
  name: 'helm',
  title: 'Helm 3.22.0',
  binaries: { helm: 'helm.sh/helm/v3/cmd/helm' },
  // As in Helm's Makefile: its version, and the version of Kubernetes that "helm template" assumes.
  flags: [
    '-ldflags',
    '-s -w -X helm.sh/helm/v3/internal/version.version=v3.22.0 ' +
      ['chartutil', 'lint/rules']
        .map((name) => `helm.sh/helm/v3/pkg/${name}.k8sVersion`)
        .map((variable) => `-X ${variable}Major=1 -X ${variable}Minor=34`)
        .join(' '),
  ],
  module: 'helm.sh/helm/v3',
});

const ACTIONLINT = recipe({
  name: 'actionlint',
  title: 'actionlint 1.7.12',
  binaries: { actionlint: 'github.com/rhysd/actionlint/cmd/actionlint' },
  module: 'github.com/rhysd/actionlint',
});

/** OpenTelemetry's collector is made to measure: `main.go` has the receiver and the exporter that the test needs. */
const COLLECTOR = recipe({
  name: 'collector',
  title: 'OpenTelemetry collector 0.160.0',
  binaries: { collector: '.' },
  module: 'go.opentelemetry.io/collector/otelcol',
});

/** KEDA's operator alone. */
const KEDA = recipe({
  name: 'keda',
  title: 'KEDA 2.21.0',
  binaries: { keda: 'github.com/kedacore/keda/v2/cmd/operator' },
  module: 'github.com/kedacore/keda/v2',
  assets: ['config'],
});

const KUEUE = recipe({
  name: 'kueue',
  title: 'Kueue 0.17.0',
  binaries: { kueue: 'sigs.k8s.io/kueue/cmd/kueue' },
  module: 'sigs.k8s.io/kueue',
  assets: ['config'],
});

/** Kyverno's command and its admission controller (`kyverno`), its chart of policies, and the manifests of a whole Kyverno. */
const KYVERNO = recipe({
  name: 'kyverno',
  title: 'Kyverno 1.19.1',
  binaries: {
    'kubectl-kyverno': 'github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno',
    kyverno: 'github.com/kyverno/kyverno/cmd/kyverno',
  },
  module: 'github.com/kyverno/kyverno',
  assets: ['charts', 'config'],
});

/** The last version of docker compose that talks to Debian's dockerd 20.10. */
const COMPOSE = recipe({
  name: 'compose',
  title: 'docker compose 2.40.3',
  binaries: { 'docker-compose': 'github.com/docker/compose/v2/cmd' },
  module: 'github.com/docker/compose/v2',
});

/** Folders of the parts of the cluster. */
export interface ClusterBuilds {
  /** Folder with `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `kubelet`, `kubectl`. */
  readonly kubernetes: string;
  /** Folder with `argocd` (its role by `ARGOCD_BINARY_NAME`), `manifests/` and `hack/`. */
  readonly argocd: string;
  readonly runner: string;
  readonly gitea: string;
  /** Folder with `helm`. */
  readonly helm: string;
  /** Folders with the node's containerd and runc, for a PATH. Absent: those of this computer, which may be older. */
  readonly runtime?: string;
  /** Folder with BuildKit and buildx, and a `runtime` that knows user namespaces. */
  readonly buildkit?: { readonly programs: string; readonly runtime: string };
}

const BUILDKIT = recipe({
  name: 'buildkit',
  title: 'BuildKit 0.34.2 and buildx 0.38.2',
  binaries: {
    buildkitd: 'github.com/moby/buildkit/cmd/buildkitd',
    buildctl: 'github.com/moby/buildkit/cmd/buildctl',
    'docker-buildx': 'github.com/docker/buildx/cmd/buildx',
  },
  module: 'github.com/moby/buildkit',
});

const CONTAINERD = recipe({
  name: 'containerd',
  title: 'containerd 2.4.2',
  binaries: {
    containerd: 'github.com/containerd/containerd/v2/cmd/containerd',
    'containerd-shim-runc-v2': 'github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2',
  },
  flags: ['-tags', 'no_btrfs no_devmapper no_zfs', '-ldflags', '-s -w'],
  module: 'github.com/containerd/containerd/v2',
});

const RUNC = recipe({
  name: 'runc',
  title: 'runc 1.5.2',
  binaries: { runc: 'github.com/opencontainers/runc' },
  cgo: true,
  flags: ['-tags', 'seccomp', '-ldflags', '-s -w'],
  module: 'github.com/opencontainers/runc',
});

/** @param buildkit also what test/cluster/buildkit.test.ts needs. */
export function buildCluster(say: (line: string) => void, buildkit = false): ClusterBuilds {
  needTools();
  const kubernetes = chosen('KUBERNETES_VERSION', KUBERNETES, '1.37');
  // From 1.36 on, the kubelet needs containerd 2. Debian 12 has 1.6.
  const needsRuntime = kubernetes !== KUBERNETES['1.34'];
  const runtime = needsRuntime || buildkit ? `${build(CONTAINERD, say)}:${build(RUNC, say)}` : '';
  return {
    ...(buildkit && { buildkit: { programs: build(BUILDKIT, say), runtime } }),
    ...(needsRuntime && { runtime }),
    kubernetes: build(kubernetes, say),
    argocd: build(chosen('ARGOCD_VERSION', ARGOCD, '3.5'), say),
    runner: build(RUNNER, say),
    gitea: build(GITEA['1.27.3'], say),
    helm: build(HELM, say),
  };
}

/** Builds KEDA. It has the clients of many clouds, so this takes minutes. Only one walk of docs/migrate.md needs it. */
export function buildKeda(say: (line: string) => void): string {
  needTools();
  return build(KEDA, say);
}

/** Builds Kueue. Only test/cluster/kueue.test.ts needs it. */
export function buildKueue(say: (line: string) => void): string {
  needTools();
  return build(KUEUE, say);
}

/** Builds Kyverno. Only test/cluster/kyverno.test.ts and kyverno-controller.test.ts need it. */
export function buildKyverno(say: (line: string) => void): string {
  needTools();
  return build(KYVERNO, say);
}

/** Builds docker compose in some minutes. Only DOCKER_COMPOSE=build needs it. @returns its path */
export function buildCompose(say: (line: string) => void): string {
  needTools();
  return join(build(COMPOSE, say), 'docker-compose');
}

/** Builds the missing parts one after the other, and tells `say` the time of each. */
export function buildAll(say: (line: string) => void): Builds {
  needTools();
  return {
    runner: build(RUNNER, say),
    gitea: { '1.27.3': build(GITEA['1.27.3'], say), '1.26.0': build(GITEA['1.26.0'], say) },
    helm: build(HELM, say),
    actionlint: build(ACTIONLINT, say),
    collector: build(COLLECTOR, say),
  };
}

function needTools(): void {
  const needs: Readonly<Record<string, string>> = {
    go: 'Install Go 1.21 or newer (it fetches the release that go.mod names).',
    gcc: 'Install gcc and the C library headers (Debian: gcc libc6-dev); Gitea 1.26 compiles SQLite.',
    git: 'Install git; Gitea runs it.',
    bash: 'Install bash; the runner starts with it.',
  };
  for (const [tool, remedy] of Object.entries(needs)) {
    const found = spawnSync(tool, [tool === 'go' ? 'version' : '--version'], { stdio: 'ignore' });
    if (found.error) throw new Error(`the server tests need ${tool}, which is not on the PATH. ${remedy}`);
  }
}

function build(wanted: Recipe, say: (line: string) => void): string {
  const root = cacheRoot();
  const work = mkdtempSync(join(root, 'build-'));
  try {
    // A copy, because -mod=mod may write to go.mod.
    cpSync(join(import.meta.dirname, 'go', wanted.name), work, { recursive: true });
    const env = {
      ...process.env,
      ...(wanted.toolchain !== undefined && { GOTOOLCHAIN: wanted.toolchain }),
      CGO_ENABLED: wanted.cgo ? '1' : '0',
      GOFLAGS: '-mod=mod',
      GOWORK: 'off',
      // The compiler tidies its memory less often: a quarter less time, some hundred MiB more.
      GOGC: '800',
    };
    const go = (...args: string[]): string =>
      execFileSync('go', args, { cwd: work, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
    const target = join(root, `${wanted.name}-${hashOf(wanted, go('env', 'GOVERSION', 'GOOS', 'GOARCH'))}`);
    if (existsSync(target)) {
      say(`${wanted.title}: built before`);
      return target;
    }
    say(`${wanted.title}: building (minutes when Go's cache is empty)`);
    const started = Date.now();
    const out = join(work, 'out');
    const [name = '', ...more] = Object.keys(wanted.binaries);
    // Several at once: Go compiles for one while it links another.
    const to = more.length > 0 ? `${out}/` : join(out, name);
    go('build', ...wanted.flags, '-o', to, ...Object.values(wanted.binaries));
    // Then each has the name of its package.
    if (more.length > 0)
      for (const [file, of] of Object.entries(wanted.binaries)) renameSync(join(out, basename(of)), join(out, file));
    const source = go('list', '-m', '-f', '{{.Dir}}', wanted.module);
    for (const folder of wanted.assets) cpSync(join(source, folder), join(out, folder), { recursive: true });
    makeReadable(out);
    if (!existsSync(target)) renameSync(out, target);
    say(`${wanted.title}: built in ${Math.round((Date.now() - started) / 1000)} s`);
    return target;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function hashOf(wanted: Recipe, goVersion: string): string {
  const hash = createHash('sha256').update(JSON.stringify(wanted)).update(goVersion);
  const folder = join(import.meta.dirname, 'go', wanted.name);
  for (const file of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, file)));
  return hash.digest('hex').slice(0, 16);
}

function cacheRoot(): string {
  const base = process.getuid?.() === 0 ? '/var/cache' : process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const root = join(base, 'argocd-gitea-runners-servers');
  mkdirSync(root, { recursive: true });
  return root;
}

/** Files of the Go module cache are read-only, folders too: without this the copy could not be deleted. */
function makeReadable(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  }
}
