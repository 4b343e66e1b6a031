/** Judges an installation, in the order in which it is made, and our parts beside Argo CD. Pure. */
import packageJson from '../../../package.json' with { type: 'json' };
import { specFieldsOf } from '../../config/runnergroup/json-schema.ts';
import { Spec } from '../../config/runnergroup/schema.ts';
import type { Look } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import {
  NAME,
  PLUGIN_SERVER,
  PLUGIN_SERVER_DIR,
  PLUGIN_SOCKETS_DIR,
  SETTINGS,
  serveLogs,
} from '../../shared/installed/names.ts';
import { deadRegistrations } from '../../tasks/sweep/choose.ts';
import { account, applications, rights } from './argocd.ts';
import * as fixes from './finding.ts';
import { bad, type DoctorFinding, type Findings, good, judged, unknown } from './finding.ts';
import { groups } from './groups.ts';
import { type Installation, serveIsDown } from './installation.ts';
import { type Deployment, valueAt } from './reads.ts';

const CHECKS: readonly ((seen: Installation) => Findings)[] = [
  kubernetes,
  crd,
  sidecar,
  serve,
  leader,
  serveSecret,
  service,
  networkPolicy,
  access,
  account,
  rights,
  applications,
  groups,
  deadRows,
];

export function findingsOf(seen: Installation): readonly DoctorFinding[] {
  return CHECKS.flatMap((check) => check(seen));
}

/** Native sidecars (containerMode dind and buildkit) are on since this one. */
const OLDEST_MINOR = 29;

function kubernetes({ version }: Installation): Findings {
  const check = 'Kubernetes';
  if ('unread' in version) return unknown(check, version.unread);
  const { major, minor } = version.value;
  const text = `${major}.${minor}`;
  const isOld = Number.parseInt(major, 10) === 1 && Number.parseInt(minor, 10) < OLDEST_MINOR;
  if (!isOld) return good(check, text);
  const needs = `${text}: containerMode dind and buildkit need 1.${OLDEST_MINOR}`;
  return unknown(check, needs, 'Upgrade, or use dind-rootless or host');
}

function crd({ crd: read }: Installation): Findings {
  const check = 'CustomResourceDefinition';
  return judged(check, read, fixes.NEW_CRD, ({ spec }) => {
    const there = new Set(spec.versions.flatMap(({ schema }) => specFieldsOf(schema)));
    const lacking = Object.keys(Spec.shape).filter((field) => !there.has(field));
    return lacking.length === 0
      ? good(check, `has the fields of ${packageJson.version}`)
      : bad(check, `is older than this program: it lacks ${lacking.join(', ')}`, fixes.NEW_CRD);
  });
}

function sidecar({ repoServer, argocdNamespace }: Installation): Findings {
  const check = 'sidecar in argocd-repo-server';
  return judged(check, repoServer, fixes.NO_ARGOCD, (deployment) => {
    const found = deployment.spec.template.spec.containers.find(({ name }) => name === NAME);
    if (!found) return bad(check, `there is no container ${NAME}`, fixes.STEP_1);
    const mounted = new Set(found.volumeMounts.map(({ mountPath }) => mountPath.replace(/\/+$/, '')));
    const folders = [PLUGIN_SERVER_DIR, PLUGIN_SOCKETS_DIR].filter((folder) => !mounted.has(folder));
    const lacking = [
      ...folders.map((folder) => `no ${folder}`),
      ...(found.command.includes(PLUGIN_SERVER) ? [] : [`its command is not ${PLUGIN_SERVER}`]),
    ];
    return lacking.length > 0
      ? bad(check, `Argo CD cannot know the plugin: ${lacking.join('; ')}`, fixes.STEP_1)
      : running(check, deployment, found.image, fixes.describePods(argocdNamespace, 'argocd-repo-server'));
  });
}

function serve({ serve: read, repoServer, argocdNamespace }: Installation): Findings {
  const check = 'serve';
  return judged(check, read, fixes.STEP_1, (deployment) => {
    if (deployment.spec.replicas === 0) {
      const fix = `kubectl -n ${argocdNamespace} scale deployment/${NAME} --replicas=2`;
      return bad(check, 'it has 0 replicas: nobody wakes Argo CD', fix);
    }
    const image = deployment.spec.template.spec.containers[0]?.image ?? '';
    const beside = 'value' in repoServer ? repoServer.value.spec.template.spec.containers : [];
    const other = beside.find(({ name }) => name === NAME)?.image ?? image;
    if (other === image) return running(check, deployment, image, fixes.describePods(argocdNamespace, NAME));
    const text = `its image is ${image}, and that of the sidecar ${other}: they may plan differently`;
    return bad(check, text, fixes.STEP_1);
  });
}

function running(check: string, { spec, status }: Deployment, image: string, fix: string): DoctorFinding {
  const text = `${status.readyReplicas} of ${spec.replicas} ready, ${image}`;
  return status.readyReplicas > 0 ? good(check, text) : bad(check, text, fix);
}

function leader(seen: Installation): Findings {
  const check = 'leader of serve';
  const { lease, argocdNamespace } = seen;
  const logs = serveLogs(argocdNamespace);
  if (serveIsDown(seen)) return unknown(check, 'serve does not run');
  if ('unread' in lease) return unknown(check, lease.unread, logs);
  return lease.isLate ? bad(check, `${lease.leader} does not renew its Lease`, logs) : good(check, lease.leader);
}

function serveSecret({ serveSecret: read }: Installation): Findings {
  const check = 'Secret of serve';
  return judged(check, read, fixes.STEP_2, (secret) => {
    const empty = ['argocd-token', 'webhook-secret'].filter((key) => valueAt(secret, key) === '');
    return empty.length === 0
      ? good(check, 'has a token for Argo CD and a secret for webhooks')
      : bad(check, `has no value at ${empty.join(' and ')}`, fixes.STEP_2);
  });
}

function service({ service: read }: Installation): Findings {
  const check = 'Service for webhooks';
  return judged(check, read, fixes.NEW_OWN, ({ spec }) => good(check, spec.clusterIP ?? 'it is there'));
}

/** The chart can leave it out (`networkPolicy.enabled`). */
function networkPolicy({ networkPolicy: read }: Installation): Findings {
  const check = 'NetworkPolicy of serve';
  return 'unread' in read
    ? unknown(check, read.unread, `If it should be there: ${fixes.NEW_OWN}`)
    : good(check, 'it is there');
}

function access({ access: all }: Installation): Findings {
  const check = 'rights in Kubernetes';
  return all.map((read) => {
    if ('unread' in read) return unknown(check, read.unread, 'Ask as an administrator, with --kubeconfig');
    const { part, namespace, lacks, beyond } = read.value;
    const who = `${part} in namespace ${namespace}`;
    if (lacks.length > 0) return bad(check, `${who} may not ${lacks.join(', ')}`, fixes.newBindings(namespace));
    return beyond.length === 0
      ? good(check, `${who}: what it needs, and no making of Jobs`)
      : bad(
          check,
          `${who} may ${beyond.join(', ')}, which it never needs`,
          'Remove the binding: kubectl get rolebindings,clusterrolebindings -A -o wide shows those of its service account',
        );
  });
}

/** Dead rows of runners: how many there seem to be, and whether `serve` deletes them. Nothing when no Gitea was seen. */
function deadRows({ argocdNamespace, gitea, liveJobs, settings }: Installation): Findings {
  const check = 'dead rows in Gitea';
  const looks = new Map<string, Look>();
  const rows = gitea.scopes.flatMap(({ groups: ofScope, look: found, name, url }) => {
    if (found instanceof Failure) return [];
    const look = `${url} ${name}`;
    looks.set(look, found);
    return ofScope.map((group) => ({ namespace: group.namespace, name: group.name, giteaUrl: url, look }));
  });
  if (rows.length === 0) return [];
  if (liveJobs instanceof Failure)
    return unknown(check, `not counted, because the Jobs cannot be listed: ${liveJobs.code}`);
  const data = 'value' in settings ? settings.value.data : {};
  const instance = data['GITEA_RUNNERS_INSTANCE'] ?? '';
  const { registrations } = deadRegistrations({ instance, groups: rows, looks, liveJobs, nowMs: 0 }, new Map());
  // A second look, later, would make sure: docs/commands.md, "sweep".
  const dead = registrations.filter(
    ({ verdict }) => verdict.is === 'kept' && verdict.because === 'seen-too-briefly',
  ).length;
  if (dead === 0) return good(check, 'none');
  const text = `${dead} of ${registrations.length} rows of its runners seem dead`;
  if (['true', '1'].includes(data['GITEA_RUNNERS_SWEEP'] ?? '')) return good(check, `${text}; serve deletes them`);
  return unknown(
    check,
    `${text}; nothing deletes them, because --sweep is off`,
    `Set GITEA_RUNNERS_SWEEP: "true" in ConfigMap ${SETTINGS} of namespace ${argocdNamespace}, with an API token that may write. Or run gitea-runners sweep once`,
  );
}
