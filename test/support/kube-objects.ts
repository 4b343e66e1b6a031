/** Objects of Kubernetes as its API server has them, and an API server that has them. */
import { parse } from 'yaml';
import { timeText } from '../../src/shared/marks.ts';
import { type Override, send, status } from './api-server.ts';

/** Answers by the end of the path, the first that fits: an object, or the status of a refusal. Other paths are left to the server. */
export function answering(answers: Readonly<Record<string, object | number>>): Override {
  return ({ pathname }, response) => {
    const answer = Object.entries(answers).find(([end]) => pathname.endsWith(end))?.[1];
    if (answer === undefined) return false;
    if (typeof answer === 'number') status(response, answer, 'Refused');
    else send(response, 200, answer);
    return true;
  };
}

export const groupList = (items: readonly object[]): object => ({ kind: 'RunnerGroupList', metadata: {}, items });

/** A RunnerGroup as Argo CD applied it. */
export function groupObject(
  yaml: string,
  groupStatus: object = { lastCheckTime: new Date().toISOString() },
  tracksByLabel = false,
): object {
  const { metadata, ...object } = parse(yaml) as { metadata: { readonly name: string } };
  const annotations = { 'argocd.argoproj.io/tracking-id': `runners:gitea.bpg.pw/RunnerGroup:runners/${metadata.name}` };
  const marks = tracksByLabel ? { labels: { 'app.kubernetes.io/instance': 'runners' } } : { annotations };
  return { ...object, metadata: { ...metadata, uid: `uid-${metadata.name}`, ...marks }, status: groupStatus };
}

export function secretObject(keys: Readonly<Record<string, string>>): {
  readonly data: Readonly<Record<string, string>>;
} {
  const data = Object.entries(keys).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return { data: Object.fromEntries(data) };
}

/** As Kubernetes and Gitea write a time. */
export const ago = (seconds: number): string => timeText(Date.now() - seconds * 1000);

/** The pod of a runner's Job. */
export function podOf(runner: string, podStatus: object, createdAtMs = Date.now() - 400_000) {
  return {
    metadata: {
      name: `${runner}-x7x9z`,
      namespace: 'runners',
      uid: `uid-pod-${runner}`,
      creationTimestamp: new Date(createdAtMs).toISOString(),
      ownerReferences: [{ kind: 'Job', name: runner, uid: `uid-${runner}` }],
    },
    status: podStatus,
  };
}

/** A status whose runner's container has run since then. */
export const runsSince = (startedAtMs: number) => ({
  phase: 'Running',
  containerStatuses: [{ name: 'runner', state: { running: { startedAt: new Date(startedAtMs).toISOString() } } }],
});
