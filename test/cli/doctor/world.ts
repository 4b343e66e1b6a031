/** An installation that `doctor` looks at: a real HTTPS server for the cluster, and a simulated Gitea. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { kubeconfigFor, startCluster } from '../../clients/kubernetes/through-cli.ts';
import { documents } from '../../packaging/manifests.ts';
import { send, status } from '../../support/api-server.ts';
import { groupList, groupObject, secretObject } from '../../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../../support/run-cli.ts';
import { TOKEN as GITEA_TOKEN, startAcme } from '../../support/start-acme.ts';

export type Json = Record<string, unknown>;
/** Path -> object; a text: as it is; a number: this status. */
export type World = Record<string, Json | readonly Json[] | string | number>;

const ARGO = '/namespaces/argocd';
export const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runnergroups.gitea.bpg.pw';
export const REPO_SERVER = `/apis/apps/v1${ARGO}/deployments/argocd-repo-server`;
export const DEPLOYMENTS = `/apis/apps/v1${ARGO}/deployments`;
export const SERVE = `/apis/apps/v1${ARGO}/deployments/gitea-runners`;
export const CM = `/api/v1${ARGO}/configmaps/argocd-cm`;
export const RBAC = `/api/v1${ARGO}/configmaps/argocd-rbac-cm`;
export const APPLICATIONS = `/apis/argoproj.io/v1alpha1${ARGO}/applications`;
export const PROJECTS = `/apis/argoproj.io/v1alpha1${ARGO}/appprojects`;
export const LEASE = `/apis/coordination.k8s.io/v1${ARGO}/leases/gitea-runners-serve`;
export const GROUPS = '/apis/gitea.bpg.pw/v1alpha1/runnergroups';
export const NAMESPACE = '/api/v1/namespaces/runners';
export const QUOTAS = `${NAMESPACE}/resourcequotas`;
export const SERVICE_ACCOUNT = `${NAMESPACE}/serviceaccounts/default`;
/** The answer to a pod that is tried. */
export const DRY_RUN = 'POST pods';
export const POLICIES = '/apis/networking.k8s.io/v1/namespaces/runners/networkpolicies';
export const REGISTRATION = `${NAMESPACE}/secrets/gitea-runner`;
export const API_TOKEN = `/api/v1${ARGO}/secrets/gitea-api`;
export const SERVE_SECRET = `/api/v1${ARGO}/secrets/gitea-runners-serve`;
export const SERVICE = `/api/v1${ARGO}/services/gitea-runners`;
export const POLICY = `/apis/networking.k8s.io/v1${ARGO}/networkpolicies/gitea-runners`;
export const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
export const OWN_REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
export const NODES = '/api/v1/nodes';
export const PODS = `/api/v1${ARGO}/pods`;
export const METRICS = `${PODS}/gitea-runners-1:9090/proxy/metrics`;
export const SETTINGS = `/api/v1${ARGO}/configmaps/gitea-runners-settings`;
export const AUTOSCALER = '/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status';
/** Places in these objects, for `put`. */
export const GROUP = [GROUPS, 'items', 0];
export const SPEC = [...GROUP, 'spec'];
export const APPLICATION = [APPLICATIONS, 'items', 0];
export const CONTAINER = [REPO_SERVER, 'spec', 'template', 'spec', 'containers', 0];
/** Path of the webhooks in Gitea's API, in the same world. */
export const HOOKS = '/api/v1/orgs/acme/hooks';
export const REPOSITORIES = '/api/v1/orgs/acme/repos';
export const COMPARED = '/api/v1/orgs/acme/actions/runners/registration-token';

/** The object of a kind that a file of `install/` has first. */
export function manifest(file: string, kind?: string): Json {
  const all = documents(file) as readonly (Json | null)[];
  const found = all.find((each) => each !== null && (kind === undefined || each['kind'] === kind));
  return structuredClone(found ?? {});
}

const ready = (deployment: Json, readyReplicas = 1): Json => ({ ...deployment, status: { readyReplicas } });
export const repoServer = (readyReplicas = 1): Json => ready(manifest('argocd-repo-server.yaml'), readyReplicas);
export const serve = (readyReplicas = 1): Json => ready(manifest('gitea-runners.yaml', 'Deployment'), readyReplicas);
/** Makes the answer of `/metrics` as prom-client writes it. Seconds since 1970. */
export const metrics = (started: number, last: Readonly<Record<string, number>>): string =>
  [
    `process_start_time_seconds ${started}`,
    ...Object.entries(last).map(
      ([result, at]) => `gitea_runners_webhook_last_delivery_timestamp_seconds{result="${result}"} ${at}`,
    ),
    '',
  ].join('\n');
export const hook = (url = 'http://gitea-runners.argocd.svc/webhook', more: Json = {}): Json => ({
  active: true,
  events: ['workflow_job'],
  config: { url, content_type: 'json' },
  ...more,
});
export const node = (labels: Json = {}, taints: readonly Json[] = []): Json => ({
  metadata: { name: 'one', labels: { 'kubernetes.io/os': 'linux', ...labels } },
  spec: { taints },
  status: { allocatable: { cpu: '4', memory: '8Gi' } },
});

export const secret = (data: Readonly<Record<string, string>>): Json => ({ ...secretObject(data) });

export function condition(isReady: string): Json {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  return { type: 'Ready', status: isReady, reason: 'GiteaFailed', message: 'GR-HTTP-01 no answer', lastTransitionTime };
}

/** Makes the world of an installation by docs/install.md. */
function whole(url: string, spec = ''): World {
  const conditions = [condition('True')];
  const group = groupObject(groupYaml(url, spec), { lastCheckTime: new Date().toISOString(), conditions });
  return {
    '/version': { major: '1', minor: '34' },
    [CRD]: manifest('crd.yaml'),
    [REPO_SERVER]: repoServer(),
    [SERVE]: serve(),
    [SERVE_SECRET]: secret({ 'argocd-token': 'of Argo CD', 'webhook-secret': 'of webhooks' }),
    [SERVICE]: manifest('gitea-runners.yaml', 'Service'),
    [POLICY]: manifest('gitea-runners.yaml', 'NetworkPolicy'),
    [NODES]: { items: [node()] },
    [PODS]: { items: [{ metadata: { name: 'gitea-runners-1' }, status: { phase: 'Running' } }] },
    [METRICS]: metrics(1_700_000_000, { accepted: 1_700_000_100 }),
    [HOOKS]: [hook()],
    [REPOSITORIES]: [{ full_name: 'acme/web', has_actions: true }],
    [COMPARED]: { token: 'registration' },
    [CM]: manifest('argocd-cm.yaml'),
    [RBAC]: manifest('argocd-rbac-cm.yaml'),
    [APPLICATIONS]: { items: [manifest('examples/application.yaml')] },
    [PROJECTS]: { items: [manifest('examples/project.yaml')] },
    [LEASE]: { spec: { holderIdentity: 'gitea-runners-1', renewTime: new Date().toISOString() } },
    [GROUPS]: { ...groupList([group]) },
    [NAMESPACE]: manifest('runners.yaml'),
    [QUOTAS]: { items: [] },
    [OWN_REVIEW]: { status: { allowed: true } },
    [DRY_RUN]: { kind: 'Pod' },
    [SERVICE_ACCOUNT]: { metadata: { name: 'default' } },
    [POLICIES]: { items: [manifest('runners.yaml', 'NetworkPolicy')] },
    [`${NAMESPACE}/pods`]: { kind: 'PodList', metadata: { resourceVersion: '1' }, items: [] },
    [REGISTRATION]: secret({ token: 'registration', 'registration-token': 'registration', url }),
    [API_TOKEN]: secret({ token: GITEA_TOKEN, url }),
  };
}

/** Never allowed. */
const FORBIDDEN = ['create jobs', 'delete jobs', 'list secrets'];

/** @param turned deeds that are allowed and should not be, or the other way round, each in a line. */
async function reviewed(request: IncomingMessage, response: ServerResponse, turned: string): Promise<void> {
  const { spec } = (await json(request)) as { readonly spec: { readonly resourceAttributes: Record<string, string> } };
  const { verb, resource } = spec.resourceAttributes;
  const deed = `${verb} ${resource}`;
  send(response, 201, { status: { allowed: FORBIDDEN.includes(deed) === turned.split('\n').includes(deed) } });
}

function answerWith(response: ServerResponse, found: World[string]): void {
  if (typeof found === 'number') status(response, found, 'No');
  else if (typeof found === 'string') response.end(found);
  else send(response, 'code' in found ? Number(found['code']) : 200, found);
}

/** A Status of the API server. */
export const refusal = (message: string, code = 403): Json => ({ kind: 'Status', status: 'Failure', code, message });

export async function examine(
  change: (world: World, url: string) => World | undefined = (world) => world,
  spec = '',
  envOf: (url: string) => Readonly<Record<string, string>> = () => ({}),
) {
  const acme = await startAcme();
  const { url } = acme.simulator;
  const base = whole(url, spec);
  const world = change(base, url) ?? base;
  const asked: string[] = [];
  const server = await startCluster({
    override: ({ pathname, search }, response, request) => {
      asked.push(`${request.method} ${pathname}${search}`);
      if (pathname === REVIEWS && typeof world[REVIEWS] !== 'number') {
        void reviewed(request, response, String(world[REVIEWS] ?? ''));
        return true;
      }
      // A path of its own for what is created, as a dry run.
      const found = world[request.method === 'POST' && /\/pods$/.test(pathname) ? DRY_RUN : pathname];
      if (found === undefined) {
        if (
          !/\/(?:secrets|services|deployments|configmaps|leases|applications|appprojects|nodes|nodepools|networkpolicies|pods|serviceaccounts|namespaces\/[^/]+$|customresource)/.test(
            pathname,
          )
        )
          return false;
        status(response, 404, 'NotFound');
      } else answerWith(response, found);
      return true;
    },
  });
  acme.simulator.intercept(({ url: target = '' }, response) => {
    const found = world[target.replace(/\?.*/, '')];
    if (found === undefined) return false;
    // A list has one page here.
    answerWith(response, /[?&]page=[2-9]/.test(target) ? [] : found);
    return true;
  });
  const run = (...flags: readonly string[]) =>
    runHere(['doctor', '--kubeconfig', kubeconfigFor(server), '-A', ...flags], envOf(url), folderWith({}));
  return { run, asked, requests: acme.simulator.requests };
}

type Key = string | number;

/**
 * Changes a world: `place` is the path of an object, and then the keys that lead to the value. Undefined removes the
 * value.
 */
export const put =
  ([path = '', ...keys]: readonly Key[], value: unknown) =>
  (world: World): World => {
    const changed = structuredClone(world);
    const way = [path, ...keys];
    const holder = at(changed, ...way.slice(0, -1)) as Record<Key, unknown>;
    const last = way.at(-1) ?? '';
    if (value === undefined) delete holder[last];
    else holder[last] = value;
    return changed;
  };
export const without = (path: string) => put([path], undefined);
export const at = (object: unknown, ...keys: readonly Key[]): Json =>
  keys.reduce((value, key) => (value as Record<Key, unknown>)[key], object) as Json;
