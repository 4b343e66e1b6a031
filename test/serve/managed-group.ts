/** A RunnerGroup as Argo CD has applied it. `more`: further fields of its spec. */
export function managedGroup(url: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    apiVersion: 'gitea.bpg.pw/v1alpha1',
    kind: 'RunnerGroup',
    metadata: {
      name: 'ci',
      namespace: 'runners',
      annotations: { 'argocd.argoproj.io/tracking-id': 'runners:gitea.bpg.pw/RunnerGroup:runners/ci' },
    },
    spec: {
      scope: 'org',
      org: 'acme',
      gitea: { url },
      containerMode: 'host',
      labels: ['linux:host'],
      maxActiveRunners: 5,
      registrationToken: { secretRef: { name: 'gitea-runner', key: 'token' } },
      authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
      ...more,
    },
  };
}
