/** The Application and its project: as examples in `install/`, and written by `init` for a repository of one's own. */
import { API_GROUP, COMPARE_OPTIONS, KIND } from '../marks.ts';
import { ARGOCD_NAMESPACE, PLUGIN, PROJECT } from './installed-names.ts';

const CLUSTER = 'https://kubernetes.default.svc';
const API_VERSION = 'argoproj.io/v1alpha1';

/** Where RunnerGroups are in git (`path`: their folder), and the namespace for them and their Jobs. */
type GroupsInGit = Readonly<{ repository: string; path: string; namespace: string }>;

/** Jobs and RunnerGroups in one namespace, and nothing else. */
export function projectManifest({ repository, namespace }: Omit<GroupsInGit, 'path'>) {
  return {
    apiVersion: API_VERSION,
    kind: 'AppProject',
    metadata: { name: PROJECT, namespace: ARGOCD_NAMESPACE },
    spec: {
      clusterResourceWhitelist: [],
      description: 'Runners of Gitea Actions',
      destinations: [{ namespace, server: CLUSTER }],
      namespaceResourceWhitelist: [
        { group: 'batch', kind: 'Job' },
        { group: API_GROUP, kind: KIND },
      ],
      sourceRepos: [repository],
    },
  } as const;
}

/** Without this, Argo CD 3.6 asks Kubernetes about each living Job, and one refusal stops the Application (docs/adr/0063). */
export const APPLICATION_ANNOTATIONS = { [COMPARE_OPTIONS]: 'ServerSideDiff=false' } as const;

/** Returns the Application of a repository with RunnerGroups. */
export function applicationManifest(source: GroupsInGit) {
  return {
    apiVersion: API_VERSION,
    kind: 'Application',
    metadata: { annotations: APPLICATION_ANNOTATIONS, name: 'runners', namespace: ARGOCD_NAMESPACE },
    spec: applicationSpec(source),
  } as const;
}

/**
 * Returns the spec of the Application. No self-heal: it would create Jobs without `serve`, slowed by its own back-off.
 * `allowEmpty`: no demand is normal. Background deletion: in the foreground, the default, a Job would block every sync
 * until its runner has finished. Retries end after 21 s: a refused Job fails each sync, and Argo CD starts no other while
 * it repeats one. A Job's pod template cannot change, so a difference there does not count.
 */
export function applicationSpec({ repository, path, namespace }: GroupsInGit) {
  return {
    destination: { namespace, server: CLUSTER },
    ignoreDifferences: [{ group: 'batch', jsonPointers: ['/spec'], kind: 'Job' }],
    project: PROJECT,
    source: { path, plugin: { name: PLUGIN }, repoURL: repository, targetRevision: 'HEAD' },
    syncPolicy: {
      automated: { allowEmpty: true, prune: true },
      retry: { backoff: { duration: '2s', factor: 2, maxDuration: '5s' }, limit: 5 },
      syncOptions: [
        'PrunePropagationPolicy=background',
        'ApplyOutOfSyncOnly=true',
        'RespectIgnoreDifferences=true',
        'ServerSideApply=true',
      ],
    },
  } as const;
}

/** Options of a sync that do harm here, with the harm. Company templates and lists of advice have some of them. */
export const HARMFUL_OPTIONS: ReadonlyMap<string, string> = new Map([
  [
    'PruneLast=true',
    'a sync lasts until the CI jobs of its new runners are over, and no other runner starts meanwhile',
  ],
  ['Replace=true', 'a Job that differs is deleted and made again, and its CI job dies'],
  ['Force=true', 'a Job that differs is deleted and made again, and its CI job dies'],
  ['Prune=false', 'runners that are not needed stay until they end by themselves'],
  ['Prune=confirm', 'a sync waits until somebody confirms'],
]);
