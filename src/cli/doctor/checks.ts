/** Judges an installation, in the order in which it is made, and our parts beside Argo CD. Pure. */
import packageJson from '../../../package.json' with { type: 'json' };
import { isSameTrouble, remedyOf, troubleText } from '../../answers/remedies.ts';
import { conditionMet, endToldBy, outOfMemory, troubleOfPending } from '../../clients/kubernetes/kube-pods.ts';
import { Spec } from '../../config/runnergroup/group-schema.ts';
import { specFieldsOf } from '../../config/runnergroup/json-schema.ts';
import type { Look, PodTrouble } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import {
  NAME,
  PLUGIN_SERVER,
  PLUGIN_SERVER_DIR,
  PLUGIN_SOCKETS_DIR,
  SETTINGS,
  serveLogs,
} from '../../shared/installed/installed-names.ts';
import { API_VERSION } from '../../shared/marks.ts';
import { oneLine } from '../../shared/printable.ts';
import { deadRegistrations, type JudgedRegistration } from '../../tasks/sweep/choose.ts';
import * as fixes from '../reading/finding.ts';
import {
  bad,
  type DoctorFinding,
  good,
  type Judgement,
  type Judgements,
  judgeRead,
  unknown,
  withCheckName,
} from '../reading/finding.ts';
import { type DeployedContainer, type Deployment, secretValue } from '../reading/reads.ts';
import { account, applicationSets, applications, projects, rights, tracking, watched } from './doctor-argocd.ts';
import { containersOf, environment } from './environment.ts';
import { giteas, groups } from './groups.ts';
import { type Installation, type Judged, serveIsDown } from './installation.ts';
import { shards } from './sibling-shards.ts';

/** Causes come before what follows from them. */
const CHECKS: readonly (readonly [check: string, judge: (installation: Judged) => Judgements])[] = [
  ['Kubernetes', kubernetes],
  ['CustomResourceDefinition', crd],
  ['environment of both', environment],
  ['Secret of serve', serveSecret],
  ['sidecar in argocd-repo-server', sidecar],
  ['serve', serve],
  ['leader of serve', leader],
  ['Service for webhooks', service],
  ['NetworkPolicy of serve', networkPolicy],
  ['rights in Kubernetes', access],
  ['account in Argo CD', account],
  ['rights in Argo CD', rights],
  ['tracking in Argo CD', tracking],
  ['what Argo CD watches', watched],
  ['projects in Argo CD', projects],
  ['Gitea', giteas],
  ['Application', applications],
  ['ApplicationSet', applicationSets],
  ['shards of one folder', shards],
  ['RunnerGroups', groups],
  ['dead rows in Gitea', deadRows],
];

/** Names of the checks that also work before an installation. */
const BEFORE = new Set(['Kubernetes', 'tracking in Argo CD', 'what Argo CD watches']);

/** Runs the checks. @param isBefore only those that also work before an installation */
export function findingsOf(installation: Installation, isBefore = false): readonly DoctorFinding[] {
  const above: DoctorFinding[] = [];
  for (const [check, judge] of CHECKS)
    if (!isBefore || BEFORE.has(check)) above.push(...withCheckName(check, judge({ ...installation, above })));
  return above;
}

/** Native sidecars (containerMode dind and buildkit) are on since this one. */
const OLDEST_MINOR = 29;

function kubernetes({ version }: Installation): Judgements {
  if ('unread' in version) return unknown(version.unread);
  const { major, minor } = version.value;
  const text = `${major}.${minor}`;
  const isOld = Number.parseInt(major, 10) === 1 && Number.parseInt(minor, 10) < OLDEST_MINOR;
  if (!isOld) return good(text);
  const requirement = `${text}: containerMode dind and buildkit need 1.${OLDEST_MINOR}`;
  return unknown(requirement, 'Upgrade, or use dind-rootless or host');
}

function crd({ crd: read }: Installation): Judgements {
  return judgeRead(read, fixes.NEW_CRD, ({ metadata, spec }) => {
    if (metadata.deletionTimestamp !== undefined)
      return bad('it is being deleted, and all RunnerGroups with it', `When it is gone: ${fixes.NEW_CRD}`);
    const ours = spec.versions.find(({ name }) => API_VERSION.endsWith(`/${name}`));
    if (!ours?.served || spec.conversion.strategy === 'Webhook') {
      const text = ours?.served ? 'a conversion webhook stands before it' : `it serves no ${API_VERSION}`;
      return bad(`it is of another product: ${text}`, `Remove that product, or: ${fixes.NEW_CRD}`);
    }
    const servedFields = new Set(spec.versions.flatMap(({ schema }) => specFieldsOf(schema)));
    const lacking = Object.keys(Spec.shape).filter((field) => !servedFields.has(field));
    return lacking.length === 0
      ? good(`has the fields of ${packageJson.version}`)
      : bad(`is older than this program: it lacks ${lacking.join(', ')}`, fixes.NEW_CRD);
  });
}

function sidecar(installation: Judged): Judgements {
  const { repoServer, deployments, argocdNamespace } = installation;
  return judgeRead(repoServer, fixes.noRepoServer(deployments, argocdNamespace), (deployment) => {
    const { containers, securityContext } = deployment.spec.template.spec;
    const sidecarContainer = containers.find(({ name }) => name === NAME);
    if (!sidecarContainer) return bad(`there is no container ${NAME}`, fixes.STEP_1);
    const other = containers.find(({ name }) => name === 'argocd-repo-server');
    const volumeAt = (folder: string, volumeMounts: DeployedContainer['volumeMounts'] = []) =>
      volumeMounts.find(({ mountPath }) => mountPath.replace(/\/+$/, '') === folder)?.name;
    const [user, otherUser] = [sidecarContainer, other].map(
      (each) => each?.securityContext?.runAsUser ?? securityContext?.runAsUser ?? PLUGIN_USER,
    );
    const mounts = sidecarContainer.volumeMounts;
    const folders = [PLUGIN_SERVER_DIR, PLUGIN_SOCKETS_DIR, '/tmp'].filter((folder) => !volumeAt(folder, mounts));
    const isShared = folders.length === 0 && volumeAt('/tmp', mounts) === volumeAt('/tmp', other?.volumeMounts);
    const lacking = [
      ...folders.map((folder) => `no ${folder}`),
      ...(isShared ? ['its /tmp is the volume of argocd-repo-server'] : []),
      ...(user === otherUser ? [] : [`it runs as user ${user}, and argocd-repo-server as ${otherUser}`]),
      ...(sidecarContainer.command.includes(PLUGIN_SERVER) ? [] : [`its command is not ${PLUGIN_SERVER}`]),
    ];
    return lacking.length > 0
      ? bad(`Argo CD cannot know the plugin: ${lacking.join('; ')}`, fixes.STEP_1)
      : running(deployment, sidecarContainer.image, installation);
  });
}

function serve(installation: Judged): Judgements {
  const { serve: read, argocdNamespace } = installation;
  return judgeRead(read, fixes.STEP_1, (deployment) => {
    if (deployment.spec.replicas === 0) {
      const fix = `kubectl -n ${argocdNamespace} scale deployment/${NAME} --replicas=2`;
      return bad('it has 0 replicas: nobody wakes Argo CD', fix);
    }
    const { image = '' } = deployment.spec.template.spec.containers[0] ?? {};
    const sidecarImage = containersOf(installation).sidecar?.image ?? image;
    if (sidecarImage === image) return running(deployment, image, installation);
    const text = `its image is ${image}, and that of the sidecar ${sidecarImage}: they may plan differently`;
    return bad(text, fixes.STEP_1);
  });
}

/** User of Argo CD's image and of ours. Its socket is for that user alone. */
const PLUGIN_USER = 999;

/** Ready pods may be those of an older template, without the sidecar or with other settings. */
function running({ metadata, spec, status }: Deployment, image: string, installation: Judged): Judgement {
  const { conditions, observedGeneration, readyReplicas, updatedReplicas } = status;
  const failing = conditions.flatMap((each) => (FAILING.includes(`${each.type} ${each.status}`) ? each.message : []));
  const causes = troublesOf(metadata.name, installation);
  const why = [...new Set([...causes.map(troubleText), ...failing])].map((each) => `: ${each}`).join('');
  const other = metadata.name !== NAME && causes.find(({ container = NAME }) => container !== NAME)?.container;
  const whose = other ? `for container ${other} and not for the sidecar` : image;
  const text = `${readyReplicas} of ${spec.replicas} ready, ${whose}`;
  const isObserved = observedGeneration === metadata.generation;
  const isNewest = isObserved && (observedGeneration === undefined || updatedReplicas >= spec.replicas);
  const newest = `${isObserved ? updatedReplicas : 0} of ${spec.replicas} pods are of the newest template`;
  const state = readyReplicas === 0 || isNewest ? text : newest;
  if (readyReplicas === 0 || why !== '') return bad(state + why, remedyFor(metadata.name, causes[0], installation));
  if (isNewest) return good(text);
  const { argocdNamespace } = installation;
  return unknown(newest, `Wait: kubectl -n ${argocdNamespace} rollout status deployment/${metadata.name}`);
}

/** Returns why pods of a Deployment are not ready, or may not stay so: once for each cause, whose words name each pod. */
function troublesOf(deployment: string, installation: Installation): readonly PodTrouble[] {
  const { pods } = installation;
  const all = ('value' in pods ? pods.value : []).flatMap((pod) => {
    if (!pod.metadata.name.startsWith(`${deployment}-`)) return [];
    const ended = outOfMemory(pod);
    if (ended || conditionMet(pod, 'Ready')) return ended ?? [];
    const { trouble, stillSinceMs } = troubleOfPending(pod);
    const warning = endToldBy(pod) ? undefined : warningOf(pod.metadata.name, installation);
    return (stillSinceMs === undefined ? trouble : undefined) ?? warning ?? [];
  });
  return all.filter((each, at) => all.findIndex((other) => isSameTrouble(each, other)) === at);
}

function remedyFor(deployment: string, cause: PodTrouble | undefined, { above, argocdNamespace }: Judged): string {
  const TEMPLATE = deployment === NAME ? SERVE_MANIFEST : SIDECAR_MANIFEST;
  const ofNodes = { NODES: 'kubectl describe nodes', RESOURCES: TEMPLATE };
  const places = { ...fixes.HERE, ...ofNodes, NAMESPACE: argocdNamespace, TEMPLATE };
  const ofCause = cause?.container
    ? fixes.lastLog(argocdNamespace, deployment, cause.container)
    : cause && remedyOf(cause, { places });
  const remedy = ofCause ?? fixes.describePods(argocdNamespace, deployment);
  // A container that ends by itself, or lacks a Secret, may do so for what is bad above.
  const mayFollow = !cause || ENDS_BY_ITSELF.has(cause.reason);
  const first = mayFollow && fixes.badAbove(above, ['environment of both', 'Secret of serve']);
  return first ? `First mend ${first}, which is bad above. If it stays so: ${remedy}` : remedy;
}

const ENDS_BY_ITSELF: ReadonlySet<string> = new Set(['CrashLoopBackOff', 'CreateContainerConfigError']);

const SERVE_MANIFEST = 'install/gitea-runners.yaml (with Helm: serve in the values)';
const SIDECAR_MANIFEST = "install/argocd-repo-server.yaml (with Argo CD's chart: install/helm-values.yaml)";

/** Returns the newest warning about a pod: of a volume, a node or a probe its status says nothing. */
function warningOf(pod: string, { podEvents }: Installation): PodTrouble | undefined {
  const all = 'value' in podEvents ? podEvents.value.filter(({ involvedObject }) => involvedObject.name === pod) : [];
  const [newest] = all.toSorted((a, b) => ((a.lastTimestamp ?? '') < (b.lastTimestamp ?? '') ? 1 : -1));
  return newest && { reason: newest.reason, message: oneLine(newest.message, LONGEST_MESSAGE) };
}

const LONGEST_MESSAGE = 300;

/** Conditions of a Deployment that is not well. */
const FAILING = ['Progressing False', 'ReplicaFailure True'];

function leader(installation: Installation): Judgements {
  const { lease, argocdNamespace } = installation;
  const logs = serveLogs(argocdNamespace);
  if (serveIsDown(installation)) return unknown('serve does not run');
  if ('unread' in lease) return unknown(lease.unread, logs);
  return lease.isLate ? bad(`${lease.leader} does not renew its Lease`, logs) : good(lease.leader);
}

function serveSecret({ serveSecret: read }: Installation): Judgements {
  return judgeRead(read, fixes.STEP_2, (secret) => {
    const empty = ['argocd-token', 'webhook-secret'].filter((key) => secretValue(secret, key) === '');
    return empty.length === 0
      ? good('has a token for Argo CD and a secret for webhooks')
      : bad(`has no value at ${empty.join(' and ')}`, fixes.STEP_2);
  });
}

function service({ service: read }: Installation): Judgements {
  return judgeRead(read, fixes.NEW_OWN, ({ spec }) => good(spec.clusterIP ?? 'it is there'));
}

/** The chart can leave it out (`networkPolicy.enabled`). */
function networkPolicy({ networkPolicy: read }: Installation): Judgements {
  return 'unread' in read ? unknown(read.unread, `If it should be there: ${fixes.NEW_OWN}`) : good('it is there');
}

function access({ access: all }: Installation): Judgements {
  return all.map((read) => {
    if ('unread' in read) return unknown(read.unread, fixes.AS_ADMINISTRATOR);
    const { part, namespace, lacks, beyond, lacksHandOver } = read.value;
    const subject = `${part} in namespace ${namespace}`;
    if (lacks.length > 0) return bad(`${subject} may not ${lacks.join(', ')}`, fixes.newBindings(namespace));
    if (lacksHandOver)
      return bad(`${subject} may not create secrets, but registers runners there`, fixes.newHandOver(namespace));
    return beyond.length === 0
      ? good(`${subject}: what it needs, and no making of Jobs`)
      : bad(
          `${subject} may ${beyond.join(', ')}, which it never needs`,
          'Remove the binding: kubectl get rolebindings,clusterrolebindings -A -o wide shows those of its service account',
        );
  });
}

/** Dead rows of runners: how many there seem to be, and whether `serve` deletes them. Nothing when no Gitea was seen. */
function deadRows({ argocdNamespace, gitea, liveJobs, settings }: Installation): Judgements {
  const looks = new Map<string, Look>();
  const rows = gitea.scopes.flatMap(({ groups: ofScope, look: giteaLook, name, url }) => {
    if (giteaLook instanceof Failure) return [];
    const look = `${url} ${name}`;
    looks.set(look, giteaLook);
    return ofScope.map((group) => ({ namespace: group.namespace, name: group.name, giteaUrl: url, look }));
  });
  if (rows.length === 0) return [];
  if (liveJobs instanceof Failure) return unknown(`not counted, because the Jobs cannot be listed: ${liveJobs.code}`);
  const data = 'value' in settings ? settings.value.data : {};
  const instance = data['GITEA_RUNNERS_INSTANCE'] ?? '';
  const { registrations } = deadRegistrations({ instance, groups: rows, looks, liveJobs, nowMs: 0 }, new Map());
  // A second look, later, would make sure: docs/commands.md, "sweep".
  const seemsDead = ({ verdict }: JudgedRegistration) =>
    verdict.is === 'kept' && verdict.because === 'seen-too-briefly';
  const dead = registrations.filter(seemsDead).length;
  if (dead === 0) return good('none');
  const text = `${dead} of ${registrations.length} rows of its runners seem dead`;
  if (['true', '1'].includes(data['GITEA_RUNNERS_SWEEP'] ?? '')) return good(`${text}; serve deletes them`);
  return unknown(
    `${text}; nothing deletes them, because --sweep is off`,
    `Set GITEA_RUNNERS_SWEEP: "true" in ConfigMap ${SETTINGS} of namespace ${argocdNamespace}, with an API token that may write. Or run gitea-runners sweep once`,
  );
}
