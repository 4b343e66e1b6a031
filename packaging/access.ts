/**
 * Who may do what in Kubernetes. Two cluster roles, bound namespace by namespace where runners run (runners.ts): neither
 * part sees Jobs, pods or RunnerGroups anywhere else. Nobody here may create or delete anything but serve's own Lease and Events, unless
 * serve registers runners.
 */
import { ApiObject } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import {
  API_SECRET,
  ARGOCD_NAMESPACE,
  LABELS,
  NAME,
  REGISTRATION_SECRET,
  type Rule,
  SERVE_LABELS,
  SERVE_LEASE,
  SERVE_RULES,
  SIDECAR_RULES,
} from '../src/shared/installed/installed-names.ts';
import { CREDENTIALS_KEY, CREDENTIALS_TYPE } from '../src/shared/marks.ts';
import { CREDENTIALS_ROLE, EXTEND_ROLE, REGISTRATION_ROLE, SECRETS_ROLE, SERVE_ROLE, SIDECAR_ROLE } from './names.ts';

/** As the construct wants it: lists that may be changed. */
function rule({ apiGroups, resources, verbs }: Rule): k8s.PolicyRule {
  return { apiGroups: [...apiGroups], resources: [...resources], verbs: [...verbs] };
}

/** Lists RunnerGroups, Jobs and pods. */
export function sidecarRole(scope: Construct): k8s.KubeClusterRole {
  return new k8s.KubeClusterRole(scope, 'sidecar-role', {
    metadata: { name: SIDECAR_ROLE, labels: LABELS },
    rules: SIDECAR_RULES.map(rule),
  });
}

/** Watches RunnerGroups, Jobs and pods; writes the status of RunnerGroups, and Events about them. */
export function serveRole(scope: Construct): k8s.KubeClusterRole {
  return new k8s.KubeClusterRole(scope, 'serve-role', {
    metadata: { name: SERVE_ROLE, labels: SERVE_LABELS },
    rules: SERVE_RULES.map(rule),
  });
}

const CREDENTIALS_ONLY = [
  [`object.type == '${CREDENTIALS_TYPE}'`, 'serve creates Secrets of its own type only'],
  [
    "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.size() == 1 && object.metadata.ownerReferences.all(owner, owner.apiVersion == 'batch/v1' && owner.kind == 'Job' && owner.name == object.metadata.name)",
    'a Job of the same name must own it, and nothing else',
  ],
  [
    `has(object.immutable) && object.immutable && (!has(object.data) || object.data.all(key, key == '${CREDENTIALS_KEY}'))`,
    'it must be immutable and hold the credentials of one runner only',
  ],
] as const;

/** Holds serve to Secrets with the credentials of one runner, in all namespaces. Kubernetes 1.30 or newer. */
export function credentialsPolicy(scope: Construct) {
  const metadata = { name: CREDENTIALS_ROLE, labels: SERVE_LABELS };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const policy = new ApiObject(scope, 'policy', {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['secrets'] }],
      },
      matchConditions: [
        {
          name: 'serve',
          expression: `request.userInfo.username == 'system:serviceaccount:${ARGOCD_NAMESPACE}:${NAME}'`,
        },
      ],
      validations: CREDENTIALS_ONLY.map(([expression, message]) => ({ expression, message })),
    },
  });
  const spec = { policyName: CREDENTIALS_ROLE, validationActions: ['Deny'] };
  new ApiObject(scope, 'policy-binding', { apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec });
  return policy;
}

interface InNamespace {
  /** Name of the role, and of its binding. */
  readonly role: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** What serve, and with `SECRETS_ROLE` the sidecar too, may do in one namespace. */
export function role(scope: Construct, id: string, { role: name, namespace, labels = LABELS }: InNamespace) {
  return new k8s.KubeRole(scope, id, { metadata: { name, namespace, labels }, rules: RULES[name] ?? [] });
}

/** Gives a role to service accounts beside Argo CD. */
export function binding(
  scope: Construct,
  id: string,
  props: InNamespace & { readonly kind?: 'Role' | 'ClusterRole'; readonly to?: readonly string[] },
): void {
  const { role: name, namespace, labels = LABELS, kind = 'Role', to = [NAME] } = props;
  new k8s.KubeRoleBinding(scope, id, {
    metadata: { name, namespace, labels },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
    subjects: to.map((account) => ({ kind: 'ServiceAccount', name: account, namespace: ARGOCD_NAMESPACE })),
  });
}

const LEASES = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
const SECRETS = { apiGroups: [''], resources: ['secrets'] };
const RULES: Readonly<Record<string, k8s.PolicyRule[]>> = {
  // The Lease that says which replica works. `create` cannot be limited to a name.
  [SERVE_ROLE]: [
    { ...LEASES, resourceNames: [SERVE_LEASE], verbs: ['get', 'update'] },
    { ...LEASES, verbs: ['create'] },
  ],
  // For `--secrets api`: one namespace's Secret, by its name. Nobody may list Secrets or read another one.
  [SECRETS_ROLE]: [{ ...SECRETS, resourceNames: [API_SECRET], verbs: ['get'] }],
  // For `--registration-secrets`: serve writes one namespace's registration Secret, by its name. It makes none: `create` knows no names.
  [REGISTRATION_ROLE]: [{ ...SECRETS, resourceNames: [REGISTRATION_SECRET], verbs: ['get', 'patch'] }],
  // For `registration: {by: serve}`. `create` knows no names: the policy below says which Secrets.
  [CREDENTIALS_ROLE]: [{ ...SECRETS, verbs: ['create'] }],
  // For the button in Slack: serve writes until when a runner stays.
  [EXTEND_ROLE]: [
    { apiGroups: ['batch'], resources: ['jobs'], verbs: ['get', 'patch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
  ],
};
