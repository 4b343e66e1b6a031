/**
 * Tests that each outlet of text names nothing that its readers may not see (law V103). In these plans every private
 * name is a canary: other repositories and their jobs, nodes, registries, groups of others. The text for a reader who
 * may see everything has them all.
 */
import { describe, expect, it } from 'vitest';
import { verdictText } from '../../src/answers/causes.ts';
import { explainerOf, explanationOf } from '../../src/answers/explanation.ts';
import { emittedRunners } from '../../src/answers/model.ts';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { type Figures, groupFor, groupsFor, jobFor, jobsFor, type Reader } from '../../src/page/view.ts';
import { toPlanned } from '../../src/plan/plan-groups.ts';
import type { Planning } from '../../src/plan/plan-seen.ts';
import type { Job, LiveJob } from '../../src/planner/evidence.ts';
import { countsOf } from '../../src/serve/planning/group-counts.ts';
import { statusOf, stuckText } from '../../src/serve/planning/group-status.ts';
import { wordsFor } from '../../src/tasks/waits/commit-status.ts';
import { plan } from '../support/plan.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { evidenceOfScene, INSTANCE, job, live, NOW, named, running } from '../support/scenario.ts';

const OPEN = 'acme/website';
const PRIVATE = { repository: 'acme/canary-merger', name: 'canary-job', branch: 'canary-branch' };
const SENTENCE = 'canary-node: cannot pull canary-registry.internal/image';

function nameOf(of: RunnerGroup, id: number): string {
  return named(toPlanned(of, 'acme', 't'), id);
}

const fair = runnerGroup({ maxActiveRunners: 1, fairness: 'per-repository' });
const limited = runnerGroup({ limits: [{ max: 1, per: 'repository' }] });
const ci = runnerGroup();
const hidden = runnerGroup({
  namespace: 'canary-team',
  name: 'canary-group',
  scope: { kind: 'org', org: 'canary-org' },
  labels: [{ name: 'gpu', text: 'gpu:host' }],
});

/** A job of the open repository, and what else is there. */
const SCENES: Readonly<Record<string, readonly [readonly RunnerGroup[], readonly Job[], readonly LiveJob[]]>> = {
  'a place that the next job of a private repository gets': [
    [fair],
    [
      running(1, nameOf(fair, 1), { repository: 'acme/canary-other' }),
      job(2, { ...PRIVATE, createdAtMs: NOW - 900_000 }),
      job(3, { repository: OPEN }),
    ],
    [live(nameOf(fair, 1), 'running', { pinned: true })],
  ],
  'the limit of a private repository, whose job Gitea could give the runner to': [
    [limited],
    [
      running(1, nameOf(limited, 1), PRIVATE),
      job(2, { ...PRIVATE, createdAtMs: NOW - 900_000 }),
      job(3, { repository: OPEN }),
    ],
    [live(nameOf(limited, 1), 'running', { pinned: true })],
  ],
  'a pod that cannot start': [
    [ci],
    [job(3, { repository: OPEN })],
    [
      live(nameOf(ci, 3), 'starting', {
        createdAtMs: NOW - 600_000,
        trouble: { reason: 'ImagePullBackOff', message: SENTENCE },
      }),
    ],
  ],
  'a pod that gets no further': [
    [ci],
    [job(3, { repository: OPEN })],
    [
      live(nameOf(ci, 3), 'starting', {
        stillSinceMs: NOW - 600_000,
        trouble: {
          reason: 'InitContainerRunning',
          message: 'init container canary-registry has not ended',
          node: 'canary-node',
          container: 'canary-registry',
        },
      }),
    ],
  ],
  'a pod that has failed': [
    [ci],
    [job(3, { repository: OPEN })],
    [live(nameOf(ci, 3), 'failed', { finishedAtMs: NOW - 1_000, end: { reason: 'Evicted', message: SENTENCE } })],
  ],
  'labels that a group of another organization has': [
    [ci, hidden],
    [job(3, { repository: OPEN, labels: ['gpu'] })],
    [],
  ],
};

function planned(groups: readonly RunnerGroup[], jobs: readonly Job[], liveJobs: readonly LiveJob[]) {
  const ofPlan = groups.map((each) => toPlanned(each, each === hidden ? 'hidden' : 'acme', 't'));
  const looks = { acme: { jobs, runners: [] }, hidden: { jobs: [], runners: [] } };
  const evidence = evidenceOfScene({ looks, liveJobs });
  const planning = {
    is: 'planned',
    plan: plan(ofPlan, evidence),
    atMs: NOW,
    seen: { groups: ofPlan, evidence, suspended: new Map() },
  };
  return planning as Planning & { readonly is: 'planned' };
}

/** May read the open repository. */
const reader: Reader = {
  login: 'dora',
  isAdmin: false,
  mayRead: (repository) => repository === OPEN,
  owns: () => false,
  unknown: 0,
  rights: '',
};

function figuresOf(
  groups: readonly RunnerGroup[],
  { atMs, plan: { jobs, ...rest }, seen }: ReturnType<typeof planned>,
) {
  const { details, outline } = explainerOf(groups, { jobs, ...rest }, atMs, seen);
  const scopes = new Map(groups.map(({ name, namespace, scope }) => [`${namespace}/${name}`, scope] as const));
  const begun = jobs.flatMap(({ job: of }) => (of.startedAtMs === undefined ? [] : of));
  const more = { repositories: new Set<string>(), runOf: () => undefined, pods: new Map(), instance: INSTANCE };
  return { details, explanation: outline(), scopes, begun, ...more } satisfies Figures;
}

describe.each(Object.entries(SCENES))('%s', (_, [groups, jobs, liveJobs]) => {
  const planning = planned(groups, jobs, liveJobs);
  const { plan: made, seen } = planning;
  const all = explanationOf(groups, made, NOW, seen);

  it('a private name is told to the person on call', () => {
    const words = all.jobs.map((each) => verdictText(each, NOW, emittedRunners(all)));

    expect(words.join()).toContain('canary');
  });

  it('a private name is not told beside a commit', () => {
    const ofOpen = made.jobs.filter(({ job: { repository } }) => repository === OPEN);
    const waiting = ofOpen.flatMap((each) => (each.verdict === 'held' || each.verdict === 'served' ? each : []));
    const words = waiting.map(wordsFor(planning, groups));

    expect(words).toHaveLength(1);
    expect(words.join()).not.toContain('canary');
  });

  it('a private name is not told in the status of a group and its Events, except its own pods', () => {
    const texts = groups.flatMap((each) => {
      const counts = countsOf(made, each);
      const argocd = { is: 'managed', differsForMs: 0 } as const;
      const facts = { generation: 1, suspended: false, activeRunners: 1, argocd, counts, checkedAtMs: NOW };
      return [JSON.stringify(statusOf(facts, undefined, NOW)), ...counts.stuck.map(stuckText)];
    });

    expect(texts.join()).toContain('AtCapacity');
    expect(texts.join()).not.toMatch(/canary-(?!node|registry)/);
  });

  it('a private name is not told on the page', () => {
    const figures = figuresOf(groups, planning);
    const shown = [
      jobsFor(figures, reader),
      ...[1, 2, 3].map((id) => jobFor(figures, reader, id)),
      groupsFor(figures, reader),
      ...groups.map(({ name, namespace }) => groupFor(figures, reader, `${namespace}/${name}`)),
    ];

    expect(JSON.stringify(shown)).toContain(OPEN);
    expect(JSON.stringify(shown)).not.toContain('canary');
  });
});
