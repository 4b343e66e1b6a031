/**
 * Runs a block of the manual like a reader who pastes it into a shell, with stand-ins for programs with network access.
 * Files keep kubectl's changes of the cluster, so that a second run finds them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { folderWith } from '../support/run-cli.ts';
import { docScript } from './doc-blocks.ts';

/** `create` prints an object, as the real one with a dry run. `apply` and others without a dry run change the cluster. */
const KUBECTL = `
case " $* " in
  *" get secret "*) cat "$CLUSTER/webhook-secret" 2>/dev/null; exit 0 ;;
  *" create "*" --dry-run=client "*)
    echo "kind: Secret"; for arg in "$@"; do case $arg in
      --from-file=*=/dev/stdin) key=\${arg#--from-file=}; echo "  \${key%%=*}: '$(cat)'" ;;
      --from-literal=*) echo "  \${arg#--from-literal=}" ;;
    esac; done; exit 0 ;;
  *" create "*) echo "error: failed to create: already exists" >&2; exit 1 ;;
  *" -f - "*) object=$(cat)
    test -n "$object" || { echo "error: no objects passed to apply" >&2; exit 1; }
    printf '%s\\n' "$object" >> "$CLUSTER/applied"
    printf '%s\\n' "$object" | sed -n 's/^  webhook-secret: //p' | tr -d '\\n' > "$CLUSTER/found"
    test ! -s "$CLUSTER/found" || cp "$CLUSTER/found" "$CLUSTER/webhook-secret" ;;
  *" rollout "*) ;;
  *) echo "$*" >> "$CLUSTER/applied" ;;
esac`;

/** Answers GET and POST. A POST changes Gitea. */
const CURL = `
case " $* " in
  *" -X POST "*registration-token*) echo '{"token": "registration-of-gitea"}' ;;
  *" -d "*) cat >> "$CLUSTER/hooks" ;;
  *hooks*) cat "$CLUSTER/hooks" 2>/dev/null; echo '[]' ;;
esac`;

const TOOLS: Readonly<Record<string, string>> = {
  kubectl: KUBECTL,
  curl: CURL,
  argocd: 'echo token-of-argocd',
  openssl: 'echo 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
  helm: 'echo "helm $*" >> "$CLUSTER/applied"',
  docker: 'echo "docker $*" >> "$CLUSTER/applied"',
};

/** Variables that a reader has set. */
export const VARIABLES: Readonly<Record<string, string>> = {
  IMAGE: `registry.example.com/argocd-gitea-runners:${packageJson.version}`,
  GITEA_URL: 'https://gitea.example.com',
  GITEA_ORG: 'acme',
  GITEA_API_TOKEN: 'api-token',
  GITEA_OWNER_TOKEN: 'owner-token',
  REPO_URL: 'https://gitea.example.com/acme/runners.git',
  WEBHOOK_URL: 'http://gitea-runners.argocd.svc/webhook',
  KUSTOMIZATION: '.',
  CHART: 'install/chart',
  VALUES: 'values.yaml',
};

export interface BlockRun {
  readonly name: string;
  /** The reader's shell. */
  readonly shell?: string;
  /** Changes of `VARIABLES`; undefined: not set. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Scripts in the place of the stand-ins. */
  readonly tools?: Readonly<Record<string, string>>;
}

/** Result of a block. */
export interface BlockResult {
  readonly code: string;
  readonly stderr: string;
  /** All applied objects so far. Empty: none. */
  readonly applied: string;
  /** All requests that were posted to Gitea so far. */
  readonly hooks: string;
}

/** A reader with a cluster of their own, removed at the end of the test. */
export class Reader {
  readonly #folder = folderWith({});

  constructor() {
    mkdirSync(join(this.#folder, 'cluster'));
    // Blocks write files, and these are not for the repository.
    symlinkSync(resolve('install'), join(this.#folder, 'install'));
  }

  /** Pastes the block of docs/install.md. Throws when the shell itself is gone afterwards: the reader's terminal would have closed. */
  run({ name, shell = 'sh', variables = {}, tools = {} }: BlockRun): BlockResult {
    const bin = join(this.#folder, 'bin');
    rmSync(bin, { recursive: true, force: true });
    mkdirSync(bin);
    for (const [tool, script] of Object.entries({ ...TOOLS, ...tools })) {
      writeFileSync(join(bin, tool), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    const cluster = join(this.#folder, 'cluster');
    const set = Object.entries({ ...VARIABLES, ...variables }).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value]],
    );
    const { stdout, stderr } = spawnSync(shell, [], {
      input: `${blockNamed(name)}echo "the shell lives: $?"\n`,
      encoding: 'utf8',
      cwd: this.#folder,
      env: { PATH: `${bin}:${process.env['PATH']}`, CLUSTER: cluster, ...Object.fromEntries(set) },
    });
    const code = /^the shell lives: (\d+)$/m.exec(stdout)?.[1];
    if (code === undefined) throw new Error(`the shell ended: ${stderr}`);
    const read = (file: string) => (existsSync(join(cluster, file)) ? readFileSync(join(cluster, file), 'utf8') : '');
    return { code, stderr, applied: read('applied'), hooks: read('hooks') };
  }
}

function blockNamed(name: string): string {
  return docScript(
    readFileSync('docs/install.md', 'utf8').replaceAll(/not run: ([a-z-]+): .* -->/g, 'run: $1 -->'),
    name,
  );
}
