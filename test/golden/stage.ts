/**
 * What a case plays on: a Gitea that answers from a list, a proxy on the way to it, a Kubernetes API server, Secrets as files.
 *
 *     generate ──► proxy ──► gitea.example.com (http and https)
 *         └──────────────────► TLS front ──► test/support/api-server.ts
 *
 * The proxy lets every case say `https://gitea.example.com`: the address enters runner names, so it must not change.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { groupBy } from '../../src/shared/keys.ts';
import { TOKEN as CLUSTER_TOKEN, startApiServer, status } from '../support/api-server.ts';
import { makeCertificates } from '../support/certificate.ts';
import { proxyServer } from '../support/proxy-server.ts';
import { folderWith } from '../support/run-cli.ts';
import { serve, serveTls } from '../support/server.ts';
import { TlsFront } from '../support/tls-front.ts';
import type { Exchange } from './answers.ts';

/** The API token of every case that names no other. It must be seen in no output. */
export const TOKEN = 'golden-t0ken-that-nobody-may-see';

/** Secrets as they are mounted: by `namespace/name` or `name`, then by key. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** `cluster.json`: Kubernetes lists, and lists that are refused with a status. */
export interface ClusterFile {
  readonly jobs: readonly { readonly metadata: { readonly namespace: string } }[];
  readonly pods: readonly { readonly metadata: { readonly namespace: string } }[];
  readonly refused: Readonly<Record<string, number>>;
}

export interface Stage {
  /** What the commands see of it. */
  readonly env: Readonly<Record<string, string>>;
  readonly secretsDir: string;
  readonly caFile: string;
  /** Begins a look: none asks the same twice. */
  readonly beginLook: () => void;
  /** Requests that should not have come. */
  readonly unexpected: () => readonly string[];
  /** Answers that nobody asked for. */
  readonly unasked: () => readonly string[];
  /** An output with what differs from run to run replaced. */
  readonly settle: (text: string) => string;
}

/** Sets everything up; it is gone when the test ends. */
export async function openStage(
  exchanges: readonly Exchange[],
  secrets: Secrets,
  cluster: ClusterFile | undefined,
): Promise<Stage> {
  const certificate = makeCertificates('gitea.example.com');
  const mounted = Object.entries(secrets).flatMap(([secret, keys]) =>
    Object.entries(keys).map(([key, text]) => [join('secrets', secret, key), text] as const),
  );
  const folder = folderWith({ 'gitea-ca.pem': certificate.ca, ...Object.fromEntries(mounted) });
  const gitea = new AnsweringGitea(exchanges);
  const answer: RequestListener = (request, response) => gitea.answer(request, response);
  const [plain, secure] = [await serve(answer), await serveTls(certificate, answer)];
  const ports = { 'gitea.example.com:80': plain.port, 'gitea.example.com:443': secure.port };
  const { origin: proxy } = await proxyServer(undefined, ports);
  return {
    env: {
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      ...(cluster ? await openCluster(cluster) : { GITEA_RUNNERS_CLUSTER: 'off' }),
    },
    secretsDir: join(folder, 'secrets'),
    caFile: join(folder, 'gitea-ca.pem'),
    beginLook: () => gitea.beginLook(),
    unexpected: () => gitea.unexpected(),
    unasked: () => gitea.unasked(),
    settle: (text) =>
      text
        .replaceAll(folder, '')
        .replaceAll(new URL(proxy).host, 'proxy.example.com:3128')
        .replace(/https:\/\/localhost:\d+/g, 'https://kubernetes.default.svc'),
  };
}

/** Answers what it was told, and remembers what was asked. */
class AnsweringGitea {
  readonly #waiting: Map<string, Exchange>;
  readonly #known: Map<string, Exchange>;
  readonly #unexpected = new Set<string>();
  readonly #ofThisLook = new Set<string>();

  constructor(exchanges: readonly Exchange[]) {
    this.#known = new Map(exchanges.map((exchange) => [exchange.request, exchange]));
    this.#waiting = new Map([...this.#known].filter(([, { maybe }]) => !maybe));
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search } = new URL(request.url ?? '/', 'http://gitea');
    const sorted = pathname + search;
    // Gitea before 1.27 ignores these two, and its answers were recorded without them (src/clients/gitea/version.ts).
    const asked = this.#known.has(sorted) ? sorted : sorted.replace('&sort=id&order=desc', '');
    const known = this.#known.get(asked);
    this.#waiting.delete(asked);
    // `explain` asks for the runs of jobs that wait, after its look. No case has runs.
    if (request.method === 'GET' && !known && pathname.endsWith('/actions/runs')) {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ workflow_runs: [], total_count: 0 }));
      return;
    }
    if (request.method !== 'GET' || !known) {
      this.#unexpected.add(`gitea.json has no answer for ${request.method} ${asked}`);
      response.writeHead(418).end();
      return;
    }
    const isAgain = known.again || /\/(?:version|user)$/.test(pathname);
    if (this.#ofThisLook.has(asked) && !isAgain) this.#unexpected.add(`one look asked twice for ${asked}`);
    this.#ofThisLook.add(asked);
    if (request.headers.authorization !== `token ${TOKEN}`) this.#unexpected.add(`${asked} came without the token`);
    response.writeHead(known.status, known.headers);
    response.end(JSON.stringify(known.body));
  }

  beginLook(): void {
    this.#ofThisLook.clear();
  }

  unexpected(): readonly string[] {
    return [...this.#unexpected];
  }

  unasked(): readonly string[] {
    return [...this.#waiting.keys()];
  }
}

/** An API server behind TLS and a service account's folder, as in a pod. */
async function openCluster({ jobs, pods, refused }: ClusterFile): Promise<Readonly<Record<string, string>>> {
  const { ca, key, cert } = makeCertificates();
  const api = await startApiServer({
    jobs: byNamespace(jobs),
    pods: byNamespace(pods),
    override: (url, response) => {
      const code = refused[url.pathname.split('/').at(-1) ?? ''];
      if (code !== undefined) status(response, code, 'Refused');
      return code !== undefined;
    },
  });
  const front = await TlsFront.start(api.config.url, { key, cert });
  onTestFinished(() => front.close());
  return {
    GITEA_RUNNERS_KUBERNETES_DIR: folderWith({ 'ca.crt': ca, token: CLUSTER_TOKEN }),
    KUBERNETES_SERVICE_HOST: 'localhost',
    KUBERNETES_SERVICE_PORT: String(front.port),
  };
}

function byNamespace<T extends { readonly metadata: { readonly namespace: string } }>(
  items: readonly T[],
): Readonly<Record<string, readonly T[]>> {
  return Object.fromEntries(groupBy(items, ({ metadata }) => metadata.namespace));
}
