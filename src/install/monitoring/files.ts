/**
 * `install/monitoring/`: for the Prometheus operator and Grafana (docs/monitoring.md). An option: install.yaml does not hold it.
 *
 *   servicemonitor.yaml      scrapes serve
 *   prometheusrule.yaml      alerts
 *   dashboard.json           for Grafana
 *   runners.yaml             scrapes runners whose group switches their metrics on
 *   kustomization.yaml       all but runners.yaml; the dashboard as a ConfigMap, as Grafana's sidecar looks for it
 */
import { ApiObject } from 'cdk8s';
import * as k8s from 'cdk8s-plus-28/lib/imports/k8s.js';
import type { Construct } from 'constructs';
import { MANAGER, OUR_SELECTOR, RUNNER_APP } from '../../charts/marks.ts';
import { yamlText } from '../../runnergroup/yaml-text.ts';
import { comment, HEADER, ManifestFile } from '../manifest-file.ts';
import { ARGOCD_NAMESPACE, NAME, RUNNERS_NAMESPACE, SERVE_LABELS } from '../names.ts';
import { tcp } from '../network.ts';
import { dashboardText } from './dashboard.ts';
import { ALERTS } from './rules.ts';

const OPERATOR = 'monitoring.coreos.com/v1';
const METADATA = { name: NAME, namespace: ARGOCD_NAMESPACE, labels: SERVE_LABELS };
/** Where the Prometheus of the operator's chart lives, as most people install it. */
const MONITORING_NAMESPACE = 'monitoring';
/** Of the example in docs/monitoring.md: `spec.runnerConfig.metrics.addr`. */
const RUNNER_METRICS_PORT = 9101;

const SELECTED =
  'Does your Prometheus select by label? Add it, e.g. release: kube-prometheus-stack (docs/monitoring.md).';
const RUNNERS = `An option: metrics of the runners themselves. A group switches them on (docs/monitoring.md):

  spec:
    runnerConfig: {metrics: {enabled: true, addr: ":${RUNNER_METRICS_PORT}"}}

Everybody who reaches the port reads them. The NetworkPolicy lets in the pods of one namespace only.`;
const KUSTOMIZATION = 'kubectl apply -k install/monitoring';

/** File name below `install/` -> text. */
export function monitoringFiles(): Readonly<Record<string, string>> {
  return {
    'monitoring/servicemonitor.yaml': oneObject(SELECTED, (file) => new ServeMonitor(file, 'monitor')),
    'monitoring/prometheusrule.yaml': oneObject(SELECTED, (file) => new Alerts(file, 'alerts')),
    'monitoring/dashboard.json': dashboardText(),
    'monitoring/runners.yaml': `${HEADER}${comment(RUNNERS)}---\n${runners()}`,
    'monitoring/kustomization.yaml': `${HEADER}${comment(KUSTOMIZATION)}${yamlText(kustomization())}`,
  };
}

function oneObject(note: string, make: (file: ManifestFile) => Construct): string {
  const file = new ManifestFile('monitoring');
  file.note(make(file), note);
  return `${HEADER}---\n${file.text()}`;
}

class ServeMonitor extends ApiObject {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      apiVersion: OPERATOR,
      kind: 'ServiceMonitor',
      metadata: METADATA,
      spec: {
        selector: { matchLabels: SERVE_LABELS },
        // Our labels namespace and group mean the RunnerGroup: those of the target must not take their place.
        endpoints: [{ port: 'metrics', interval: '30s', honorLabels: true }],
      },
    });
  }
}

class Alerts extends ApiObject {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      apiVersion: OPERATOR,
      kind: 'PrometheusRule',
      metadata: METADATA,
      spec: { groups: [{ name: NAME, rules: ALERTS }] },
    });
  }
}

function runners(): string {
  const file = new ManifestFile('runners');
  new RunnerMonitor(file, 'monitor');
  new RunnerMetricsPolicy(file, 'network');
  return file.text();
}

/** Their pods declare no port: the address is made from the pod's. */
class RunnerMonitor extends ApiObject {
  constructor(scope: Construct, id: string) {
    const keep = (sourceLabel: string, regex: string) => ({ action: 'keep', sourceLabels: [sourceLabel], regex });
    super(scope, id, {
      apiVersion: OPERATOR,
      kind: 'PodMonitor',
      metadata: { name: 'gitea-runner', namespace: RUNNERS_NAMESPACE, labels: RUNNER_APP },
      spec: {
        selector: { matchLabels: { [OUR_SELECTOR.slice(0, OUR_SELECTOR.indexOf('='))]: MANAGER } },
        podMetricsEndpoints: [
          {
            interval: '30s',
            relabelings: [
              keep('__meta_kubernetes_pod_container_name', 'runner'),
              keep('__meta_kubernetes_pod_phase', 'Running'),
              {
                sourceLabels: ['__meta_kubernetes_pod_ip'],
                targetLabel: '__address__',
                replacement: `$1:${RUNNER_METRICS_PORT}`,
              },
              {
                sourceLabels: ['__meta_kubernetes_pod_label_gitea_bpg_pw_runnergroup_name'],
                targetLabel: 'group',
              },
            ],
          },
        ],
      },
    });
  }
}

class RunnerMetricsPolicy extends k8s.KubeNetworkPolicy {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      metadata: { name: 'gitea-runner-metrics', namespace: RUNNERS_NAMESPACE },
      spec: {
        podSelector: { matchLabels: RUNNER_APP },
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': MONITORING_NAMESPACE } } }],
            ports: [tcp(RUNNER_METRICS_PORT)],
          },
        ],
      },
    });
  }
}

function kustomization(): unknown {
  return {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace: ARGOCD_NAMESPACE,
    resources: ['servicemonitor.yaml', 'prometheusrule.yaml'],
    configMapGenerator: [
      {
        name: 'gitea-runners-dashboard',
        files: ['dashboard.json'],
        options: { disableNameSuffixHash: true, labels: { grafana_dashboard: '1' } },
      },
    ],
  };
}
