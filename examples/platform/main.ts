/** A platform's own cdk8s app around that of the runners. `npm run build` makes platform.cjs of it, for the image: docs/platform.md */
import type { RunnersApp } from 'argocd-gitea-runners';
import { ApiObject, Chart, JsonPatch } from 'cdk8s';
import type { IMixin } from 'constructs';

/** Who pays, on every Job. */
const costCenter: IMixin = {
  supports: (construct) => ApiObject.isApiObject(construct) && construct.kind === 'Job',
  applyTo: (job) => (job as ApiObject).metadata.addLabel('platform.example.com/cost-center', 'ci'),
};

/** A native sidecar: Kubernetes ends it with the runner. */
const AUDIT = {
  name: 'audit',
  image: 'registry.example.com/audit:1.4',
  restartPolicy: 'Always',
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  },
};

export function platform(app: RunnersApp): void {
  app.with(costCenter);
  for (const { group, job } of app.groupCharts) {
    if (group.namespace !== 'payments') continue;
    const { initContainers = [] } = job.toJson().spec.template.spec;
    job.addJsonPatch(JsonPatch.add('/spec/template/spec/initContainers', [...initContainers, AUDIT]));
  }
  const chart = new Chart(app, 'network');
  for (const namespace of new Set(app.groupCharts.map(({ group }) => group.namespace))) {
    new ApiObject(chart, namespace, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      // What is not printed is deleted, and a RunnerGroup that cannot be read is not here. Its runners still need the policy.
      metadata: { name: 'runners', namespace, annotations: { 'argocd.argoproj.io/sync-options': 'Prune=false' } },
      spec: {
        podSelector: { matchLabels: { 'app.kubernetes.io/name': 'gitea-runner' } },
        policyTypes: ['Ingress'],
      },
    });
  }
}
