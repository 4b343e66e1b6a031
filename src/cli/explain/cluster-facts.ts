/** What the cluster tells of the Jobs of runners: why one is not there, and why its pod does not start. */
import * as z from 'zod';
import { Deadline } from '../../clients/http/request.ts';
import { KubeClient } from '../../clients/kubernetes/client.ts';
import type { Explanation } from '../../observe/explain/model.ts';
import { findCluster, type Settings } from '../../observe/settings.ts';
import { type LiveJob, NO_POD, type PodTrouble } from '../../planner/evidence.ts';
import { printable } from '../../shared/printable.ts';
import { type ClusterReader, readObject } from '../read-object.ts';

const MOST_JOBS = 3;
const MOST_EVENTS = 200;
/** As the other sentences of Kubernetes (src/clients/kubernetes/pods.ts). */
const LONGEST_MESSAGE = 300;

/** Pods mostly start within this. Until then a volume that is not there yet may still come. */
const STARTS_WITHIN_MS = 20_000;
/** The kubelet's words (1.34: pkg/kubelet/events/event.go). The status of a pod says only `ContainerCreating` then. */
const NOT_STARTED: ReadonlySet<string> = new Set(['FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox']);

const Events = z.object({
  items: z.array(
    z.object({
      reason: z.string().nullish(),
      message: z.string().nullish(),
      lastTimestamp: z.string().nullish(),
      involvedObject: z.object({ name: z.string().nullish() }).nullish(),
    }),
  ),
});
type Event = z.infer<typeof Events>['items'][number];

type EventsReader = Pick<ClusterReader, 'client' | 'deadline'>;

/**
 * The same explanation, with what only Events tell. Why Kubernetes creates no pod for a Job: a quota, an admission rule, a namespace that
 * goes. Why a pod does not get as far as its containers: a volume, its network. They are asked for only where there is such a Job. Who may
 * not list them learns less, and the rest goes on.
 */
export async function withEvents(explanation: Explanation, settings: Settings): Promise<Explanation> {
  const nowMs = Date.parse(explanation.checkedAt);
  const needing = (explanation.liveJobs ?? []).filter(({ trouble, stillSinceMs, state, createdAtMs }) =>
    trouble && stillSinceMs === undefined
      ? trouble.reason === NO_POD
      : state === 'starting' && nowMs - createdAtMs >= STARTS_WITHIN_MS,
  );
  const jobs = needing.slice(0, MOST_JOBS);
  const config = jobs.length === 0 ? undefined : await findCluster(settings);
  if (!config) return explanation;
  const client = new KubeClient(config, settings);
  const reader = { client, deadline: new Deadline(settings.timeoutMs) };
  const told = await Promise.all(jobs.map((job) => troubleOf(job, reader))).finally(() => client.close());
  const troubles = new Map(
    told.flatMap((trouble, index) => (trouble === undefined ? [] : [[jobs[index]?.name, trouble] as const])),
  );
  return {
    ...explanation,
    runners: explanation.runners.map((each) => {
      const trouble = troubles.get(each.runner);
      // When it counts as late is decided by the planner, which does not read Events.
      return each.emit && trouble ? { ...each, trouble: { isLate: false, ...each.trouble, ...trouble } } : each;
    }),
    liveJobs: (explanation.liveJobs ?? []).map((each) => {
      const trouble = troubles.get(each.name);
      return trouble ? { ...each, trouble: { ...each.trouble, ...trouble } } : each;
    }),
  };
}

async function troubleOf(job: LiveJob, reader: EventsReader): Promise<PodTrouble | undefined> {
  const { name, trouble, stillSinceMs } = job;
  if (!trouble || stillSinceMs !== undefined) {
    const events = await eventsOf(job, 'involvedObject.kind=Pod,type=Warning', reader);
    const ofPods = events.filter(({ involvedObject }) => involvedObject?.name?.startsWith(`${name}-`));
    const last = newest(ofPods.filter(({ reason }) => NOT_STARTED.has(reason ?? '')));
    return last && { reason: last.reason ?? '', message: cut(last.message) };
  }
  const ofJob = `involvedObject.kind=Job,involvedObject.name=${name},reason=FailedCreate`;
  // "Error creating: pods "ci-7-1-9c31e0aa-x2x9z" is forbidden: exceeded quota: …"
  const sentence = cut(newest(await eventsOf(job, ofJob, reader))?.message);
  const message = sentence.replace(/^Error creating: pods "[^"]*" is /, '');
  return message === '' ? undefined : { reason: trouble.reason, message };
}

async function eventsOf(of: LiveJob, fieldSelector: string, reader: EventsReader): Promise<readonly Event[]> {
  const path = `/api/v1/namespaces/${encodeURIComponent(of.namespace)}/events`;
  const read = await readObject(reader, { path, query: { limit: String(MOST_EVENTS), fieldSelector } });
  return 'unread' in read ? [] : (Events.safeParse(read.value).data?.items ?? []);
}

function newest(events: readonly Event[]): Event | undefined {
  return [...events].sort((a, b) => ((a.lastTimestamp ?? '') < (b.lastTimestamp ?? '') ? 1 : -1))[0];
}

function cut(message: string | null | undefined): string {
  return printable(message ?? '').slice(0, LONGEST_MESSAGE);
}
