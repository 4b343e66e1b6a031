/**
 * Shrinks a history that breaks a law: leaves out pushes, acts, troubles, faults and chances, one after the other, as
 * long as the law stays broken. Random numbers are drawn by count (random.ts), so most of the rest stays the same.
 */
import type { Act, History, Push } from './history.ts';
import { ORDINARY_POD, ordinaryWake } from './history.ts';

type Step = (history: History) => readonly History[];

/** @param breaks runs a history and says whether the law is still broken. At most `budget` runs. */
export function shrink(history: History, breaks: (candidate: History) => boolean, budget = 400): History {
  let best = history;
  let runs = 0;
  for (let progress = true; progress && runs < budget; ) {
    progress = false;
    for (const step of STEPS) {
      for (const candidate of step(best)) {
        if (runs >= budget) return best;
        runs += 1;
        if (!breaks(candidate)) continue;
        best = candidate;
        progress = true;
        break;
      }
    }
  }
  return best;
}

const STEPS: readonly Step[] = [
  // All pushes after or before a point: halves the history at best.
  (history) => cuts(history.pushes.length).map((from) => withoutPushes(history, (index) => index >= from)),
  (history) => history.pushes.map((_, left) => withoutPushes(history, (index) => index === left)),
  (history) => (history.acts.length > 0 ? [{ ...history, acts: [] }] : []),
  (history) => history.acts.map((_, left) => ({ ...history, acts: without(history.acts, left) })),
  (history) => (history.troubles.length > 0 ? [{ ...history, troubles: [] }] : []),
  (history) =>
    history.groups.length > 1
      ? history.groups.map((_, left) => ({ ...history, groups: without(history.groups, left) }))
      : [],
  (history) => history.statics.map((_, left) => ({ ...history, statics: without(history.statics, left) })),
  (history) => (history.silence > 0 ? [{ ...history, silence: 0 }] : []),
  (history) => (history.claimLoss > 0 ? [{ ...history, claimLoss: 0 }] : []),
  (history) => (history.syncsOverlap ? [{ ...history, syncsOverlap: false }] : []),
  (history) => (history.pageSize < 50 ? [{ ...history, pageSize: 50 }] : []),
  (history) => (history.wakes.length > 0 ? [{ ...history, wakes: [] }] : []),
  plainWakes,
  plainPods,
  (history) =>
    history.pushes.flatMap((push, index) => fewerJobs(push).map((less) => replacePush(history, index, less))),
];

/** Faults and slowness of wakes taken away, in blocks that get smaller. */
function plainWakes(history: History): readonly History[] {
  return blocks(history.wakes.length).flatMap(([from, to]) => {
    const touched = history.wakes
      .slice(from, to)
      .some((wake) => wake.fault || wake.lookS !== 0.4 || wake.syncAfterS !== 0.3);
    if (!touched) return [];
    return [
      { ...history, wakes: history.wakes.map((wake, i) => (i >= from && i < to ? ordinaryWake(wake.atS) : wake)) },
    ];
  });
}

function plainPods(history: History): readonly History[] {
  return blocks(history.pods.length).flatMap(([from, to]) => {
    const touched = history.pods
      .slice(from, to)
      .some((pod) => pod.start || pod.evictedAfterS !== undefined || pod.startS !== 8);
    if (!touched) return [];
    return [{ ...history, pods: history.pods.map((pod, i) => (i >= from && i < to ? ORDINARY_POD : pod)) }];
  });
}

/** Removes pushes. Acts name pushes by index: those of removed pushes go, and the others get new numbers. */
function withoutPushes(history: History, goes: (index: number) => boolean): History {
  const numbers = new Map<number, number>();
  history.pushes.forEach((_, index) => {
    if (!goes(index)) numbers.set(index, numbers.size);
  });
  const acts = history.acts.flatMap((act): Act[] => {
    if (!('push' in act)) return [act];
    const push = numbers.get(act.push);
    return push === undefined ? [] : [{ ...act, push }];
  });
  return { ...history, pushes: history.pushes.filter((_, index) => !goes(index)), acts };
}

function fewerJobs(push: Push): readonly Push[] {
  const { jobs } = push.run;
  if (jobs.length < 2) return [];
  return jobs.map((gone) => {
    const rest = jobs.filter((job) => job !== gone);
    const needed = rest.map((job) => ({ ...job, needs: (job.needs ?? []).filter((need) => need !== gone.key) }));
    return { ...push, run: { ...push.run, jobs: needed } };
  });
}

function replacePush(history: History, index: number, push: Push): History {
  return { ...history, pushes: history.pushes.map((old, i) => (i === index ? push : old)) };
}

function without<T>(items: readonly T[], index: number): readonly T[] {
  return items.filter((_, i) => i !== index);
}

/** Points that leave half, three quarters … of a list. */
function cuts(length: number): readonly number[] {
  const points: number[] = [];
  for (let part = length / 2; part >= 1; part /= 2) points.push(Math.floor(length - part));
  return points.reverse().filter((point) => point > 0 && point < length);
}

/** Blocks of a list: all, halves, quarters, down to 8 parts. */
function blocks(length: number): readonly (readonly [number, number])[] {
  const found: [number, number][] = [];
  for (const parts of [1, 2, 4, 8]) {
    for (let i = 0; i < parts; i += 1) {
      const block: [number, number] = [Math.floor((i * length) / parts), Math.floor(((i + 1) * length) / parts)];
      if (block[1] > block[0]) found.push(block);
    }
  }
  return found;
}
