/**
 * Who may do what in Kubernetes. Two cluster roles, bound namespace by namespace where runners run (runners.ts): neither
 * part sees Jobs, pods or RunnerGroups anywhere else. Nobody here may create or delete anything but serve's own Lease and Events.
 */
import * as k8s from 'cdk8s-plus-28/lib/imports/k8s.js';
import type { Construct } from 'constructs';
import {
  API_SECRET,
  ARGOCD_NAMESPACE,
  EXTEND_ROLE,
  LABELS,
  NAME,
  REGISTRATION_ROLE,
  REGISTRATION_SECRET,
  REPO_SERVER_ACCOUNT,
  SECRETS_ROLE,
  SERVE_LABELS,
  SERVE_LEASE,
  SERVE_ROLE,
  SIDECAR_ROLE,
} from './names.ts';
import { type Rule, SERVE_RULES, SIDECAR_RULES } from './rights.ts';

/** As the construct wants it: lists that may be changed. */
function rule({ apiGroups, resources, verbs }: Rule): k8s.PolicyRule {
  return { apiGroups: [...apiGroups], resources: [...resources], verbs: [...verbs] };
}

/** Lists Jobs and pods. */
export class SidecarRole extends k8s.KubeClusterRole {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      metadata: { name: SIDECAR_ROLE, labels: LABELS },
      rules: SIDECAR_RULES.map(rule),
    });
  }
}

/** Watches RunnerGroups, Jobs and pods; writes the status of RunnerGroups, and Events about them. */
export class ServeRole extends k8s.KubeClusterRole {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      metadata: { name: SERVE_ROLE, labels: SERVE_LABELS },
      rules: SERVE_RULES.map(rule),
    });
  }
}

/** The Lease that says which replica works. `create` cannot be limited to a name. */
export class LeaseRole extends k8s.KubeRole {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      metadata: { name: SERVE_ROLE, namespace: ARGOCD_NAMESPACE, labels: SERVE_LABELS },
      rules: [
        {
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          resourceNames: [SERVE_LEASE],
          verbs: ['get', 'update'],
        },
        { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
      ],
    });
  }
}

/** Gives serve its Lease. */
export class LeaseBinding extends k8s.KubeRoleBinding {
  constructor(scope: Construct, id: string) {
    super(scope, id, {
      metadata: { name: SERVE_ROLE, namespace: ARGOCD_NAMESPACE, labels: SERVE_LABELS },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: SERVE_ROLE },
      subjects: [account(NAME)],
    });
  }
}

/** For `--secrets api`: one namespace's Secret, by its name. Nobody may list Secrets or read another one. */
export class SecretsRole extends k8s.KubeRole {
  constructor(scope: Construct, id: string, { namespace }: { readonly namespace: string }) {
    super(scope, id, {
      metadata: { name: SECRETS_ROLE, namespace, labels: LABELS },
      rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: [API_SECRET], verbs: ['get'] }],
    });
  }
}

/** Lets the sidecar and serve read that Secret. */
export class SecretsBinding extends k8s.KubeRoleBinding {
  constructor(scope: Construct, id: string, { namespace }: { readonly namespace: string }) {
    super(scope, id, {
      metadata: { name: SECRETS_ROLE, namespace, labels: LABELS },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: SECRETS_ROLE },
      subjects: [account(REPO_SERVER_ACCOUNT), account(NAME)],
    });
  }
}

/** For `--registration-secrets`: serve writes one namespace's registration Secret, by its name. It makes none: `create` knows no names. */
export class RegistrationRole extends k8s.KubeRole {
  constructor(scope: Construct, id: string, { namespace }: { readonly namespace: string }) {
    super(scope, id, {
      metadata: { name: REGISTRATION_ROLE, namespace, labels: LABELS },
      rules: [
        { apiGroups: [''], resources: ['secrets'], resourceNames: [REGISTRATION_SECRET], verbs: ['get', 'patch'] },
      ],
    });
  }
}

/** Gives serve that role. */
export class RegistrationBinding extends k8s.KubeRoleBinding {
  constructor(scope: Construct, id: string, { namespace }: { readonly namespace: string }) {
    super(scope, id, {
      metadata: { name: REGISTRATION_ROLE, namespace, labels: LABELS },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: REGISTRATION_ROLE },
      subjects: [account(NAME)],
    });
  }
}

/** Gives a cluster role in one namespace to a service account beside Argo CD. */
export class NamespaceBinding extends k8s.KubeRoleBinding {
  constructor(scope: Construct, id: string, props: { readonly namespace: string; readonly to: 'sidecar' | 'serve' }) {
    const role = props.to === 'sidecar' ? SIDECAR_ROLE : SERVE_ROLE;
    super(scope, id, {
      metadata: { name: role, namespace: props.namespace, labels: LABELS },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [account(props.to === 'sidecar' ? REPO_SERVER_ACCOUNT : NAME)],
    });
  }
}

function account(name: string): k8s.Subject {
  return { kind: 'ServiceAccount', name, namespace: ARGOCD_NAMESPACE };
}

/** For the button in Slack: serve writes until when a runner stays. */
export class ExtendRole extends k8s.KubeRole {
  constructor(scope: Construct, id: string, { namespace }: { readonly namespace: string }) {
    super(scope, id, {
      metadata: { name: EXTEND_ROLE, namespace, labels: LABELS },
      rules: [
        { apiGroups: ['batch'], resources: ['jobs'], verbs: ['get', 'patch'] },
        { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
      ],
    });
  }
}

/** Gives serve that role. */
export class ExtendBinding extends k8s.KubeRoleBinding {
  constructor(scope: Construct, id: string, { namespace }: { readonly namespace: string }) {
    super(scope, id, {
      metadata: { name: EXTEND_ROLE, namespace, labels: LABELS },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: EXTEND_ROLE },
      subjects: [account(NAME)],
    });
  }
}
