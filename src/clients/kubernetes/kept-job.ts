/** Reads the Job of a runner that stays for a look, by the name of the Job or of its pod. Writes until when it is to stay. */
import * as z from 'zod';
import type { LiveJob } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import { EXTEND_UNTIL, isOurs } from '../../shared/marks.ts';
import type { Deadline } from '../http/deadline.ts';
import { failure } from '../http/request.ts';
import { type KubeClient, type KubeQuestion, parseAnswer, unexpectedStatus } from './client.ts';
import { judgeJob } from './judge.ts';
import { jobOf } from './pod-parts.ts';
import { JOBS, objectPath, PODS, type Resource, TRACKED_JOBS } from './resources.ts';

/** A Job, as it stands in the cluster. */
export interface NamedJob {
  readonly live: LiveJob;
  /** A patch fails when the Job has changed since. */
  readonly resourceVersion: string;
}

const Named = TRACKED_JOBS.item;
const Version = z.object({ metadata: z.object({ resourceVersion: z.string().min(1) }) });
const Owned = z.object({
  metadata: z.object({
    ownerReferences: z.array(z.object({ kind: z.string(), name: z.string() })).nullish(),
  }),
});

/** @throws Failure exit 2 when it is no runner of ours; exit 1 when there is none of that name, or the cluster does not tell. */
export async function findRunnerJob(
  client: KubeClient,
  namespace: string,
  name: string,
  deadline: Deadline,
): Promise<NamedJob> {
  const jobName = (await jobOfPod(client, namespace, name, deadline)) ?? name;
  const question = questionFor(JOBS, namespace, jobName);
  const text = await read(client, question, deadline);
  if (text === undefined) {
    throw failure(
      client.request(question),
      'GR-EXTEND-03',
      `there is neither a pod nor a Job ${name} in namespace ${namespace}`,
      'It may be gone already. Check the name and --namespace',
    );
  }
  const request = client.request(question);
  const job = parseAnswer(request, Named, text, 'Job');
  if (!isOurs(job.metadata.labels ?? {})) {
    throw new Failure(
      'GR-EXTEND-01',
      2,
      `extend ${jobName} of namespace ${namespace}: it is no runner of argocd-gitea-runners. Name the pod or the Job of a runner.`,
    );
  }
  const { resourceVersion } = parseAnswer(request, Version, text, 'Job').metadata;
  return { live: judgeJob(job, []), resourceVersion };
}

/** Name of the Job that made a pod. Undefined: there is no pod of that name. One that no Job made answers for itself. */
async function jobOfPod(
  client: KubeClient,
  namespace: string,
  name: string,
  deadline: Deadline,
): Promise<string | undefined> {
  const question = questionFor(PODS, namespace, name);
  const text = await read(client, question, deadline);
  if (text === undefined) return undefined;
  const job = jobOf(parseAnswer(client.request(question), Owned, text, 'Pod'))?.name;
  if (job !== undefined) return job;
  throw new Failure(
    'GR-EXTEND-01',
    2,
    `extend pod ${name} of namespace ${namespace}: no Job has made it, so it is no runner of argocd-gitea-runners. Name the pod or the Job of a runner.`,
  );
}

/** False: the Job was changed meanwhile, so nothing was written. @throws Failure exit 1 when it cannot be written. */
export async function writeExtension(
  client: KubeClient,
  { live: { namespace, name }, resourceVersion }: NamedJob,
  until: string,
  deadline: Deadline,
): Promise<boolean> {
  const question: KubeQuestion = {
    what: `write the annotation ${EXTEND_UNTIL} of Job ${name} of namespace ${namespace}`,
    method: 'PATCH',
    path: objectPath(JOBS, namespace, name),
    contentType: 'application/merge-patch+json',
    body: { metadata: { resourceVersion, annotations: { [EXTEND_UNTIL]: until } } },
  };
  const { status } = await client.send(question, deadline);
  if (status === 409) return false;
  if (status !== 200) throw refused(client, question, status);
  return true;
}

function questionFor(resource: Resource<unknown>, namespace: string, name: string): KubeQuestion {
  return {
    what: `read ${resource.name} ${name} of namespace ${namespace}`,
    path: objectPath(resource, namespace, name),
  };
}

/** The answer's text; undefined: there is no such object. */
async function read(client: KubeClient, question: KubeQuestion, deadline: Deadline): Promise<string | undefined> {
  const { status, text } = await client.send(question, deadline);
  if (status === 404) return undefined;
  if (status !== 200) throw refused(client, question, status);
  return text;
}

function refused(client: KubeClient, question: KubeQuestion, status: number): Failure {
  if (status === 401) return unexpectedStatus(client.request(question), status, 'an object', '');
  const remedy =
    status === 403
      ? 'Use an account that may get pods and get and patch jobs.batch in the namespace'
      : 'Try again, or check the API server';
  return failure(client.request(question), 'GR-EXTEND-04', `status ${status}`, remedy);
}
