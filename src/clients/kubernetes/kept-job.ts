/** Reads the Job of a runner that stays for a look, by its name or its pod's. Writes until when it stays. */
import * as z from 'zod';
import { Failure } from '../../shared/failure.ts';
import { EXTEND_UNTIL, isOurs } from '../../shared/marks.ts';
import { type Deadline, failure, type HttpRequest } from '../http/request.ts';
import { judgeJob } from './judge-job.ts';
import {
  admissionFailure,
  type KubeClient,
  type KubeQuestion,
  parseAnswer,
  statusFailure,
  unexpectedStatus,
} from './kube-client.ts';
import { jobOf } from './kube-pods.ts';
import { JOBS, objectPath, PODS, type Resource } from './resources.ts';

export type NamedJob = Readonly<Awaited<ReturnType<typeof findRunnerJob>>>;

const Version = z.object({ metadata: z.object({ resourceVersion: z.string().min(1) }) });

/** Returns the Job of a runner. @throws Failure: exit 2, the Job is no runner's; exit 1, no such Job or no answer */
export async function findRunnerJob(client: KubeClient, namespace: string, name: string, deadline: Deadline) {
  const pod = await read(client, PODS, namespace, name, deadline);
  const owner = pod.text === undefined ? undefined : jobOf(parseAnswer(pod.request, PODS.item, pod.text, 'Pod'));
  if (pod.text !== undefined && !owner)
    throw noRunner(`pod ${name}`, namespace, 'no Job has made it, so it is no runner');
  const jobName = owner?.name ?? name;
  const { request, text } = await read(client, JOBS, namespace, jobName, deadline);
  if (text === undefined) {
    const received = `there is neither a pod nor a Job ${name} in namespace ${namespace}`;
    throw failure(request, 'GR-EXTEND-03', received, 'It may be gone already. Check the name and --namespace');
  }
  const job = parseAnswer(request, JOBS.item, text, 'Job');
  if (!isOurs(job.metadata.labels ?? {})) throw noRunner(jobName, namespace, 'it is no runner');
  // A patch fails when the Job has changed since.
  const { resourceVersion } = parseAnswer(request, Version, text, 'Job').metadata;
  return { live: judgeJob(job, []), resourceVersion };
}

function noRunner(subject: string, namespace: string, why: string): Failure {
  const message = `extend ${subject} of namespace ${namespace}: ${why} of argocd-gitea-runners. Name the pod or the Job of a runner.`;
  return new Failure('GR-EXTEND-01', 2, message);
}

/** Writes until when the runner stays. False: the Job was changed meanwhile. @throws Failure exit 1 */
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
    body: { metadata: { resourceVersion, annotations: { [EXTEND_UNTIL]: until } } },
  };
  const answer = await client.send(question, deadline);
  const { status } = answer;
  const request = client.request(question);
  if (status !== 200 && status !== 409) throw admissionFailure(request, answer) ?? refused(request, status);
  return status === 200;
}

/** Reads the JSON of an object. Undefined: no object has this name. */
async function read(
  client: KubeClient,
  resource: Resource<unknown>,
  namespace: string,
  name: string,
  deadline: Deadline,
): Promise<{ readonly request: HttpRequest; readonly text: string | undefined }> {
  const action = `read ${resource.name} ${name} of namespace ${namespace}`;
  const question = { what: action, path: objectPath(resource, namespace, name) };
  const request = client.request(question);
  const { status, text } = await client.send(question, deadline);
  if (status !== 200 && status !== 404) throw refused(request, status);
  return { request, text: status === 200 ? text : undefined };
}

function refused(request: HttpRequest, status: number): Failure {
  if (status === 401) return unexpectedStatus(request, status, '');
  const remedy =
    status === 403
      ? 'Use an account that may get pods and get and patch jobs.batch in the namespace'
      : 'Try again, or check the API server';
  return statusFailure(request, status, 'GR-EXTEND-04', remedy);
}
