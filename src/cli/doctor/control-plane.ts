/** Judges our parts beside Argo CD: the sidecar, `serve`, what they need, and what they may do in Kubernetes. Pure. */
import { NAME, PLUGIN_SERVER, PLUGIN_SERVER_DIR, PLUGIN_SOCKETS_DIR, serveLogs } from '../../shared/installed/names.ts';
import { bad, type DoctorFinding, good, unknown, unread } from './finding.ts';
import * as fixes from './fixes.ts';
import type { Installation } from './installation.ts';
import { valueAt } from './reader.ts';
import type { Deployment } from './shapes.ts';

export function sidecar({ repoServer: read, argocdNamespace }: Installation): DoctorFinding {
  const check = 'sidecar in argocd-repo-server';
  if ('unread' in read) return unread(check, read, fixes.NO_ARGOCD);
  const found = read.value.spec.template.spec.containers.find(({ name }) => name === NAME);
  if (!found) return bad(check, `there is no container ${NAME}`, fixes.STEP_1);
  const mounted = new Set(found.volumeMounts.map(({ mountPath }) => mountPath.replace(/\/+$/, '')));
  const lacking = [
    ...[PLUGIN_SERVER_DIR, PLUGIN_SOCKETS_DIR].filter((folder) => !mounted.has(folder)).map((folder) => `no ${folder}`),
    ...(found.command.includes(PLUGIN_SERVER) ? [] : [`its command is not ${PLUGIN_SERVER}`]),
  ];
  return lacking.length > 0
    ? bad(check, `Argo CD cannot know the plugin: ${lacking.join('; ')}`, fixes.STEP_1)
    : running(check, read.value, found.image, fixes.describePods(argocdNamespace, 'argocd-repo-server'));
}

export function serve({ serve: read, repoServer, argocdNamespace }: Installation): DoctorFinding {
  const check = 'serve';
  if ('unread' in read) return unread(check, read, fixes.STEP_1);
  if (read.value.spec.replicas === 0)
    return bad(
      check,
      'it has 0 replicas: nobody wakes Argo CD',
      `kubectl -n ${argocdNamespace} scale deployment/${NAME} --replicas=2`,
    );
  const image = read.value.spec.template.spec.containers[0]?.image ?? '';
  const beside = 'value' in repoServer ? repoServer.value.spec.template.spec.containers : [];
  const other = beside.find(({ name }) => name === NAME)?.image ?? image;
  if (other !== image)
    return bad(
      check,
      `its image is ${image}, and that of the sidecar ${other}: they may plan differently`,
      fixes.STEP_1,
    );
  return running(check, read.value, image, fixes.describePods(argocdNamespace, NAME));
}

function running(check: string, { spec, status }: Deployment, image: string, fix: string): DoctorFinding {
  const text = `${status.readyReplicas} of ${spec.replicas} ready, ${image}`;
  return status.readyReplicas > 0 ? good(check, text) : bad(check, text, fix);
}

/** True when no pod of `serve` can be at work: then there is nothing to say of what it does. */
export function serveIsDown({ serve: read }: Installation): boolean {
  if ('unread' in read) return read.isMissing;
  return read.value.spec.replicas === 0 || read.value.status.readyReplicas === 0;
}

export function leader(seen: Installation): DoctorFinding {
  const check = 'leader of serve';
  const { lease, argocdNamespace } = seen;
  const logs = serveLogs(argocdNamespace);
  if (serveIsDown(seen)) return unknown(check, 'serve does not run');
  if ('unread' in lease) return unknown(check, lease.unread, logs);
  return lease.isLate ? bad(check, `${lease.leader} does not renew its Lease`, logs) : good(check, lease.leader);
}

const SERVE_KEYS = ['argocd-token', 'webhook-secret'];

export function serveSecret({ serveSecret: read }: Installation): DoctorFinding {
  const check = 'Secret of serve';
  if ('unread' in read) return unread(check, read, fixes.STEP_2);
  const empty = SERVE_KEYS.filter((key) => valueAt(read.value, key) === '');
  return empty.length === 0
    ? good(check, 'has a token for Argo CD and a secret for webhooks')
    : bad(check, `has no value at ${empty.join(' and ')}`, fixes.STEP_2);
}

export function service({ service: read }: Installation): DoctorFinding {
  const check = 'Service for webhooks';
  return 'unread' in read
    ? unread(check, read, fixes.NEW_OWN)
    : good(check, read.value.spec.clusterIP ?? 'it is there');
}

/** The chart can leave it out (`networkPolicy.enabled`). */
export function networkPolicy({ networkPolicy: read }: Installation): DoctorFinding {
  const check = 'NetworkPolicy of serve';
  return 'unread' in read
    ? unknown(check, read.unread, `If it should be there: ${fixes.NEW_OWN}`)
    : good(check, 'it is there');
}

export function access({ access: all }: Installation): readonly DoctorFinding[] {
  return all.map((answers) => {
    const check = 'rights in Kubernetes';
    const [first] = answers;
    if (typeof answers === 'string') return unknown(check, answers, 'Ask as an administrator, with --kubeconfig');
    if (typeof first !== 'object') return unknown(check, 'nothing was asked');
    const who = `${first.part} in namespace ${first.namespace}`;
    const lacks = answers.filter(({ isNeeded, isAllowed }) => isNeeded && !isAllowed).map(({ deed }) => deed);
    const more = answers.filter(({ isNeeded, isAllowed }) => !isNeeded && isAllowed).map(({ deed }) => deed);
    if (lacks.length > 0) return bad(check, `${who} may not ${lacks.join(', ')}`, fixes.newBindings(first.namespace));
    return more.length === 0
      ? good(check, `${who}: what it needs, and no making of Jobs`)
      : bad(
          check,
          `${who} may ${more.join(', ')}, which it never needs`,
          `Remove the binding: kubectl get rolebindings,clusterrolebindings -A -o wide shows those of its service account`,
        );
  });
}
