/**
 * Why Kubernetes creates no pod for a Job: a quota, an admission rule, a namespace that goes. Only an Event of the Job tells, so it is asked
 * for here, and only for Jobs without a pod. Who may not list Events learns less, and the rest goes on.
 */
import * as z from 'zod';
import { Deadline } from '../../http/deadline.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { findCluster } from '../../kubernetes/find-cluster.ts';
import type { Settings } from '../../look/settings.ts';
import { type LiveJob, NO_POD } from '../../plan/evidence.ts';
import { printable } from '../../printable.ts';
import type { Explanation } from '../explanation.ts';
import { readObject } from './where.ts';

/** Jobs whose Events are read: they mostly have one cause. */
const MOST_JOBS = 3;
/** As the other sentences of Kubernetes (src/kubernetes/pod-trouble.ts). */
const LONGEST_MESSAGE = 300;

const Events = z.object({
  items: z.array(z.object({ message: z.string().nullish(), lastTimestamp: z.string().nullish() })),
});

/** The same explanation, with the API server's sentence for Jobs without a pod. */
export async function withRefusals(explanation: Explanation, settings: Settings): Promise<Explanation> {
  const without = (explanation.liveJobs ?? []).filter(({ trouble }) => trouble?.reason === NO_POD).slice(0, MOST_JOBS);
  const config = without.length === 0 ? undefined : await findCluster(settings);
  if (!config) return explanation;
  const client = new KubeClient(config, settings.onRequest);
  const deadline = new Deadline(settings.timeoutMs);
  const told = await Promise.all(without.map((job) => refusalOf(job, client, deadline))).finally(() => client.close());
  const messages = new Map(
    told.flatMap((message, index) => (message === undefined ? [] : [[without[index]?.name, message] as const])),
  );
  const withMessage = <T extends { readonly trouble?: { readonly reason: string } }>(thing: T, name: string): T => {
    const message = messages.get(name);
    return message === undefined || thing.trouble?.reason !== NO_POD
      ? thing
      : { ...thing, trouble: { ...thing.trouble, message } };
  };
  return {
    ...explanation,
    runners: explanation.runners.map((each) => (each.emit ? withMessage(each, each.runner) : each)),
    liveJobs: (explanation.liveJobs ?? []).map((each) => withMessage(each, each.name)),
  };
}

async function refusalOf(
  { namespace, name }: LiveJob,
  client: KubeClient,
  deadline: Deadline,
): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  const fieldSelector = `involvedObject.kind=Job,involvedObject.name=${name},reason=FailedCreate`;
  const query = { limit: '50', fieldSelector };
  const read = await readObject(client, `list Events of Job ${namespace}/${name}`, path, deadline, query);
  if ('unread' in read) return undefined;
  const { data } = Events.safeParse(read.json);
  const last = [...(data?.items ?? [])].sort((a, b) => ((a.lastTimestamp ?? '') < (b.lastTimestamp ?? '') ? 1 : -1))[0];
  // "Error creating: pods "ci-7-1-9c31e0aa-x2x9z" is forbidden: exceeded quota: …"
  const message = printable(last?.message ?? '').replace(/^Error creating: pods "[^"]*" is /, '');
  return message === '' ? undefined : message.slice(0, LONGEST_MESSAGE);
}
