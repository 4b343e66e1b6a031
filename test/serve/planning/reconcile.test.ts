/** Reconcile without a network, a clock or a cluster: an input goes in, verdicts come out. */
import { describe, expect, it } from 'vitest';
import type { GiteaTarget } from '../../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import type { Look } from '../../../src/planner/evidence.ts';
import { isReady } from '../../../src/serve/planning/group-status.ts';
import {
  type AppVerdict,
  judgeApplication,
  noteStarts,
  type ReconcileInput,
  skewsOf,
} from '../../../src/serve/planning/reconcile.ts';
import { NO_DIFFERENCE } from '../../../src/serve/seen/difference.ts';
import { type LiveGroup, type LiveRunner, type Observation, snapshot } from '../../../src/serve/seen/live.ts';
import { NEVER_WOKEN, type WakeOutcome } from '../../../src/serve/waking/wake-state.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { SHARDS, SUSPENDED, TRACKING_ID } from '../../../src/shared/marks.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { job, live, NOW, namesAtWork, ORIGIN, podsOf } from '../../support/scenario.ts';

const NO_VERDICTS: ReadonlyMap<string, AppVerdict> = new Map();
/** The moment of `NOW` by a clock that is never set. */
const STEADY = 500_000;
const readyIn = ({ groups }: AppVerdict): readonly boolean[] => groups.map(({ facts }) => isReady(facts));
const IDLE: Look = { jobs: [], runners: [] };
const failure = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');

/** A RunnerGroup of the Application of the same name. */
function liveGroup(name: string, application = name): LiveGroup {
  const annotations = { [TRACKING_ID]: `${application}:gitea.bpg.pw/RunnerGroup:runners/${name}` };
  return {
    key: `runners/${name}`,
    object: { metadata: { namespace: 'runners', name, uid: name, generation: 1, annotations } },
    group: runnerGroup({ name }),
  };
}

function liveRunner(
  name: string,
  groupName: string,
  state: LiveRunner['job']['state'],
  application = groupName,
): LiveRunner {
  const annotations = { [TRACKING_ID]: `${application}:batch/Job:runners/${name}` };
  return { job: live(name, state), annotations, groupName };
}

function seen(look: Look, beganMs = NOW - 1_000): Observation {
  return { beganMs, beganSteadyMs: beganMs, endedMs: beganMs + 100, look };
}

/** The spec is not valid. */
function wrongGroup(name: string): LiveGroup {
  const { group: _, ...rest } = liveGroup(name, 'ci');
  return { ...rest, problem: 'spec.org is missing' };
}

const NONE: readonly never[] = [];

interface SeenGroup {
  readonly live: LiveGroup;
  readonly observation?: Observation;
}

/** Makes the input of these groups, each with a target of its own. */
function sceneOf(
  parts: readonly SeenGroup[],
  over: Partial<ReconcileInput> = {},
  runners: readonly LiveRunner[] = [],
): ReconcileInput {
  const targets = parts.map(({ live: { key } }): GiteaTarget => {
    return { key, url: ORIGIN, scope: { kind: 'org', org: 'acme' }, token: new Token('secret', ORIGIN) };
  });
  return {
    nowMs: NOW,
    steadyMs: STEADY,
    instance: 'test',
    snapshot: snapshot({
      groups: parts.map((part) => part.live),
      runners,
      controlPlaneNamespace: 'argocd',
      steadyMs: NOW,
    }),
    pods: podsOf(
      namesAtWork(parts.flatMap(({ observation }) => observation?.look ?? [])),
      parts.map(({ live: { object } }) => object.metadata),
    ),
    targetOf: new Map(
      parts.flatMap((part, at) => {
        const [group, target] = [part.live.group, targets[at]];
        return group && target ? [[group, target]] : [];
      }),
    ),
    observations: new Map(parts.flatMap((part) => (part.observation ? [[part.live.key, part.observation]] : []))),
    clocks: { kubernetes: 'https://kubernetes', of: () => undefined },
    unregistered: () => undefined,
    wakes: new Map(),
    lostJobs: () => NONE,
    ...over,
  };
}

function play(input: ReconcileInput, before = NO_VERDICTS): ReadonlyMap<string, AppVerdict> {
  return new Map(
    [...input.snapshot.byApp].map(([key, groups]) => [key, judgeApplication(input, key, groups, before.get(key))]),
  );
}

/** Reconciles in order, like the leader: each Application gets the starts of those before it. */
function playInOrder(input: ReconcileInput): readonly AppVerdict[] {
  const startedBefore = new Map<string, readonly LiveRunner[]>();
  return [...input.snapshot.byApp].map(([key, groups]) => {
    const verdict = judgeApplication({ ...input, startedBefore }, key, groups, undefined);
    noteStarts(startedBefore, verdict);
    return verdict;
  });
}

function only(verdicts: ReadonlyMap<string, AppVerdict>): AppVerdict {
  const [verdict, ...others] = verdicts.values();
  if (!verdict || others.length > 0) throw new Error(`${verdicts.size} verdicts`);
  return verdict;
}

describe('a group that names an Application which does not print it (law V212)', () => {
  const limits = (max: number) => ({ limits: [{ name: 'db', max }] });
  const victim = { ...liveGroup('ci', 'runners-0'), group: runnerGroup({ name: 'ci', ...limits(5) }) };
  const evil = liveGroup('evil', 'runners-0');
  const { group: _, ...broken } = evil;
  const { metadata } = evil.object;
  const sharded = { metadata: { ...metadata, annotations: { ...metadata.annotations, [SHARDS]: '100' } } };
  const queue = seen({ ...IDLE, jobs: [1, 2, 3, 4, 5].map((id) => job(id)) });
  const listed = (...answer: readonly (readonly [string, boolean])[]) =>
    new Map([['argocd/runners-0', { state: NEVER_WOKEN, printed: new Set<string>(), listing: new Map(answer) }]]);
  const VICTIM_ONLY = listed(['runners/ci', true], ['runners/evil', false]);
  const judged = (other: SeenGroup, wakes: ReconcileInput['wakes']) =>
    only(play(sceneOf([{ live: victim, observation: queue }, other], { wakes })));

  it.each<[string, SeenGroup]>([
    ['has an annotation of shards', { live: { ...evil, object: sharded }, observation: queue }],
    ['is invalid, too', { live: { ...broken, object: sharded, problem: 'spec.org is missing' } }],
    [
      'has the same limit',
      { live: { ...evil, group: runnerGroup({ name: 'evil', ...limits(1) }) }, observation: queue },
    ],
    ['was not looked at yet', { live: evil }],
  ])('does not count for the others if it %s', (_name, other) => {
    const { difference, groups, siblings } = judged(other, VICTIM_ONLY);
    expect([difference.missing.length, siblings.size]).toEqual([5, 0]);
    expect(groups.map(({ facts }) => facts.argocd)).toEqual([
      { is: 'managed', differsForMs: 0 },
      { is: 'managed', differsForMs: 0, last: { is: 'foreign' } },
    ]);
    expect(readyIn(judged(other, VICTIM_ONLY))[1]).toBe(false);
  });

  it('counts until Argo CD has said what it prints, and if it prints the group', () => {
    const other = { live: { ...evil, object: sharded }, observation: queue };
    expect(judged(other, new Map()).siblings.size).toBe(99);
    expect(judged(other, listed(['runners/ci', true], ['runners/evil', true])).siblings.size).toBe(99);
  });

  it('neither counts nor is foreign while Argo CD is asked for it (law V213)', () => {
    const verdict = judged({ live: { ...evil, object: sharded }, observation: queue }, listed(['runners/ci', true]));

    expect([verdict.difference.missing.length, verdict.siblings.size]).toEqual([5, 0]);
    expect(verdict.groups[1]?.facts).toMatchObject({ argocd: { is: 'managed', differsForMs: 0 } });
    expect(verdict.groups[1]?.facts.argocd).not.toHaveProperty('last');
  });

  it('shows Argo CD and its plan to the groups of others only', () => {
    const state = { ...NEVER_WOKEN, last: { is: 'error', message: 'secret of ci' } } as const;
    const [[key, facts] = ['', undefined]] = VICTIM_ONLY;
    const wakes = new Map(facts && [[key, { ...facts, state }]]);
    const [own, foreign] = judged({ live: evil, observation: seen(IDLE) }, wakes).groups.map((of) =>
      JSON.stringify(of.facts),
    );
    expect(own).toContain('secret of ci');
    expect(foreign).not.toContain('secret of ci');
  });
});

describe('a verdict', () => {
  const ci = liveGroup('ci');

  it('a verdict asks for a wake when a queued job has no runner', () => {
    const verdict = only(play(sceneOf([{ live: ci, observation: seen({ ...IDLE, jobs: [job(1)] }) }])));

    expect(verdict).toMatchObject({ application: 'argocd/ci', settled: true });
    expect(verdict.difference.missing).toHaveLength(1);
    expect(verdict.groups).toMatchObject([{ facts: { counts: { queued: 1 } } }]);
    expect(readyIn(verdict)).toEqual([true]);
  });

  it('a verdict asks for nothing when the last look failed, and says why in the status', () => {
    const observation = { ...seen({ ...IDLE, jobs: [job(1)] }), failure };
    const idle = [liveRunner('ci-9-1-0000cafe', 'ci', 'starting')];
    const verdict = only(play(sceneOf([{ live: ci, observation }], {}, idle)));

    expect(verdict.planning).toEqual({ is: 'failed', failure });
    expect(verdict.difference).toEqual(NO_DIFFERENCE);
    expect(verdict.groups).toMatchObject([{ facts: { giteaFailure: failure } }]);
    expect(readyIn(verdict)).toEqual([false]);
  });

  it('a verdict waits for the first look', () => {
    const verdict = only(play(sceneOf([{ live: ci }])));

    expect(verdict).toMatchObject({ planning: { is: 'waiting' } });
    expect(readyIn(verdict)).toEqual([false]);
  });

  it('a verdict waits until the target of each group is known', () => {
    const scene = sceneOf([{ live: ci, observation: seen({ ...IDLE, jobs: [job(1)] }) }]);

    expect(only(play({ ...scene, targetOf: new Map() })).planning).toEqual({ is: 'waiting' });
  });

  it('a verdict asks for nothing for a job that a runner of another Application was printed for', () => {
    const [a, b] = [liveGroup('a'), liveGroup('b')];
    const theirs = liveRunner('b-1-1-0000cafe', 'b', 'starting');
    const forJob = { ...theirs, job: { ...theirs.job, jobUrl: job(1).url, giteaUrl: ORIGIN } };
    const look = seen({ ...IDLE, jobs: [job(1)] });
    const parts = [
      { live: a, observation: look },
      { live: b, observation: seen(IDLE) },
    ];
    const missing = (...runners: readonly LiveRunner[]) =>
      [...play(sceneOf(parts, {}, runners)).values()].map(({ difference }) => difference.missing.length);

    expect(missing()).toEqual([1, 0]);
    expect(missing(forJob)).toEqual([0, 0]);
  });

  it('a verdict counts the runners of other Applications under a limit that is shared by name', () => {
    const shares = (name: string) => {
      const limits = [{ name: 'gpus', max: 1 }];
      return { ...liveGroup(name), group: runnerGroup({ name, limits }) };
    };
    const theirs = liveRunner('b-7-1-0000cafe', 'b', 'running');
    const counted = { ...theirs, job: { ...theirs.job, limits: ['gpus'], giteaUrl: ORIGIN, scope: 'acme' } };
    const look = seen({ ...IDLE, jobs: [job(1)] });
    const held = (runner: LiveRunner) => {
      const parts = [{ live: shares('a'), observation: look }, { live: shares('b') }];
      const [verdict] = play(sceneOf(parts, {}, [runner])).values();
      return verdict?.groups[0]?.facts.counts?.held.limit;
    };

    expect([held(theirs), held(counted)]).toEqual([0, 1]);
  });

  it('a verdict is for the Application that Argo CD’s mark names', () => {
    const { planning } = only(play(sceneOf([{ live: ci, observation: seen(IDLE) }])));

    expect(planning).toMatchObject({ seen: { evidence: { application: 'ci' } } });
  });

  it('a verdict asks for nothing for a group that no Application manages', () => {
    const { annotations: _, ...metadata } = ci.object.metadata;
    const stray: LiveGroup = { key: 'runners/ci', object: { metadata }, group: runnerGroup() };
    const verdict = only(play(sceneOf([{ live: stray, observation: seen({ ...IDLE, jobs: [job(1)] }) }])));

    expect(verdict).toMatchObject({ application: '', planning: { is: 'planned' }, difference: { missing: [] } });
    expect(verdict.groups).toMatchObject([{ facts: { argocd: { is: 'unmanaged' } } }]);
    expect(readyIn(verdict)).toEqual([false]);
  });

  it('a verdict is about the good groups of an Application, too: one whose spec or Gitea is in trouble is told of alone', () => {
    const dead = {
      live: liveGroup('dead', 'ci'),
      observation: { beganMs: NOW - 1_000, beganSteadyMs: NOW - 1_000, endedMs: NOW, failure },
    };
    const good = { live: ci, observation: seen({ ...IDLE, jobs: [job(1)] }) };
    const verdict = only(play(sceneOf([good, dead, { live: wrongGroup('wrong') }])));

    expect(verdict.planning).toMatchObject({ is: 'planned' });
    expect(verdict.difference.missing).toEqual([expect.stringMatching(/^runners\/ci-1-1-/)]);
    expect(verdict.groups.map(({ facts }) => [isReady(facts), facts.counts !== undefined])).toEqual([
      [true, true],
      [false, false],
      [false, false],
    ]);
    expect(
      verdict.groups.map(({ facts: { problem, giteaFailure, planFailure } }) => [problem, giteaFailure, planFailure]),
    ).toEqual([
      [undefined, undefined, undefined],
      [undefined, failure, undefined],
      ['spec.org is missing', undefined, undefined],
    ]);
  });

  it('a verdict names the groups that have their runner names in common, and blocks only these', () => {
    // Their hashes are the same.
    const colliding = ['team-232', 'team-241'].map((namespace) => {
      const annotations = { [TRACKING_ID]: `ci:gitea.bpg.pw/RunnerGroup:${namespace}/ci` };
      const object = { metadata: { namespace, name: 'ci', uid: namespace, generation: 1, annotations } };
      return { key: `${namespace}/ci`, object, group: runnerGroup({ namespace, name: 'ci' }) };
    });
    const verdict = only(
      play(sceneOf([liveGroup('good', 'ci'), ...colliding].map((live) => ({ live, observation: seen(IDLE) })))),
    );

    const blocked = [false, 'GR-INPUT-90', false];
    expect(
      verdict.groups.map(({ facts }) => [isReady(facts), facts.planFailure?.code, facts.counts !== undefined]),
    ).toEqual([[true, undefined, true], blocked, blocked]);
  });

  it('a verdict is settled although a runner of a group without a look ended', () => {
    const ended = [liveRunner('wrong-1-1-0000cafe', 'wrong', 'complete')];

    expect(
      only(play(sceneOf([{ live: ci, observation: seen(IDLE) }, { live: wrongGroup('wrong') }], {}, ended))).settled,
    ).toBe(true);
  });

  it('blocks the whole Application when the only group is not valid', () => {
    expect(only(play(sceneOf([{ live: wrongGroup('wrong') }]))).planning).toMatchObject({
      is: 'failed',
      failure: { code: 'GR-INPUT-91' },
    });
  });

  it('a verdict is not settled when a runner ended after the last look began', () => {
    const ended = [liveRunner('ci-1-1-0000cafe', 'ci', 'complete')];
    const before = only(play(sceneOf([{ live: ci, observation: seen(IDLE, NOW - 1) }], {}, ended)));
    const after = only(play(sceneOf([{ live: ci, observation: seen(IDLE, NOW) }], {}, ended)));

    expect([before.settled, after.settled]).toEqual([false, true]);
  });

  it('a verdict is settled by a look that began later, whatever the clock of this machine was set to meanwhile', () => {
    const ended = [liveRunner('ci-1-1-0000cafe', 'ci', 'complete')];
    const observation = { ...seen(IDLE, NOW - 3_600_000), beganSteadyMs: NOW + 1 };

    expect(only(play(sceneOf([{ live: ci, observation }], {}, ended))).settled).toBe(true);
  });

  it('a verdict is not settled when that is so for one of several groups', () => {
    const parts = [liveGroup('a', 'ci'), liveGroup('b', 'ci')].map((live) => ({ live, observation: seen(IDLE) }));
    const ended = liveRunner('b-1-1-0000cafe', 'b', 'complete', 'ci');

    expect(only(play(sceneOf(parts, {}, [ended]))).settled).toBe(false);
  });

  it('a verdict is settled although a runner ended, where no look can follow: the token of the group cannot be read', () => {
    const scene = sceneOf([{ live: ci }], {}, [liveRunner('ci-1-1-0000cafe', 'ci', 'complete')]);
    const targetOf = new Map(ci.group && [[ci.group, new Failure('GR-TOKEN-02', 3, 'no token.', 'token-unseen')]]);

    expect(only(play({ ...scene, targetOf })).settled).toBe(true);
  });

  it('a verdict counts for each group how long its own Jobs have not been those of the plan', () => {
    const [a, b] = [liveGroup('a', 'ci'), liveGroup('b', 'ci')];
    const parts = [
      { live: a, observation: seen({ ...IDLE, jobs: [job(1), job(2)] }) },
      { live: b, observation: seen(IDLE) },
    ];
    const runners = [liveRunner('b-9-1-0000cafe', 'b', 'starting', 'ci')];
    const differsForMs = (differSince: ReadonlyMap<string, number>) => {
      const wakes = new Map([['argocd/ci', { printed: new Set<string>(), state: { ...NEVER_WOKEN, differSince } }]]);
      const verdict = only(play(sceneOf(parts, { wakes }, runners)));
      return [verdict.difference, verdict.groups.map(({ facts }) => facts.argocd)] as const;
    };
    const [{ missing, surplus: tooMany }] = differsForMs(new Map());
    expect([missing.length, tooMany]).toEqual([2, ['runners/b-9-1-0000cafe']]);

    const since = new Map([...missing.map((key, nth) => [key, STEADY - 90_000 - nth] as const)]);

    expect(differsForMs(since)[1]).toEqual([
      { is: 'managed', differsForMs: 90_001 },
      { is: 'managed', differsForMs: 0 },
    ]);
    expect(differsForMs(new Map([[tooMany[0] ?? '', STEADY - 70_000]]))[1]).toEqual([
      { is: 'managed', differsForMs: 0 },
      { is: 'managed', differsForMs: 70_000 },
    ]);
  });
});

describe('a verdict of the last reconcile', () => {
  const [a, b] = [liveGroup('a'), liveGroup('b')];
  const busy: Look = { ...IDLE, jobs: [job(1)] };
  const parts = [
    { live: a, observation: seen(busy) },
    { live: b, observation: seen(IDLE) },
  ];
  const first = sceneOf(parts);
  const kept = (input: ReconcileInput, last = first) => {
    const before = play(last);
    return [...play(input, before)].map(([key, verdict]) => verdict === before.get(key));
  };

  it('a verdict of the last reconcile holds while nothing has changed', () => {
    expect(kept({ ...first, nowMs: NOW + 4_999 })).toEqual([true, true]);
  });

  it('a verdict of the last reconcile is renewed after 5 s, and after 30 s where nothing waits or runs: time changes plans', () => {
    expect(kept({ ...first, nowMs: NOW + 5_000 })).toEqual([false, true]);
    expect(kept({ ...first, nowMs: NOW + 30_000 })).toEqual([false, false]);
  });

  it('a verdict of the last reconcile is renewed after 5 s where idle runners are kept by the calendar', () => {
    const hours = { runners: 1, from: '19:00', to: '20:00', days: [], timeZone: 'UTC' };
    const timed = { ...liveGroup('b', 'a'), group: runnerGroup({ name: 'b', idleSchedule: [hours] }) };
    const last = sceneOf([a, timed].map((live) => ({ live, observation: seen(IDLE) })));

    expect(kept({ ...last, nowMs: NOW + 4_999 }, last)).toEqual([true]);
    expect(kept({ ...last, nowMs: NOW + 5_000 }, last)).toEqual([false]);
  });

  it('a verdict of the last reconcile is renewed when the clock was set back', () => {
    expect(kept({ ...first, nowMs: NOW - 3_600_000 })).toEqual([false, false]);
  });

  it.each<[string, Partial<ReconcileInput>]>([
    [
      'a look has found something else',
      { observations: new Map([...first.observations, ['runners/a', seen({ ...busy })]]) },
    ],
    [
      'a look has failed',
      { observations: new Map([...first.observations, ['runners/a', { ...seen(busy), failure }]]) },
    ],
    [
      'a wake has ended',
      {
        wakes: new Map([
          ['argocd/a', { printed: new Set<string>(), state: { ...NEVER_WOKEN, last: { is: 'synced' } } }],
        ]),
      },
    ],
  ])('a verdict of the last reconcile is renewed when %s, and the other Application keeps its own', (_what, change) => {
    expect(kept({ ...first, ...change })).toEqual([false, true]);
  });

  it('a verdict of the last reconcile is renewed when Argo CD says that it has printed something else', () => {
    const printed = new Set(['runners/b-7-1-0123abcd']);
    const wakes = new Map([['argocd/b', { printed, state: NEVER_WOKEN }]]);

    expect(kept({ ...first, wakes })).toEqual([true, false]);
    expect([...play({ ...first, wakes }, play(first)).values()][1]?.difference.untidy).toEqual([...printed]);
  });

  it('a verdict of the last reconcile is renewed when a Job of the Application has changed', () => {
    const runners = [liveRunner('a-1-1-0000cafe', 'a', 'starting')];
    const { groups, byApp } = first.snapshot;
    const next = snapshot({ groups, runners, controlPlaneNamespace: 'argocd', steadyMs: NOW }, first.snapshot);

    expect(next.byApp).toBe(byApp);
    expect(kept({ ...first, snapshot: next })).toEqual([false, true]);
  });
});

describe('what is told of a group', () => {
  const ci = liveGroup('ci');
  const argocd = { is: 'managed', differsForMs: 0 };
  const CALM = { generation: 1, suspended: false, activeRunners: 0, argocd, lostJobs: [] };
  const LOOKED = { checkedAtMs: NOW - 900, checkAgeMs: 900 };
  const factsOf = (input: ReconcileInput) =>
    [...play(input).values()].flatMap(({ groups }) => groups.map(({ facts: { counts: _, ...facts } }) => facts));
  const looked = (live = ci) => sceneOf([{ live, observation: seen(IDLE) }]);

  it('the facts of a group tell when Gitea was last looked at', () => {
    expect(factsOf(looked())).toStrictEqual([{ ...CALM, ...LOOKED }]);
    expect(factsOf(sceneOf([{ live: ci }]))).toStrictEqual([CALM]);
  });

  it('the facts of a group tell the generation of its spec, if Kubernetes counts it', () => {
    const metadata = { namespace: 'runners', name: 'ci', uid: 'ci' };

    for (const generation of [undefined, null])
      expect(factsOf(looked({ ...ci, object: { metadata: { ...metadata, generation } } }))).toMatchObject([
        { generation: undefined },
      ]);
    expect(factsOf(looked({ ...ci, object: { metadata: { ...metadata, generation: 7 } } }))).toMatchObject([
      { generation: 7 },
    ]);
  });

  it('the facts of a group tell how many of its runners have not ended', () => {
    const states = ['starting', 'running', 'deleting', 'complete', 'failed'] as const;
    const runners = states.map((state, nth) => liveRunner(`ci-${nth}-1-0000cafe`, 'ci', state));

    expect(factsOf(sceneOf([{ live: ci, observation: seen(IDLE) }], {}, runners))).toMatchObject([
      { activeRunners: 3 },
    ]);
  });

  it('the facts of a group tell that it is suspended, in git or in the cluster', () => {
    const annotations = { [SUSPENDED]: 'since noon, by Alice' };
    const inCluster = { ...ci, object: { metadata: { ...ci.object.metadata, annotations } } };
    const inGit = { ...ci, group: runnerGroup({ suspend: true }) };

    expect(
      [inCluster, inGit, wrongGroup('ci')].flatMap((live) => factsOf(looked(live)).map((each) => each.suspended)),
    ).toEqual(['since noon, by Alice', true, false]);
  });

  it('the facts of a group tell what is wrong with its spec, and nothing else', () => {
    const input = sceneOf([{ live: wrongGroup('ci') }]);
    const planFailure = expect.objectContaining({
      code: 'GR-INPUT-91',
      exit: 2,
      message: 'RunnerGroup runners/ci: spec.org is missing',
    });

    expect(factsOf(input)).toStrictEqual([{ ...CALM, problem: 'spec.org is missing', planFailure }]);
  });

  it('the facts of a group tell why its token is not used: a failure of its Gitea, or a refusal by the policy of serve', () => {
    const targeted = (failure: Failure) => {
      const [good, bad] = [ci, liveGroup('bad', 'ci')];
      const scene = sceneOf([{ live: good, observation: seen(IDLE) }, { live: bad }]);
      return factsOf({
        ...scene,
        targetOf: new Map(
          [...scene.targetOf].map(([group, target]) => [group, group === bad.group ? failure : target]),
        ),
      });
    };
    const unseen = new Failure('GR-TOKEN-02', 1, 'no token.', 'token-unseen');
    const denied = new Failure('GR-POLICY-04', 3, 'not allowed.', 'policy');
    const foreign = new Failure('GR-TOKEN-04', 3, 'bound to another Gitea.', 'token-unusable');

    expect(targeted(unseen)).toStrictEqual([
      { ...CALM, ...LOOKED },
      { ...CALM, giteaFailure: unseen },
    ]);
    expect(targeted(denied)).toStrictEqual([
      { ...CALM, ...LOOKED },
      { ...CALM, refusal: denied },
    ]);
    const alone = sceneOf([{ live: ci }]);
    const targetOf = new Map([...alone.targetOf.keys()].map((group) => [group, denied] as const));
    expect(factsOf({ ...alone, targetOf })).toStrictEqual([{ ...CALM, refusal: denied }]);
    expect(targeted(foreign)).toStrictEqual([
      { ...CALM, ...LOOKED },
      { ...CALM, giteaFailure: foreign },
    ]);
  });

  it('the facts of a group tell how the last wake ended, and what is waited for by the wall clock', () => {
    const last = { is: 'synced' } as const;
    const state = { ...NEVER_WOKEN, is: 'pausing', last, untilMs: STEADY + 30_000 } as const;
    const wakes = new Map([['argocd/ci', { printed: new Set<string>(), state }]]);

    expect(factsOf({ ...looked(), wakes })).toMatchObject([
      { argocd: { last, waits: 'The last wake ended with synced; the next one comes at 2026-11-21T12:00:30Z' } },
    ]);
  });
});

it('Giteas are compared in the order of their addresses: what is said of their clocks does not change with each look', () => {
  const at = (name: string) => {
    const giteaUrl = `https://${name}.example.com`;
    return { live: { ...liveGroup(name, 'ci'), group: runnerGroup({ name, giteaUrl }) }, observation: seen(IDLE) };
  };
  const of = (origin: string) => {
    const ms = origin.includes('a.') ? 0 : 60_000;
    return { leastMs: ms, mostMs: ms };
  };
  const warned = (...names: readonly string[]) =>
    only(play(sceneOf(names.map(at), { clocks: { kubernetes: 'https://kubernetes', of } }))).clockWarnings;

  expect(warned('a', 'b')).toMatchObject([{ code: 'GR-CLOCK-03' }]);
  expect(warned('b', 'a')).toEqual(warned('a', 'b'));
});

it('the skew of a Gitea is what its clock and that of Kubernetes tell', () => {
  const exactly = (ms: number) => ({ leastMs: ms, mostMs: ms });
  const bounds = new Map([
    ['https://kubernetes', exactly(30_000)],
    [ORIGIN, exactly(0)],
  ]);
  const input = sceneOf([{ live: liveGroup('ci') }]);

  expect(
    skewsOf({ ...input, clocks: { kubernetes: 'https://kubernetes', of: (origin) => bounds.get(origin) } }),
  ).toEqual(new Map([[ORIGIN, 30_000]]));
  expect(skewsOf(input)).toEqual(new Map());
});

describe('two Applications that cover the same CI jobs', () => {
  const look = seen({ ...IDLE, jobs: [job(1), job(2), job(3)] });
  const parts = (one: Partial<RunnerGroup> = {}) => [
    { live: { ...liveGroup('a'), group: runnerGroup({ name: 'a', ...one }) }, observation: look },
    { live: liveGroup('b'), observation: look },
  ];
  const missing = (input: ReconcileInput) => playInOrder(input).map(({ difference }) => difference.missing.length);
  const lastOf = (last: WakeOutcome) =>
    new Map([['argocd/a', { printed: new Set<string>(), state: { ...NEVER_WOKEN, last } }]]);

  it('the first one is woken for them, and the second one is not', () => {
    expect(missing(sceneOf(parts()))).toEqual([3, 0]);
  });

  it('only the first one is woken for them where Gitea is below a path of its host, too', () => {
    const giteaUrl = `${ORIGIN}/gitea`;
    const below = parts({ giteaUrl }).map(({ live, observation }) => {
      const { name } = live.object.metadata;
      return { live: { ...live, group: runnerGroup({ name, giteaUrl }) }, observation };
    });

    expect(missing(sceneOf(below))).toEqual([3, 0]);
  });

  it('the second one is woken for those that the first one has no room for', () => {
    expect(missing(sceneOf(parts({ maxActiveRunners: 2 })))).toEqual([2, 1]);
    expect(missing(sceneOf(parts({ suspend: true })))).toEqual([0, 3]);
  });

  it('the second one is woken where the first one is in trouble, and not while it only waits', () => {
    expect(missing(sceneOf(parts(), { wakes: lastOf({ is: 'error', message: 'no plugin' }) }))).toEqual([3, 3]);
    expect(missing(sceneOf(parts(), { wakes: lastOf({ is: 'synced' }) }))).toEqual([3, 0]);
  });

  it('the second one is woken when a CI job has been ready for a spawn timeout', () => {
    const { spawnTimeoutSeconds } = runnerGroup();
    const late = NOW + spawnTimeoutSeconds * 1_000;

    expect(missing({ ...sceneOf(parts()), nowMs: late - 30_000 })).toEqual([3, 0]);
    expect(missing({ ...sceneOf(parts()), nowMs: late })).toEqual([3, 3]);
  });
});
