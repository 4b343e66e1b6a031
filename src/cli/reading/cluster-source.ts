/** RunnerGroups of a cluster, for `explain` without PATH: the objects that Argo CD applied, read as `serve` reads them. */
import * as z from 'zod';
import { statusSeen, type UnservedGroup, type WhereIAm } from '../../answers/where.ts';
import { instanceName, shardCount } from '../../clients/argocd/application.ts';
import { Deadline } from '../../clients/http/request.ts';
import { ServerClocks } from '../../clients/http/server-clocks.ts';
import type { ClusterConfig } from '../../clients/kubernetes/config.ts';
import { KubeClient } from '../../clients/kubernetes/kube-client.ts';
import { listAll } from '../../clients/kubernetes/list.ts';
import { RUNNER_GROUPS, type RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import { PROBLEM } from '../../config/runnergroup/broken.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { DENIED } from '../../config/runnergroup/status.ts';
import type { GroupDefaults, InstallationPods } from '../../config/runnergroup/to-runner-group.ts';
import { backBy } from '../../plan/clock-correction.ts';
import { type LookOptions, lookAndPlan, type PlanOfNow } from '../../plan/look-and-plan.ts';
import { finishOwn, groupOfObject } from '../../plan/own-pod.ts';
import type { Settings } from '../../plan/settings.ts';
import { systemClock } from '../../shared/clock.ts';
import { defined } from '../../shared/defined.ts';
import { Failure, isOfConnection, isRateLimit } from '../../shared/failure.ts';
import type { Io } from '../../shared/io.ts';
import { isSame, keyText } from '../../shared/keys.ts';
import { duration } from '../../shared/printable.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';
import { readList } from '../flags/readers.ts';
import { installationFrom, pathsFrom, settingsFrom } from './command-settings.ts';
import { fromWithin } from './finding.ts';
import { byHand, clusterByHand, noCluster } from './own-kubeconfig.ts';
import { readOnlyOf } from './own-rights.ts';
import { noGroups } from './read-groups.ts';
import type { ClusterReader } from './read-object.ts';
import { installedSecrets, READS, readOne } from './reads.ts';
import { lookAround, madeBy, whereText } from './surroundings.ts';

export interface ClusterSource {
  readonly config: ClusterConfig;
  readonly settings: Settings;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** True if a person looks from outside the cluster and has not said where Secrets are. */
  readonly isByHand: boolean;
}

/** Finds the cluster of `--kubeconfig`, of this pod, or else of kubectl. Undefined: there is none. @throws Failure exit 1, 2 */
export async function clusterSource(flags: FlagsOf<'explain'>, io: Io): Promise<ClusterSource | undefined> {
  const clusterSettings = byHand(await settingsFrom(flags, io));
  if (clusterSettings.cluster === 'off') return undefined;
  const { config, kubeconfig } = await clusterByHand(clusterSettings);
  if (!config) return undefined;
  const isByHand = kubeconfig !== undefined && flags.secrets === undefined && !io.env['GITEA_RUNNERS_SECRETS'];
  const settings: Settings = {
    ...clusterSettings,
    kubeconfig,
    // Outside of the cluster no Secrets are mounted.
    ...(isByHand && !io.env['GITEA_TOKEN'] && { secrets: 'api' as const }),
  };
  return { config, settings, namespaces: namespacesFrom(flags, io, config), isByHand };
}

/** Returns what `ofFiles` finds. Without PATH and RunnerGroups here: what `ofCluster` finds. @throws Failure exit 2: neither */
export async function fromFilesOrCluster<T>(
  paths: readonly string[],
  flags: FlagsOf<'explain'>,
  io: Io,
  ofFiles: (settings: Settings) => Promise<T | undefined>,
  ofCluster: (source: ClusterSource, reader: ClusterReader, noGroupsFailure: Failure) => Promise<T>,
): Promise<T> {
  const isOfCluster = flagValue('allNamespaces', flags, io) || flagValue('namespace', flags, io) !== undefined;
  const arePathsGiven = paths.length > 0 || Boolean(io.env['GITEA_RUNNERS_PATH']);
  const resultOfFiles =
    arePathsGiven || !isOfCluster ? await ofFiles(byHand(await settingsFrom(flags, io))) : undefined;
  if (resultOfFiles) return resultOfFiles;
  const noGroupsFailure = noGroups({ ...pathsFrom(paths, flags, io), cwd: io.cwd, asksGitea: true });
  if (arePathsGiven) throw noGroupsFailure;
  const source = await clusterSource(flags, io);
  const remedy = 'Give --kubeconfig, or name files.';
  if (!source)
    throw isOfCluster ? noCluster('GR-EXPLAIN-04', 'read RunnerGroups from the cluster', remedy) : noGroupsFailure;
  const argocdNamespace = flagValue('argocdNamespace', flags, io);
  return await askCluster(source, argocdNamespace, (reader) => ofCluster(source, reader, noGroupsFailure));
}

/** Runs requests to the cluster within one time limit, and closes the connection. */
export async function askCluster<T>(
  { config, settings }: ClusterSource,
  argocdNamespace: string,
  ask: (reader: ClusterReader) => Promise<T>,
): Promise<T> {
  const clocks = new ServerClocks();
  const client = new KubeClient(config, { ...settings, clock: { ...systemClock, now: settings.now }, clocks });
  /** Returns how far this machine's clock is ahead of the cluster's, ms. */
  const aheadMs = (): number => backBy(clocks.boundsFor(client.origin));
  const now = (): number => settings.now() - aheadMs();
  const reader = { client, deadline: new Deadline(settings.timeoutMs), argocdNamespace, now };
  return await ask(reader).finally(() => {
    client.close();
    const offMs = aheadMs();
    const off = `${duration(Math.abs(offMs))} ${offMs > 0 ? 'ahead of' : 'behind'}`;
    const warning = `warning: GR-CLOCK-04 compare clocks: that of this machine is ${off} that of the cluster (${client.origin}). What is told here is corrected by that. Set the clock of this machine (NTP).`;
    if (Math.abs(offMs) > CLOCK_OFF_MS) settings.onWarning?.(warning);
  });
}

/** Largest difference of the clocks without a warning, ms. */
const CLOCK_OFF_MS = 60_000;

/** `-n`, `-A`, those that `serve` has in this pod, else the context's, as kubectl does. */
function namespacesFrom(flags: FlagsOf<'explain'>, io: Io, { context }: ClusterConfig): readonly string[] {
  if (flagValue('allNamespaces', flags, io)) return [];
  const namespace = flagValue('namespace', flags, io);
  if (namespace !== undefined) return [namespace];
  const ofServe = readList(io.env['GITEA_RUNNERS_NAMESPACES'] ?? '');
  return ofServe.length > 0 || !context ? ofServe : [context.namespace];
}

export interface ExplainedPlan extends PlanOfNow {
  readonly settings: Settings;
  readonly groups: readonly RunnerGroup[];
  readonly where?: WhereIAm;
}

/** @throws Failure when groups, Jobs or Gitea cannot be read. Without Gitea, the rest is printed on stderr. */
export async function planOfCluster(
  source: ClusterSource,
  reader: ClusterReader,
  flags: FlagsOf<'explain'>,
  io: Io,
): Promise<ExplainedPlan & { readonly where: WhereIAm }> {
  const { config, namespaces } = source;
  const { objects, groups, broken, served, settings: giteaSettings } = await groupsOfCluster(source, reader, flags, io);
  const looking = lookAndPlan(groups, giteaSettings, {
    includeBlocked: true,
    // `groupsOfCluster` has already judged the pods.
    pods: { finish: finishOwn, check: async () => undefined, faulty: async () => new Map() },
    // The trouble of one group must not hide the others.
    isolate: [],
    printedBy: shardsOf(objects),
  });
  const context = config.context?.name;
  // Inside a pod, its service account would be asked, which has no such rights.
  const asked = context === undefined ? [] : objects.map(({ metadata }) => metadata.namespace);
  const reading = [lookAround(reader, objects), looking, readOnlyOf(reader, asked)] as const;
  const [around, planned, rights] = await Promise.allSettled(reading);
  const readOnly = rights.status === 'fulfilled' ? rights.value : [];
  if (around.status === 'rejected') throw around.reason;
  const knownPlace = { server: reader.client.origin, ...(context !== undefined && { context }), namespaces, broken };
  const where: WhereIAm = { ...knownPlace, ...(readOnly.length > 0 && { readOnly }), ...served, ...around.value };
  if (planned.status === 'fulfilled') {
    const unservedGroups = planned.value.troubles.map(({ failure: { code, message }, ...group }) => ({
      group: keyText(group),
      problem: `${code} ${message.replaceAll('\n', ' ')}`,
      ...groups.filter((each) => isSame(each, group)).map(claimsOf)[0],
    }));
    const placed = { ...where, broken: [...broken, ...unservedGroups] };
    return { ...planned.value, groups, settings: giteaSettings, where: placed };
  }
  // If Gitea does not answer, this is the only information.
  io.err(`${whereText(where)}\n`);
  const { reason } = planned;
  const isRefused = reason instanceof Failure && reason.kind === 'cluster-forbidden';
  // A server that asks to wait was reached.
  const isUnreached = reason instanceof Failure && isOfConnection(reason) && !isRateLimit(reason);
  if (context !== undefined && (isRefused || isUnreached)) io.err(`${fromWithin(reader.argocdNamespace)}\n\n`);
  throw reason;
}

/** Returns the shards of the one Application that prints all of these. Undefined: there is no such Application. */
function shardsOf(objects: readonly RunnerGroupObject[]): LookOptions['printedBy'] {
  const [application, ...otherApplications] = new Set(objects.map(madeBy).map((made) => made && instanceName(made)));
  const shards = shardCount(objects[0]?.metadata.annotations);
  if (application === undefined || shards === undefined || otherApplications.length > 0) return undefined;
  return { application, shards };
}

/** RunnerGroups as Argo CD applied them, and the settings with which their Gitea is asked. @throws Failure when they cannot be listed */
export async function groupsOfCluster(
  { config, settings, namespaces, isByHand }: ClusterSource,
  reader: ClusterReader,
  flags: FlagsOf<'explain'>,
  io: Io,
) {
  const objects = await listObjects(reader.client, namespaces, reader.deadline);
  const readsSecrets = isByHand && settings.secrets === 'api';
  const [installed, repoServer] = await Promise.all([
    config.context ? installedSettings(reader) : ({} as Readonly<Record<string, string>>),
    readsSecrets ? readOne(reader, READS.repoServer) : undefined,
  ]);
  const env = { ...installed, ...io.env };
  const giteaSettings: Settings = {
    ...settings,
    instance: env['GITEA_RUNNERS_INSTANCE'] ?? '',
    ...(readsSecrets && {
      secretsIn: (secrets) => installedSecrets(secrets, installed, reader.argocdNamespace, repoServer),
    }),
  };
  const installation = await installationFrom(flags, { ...io, env });
  const { groups, broken } = sortedOut(objects, installation, settings.policy?.defaults);
  // The policy is a file that only `serve` sees.
  const statuses = objects.map((object) => statusSeen(object));
  const refusals = statuses.filter(({ reason }) => reason === DENIED);
  const refused = new Map(refusals.map(({ group, notReady }) => [group, notReady]));
  const serves = new Set(
    statuses.flatMap((each) => (each.lastCheckTime && !each.notReady && !each.isOutdated ? each.group : [])),
  );
  const told = broken.map((each) => (serves.has(each.group) ? { ...each, problem: each.problem + OLDER } : each));
  const namesOfServe = env['GITEA_RUNNERS_NAMESPACES'];
  const served = namesOfServe === undefined ? {} : { servedNamespaces: readList(namesOfServe) };
  const denied = groups.flatMap((group): readonly UnservedGroup[] => {
    const problem = refused.get(keyText(group));
    return problem === undefined ? [] : [{ group: keyText(group), problem, ...claimsOf(group) }];
  });
  const allowed = groups.filter((group) => !refused.has(keyText(group)));
  return { objects, groups: allowed, broken: [...told, ...denied], served, settings: giteaSettings };
}

const OLDER = '; serve accepts it, so this program is of another version: use that of serve';

/** Names of runners, and what `serve` looks at, follow from these. */
const OF_NAMES = /^GITEA_RUNNERS_(?:INSTANCE|NAMESPACES|RUNNER_IMAGE(?:_ROOTLESS)?|DOCKER_IMAGE|SECRETS)$/;

/** Returns the variables of the sidecar and `serve`, which a person outside lacks. Empty: none, or not readable. */
async function installedSettings(reader: ClusterReader): Promise<Readonly<Record<string, string>>> {
  const map = await readOne(reader, READS.settings);
  if (!('value' in map)) return {};
  return Object.fromEntries(Object.entries(map.value.data).filter(([name]) => OF_NAMES.test(name)));
}

/** Lists RunnerGroups. @param namespaces empty: all */
export async function listObjects(client: KubeClient, namespaces: readonly string[], deadline: Deadline) {
  const listIn = (namespace: string | undefined) => listAll(client, RUNNER_GROUPS, namespace, deadline);
  const lists = await Promise.all(namespaces.length > 0 ? namespaces.map(listIn) : [listIn(undefined)]);
  return lists.flatMap(({ items }) => items);
}

/** Reads RunnerGroups as Argo CD applied them. `broken`: those that are not valid. */
export function sortedOut(objects: readonly RunnerGroupObject[], images?: InstallationPods, defaults?: GroupDefaults) {
  const groups: RunnerGroup[] = [];
  const broken: UnservedGroup[] = [];
  for (const object of objects) {
    const read = groupOfObject(object, images, defaults);
    if ('group' in read) groups.push(read.group);
    else broken.push({ group: keyText(object.metadata), problem: read.problem, ...claimsIn(object) });
  }
  return { groups, broken };
}

function claimsOf({ labels, scope }: RunnerGroup): Pick<UnservedGroup, 'labels' | 'scope'> {
  return { labels: labels.map(({ name }) => name), scope };
}

/** As they are written in a spec that is wrong elsewhere. The spec of a stand-in says nothing. */
function claimsIn({ metadata, spec }: RunnerGroupObject): Pick<UnservedGroup, 'labels' | 'scope'> {
  const { data } = Claims.safeParse(metadata.annotations?.[PROBLEM] === undefined ? spec : undefined);
  const { labels, org } = data ?? {};
  return defined({
    labels: labels?.map((label) => label.split(':')[0] ?? ''),
    scope: org === undefined ? undefined : ({ kind: 'org', org } as const),
  });
}

const Claims = z.object({
  labels: z.array(z.string()).optional().catch(undefined),
  org: z.string().optional().catch(undefined),
});
