/** Judges whether the namespace of a RunnerGroup lets its pods start and reach Gitea. Pure. */
import { remedyOf } from '../../answers/remedies.ts';
import { neededLevel, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { profileRank, quantityValue } from '../../config/runnergroup/words.ts';
import { ownTemplate } from '../../plan/own-pod.ts';
import { hasEnded, NO_POD } from '../../planner/evidence.ts';
import { namePrefix, parseRunnerName } from '../../planner/names.ts';
import { Failure } from '../../shared/failure.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { keyText } from '../../shared/keys.ts';
import { parseUrl } from '../../shared/url.ts';
import * as fixes from '../reading/finding.ts';
import { bad, good, type Judgements, judgeRead, unknown } from '../reading/finding.ts';
import type { EgressRule, Namespace, Selector } from '../reading/reads.ts';
import { type Installation, type NamespaceReads, podOf } from './installation.ts';
import { matchesExpression } from './node-fit.ts';

/** The judgements of a namespace that takes no pods are that alone. */
export function runnerNamespace(group: RunnerGroup, installation: Installation): Judgements {
  const reads = installation.namespaces.get(group.namespace);
  if (!reads) return [];
  const security = [podSecurity(group, reads)].flat();
  if (security.some(({ is }) => is === 'bad')) return security;
  const rest = [admission, egress, pullSecrets, meshProxy].flatMap((judge) => judge(group, reads, installation));
  return [...security, ...rest];
}

const isOf = ({ name }: RunnerGroup, runner: string): boolean => parseRunnerName(runner)?.prefix === namePrefix(name);

const ENFORCE = 'pod-security.kubernetes.io/enforce';

function podSecurity(group: RunnerGroup, { namespace: read }: NamespaceReads): Judgements {
  const { containerMode, namespace } = group;
  const create = `kubectl create namespace ${namespace}`;
  if ('unread' in read && read.isMissing)
    return bad(`namespace ${namespace} does not exist`, `${create}. ${fixes.STEP_2}`);
  return judgeRead(read, create, ({ metadata: { deletionTimestamp, labels }, status }) => {
    if (deletionTimestamp !== undefined) {
      const fix = `When it is gone: ${create}. Its Secrets are gone, too. ${fixes.STEP_2}`;
      const words = status.conditions.flatMap(({ message, status: is }) => (is === 'True' ? message : []));
      return bad([`namespace ${namespace} is being deleted: it takes no Jobs`, ...words].join('. '), fix);
    }
    const enforced = labels[ENFORCE] ?? 'privileged';
    const needed = neededLevel(group);
    const lower =
      containerMode === 'buildkit' && enforced === 'baseline' ? 'securityProfile: baseline' : 'containerMode: host';
    return profileRank(enforced) >= profileRank(needed)
      ? good(`namespace ${namespace} admits its pods (${enforced})`)
      : bad(
          `namespace ${namespace} enforces ${enforced}, and its pods need ${needed}`,
          `kubectl label --overwrite namespace ${namespace} ${ENFORCE}=${needed}, or use ${lower}`,
        );
  });
}

/**
 * Judges the proxy of a mesh. Init containers have no network before the classic proxy runs, so no runner registers.
 */
function meshProxy({ namespace, podTemplate = {} }: RunnerGroup, { namespace: read }: NamespaceReads): Judgements {
  if ('unread' in read) return [];
  const { labels, annotations } = read.value.metadata;
  const isIstio = labels['istio-injection'] === 'enabled' || labels['istio.io/rev'] !== undefined;
  const isLinkerd = ['enabled', 'ingress'].includes(annotations['linkerd.io/inject'] ?? '');
  const podMetadata = podTemplate['metadata'] as Namespace['metadata'] | undefined;
  const isTold = podMetadata?.labels?.['sidecar.istio.io/inject'] ?? podMetadata?.annotations?.['linkerd.io/inject'];
  if (isTold !== undefined || !(isIstio || isLinkerd)) return [];
  const text = `namespace ${namespace} puts the proxy of a service mesh into its pods: runners register only if it is a native sidecar`;
  return unknown(text, `Keep runners out of the mesh: ${manual('install.md#service-mesh')}`);
}

/** Resources of a quota that a runner needs. */
const OF_PODS = /^(?:count\/)?pods$|^count\/jobs\.batch$|^(?:(?:requests|limits)\.)?(?:cpu|memory|ephemeral-storage)$/;

/** Judges what the API server says of a pod. Without the right to ask, a quota that is used up still shows a refusal. */
function admission(group: RunnerGroup, { quotas }: NamespaceReads, { liveJobs, tried }: Installation): Judgements {
  const { maxActiveRunners, namespace } = group;
  const pods = (liveJobs instanceof Failure ? [] : liveJobs).filter(
    (live) =>
      live.namespace === namespace &&
      isOf(group, live.name) &&
      !hasEnded(live.state) &&
      live.trouble?.reason !== NO_POD,
  );
  const answers = tried.get(group) ?? [];
  // At the cap it needs no further pod, and its own runners may use up a quota.
  if (pods.length >= maxActiveRunners) return [];
  const full = ('value' in quotas ? quotas.value : []).flatMap(({ metadata: { name }, status: { hard, used } }) =>
    Object.entries(hard)
      .filter(([key, most]) => OF_PODS.test(key) && quantityValue(used[key] ?? '0') >= quantityValue(most))
      .map(([key, most]) => `exceeded quota: ${name}, used: ${key}=${used[key]}, limited: ${key}=${most}`),
  );
  const messages = [...new Set(answers.flatMap((read) => ('value' in read ? read.value : full)))];
  const [unread] = answers.filter((read) => 'unread' in read);
  if (messages.length === 0 && unread)
    return unknown(`whether namespace ${namespace} takes its pods: ${unread.unread}`, fixes.AS_ADMINISTRATOR);
  if (messages.length === 0) return good(`namespace ${namespace} takes its pods`);
  return messages.map((message) => {
    const fix =
      remedyOf({ reason: NO_POD, message }, { group, places: fixes.HERE }) ??
      'Correct spec.podTemplate, or what the message names';
    return bad(`namespace ${namespace} refuses its pods: ${message}`, fix);
  });
}

/** A cross needs proof: no rule of a NetworkPolicy can lead to DNS or to Gitea, and no runner of the group is online. */
function egress(group: RunnerGroup, { networkPolicies: read }: NamespaceReads, { gitea }: Installation): Judgements {
  const url = parseUrl(group.proxy?.https ?? group.proxy?.http ?? group.giteaUrl);
  const looks = gitea.scopes.flatMap(({ groups, look }) =>
    groups.includes(group) && !(look instanceof Failure) ? look : [],
  );
  const isOnline = looks.some(({ runners }) => runners.some(({ name, online }) => online && isOf(group, name)));
  if (!url || isOnline) return [];
  return judgeRead(fixes.readAs('NetworkPolicies', read), '', (all) => {
    const { labels = {} } = ownTemplate(group).metadata ?? {};
    const own = all.filter(
      ({ spec: { podSelector, policyTypes } }) => policyTypes.includes('Egress') && isSelected(podSelector, labels),
    );
    const rules = own.flatMap(({ spec }) => spec.egress);
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const lacking = [
      ...(rules.some(({ ports }) => opens(ports, 'UDP', isDns)) ? [] : ['DNS (UDP 53)']),
      ...(rules.some((rule) => mayLeadTo(rule, url.hostname, port)) ? [] : [`${url.hostname} (TCP ${port})`]),
    ];
    if (own.length === 0 || lacking.length === 0) return [];
    const names = own.map(({ metadata }) => metadata.name).join(', ');
    const text = `NetworkPolicy ${names} lets its pods not reach ${lacking.join(', ')}: no runner registers`;
    return bad(text, 'Add a NetworkPolicy with that egress: that of install/runners.yaml has it');
  });
}

/** Pods of DNS listen on 5353 in OpenShift. */
const isDns = (first: number, last: number): boolean => [53, 5353].some((port) => first <= port && port <= last);

const isSelected = ({ matchLabels, matchExpressions }: Selector, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every((each) => matchesExpression(each, labels));

/** True if the rule opens a port that fits. A named port may be any port. */
function opens(ports: EgressRule['ports'], wanted: string, fits: (port: number, endPort: number) => boolean): boolean {
  const isOpen = ({ protocol, port, endPort = Number(port) }: EgressRule['ports'][number]) =>
    protocol === wanted && (typeof port !== 'number' || fits(port, endPort));
  return ports.length === 0 || ports.some(isOpen);
}

/** True if the rule may lead to Gitea. Inside the cluster its pods' port is not known: any port but 53 may be theirs. */
function mayLeadTo({ ports, to }: EgressRule, host: string, port: number): boolean {
  const isInside = !host.includes('.') || /\.svc(?:\.|$)/.test(host);
  const isOutward = to.length === 0 || to.some(({ ipBlock }) => ipBlock);
  if (isOutward && !isInside && opens(ports, 'TCP', (first, last) => first <= port && port <= last)) return true;
  // A rule with a podSelector alone leads only to pods of the runners' own namespace.
  const isToPods = (isOutward && isInside) || to.some(({ namespaceSelector }) => namespaceSelector);
  return isToPods && opens(ports, 'TCP', (first, last) => first !== 53 || last > 53);
}

const PULL_TYPES = ['kubernetes.io/dockerconfigjson', 'kubernetes.io/dockercfg'];

/** Judges the ServiceAccount, and the Secrets with which kubelets pull images. */
function pullSecrets(group: RunnerGroup, _: NamespaceReads, { secrets, serviceAccounts, tried }: Installation) {
  const { namespace } = group;
  const { serviceAccountName: name, imagePullSecrets: own } = podOf(group);
  const read = serviceAccounts.get(keyText({ namespace, name }));
  const isTold = tried.get(group)?.every((each) => 'value' in each) ?? false;
  // The dry run of a pod has already told that the ServiceAccount is missing.
  if (!read || ('unread' in read && read.isMissing && isTold)) return [];
  const account = fixes.readAs(`ServiceAccount ${name}`, read);
  return judgeRead(account, 'Make it, or correct spec.podTemplate', ({ imagePullSecrets }) =>
    // Kubernetes uses the imagePullSecrets of the ServiceAccount only for a pod that names none.
    (own.length > 0 ? own : imagePullSecrets).flatMap((each) => {
      const secret = secrets.get(keyText({ namespace, name: each.name }));
      const text = `Secret ${each.name} of imagePullSecrets`;
      const fix = `Make it, or take it out there: kubectl -n ${namespace} create secret docker-registry ${each.name}`;
      if (!secret) return [];
      return judgeRead(fixes.readAs(text, secret), fix, ({ type }) =>
        PULL_TYPES.includes(type) ? [] : bad(`${text}: it is of type ${type || 'Opaque'}, and holds no login`, fix),
      );
    }),
  );
}
