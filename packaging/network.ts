/**
 * Network policies. They have an effect only where the cluster's network enforces them.
 *
 * The sidecar has none: a policy is for a pod, and the sidecar shares its pod with the repo-server, which must reach
 * every git server.
 */
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { ARGOCD_NAMESPACE, METRICS_PORT, NAME, SERVE_LABELS } from '../src/shared/installed/installed-names.ts';
import { RUNNER_APP } from '../src/shared/marks.ts';
import { LOOKS_PORT, PAGE_PORT, RUNNERS_NAMESPACE, WEBHOOK_PORT } from './names.ts';

/** Ports behind which an API server or a Gitea is: a policy cannot name them by host. */
const API_SERVER_PORT = 6443;
const OUTSIDE_PORTS = [80, 443, 3000, API_SERVER_PORT];
const ARGOCD_SERVER_PORT = 8080;
/** Hand out credentials of the machine: link-local addresses on every large cloud, and two more on Alibaba's and on Azure. */
const CLOUD_METADATA = ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32'];
const CLOUD_METADATA_IPV6 = 'fd00:ec2::254/128';
const ALL_BUT_METADATA: k8s.NetworkPolicyPeer[] = [
  { ipBlock: { cidr: '0.0.0.0/0', except: CLOUD_METADATA } },
  { ipBlock: { cidr: '::/0', except: [CLOUD_METADATA_IPV6] } },
];
/** Some networks match no pod by its address. */
const ALL_PODS: k8s.NetworkPolicyPeer = { namespaceSelector: {} };

/** Pods of the cluster without our runners, wherever these are, and without anything else in their namespace. */
const NO_RUNNERS: k8s.NetworkPolicyPeer = {
  // The API server puts this label on each namespace.
  namespaceSelector: notIn('kubernetes.io/metadata.name', RUNNERS_NAMESPACE),
  podSelector: notIn('app.kubernetes.io/name', RUNNER_APP['app.kubernetes.io/name']),
};

/**
 * Webhooks come from anywhere: Gitea and an Ingress may be outside of the cluster. Metrics are for pods that run no CI job.
 * Probes come from the node itself, which every policy lets in, so their port is not named here. serve asks Gitea, Kubernetes,
 * Argo CD and its other replica. Tenants may write the address of Gitea, so it is never a metadata service. Some networks match no node by
 * its address, and API servers run on nodes: their port has no addresses.
 */
export function serveNetworkPolicy(scope: Construct): k8s.KubeNetworkPolicy {
  return new k8s.KubeNetworkPolicy(scope, 'network', {
    metadata: { name: NAME, namespace: ARGOCD_NAMESPACE, labels: SERVE_LABELS },
    spec: {
      podSelector: { matchLabels: SERVE_LABELS },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [tcp(WEBHOOK_PORT)] }, { from: [NO_RUNNERS], ports: [tcp(METRICS_PORT)] }],
      egress: [
        { ports: dns() },
        { to: [pods({ 'app.kubernetes.io/name': 'argocd-server' })], ports: [tcp(ARGOCD_SERVER_PORT)] },
        { to: [pods(SERVE_LABELS)], ports: [tcp(WEBHOOK_PORT)] },
        { ports: [tcp(API_SERVER_PORT)] },
        { to: [...ALL_BUT_METADATA, ALL_PODS], ports: OUTSIDE_PORTS.map(tcp) },
      ],
    },
  });
}

/** Browsers come through an Ingress, a pod that runs no CI job. It adds to the policy of serve. */
export function pageNetworkPolicy(scope: Construct): k8s.KubeNetworkPolicy {
  return new k8s.KubeNetworkPolicy(scope, 'network', {
    metadata: { name: `${NAME}-page`, namespace: ARGOCD_NAMESPACE, labels: SERVE_LABELS },
    spec: {
      podSelector: { matchLabels: SERVE_LABELS },
      policyTypes: ['Ingress'],
      ingress: [{ from: [NO_RUNNERS], ports: [tcp(PAGE_PORT)] }],
    },
  });
}

/** `generate` runs in the pod of the repo-server. It adds to the policy of serve. */
export function looksNetworkPolicy(scope: Construct): k8s.KubeNetworkPolicy {
  return new k8s.KubeNetworkPolicy(scope, 'network', {
    metadata: { name: `${NAME}-looks`, namespace: ARGOCD_NAMESPACE, labels: SERVE_LABELS },
    spec: {
      podSelector: { matchLabels: SERVE_LABELS },
      policyTypes: ['Ingress'],
      ingress: [{ from: [pods({ 'app.kubernetes.io/name': 'argocd-repo-server' })], ports: [tcp(LOOKS_PORT)] }],
    },
  });
}

/** Runners run the code of CI jobs: nobody may call them, and they may not ask the cloud who they are. */
export function runnerNetworkPolicy(scope: Construct): k8s.KubeNetworkPolicy {
  return new k8s.KubeNetworkPolicy(scope, 'network', {
    metadata: { name: 'gitea-runner', namespace: RUNNERS_NAMESPACE },
    spec: {
      podSelector: { matchLabels: RUNNER_APP },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [{ to: ALL_BUT_METADATA }],
    },
  });
}

/** A port of a network policy. */
export function tcp(port: number): k8s.NetworkPolicyPort {
  return { protocol: 'TCP', port: k8s.IntOrString.fromNumber(port) };
}

function dns(): k8s.NetworkPolicyPort[] {
  return ['UDP', 'TCP'].map((protocol) => ({ protocol, port: k8s.IntOrString.fromNumber(53) }));
}

function pods(matchLabels: Readonly<Record<string, string>>): k8s.NetworkPolicyPeer {
  return { podSelector: { matchLabels } };
}

function notIn(key: string, value: string): k8s.LabelSelector {
  return { matchExpressions: [{ key, operator: 'NotIn', values: [value] }] };
}
