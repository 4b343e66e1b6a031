/** Law V39 (docs/spec.md): which CI jobs are lost. */
import { describe, expect, it } from 'vitest';
import type { LossReason } from '../../../src/clients/kubernetes/kube-pods.ts';
import { MOST_LOST_JOBS } from '../../../src/config/runnergroup/status.ts';
import type { Job, LiveState } from '../../../src/planner/evidence.ts';
import { type FollowInput, followLosses, type GroupLosses, NO_LOSSES } from '../../../src/serve/losses/losses.ts';
import type { LiveRunner } from '../../../src/serve/seen/live.ts';
import { done, live, NOW, running } from '../../support/scenario.ts';

const lostRunner = (name: string, loss: LossReason = 'Evicted'): LiveRunner => ({
  job: live(name, 'failed'),
  annotations: {},
  loss,
});
const lookAt = (beganMs: number, ...jobs: readonly Job[]) => ({ jobs, runners: [], beganSteadyMs: beganMs });
const rowOf = (online: boolean, name = 'ci-1') => {
  return { id: 1, name, online, busy: false, disabled: false, ephemeral: true, labels: [] };
};

/** Follows losses. By default ci-1 was evicted, nobody reports its end, and no pod exists without its Job. */
function follow(before: GroupLosses, scene: Partial<FollowInput> = {}) {
  const evicted = { runners: [lostRunner('ci-1')], nowMs: NOW + 900 };
  const { nowMs = evicted.nowMs } = scene;
  return followLosses(before, {
    ...evicted,
    steadyMs: nowMs,
    hasPod: () => false,
    endToldBy: () => undefined,
    ...scene,
  });
}

/** A runner was seen lost at NOW. */
const noticed = (): GroupLosses => follow(NO_LOSSES, { nowMs: NOW }).losses;

it('a CI job is lost when a look that began after the end of its runner shows it in progress', () => {
  const look = lookAt(NOW + 500, running(7, 'ci-1'), running(8, 'ci-2'));
  const { losses, found } = follow(noticed(), { look });

  const lost = {
    runner: 'ci-1',
    repository: 'acme/web',
    runId: 7,
    jobId: 7,
    attempt: 1,
    reason: 'Evicted',
    lostAt: '2026-11-21T12:00:00Z',
  };
  expect(found).toEqual([lost]);
  expect(losses.lost).toEqual([lost]);
  expect(follow(losses, { look }).found).toEqual([]);
  expect(follow(losses, { look }).losses.lost).toBe(losses.lost);
});

it('a lost CI job is lost also when the clock of this machine is set back before that look, and is told with the time of now', () => {
  const hourBack = NOW - 3_600_000;
  const look = lookAt(NOW + 500, running(7, 'ci-1'));

  const { losses, found } = follow(noticed(), { nowMs: hourBack + 900, steadyMs: NOW + 900, look });

  expect(found).toMatchObject([{ jobId: 7, lostAt: '2026-11-21T11:00:00Z' }]);
  // It counts from the moment at which its runner was seen to have gone.
  expect([...losses.lostSince]).toEqual([[7, NOW]]);
  expect(follow({ ...losses, lost: [] }, { look }).losses.lostSince.size).toBe(0);
});

it('a lost CI job is lost also when Argo CD has removed its Job before that look', () => {
  const before = follow(noticed(), { runners: [], nowMs: NOW + 100 }).losses;

  const { found } = follow(before, { runners: [], look: lookAt(NOW + 500, running(7, 'ci-1')) });

  expect(found.map(({ jobId }) => jobId)).toEqual([7]);
});

it('a CI job that only a look from before the end shows in progress is not lost: its runner may have reported its end', () => {
  const { losses, found } = follow(noticed(), { look: lookAt(NOW - 1, running(7, 'ci-1')) });

  expect(found).toEqual([]);
  expect(losses.suspects.get('ci-1')?.isChecked).toBe(false);
});

it('a CI job whose runner has reported a failure is not lost: that is the author’s', () => {
  const look = lookAt(NOW + 500, done(7, 'ci-1'));
  const after = follow(noticed(), { runners: [lostRunner('ci-1', 'OOMKilled')], look });

  // A later job under the same name is not that runner's.
  const again = follow(after.losses, { nowMs: NOW + 9_900, look: lookAt(NOW + 9_000, running(9, 'ci-1')) });

  expect([...after.found, ...again.found]).toEqual([]);
});

it('no CI job is lost when a runner was idle', () => {
  expect(follow(noticed(), { look: lookAt(NOW + 500, running(8, 'ci-2')) }).found).toEqual([]);
});

it('no CI job is lost when its runner lives', () => {
  const runners = [{ job: live('ci-1', 'running'), annotations: {} }];
  const { losses, found } = follow(NO_LOSSES, { runners, nowMs: NOW, look: lookAt(NOW + 1, running(7, 'ci-1')) });

  expect([losses.lost, found]).toEqual([[], []]);
});

describe('a runner whose Job has gone', () => {
  const withState = (state: LiveState): LiveRunner => ({ job: live('ci-1', state), annotations: {} });
  /** Returns the losses after its Job was seen in these states, one reconcile after the other. */
  const known = (...states: readonly LiveState[]): GroupLosses => statesSeen(() => true, ...states);
  const statesSeen = (hasPod: () => boolean, ...states: readonly LiveState[]): GroupLosses =>
    states.reduce(
      (before, state) => follow(before, { runners: [withState(state)], hasPod, nowMs: NOW }).losses,
      NO_LOSSES,
    );
  const look = lookAt(NOW + 9_500, running(7, 'ci-1'), running(8, 'ci-2'));
  /** Two reconciles without its Job. */
  const found = (before: GroupLosses, hasPod = () => false) => {
    const gone = follow(before, { runners: [], hasPod, nowMs: NOW + 9_000 });
    expect(gone.needsLook).toBe(false);
    return follow(gone.losses, { runners: [], hasPod, nowMs: NOW + 9_900, look }).found;
  };

  it.each<[string, readonly LiveState[]]>([
    ['it was deleted by force', ['running']],
    ['it was told to stop as Gitea gave it the CI job', ['running', 'deleting']],
    ['its CI job outlived the time for a stop', ['starting', 'running', 'deleting', 'deleting']],
  ])('a runner whose Job has gone has lost its CI job when %s', (_, states) => {
    expect(found(known(...states))).toEqual([
      expect.objectContaining({ jobId: 7, reason: 'JobDeleted', lostAt: '2026-11-21T12:00:09Z' }),
    ]);
  });

  it.each<[string, readonly LiveState[]]>([
    ['that has ended before: it crashed, or lived too long', ['running', 'failed']],
    ['that was ended and then removed', ['running', 'complete', 'deleting']],
    ['of which only the removal was seen: it may have ended before', ['deleting']],
  ])('a runner whose Job has gone is not lost when it is one %s', (_, states) => {
    expect(found(known(...states))).toEqual([]);
  });

  it('a runner whose Job has gone is not lost while its pod finishes the CI job, and is once that has gone', () => {
    const waiting = follow(known('running'), { runners: [], hasPod: () => true, nowMs: NOW + 9_000 }).losses;
    expect(found(waiting, () => true)).toEqual([]);

    expect(found(waiting).map(({ jobId }) => jobId)).toEqual([7]);
  });

  it('a runner whose Job has gone is not lost when its pod was never seen: it may be there, and finish the CI job', () => {
    expect(found(statesSeen(() => false, 'running', 'deleting'))).toEqual([]);
  });

  it('a runner whose Job has gone is lost when its pod went before its Job, or when the kubelet alone has told of it', () => {
    const withoutPod = follow(known('running'), { runners: [withState('running')], nowMs: NOW }).losses;
    expect(found(withoutPod)).toHaveLength(1);

    const told = { runners: [], endToldBy: () => 'kubelet' as const };
    const unseen = statesSeen(() => false, 'running');
    const gone = follow(unseen, { ...told, nowMs: NOW + 9_000 }).losses;
    expect(follow(gone, { ...told, nowMs: NOW + 9_900, look }).found).toHaveLength(1);
  });

  it('a runner whose Job has gone is forgotten when the look shows that it had no CI job, or had reported the end', () => {
    const gone = follow(known('running', 'deleting'), { runners: [], nowMs: NOW + 9_000 }).losses;
    const reported = lookAt(NOW + 9_500, done(7, 'ci-1'));

    const { losses } = follow(gone, { runners: [], nowMs: NOW + 9_900, look: reported });

    expect(follow(losses, { runners: [], nowMs: NOW + 9_950, look: reported }).losses).toEqual(NO_LOSSES);
  });

  it('a runner whose Job has gone is forgotten when its Job is re-created before a look has told: the CI job may be that of the second runner', () => {
    const gone = follow(known('running'), { runners: [], nowMs: NOW + 9_000 }).losses;

    const again = follow(gone, { runners: [withState('running')], nowMs: NOW + 9_900, look });
    const ended = follow(again.losses, { runners: [withState('complete')], nowMs: NOW + 9_950, look });

    expect([...again.found, ...ended.found]).toEqual([]);
  });

  it('a runner whose Job has gone keeps the reason that Kubernetes gave', () => {
    const evicted = follow(known('running'), { runners: [lostRunner('ci-1', 'OOMKilled')], nowMs: NOW + 1_000 }).losses;

    expect(found(evicted)).toEqual([expect.objectContaining({ reason: 'OOMKilled' })]);
    const silent = { ...withState('deleting'), loss: 'NodeLost' as const };
    const stopped = follow(known('running'), { runners: [silent], nowMs: NOW + 1_000 }).losses;
    const gone = follow(stopped, { runners: [], nowMs: NOW + 9_000 }).losses;
    expect(gone.suspects.get('ci-1')?.reason).toBe('NodeLost');
  });
});

describe('a runner whose node does not answer', () => {
  const silent = lostRunner('ci-1', 'NodeLost');
  const seen = () => follow(NO_LOSSES, { runners: [silent], nowMs: NOW }).losses;
  const look = (beganMs: number, ...rows: readonly ReturnType<typeof rowOf>[]) => {
    return { ...lookAt(beganMs, running(7, 'ci-1')), runners: rows };
  };
  const scene = (look: FollowInput['look']) => ({ runners: [silent], ...(look && { look }) });

  it('a runner whose node does not answer is lost only when Gitea has not heard of it for a minute', () => {
    const heard = follow(seen(), scene(look(NOW + 500, rowOf(true))));
    expect(heard.found).toEqual([]);

    expect(follow(heard.losses, scene(look(NOW + 60_500, rowOf(false)))).found.map(({ jobId }) => jobId)).toEqual([7]);
  });

  it('a runner whose node does not answer is lost when two looks show its CI job and no row of it: the end of a CI job takes the row away, too', () => {
    const none = look(NOW + 500, rowOf(true, 'ci-2'));
    const first = follow(seen(), scene(none));
    expect([first, follow(first.losses, scene(none))].flatMap(({ found }) => found)).toEqual([]);

    expect(follow(first.losses, scene(look(NOW + 5_000))).found.map(({ jobId }) => jobId)).toEqual([7]);
    const ended = scene(lookAt(NOW + 5_000, done(7, 'ci-1')));
    expect(follow(follow(first.losses, ended).losses, scene(look(NOW + 9_000))).found).toEqual([]);
  });

  it('a runner whose node does not answer is not lost when it reports the end of its CI job', () => {
    const heard = follow(seen(), scene(look(NOW + 500, rowOf(true)))).losses;

    const { losses, found } = follow(heard, scene(lookAt(NOW + 5_000, done(7, 'ci-1'))));

    expect([losses.lost, found]).toEqual([[], []]);
  });

  it('a runner whose node does not answer is lost when the kubelet has told its end and a look from after that shows its CI job', () => {
    const told = (beganMs: number) => ({ ...scene(look(beganMs, rowOf(true))), endToldBy: () => 'kubelet' as const });
    const first = follow(seen(), told(NOW + 500));
    expect([first, follow(first.losses, told(NOW + 800))].flatMap(({ found }) => found)).toEqual([]);

    expect(follow(first.losses, told(NOW + 5_000)).found.map(({ jobId }) => jobId)).toEqual([7]);
  });

  it('a runner whose node does not answer asks for one look when the kubelet tells its end, which polls may be a minute away from', () => {
    const heard = follow(seen(), scene(look(NOW + 500, rowOf(true)))).losses;
    const evicted = { runners: [lostRunner('ci-1')], nowMs: NOW + 2_000, endToldBy: () => 'kubelet' as const };

    const told = follow(heard, evicted);
    expect([told.needsLook, follow(told.losses, evicted).needsLook]).toEqual([true, false]);
    const { found } = follow(told.losses, { ...evicted, look: look(NOW + 2_500, rowOf(true)) });

    expect(found).toMatchObject([{ jobId: 7, reason: 'Evicted' }]);
  });

  it('a runner whose node does not answer is no longer lost when Gitea hears of it again', () => {
    const { losses } = follow(seen(), scene(look(NOW + 500, rowOf(false))));
    const heard = scene(look(NOW + 60_500, rowOf(true)));

    const again = follow(losses, heard);
    expect([again.returned, again.losses.lost]).toEqual([losses.lost, []]);
    const dead = { ...scene(look(NOW + 150_000, rowOf(false))), nowMs: NOW + 151_000 };
    expect(follow(again.losses, dead).found.map(({ jobId }) => jobId)).toEqual([7]);
    // Another runner proves nothing about this one, and neither does a failed look.
    expect(follow(losses, scene(look(NOW + 60_500, rowOf(false), rowOf(true, 'ci-2')))).returned).toEqual([]);
    expect(follow(losses, scene(undefined)).returned).toEqual([]);
    // A look from before the loss tells nothing.
    expect(follow(losses, scene(look(NOW - 1, rowOf(true)))).returned).toEqual([]);
    expect(follow(losses, { ...heard, look: { ...lookAt(NOW + 60_500), runners: [rowOf(true)] } }).returned).toEqual(
      [],
    );
  });
});

describe('a runner whose node answers again', () => {
  const back: LiveRunner = { job: live('ci-1', 'deleting'), annotations: {}, isBack: true };
  const silent = [lostRunner('ci-1', 'NodeLost')];
  const seen = { ...lookAt(NOW + 500, running(7, 'ci-1'), running(8, 'ci-2')), runners: [rowOf(false)] };
  const { losses: before } = follow(noticed(), { runners: silent, look: seen });
  const later = (job: Job) => ({ runners: [back], nowMs: NOW + 61_000, look: lookAt(NOW + 60_500, job) });

  it('reports the end of its CI job itself, so that is no longer lost', () => {
    const { losses, returned } = follow(before, later(running(7, 'ci-1')));

    expect([losses.lost, returned]).toEqual([[], before.lost]);
    // A leader that is new has no reason to suspect it.
    const next = { ...NO_LOSSES, lost: before.lost };
    expect(follow(next, later(running(7, 'ci-1'))).losses.suspects.size).toBe(0);
  });

  it('a runner whose node answers again is too late for a CI job that Gitea has ended meanwhile', () => {
    const { losses, returned } = follow(before, later(done(7, 'ci-1')));

    expect([losses.lost, returned]).toEqual([before.lost, []]);
  });
});

it(`a group notes at most ${MOST_LOST_JOBS} losses, and names the others`, () => {
  const names = Array.from({ length: MOST_LOST_JOBS + 2 }, (_, at) => `ci-${at + 1}`);
  const runners = names.map((name) => lostRunner(name));
  const { losses: before } = follow(NO_LOSSES, { runners, nowMs: NOW });

  const look = lookAt(NOW + 500, ...names.map((name, at) => running(at + 1, name)));
  const { losses, found, more } = follow(before, { runners, look });

  expect([losses.lost.length, found.length]).toEqual([MOST_LOST_JOBS, MOST_LOST_JOBS]);
  expect(more.map(({ runner }) => runner)).toEqual(names.slice(MOST_LOST_JOBS));
});

/** Law V94 (docs/spec.md). */
describe('the runner of a lost CI job has ended', () => {
  const look = (...rows: readonly ReturnType<typeof rowOf>[]) => {
    return { ...lookAt(NOW + 500, running(7, 'ci-1')), runners: rows };
  };
  /** Returns whether the end is noted at the look that finds the loss, and whether at the next one. */
  const isEnded = (scene: Partial<FollowInput>, later: Partial<FollowInput> = scene): readonly unknown[] => {
    const first = follow(noticed(), { look: look(), ...scene });
    const next = follow(first.losses, { look: look(), ...later });
    return [first, next].map(({ losses }) => losses.lost[0]?.runnerEnded);
  };

  it('a runner has ended when the kubelet has told so', () => {
    expect(isEnded({ endToldBy: () => 'kubelet' })).toEqual([true, true]);
    expect(isEnded({}, { endToldBy: () => 'kubelet' })).toEqual([undefined, true]);
    expect(isEnded({ endToldBy: () => 'kubelet' }, {})).toEqual([true, true]);
  });

  it('a runner has not ended because another one has', () => {
    const runners = [lostRunner('ci-1'), lostRunner('ci-2')];
    const both = lookAt(NOW + 500, running(7, 'ci-1'), running(8, 'ci-2'));
    const endToldBy = (name: string) => (name === 'ci-1' ? ('kubelet' as const) : undefined);
    const { losses } = follow(NO_LOSSES, { runners, nowMs: NOW });
    const found = follow(losses, { runners, look: both, endToldBy });

    expect(found.losses.lost.map(({ runnerEnded }) => runnerEnded)).toEqual([true, undefined]);
  });

  it('a runner has ended when its pod was closed for a node that is gone, and Gitea has not heard of it for a minute', () => {
    const closed: Partial<FollowInput> = { endToldBy: () => 'others' };

    expect(isEnded({ ...closed, look: look(rowOf(true)) }, { ...closed, look: look(rowOf(false)) })).toEqual([
      undefined,
      true,
    ]);
    expect(isEnded({ ...closed, look: look(rowOf(false), rowOf(true)) })).toEqual([undefined, undefined]);
    expect(isEnded({ ...closed, look: look(rowOf(false, 'ci-2')) })).toEqual([undefined, undefined]);
    expect(isEnded(closed)).toEqual([undefined, undefined]);
  });

  it('the runner of a lost CI job has ended has not ended while nobody has told so, or a Job of its name lives', () => {
    const living = { job: live('ci-1', 'running'), annotations: {} };

    expect(isEnded({ look: look(rowOf(false)) })).toEqual([undefined, undefined]);
    expect(isEnded({}, { endToldBy: () => 'kubelet', runners: [living] })).toEqual([undefined, undefined]);
  });
});
