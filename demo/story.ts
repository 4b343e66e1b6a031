/** What happens in the demo, and what the watcher is told about it. Times are milliseconds of the story. */
import type { RunSpec } from '../simulator/gitea/queue.ts';

export const ORG = 'acme';
export const NAMESPACE = 'runners';
/** Length of one step; between two steps the demo sleeps. */
export const STEP_MS = 100;
/** Argo CD is woken this often while something moves. A real wake takes about as long. */
export const SYNC_EVERY_MS = 700;
/** From then on the watcher is told about the job that no group covers. */
export const UNCOVERED_FROM_MS = 7000;
/** A story that is not over by then has failed. */
export const LONGEST_MS = 60_000;

/** A RunnerGroup as a person commits it. */
export interface CommittedGroup {
  readonly name: string;
  readonly cap: number;
  /** Label names that its runners cover. */
  readonly labels: readonly string[];
  readonly yaml: (giteaUrl: string) => string;
}

function group(name: string, cap: number, label: string): CommittedGroup {
  const yaml = (giteaUrl: string) => `apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerGroup
metadata: {name: ${name}, namespace: ${NAMESPACE}}
spec:
  scope: org
  org: ${ORG}
  gitea: {url: ${giteaUrl}}
  labels: ["${label}:docker://docker.gitea.com/runner-images:ubuntu-latest"]
  defaultLabels: false
  maxActiveRunners: ${cap}
  registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}
  authToken: {secretRef: {name: gitea-api, key: token}}
`;
  return { name, cap, labels: [label], yaml };
}

export const CI = group('ci', 4, 'ubuntu-latest');
export const GPU = group('gpu', 1, 'gpu');

/** One thing that a person does. */
export type Act =
  | { readonly atMs: number; readonly does: 'commit'; readonly group: CommittedGroup }
  | { readonly atMs: number; readonly does: 'push'; readonly repo: string; readonly spec: RunSpec };

export const ACTS: readonly Act[] = [
  { atMs: 0, does: 'commit', group: CI },
  {
    atMs: 1500,
    does: 'push',
    repo: 'acme/web',
    spec: {
      jobs: [
        { key: 'build' },
        { key: 'test', matrix: ['node 20', 'node 22', 'node 24'], needs: ['build'] },
        { key: 'deploy', needs: ['test'] },
      ],
    },
  },
  {
    atMs: 3600,
    does: 'push',
    repo: 'acme/api',
    spec: { jobs: [{ key: 'lint' }, { key: 'unit' }, { key: 'e2e', matrix: ['mysql', 'sqlite'] }] },
  },
  {
    atMs: 5000,
    does: 'push',
    repo: 'acme/docs',
    spec: { jobs: [{ key: 'links' }, { key: 'train', runsOn: ['gpu'] }] },
  },
  { atMs: 9000, does: 'commit', group: GPU },
];

/** What is going on right now, in one or two lines of at most 78 characters. */
export const CHAPTERS = {
  zero: ['Nothing is queued, so generate prints no Job: no runner costs anything.', ''],
  first: [
    'A push. "build" is ready: generate prints one Job, Argo CD creates it.',
    'The others are blocked by "needs": they get no runner yet.',
  ],
  cap: [
    'More pushes. The group may have 4 runners at once (maxActiveRunners: 4):',
    'younger jobs are held back until a runner ends. Oldest first.',
  ],
  crossing: [
    'Gitea gives a runner the oldest job that fits, not the one it was made for.',
    'So generate follows the runner: a Job stays as long as its runner works.',
  ],
  uncovered: [
    '"train" asks for the label gpu, and no RunnerGroup has it: it would wait for',
    'ever. What to do: commit a RunnerGroup with that label.',
  ],
  covered: [
    'gpu.yaml was committed, a second RunnerGroup with the label gpu.',
    'The next look at Gitea finds "train" covered and starts a runner for it.',
  ],
  drain: [
    'The queue runs empty. Each runner does one job and ends;',
    'its Job is not printed any more, and Kubernetes removes it.',
  ],
  end: ['All jobs are done and every Job is gone: back to zero.', ''],
} as const satisfies Record<string, readonly [string, string]>;

export type Chapter = keyof typeof CHAPTERS;
