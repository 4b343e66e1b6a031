/** Settings of Argo CD that could make a large Application quicker, one after the other. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Way {
  readonly name: string;
  /** Merge patch of the Application's `spec`. */
  readonly spec: object;
  /** Environment of the application controller; null removes. */
  readonly env: Readonly<Record<string, string | null>>;
  /** Annotations of the Application. */
  readonly annotations: Readonly<Record<string, string>>;
  /** ConfigMap `argocd-cm`; null removes. */
  readonly settings: Readonly<Record<string, string | null>>;
}

interface Application {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly ignoreDifferences: readonly object[];
    readonly syncPolicy: { readonly syncOptions: readonly string[] };
  };
}

const example = parse(readFileSync('install/examples/application.yaml', 'utf8')) as Application;
const { annotations } = example.metadata;
const { ignoreDifferences, syncPolicy } = example.spec;

const INSTALLED: Way = {
  name: 'as installed',
  annotations,
  spec: { ignoreDifferences, syncPolicy },
  env: {
    ARGOCD_K8S_CLIENT_QPS: null,
    ARGOCD_K8S_CLIENT_BURST: null,
    ARGOCD_APPLICATION_CONTROLLER_KUBECTL_PARALLELISM_LIMIT: '20',
    ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS: '20',
    ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS: '10',
  },
  settings: { 'resource.ignoreResourceUpdatesEnabled': null },
};

export const WAYS: readonly Way[] = [
  INSTALLED,
  {
    ...INSTALLED,
    name: 'Kubernetes is asked about each Job (server-side diff)',
    annotations: { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' },
  },
  without('client-side apply', 'ServerSideApply=true'),
  without('every object is applied', 'ApplyOutOfSyncOnly=true'),
  { ...INSTALLED, name: 'no `ignoreDifferences`', spec: { ignoreDifferences: null, syncPolicy } },
  {
    ...INSTALLED,
    name: "the controller's limits raised",
    env: {
      ARGOCD_K8S_CLIENT_QPS: '200',
      ARGOCD_K8S_CLIENT_BURST: '400',
      ARGOCD_APPLICATION_CONTROLLER_KUBECTL_PARALLELISM_LIMIT: '100',
      ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS: '50',
      ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS: '25',
    },
  },
  {
    ...INSTALLED,
    name: 'updates of objects not ignored',
    settings: { 'resource.ignoreResourceUpdatesEnabled': 'false' },
  },
  { ...INSTALLED, name: 'as installed, again' },
];

function without(name: string, option: string): Way {
  const syncOptions = syncPolicy.syncOptions.filter((each) => each !== option);
  return { ...INSTALLED, name, spec: { ignoreDifferences, syncPolicy: { ...syncPolicy, syncOptions } } };
}
