/** Adds facts from Events, and from Workloads of Kueue: why a pod is missing or does not start, and whether its node is well. */
import * as z from 'zod';
import { byState } from '../../answers/explanation.ts';
import { type ExplainedJob, type Explanation, emittedRunners, type Holder } from '../../answers/model.ts';
import { isSameTrouble } from '../../answers/remedies.ts';
import { Deadline } from '../../clients/http/request.ts';
import { KubeClient } from '../../clients/kubernetes/kube-client.ts';
import { POD_DELETED, STARTS_ELSEWHERE, withoutRuntime } from '../../clients/kubernetes/kube-pods.ts';
import { findCluster, type Settings } from '../../plan/settings.ts';
import { memo } from '../../planner/collections.ts';
import type { RunnerTrouble } from '../../planner/decisions.ts';
import { type LiveJob, NO_POD, type PodTrouble } from '../../planner/evidence.ts';
import { isMadeForSame, parseRunnerName } from '../../planner/names.ts';
import { keyText, wordSet } from '../../shared/keys.ts';
import { KIND, type Texts } from '../../shared/marks.ts';
import { once } from '../../shared/once.ts';
import { oneLine, printable } from '../../shared/printable.ts';
import { type ClusterReader, readObject } from '../reading/read-object.ts';

/** Most namespaces and groups of Jobs whose Events are read: each takes a request. Others have no facts from Events. */
const MOST_JOBS = 3;
/** Most Events of one answer. If it is full, the warnings of a pod are read separately. */
const MOST_EVENTS = 500;
/** Events of pods of all types, without what each pod that is well has. */
const OF_PODS = 'involvedObject.kind=Pod,reason!=Scheduled,reason!=Created,reason!=Started,reason!=Killing';
/** Most characters of a message. The verdict of an x509 error is its last clause, and a webhook's URL comes first. */
const LONGEST_MESSAGE = 600;

/** Pods mostly start within this. Until then a volume that is not there yet may still come. */
const STARTS_WITHIN_MS = 20_000;
/** The kubelet's words (1.34: pkg/kubelet/events/event.go). The status of a pod says only `ContainerCreating` then. */
const NOT_STARTED = wordSet(
  'FailedMount FailedAttachVolume FailedMapVolume FailedCreatePodSandBox FailedResourceClaimCreation NetworkNotReady NodeNotReady Pulling Pulled',
);
const UNSCHEDULABLE = 'Unschedulable';
const IMAGE_PULL = 'ImagePullBackOff';
/** Reasons of Events about what the status of a pod leaves out: a Secret for its image, or a claim, is not there. */
const NOT_THERE = wordSet('FailedToRetrieveImagePullSecret FailedBinding ProvisioningFailed');
/** Reasons of the kubelet's Events about a container that runs and that others wait for: its startup probe, its hook. */
const NOT_READY: ReadonlySet<string> = new Set(['Unhealthy', 'FailedPostStartHook']);
/** Reasons of the Events of the cluster autoscaler, of GKE's and of Karpenter about a pod without a node. */
const SCALING = wordSet('TriggeredScaleUp NotTriggerScaleUp FailedScaleUp Nominated FailedScheduling');
/** Components of Karpenter, which has its reason in common with schedulers: `karpenter`, `eks-auto-mode/compute`. */
const KARPENTER = /^(?:karpenter|eks-auto-mode)/;
/** What kubelet and Karpenter write around a cause. */
const AROUND = /^Pulling | daemonset overhead=\{[^}]*\},/g;
const ON_THE_WAY: ReadonlySet<string> = new Set(['Pulling', 'TriggeredScaleUp', 'Nominated']);
/** A node that has not come by then is given up (cluster autoscaler: max-node-provision-time). A pull may take as long, ms. */
const COMES_WITHIN_MS = 900_000;

const text = z.string().nullish();

const Events = z.object({
  items: z.array(
    z.object({
      type: text,
      reason: text,
      message: text,
      firstTimestamp: text,
      lastTimestamp: text,
      /** Of events.k8s.io, where `lastTimestamp` is empty. */
      eventTime: text,
      source: z.object({ component: text }).nullish(),
      reportingComponent: text,
      /** `fieldPath`: of a container, `spec.initContainers{register}`. */
      involvedObject: z.object({ name: text, fieldPath: text }).nullish(),
    }),
  ),
});
type Event = z.infer<typeof Events>['items'][number];

/** Kueue's objects, each of one Job. */
const WORKLOADS = '/apis/kueue.x-k8s.io/v1beta2';
/** Most Workloads of one answer. Jobs beyond it have no words of Kueue. */
const MOST_WORKLOADS = 500;
const Workloads = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ ownerReferences: z.array(z.object({ name: z.string() })).nullish() }),
      status: z
        .object({
          conditions: z.array(z.object({ type: z.string(), status: text, message: text })).nullish(),
          admissionChecks: z.array(z.object({ name: z.string(), state: z.string(), message: text })).nullish(),
          clusterName: text,
        })
        .nullish(),
    }),
  ),
});
type Workload = z.infer<typeof Workloads>['items'][number];
/** Words of Kueue for what no end of another Job changes. */
const NEVER_STARTS =
  /> maximum capacity|unavailable in ClusterQueue|namespace doesn't match|lavor\S* \S+ not found|missing ResourceFlavor|no topology domains|only TopologyAware|deactivated|LimitRange constraints|resources validation failed|Queue .*(?:doesn't exist|not found|stopped|inactive)/;
type AskWorkloads = (namespace: string) => Promise<readonly Workload[]>;

/** Reads Events. Each question is asked once. */
type AskEvents = (namespace: string) => (fieldSelector: string) => Promise<readonly Event[]>;

type Reader = () => Promise<Pick<ClusterReader, 'client' | 'deadline'> | undefined>;

/** Reasons of `serve`'s Events about a RunnerGroup (src/serve/writers.ts): `ci-7-1-9c31e0aa: FailedMount: timed out`. */
const COULD_NOT_START: ReadonlySet<string> = new Set(['WorkerPodStuckPending', 'WorkerPodStartFailed']);
const TOLD = /^(\S+): (\w+)(?:: (.*))?$/s;

/** Adds facts from Events, which are read only if they can add something. Without the right to list them, nothing changes. */
export async function withEvents(explanation: Explanation, settings: Settings): Promise<Explanation> {
  if (!explanation.liveJobs) return explanation;
  // The client is opened late: perhaps nothing must be read, and a cluster may need a login.
  const clients: KubeClient[] = [];
  const reader = once(async () => {
    const config = await findCluster(settings);
    if (!config) return undefined;
    const client = new KubeClient(config, settings);
    clients.push(client);
    return { client, deadline: new Deadline(settings.timeoutMs) };
  });
  const ask = memo((namespace: string) =>
    memo((fieldSelector: string) => {
      const query = { limit: String(MOST_EVENTS), fieldSelector };
      return itemsIn(Events, { api: '/api/v1', kind: 'events', namespace, query }, reader);
    }),
  );
  const askWorkloads = memo((namespace: string) => {
    const query = { limit: String(MOST_WORKLOADS) };
    return itemsIn(Workloads, { api: WORKLOADS, kind: 'workloads', namespace, query }, reader);
  });
  try {
    const withPods = await withTroubles(explanation, ask, askWorkloads);
    const jobs = await withNodes(await withLastTries(withPods, ask), ask);
    return { ...withPods, jobs: jobs.map(withoutRepeated(withPods)).toSorted(byState) };
  } finally {
    for (const client of clients) client.close();
  }
}

/** Adds why Kubernetes creates no pod for a Job (a quota, a rule), or why a pod does not start (a volume, an image, a node). */
async function withTroubles(explanation: Explanation, ask: AskEvents, askWorkloads: AskWorkloads) {
  const { checkedAt, liveJobs = [] } = explanation;
  const nowMs = Date.parse(checkedAt);
  const isInEvents = ({ claims, container, queue, reason }: PodTrouble): boolean =>
    [NO_POD, UNSCHEDULABLE, IMAGE_PULL].includes(reason) || (claims ?? container ?? queue) !== undefined;
  const needing = liveJobs.filter(({ trouble, stillSinceMs, state, createdAtMs }) =>
    trouble && stillSinceMs === undefined
      ? isInEvents(trouble)
      : state === 'starting' && nowMs - createdAtMs >= STARTS_WITHIN_MS,
  );
  const tell = (job: LiveJob): Promise<Told | undefined> => {
    if (job.trouble?.queue !== undefined) return waitOf(job, askWorkloads);
    return job.trouble?.reason === STARTS_ELSEWHERE
      ? placeOf(job, job.trouble, askWorkloads)
      : troubleOf(job, ask, nowMs);
  };
  // All Jobs in a namespace share one answer.
  const namespaces = new Set([...new Set(needing.map(({ namespace }) => namespace))].slice(0, MOST_JOBS));
  const askableJobs = needing.filter((job) => namespaces.has(job.namespace));
  const troubles = new Map(await Promise.all(askableJobs.map(async (job) => [job.name, await tell(job)] as const)));
  return {
    ...explanation,
    jobs: explanation.jobs.map((job): ExplainedJob => {
      const told = job.verdict === 'served' ? troubles.get(job.runner) : undefined;
      if (NEVER_STARTS.test(told?.message ?? '')) return { ...job, state: 'unserved' };
      const waitUntilMs = job.inVain ? undefined : told?.comesByMs;
      return waitUntilMs === undefined ? job : { ...job, state: 'starting', waitUntilMs };
    }),
    runners: explanation.runners.map((each) => {
      const trouble = troubles.get(each.runner);
      // The planner decides when a pod is late. It does not read Events.
      const comes = trouble?.comesByMs !== undefined && { isLate: false };
      return each.emit && trouble
        ? { ...each, trouble: { isLate: false, ...each.trouble, ...trouble, ...comes } }
        : each;
    }),
  };
}

/** Adds why the pod of the last runner did not start. Its Job is gone, and the next one has not started. */
async function withLastTries(explanation: Explanation, ask: AskEvents): Promise<readonly ExplainedJob[]> {
  const { jobs, liveJobs = [] } = explanation;
  const emitted = emittedRunners(explanation);
  const lives = new Map(liveJobs.map(({ name, state }) => [name, state]));
  // A Job that is not there tells nothing of tries before it.
  const isAgain = (job: ExplainedJob): job is ExplainedJob & { readonly verdict: 'served' } =>
    job.verdict === 'served' &&
    !job.ended &&
    (lives.has(job.runner)
      ? lives.get(job.runner) === 'starting' && (emitted.get(job.runner)?.triedBefore ?? 0) > 0
      : job.notCreated !== undefined);
  const groups = new Map(jobs.filter(isAgain).map(({ group }) => [keyText(group), group]));
  const read = [...groups.values()].slice(0, MOST_JOBS).map(async (group) => {
    const events = await ask(group.namespace)(`involvedObject.kind=${KIND},involvedObject.name=${group.name}`);
    return [keyText(group), events.filter(({ reason }) => COULD_NOT_START.has(reason ?? ''))] as const;
  });
  const eventsOfGroup = new Map(await Promise.all(read));
  return jobs.map((job): ExplainedJob => {
    const { id, attempt } = job.job;
    const isOfJob = (event: Event): boolean => {
      const { madeFor } = parseRunnerName(TOLD.exec(event.message ?? '')?.[1] ?? '') ?? {};
      return madeFor !== undefined && isMadeForSame(madeFor, { id, attempt });
    };
    const last = newest((isAgain(job) && eventsOfGroup.get(keyText(job.group))?.filter(isOfJob)) || []);
    const [, runner = '', reason = '', message] = TOLD.exec(last?.message ?? '') ?? [];
    if (reason === '') return job;
    return { ...job, state: 'unserved', ended: { runner, reason, ...(message && { message: cut(message) }) } };
  });
}

/** Leaves out how the last runner ended if the present one has the same trouble. */
function withoutRepeated(explanation: Explanation): (job: ExplainedJob) => ExplainedJob {
  const emitted = emittedRunners(explanation);
  return (job) => {
    const { ended, ...rest } = job;
    const trouble = job.verdict === 'served' && !job.notCreated && emitted.get(job.runner)?.trouble;
    return ended && trouble && isSameTrouble(ended, trouble) ? rest : job;
  };
}

/** Adds what Events tell of the pod of a runner that is offline, or whose pod is gone. Kubernetes keeps them for an hour. */
async function withNodes(jobs: readonly ExplainedJob[], ask: AskEvents): Promise<readonly ExplainedJob[]> {
  const isAsked = ({ ended, group, offline }: ExplainedJob): boolean =>
    group !== undefined && (offline !== undefined || ended?.reason === POD_DELETED);
  const askedJobs = new Set(jobs.filter(isAsked).slice(0, MOST_JOBS));
  const explainedJobs = await Promise.all(
    jobs.map(async (job): Promise<ExplainedJob> => {
      const runner = job.ended?.runner ?? job.job.runner;
      if (!askedJobs.has(job) || !job.group || runner === undefined) return job;
      const pod = { namespace: job.group.namespace, name: runner };
      const ofPod = await eventsOfPod(pod, ask);
      const { offline, ...rest } = job;
      if (offline && !offline.isGone) {
        const last = newest(ofPod.filter(({ type }) => type !== 'Normal'));
        return last?.reason ? { ...job, offline: { why: `${last.reason}: ${cut(last.message)}` } } : job;
      }
      const end = endIn(ofPod);
      if (!end) return job;
      const ended = { runner, ...end, ...(await nodeOf(pod, ask)) };
      return { ...rest, ended, ...(offline && { loss: 'lost' as const }) };
    }),
  );
  const away = new Map(explainedJobs.flatMap(({ offline, job }) => (offline ? [[job.runner, offline] as const] : [])));
  const toldOf = memo((holders: readonly Holder[]): readonly Holder[] =>
    holders.map((each) => ({ ...each, ...(each.offline && { offline: away.get(each.runner) ?? each.offline }) })),
  );
  return away.size === 0
    ? explainedJobs
    : explainedJobs.map((job) => ({ ...job, ...(job.holders && { holders: toldOf(job.holders) }) }));
}

/** Reasons of Events about what takes a pod away: its node, a taint, an autoscaler, a scheduler. */
const TAKES_AWAY = /^(?:NodeNotReady|TaintManagerEviction|Preempted|Evicted(?:ByVPA)?|ScaleDown|Descheduled)$/;

/** Returns what took a pod away, in the words of its newest Event. A node that was not ready comes before what followed. */
function endIn(events: readonly Event[]): PodTrouble | undefined {
  const ends = events.filter(({ message, reason }) => TAKES_AWAY.test(reason ?? '') && !/^Cancel/.test(message ?? ''));
  const lostNode = newest(ends.filter(({ reason }) => reason === 'NodeNotReady'));
  const last = newest(ends);
  if (last?.reason === 'TaintManagerEviction' || last?.reason === 'NodeNotReady')
    if (lostNode) return { reason: 'NodeLost', message: `at ${timeOf(lostNode)} ${cut(lostNode.message)}` };
  return last && { reason: last.reason ?? '', message: cut(last.message) };
}

/** The node of a pod that is gone. */
async function nodeOf({ namespace, name }: Pick<LiveJob, 'namespace' | 'name'>, ask: AskEvents) {
  const scheduled = await ask(namespace)('involvedObject.kind=Pod,reason=Scheduled');
  const ofPod = newest(scheduled.filter(({ involvedObject }) => involvedObject?.name?.startsWith(`${name}-`)));
  const [, node] = / to (\S+)$/.exec(ofPod?.message ?? '') ?? [];
  return node === undefined ? {} : { node: printable(node) };
}

/** Returns why Kueue does not start a Job yet, in the words of its Workload. */
async function waitOf(job: LiveJob, ask: AskWorkloads): Promise<PodTrouble | undefined> {
  const { conditions, admissionChecks } = (await workloadOf(job, ask))?.status ?? {};
  const reserved = conditions?.find(({ type }) => type === 'QuotaReserved');
  // The Job has quota here. A check, for example the other clusters of MultiKueue, has not agreed.
  const check = reserved?.status === 'True' ? admissionChecks?.find(({ state }) => state !== 'Ready') : undefined;
  const checkText =
    check && `admission check ${check.name} is ${check.state}${check.message ? `: ${check.message}` : ''}`;
  const message = cut(checkText ?? reserved?.message);
  return message === '' ? undefined : { reason: 'Suspended', message };
}

/** The cluster that Kueue has chosen for a Job, beside what the Job tells. */
async function placeOf(job: LiveJob, trouble: PodTrouble, ask: AskWorkloads): Promise<PodTrouble | undefined> {
  const cluster = (await workloadOf(job, ask))?.status?.clusterName;
  return cluster ? { ...trouble, message: cut(`${trouble.message}, cluster ${cluster}`) } : undefined;
}

async function workloadOf({ name, namespace }: LiveJob, ask: AskWorkloads): Promise<Workload | undefined> {
  return (await ask(namespace)).find(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.name === name));
}

type Told = PodTrouble & Pick<RunnerTrouble, 'comesByMs' | 'stillSinceMs'>;

/** Returns why a Job has no running pod, in the words of its Events. */
async function troubleOf(job: LiveJob, ask: AskEvents, nowMs: number): Promise<Told | undefined> {
  const { name, trouble, stillSinceMs } = job;
  if (trouble?.container !== undefined) return probeOf(job, trouble, ask);
  const missing = trouble && (await missingOf(job, trouble, ask));
  if (missing) return { ...trouble, message: `${trouble.message} ${missing.reason}: ${cut(missing.message)}` };
  const isUnscheduled = trouble?.reason === UNSCHEDULABLE;
  // The pod exists, and its status has no fault.
  if (!trouble || isUnscheduled || stillSinceMs !== undefined) {
    const reasons = isUnscheduled ? SCALING : NOT_STARTED;
    const events = (await eventsOfPod(job, ask)).filter(
      (event) => reasons.has(event.reason ?? '') && !isOfScheduler(event),
    );
    const inOrder = newestFirst(events);
    const [last] = inOrder;
    if (!last || last.reason === 'Pulled') return undefined;
    const [reason, message] = [last.reason ?? '', cut(last.message?.replaceAll(AROUND, ''))];
    // Karpenter promises another machine as often as the cloud refuses one.
    const refusal = inOrder.findIndex((event) => !isPromise(event));
    const promises = refusal === -1 ? inOrder : inOrder.slice(0, refusal);
    const promisedAtMs = promises.map((event) => Date.parse(event.firstTimestamp ?? timeOf(event)));
    const comesByMs = Math.min(...promisedAtMs) + COMES_WITHIN_MS;
    return {
      ...(isUnscheduled ? { ...trouble, message: `${trouble.message} ${reason}: ${message}` } : { reason, message }),
      ...(promises.length > 0 && nowMs < comesByMs && { comesByMs }),
      ...(stillSinceMs !== undefined && { stillSinceMs }),
    };
  }
  if (trouble.reason !== NO_POD) return undefined;
  const ofJobs = await ask(job.namespace)('involvedObject.kind=Job,reason=FailedCreate');
  // "Error creating: pods "ci-7-1-9c31e0aa-x2x9z" is forbidden: exceeded quota: …"
  const sentence = cut(newest(ofJobs.filter(({ involvedObject }) => involvedObject?.name === name))?.message);
  const message = sentence.replace(/^Error creating: (?:pods "[^"]*" is )?/, '');
  return message === '' ? undefined : { reason: trouble.reason, message };
}

/** Returns the Event about what a pod that cannot start lacks. */
async function missingOf(
  job: LiveJob,
  { claims, reason: why }: PodTrouble,
  ask: AskEvents,
): Promise<Event | undefined> {
  if (!claims && why !== IMAGE_PULL) return undefined;
  const ofPod = (await eventsOfPod(job, ask)).filter(({ reason }) => NOT_THERE.has(reason ?? ''));
  const ofClaims = claims ? await ask(job.namespace)('involvedObject.kind=PersistentVolumeClaim') : [];
  const last = newest([
    ...ofPod,
    ...ofClaims.filter(({ involvedObject }) => claims?.includes(involvedObject?.name ?? '')),
  ]);
  return NOT_THERE.has(last?.reason ?? '') ? last : undefined;
}

/** Returns why a running container is not ready, in the words of its last Event. */
async function probeOf(job: LiveJob, trouble: PodTrouble, ask: AskEvents): Promise<PodTrouble | undefined> {
  const ofContainer = (await eventsOfPod(job, ask)).filter(
    ({ involvedObject, reason }) =>
      NOT_READY.has(reason ?? '') && involvedObject?.fieldPath?.endsWith(`{${trouble.container}}`) !== false,
  );
  const last = newest(ofContainer);
  return last && { ...trouble, message: `${trouble.message}: ${cut(last.message)}` };
}

async function eventsOfPod(job: Pick<LiveJob, 'namespace' | 'name'>, ask: AskEvents): Promise<readonly Event[]> {
  const all = await ask(job.namespace)(OF_PODS);
  // If normal Events fill the answer, warnings are read separately.
  const warnings = all.length < MOST_EVENTS ? [] : await ask(job.namespace)('involvedObject.kind=Pod,type=Warning');
  return [...all, ...warnings].filter(({ involvedObject }) => involvedObject?.name?.startsWith(`${job.name}-`));
}

/** Returns the items of a list that have the right shape. Empty: it is refused. @param api group and version, as in a path */
async function itemsIn<T>(
  list: z.ZodType<{ readonly items: readonly T[] }>,
  { api, kind, namespace, query }: Readonly<Record<'api' | 'kind' | 'namespace', string> & { query: Texts }>,
  reader: Reader,
): Promise<readonly T[]> {
  const clusterReader = await reader();
  if (!clusterReader) return [];
  const path = `${api}/namespaces/${encodeURIComponent(namespace)}/${kind}`;
  const read = await readObject(clusterReader, { path, query });
  return 'unread' in read ? [] : (list.safeParse(read.value).data?.items ?? []);
}

function newest(events: readonly Event[]): Event | undefined {
  return newestFirst(events)[0];
}

/** Of Events of one second, a promise counts: the autoscaler refuses groups of nodes before it takes one. */
function newestFirst(events: readonly Event[]): readonly Event[] {
  const order = (event: Event): string => `${timeOf(event)} ${Number(isPromise(event))}`;
  return [...events].sort((a, b) => (order(a) < order(b) ? 1 : -1));
}

function isPromise({ reason }: Event): boolean {
  return ON_THE_WAY.has(reason ?? '');
}

/** Whole seconds: recorders differ in that. */
function timeOf({ eventTime, lastTimestamp }: Pick<Event, 'eventTime' | 'lastTimestamp'>): string {
  return (lastTimestamp ?? eventTime ?? '').replace(/\.\d+Z$/, 'Z');
}

/** The pod's condition has the scheduler's own words. An Event without a component may be the scheduler's. */
function isOfScheduler({ reason, reportingComponent, source }: Event): boolean {
  return reason === 'FailedScheduling' && !KARPENTER.test(reportingComponent || source?.component || '');
}

function cut(message: string | null | undefined): string {
  return oneLine(withoutRuntime(message ?? ''), LONGEST_MESSAGE);
}
