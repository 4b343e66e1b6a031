/**
 * Shows how good a policy can be with Gitea alone as evidence. It sees as little of Kubernetes as the planner does
 * then, but it remembers every requested runner, and knows when each job became ready. The planner must guess both.
 */

import type { GiteaJob } from '../../../simulator/gitea/gitea.ts';
import type { Job, Look } from '../../../src/planner/evidence.ts';
import type { GroupSpec } from '../history.ts';
import type { Stage } from '../stage.ts';
import { byOwnership } from './exact.ts';
import type { Generator, Wanted } from './policy.ts';

export const REMEMBERING: Generator = {
  kind: 'generator',
  seesPods: false,
  decide: (stage, _cluster, { groups, looks }) => {
    const memory = memories.get(stage) ?? new Map<string, Asked>();
    memories.set(stage, memory);
    return decide(stage, memory, [...groups].sort(byOwnership), [...looks.values()]);
  },
};

/** A runner that was asked for. */
interface Asked {
  readonly name: string;
  readonly group: GroupSpec;
  readonly atMs: number;
}

/** Memory of one run. */
const memories = new WeakMap<Stage, Map<string, Asked>>();

/** Runners and jobs of one group. */
interface Books {
  readonly group: GroupSpec;
  /** Cap less those at work. */
  room: number;
  /** Registered or still to come. */
  readonly free: Asked[];
  /** Number of jobs that it serves. */
  share: number;
}

function decide(
  stage: Stage,
  memory: Map<string, Asked>,
  groups: readonly GroupSpec[],
  looks: readonly Look[],
): readonly Wanted[] {
  const all = groups.map((group): Books => ({ group, room: group.cap, free: [], share: 0 }));
  const jobs = new Map(looks.flatMap((look) => look.jobs.map((job) => [job.id, job] as const)));
  const rows = looks.flatMap(({ runners }) => runners).filter(({ online }) => online);
  const online = new Set(rows.map(({ name }) => name));
  const runnersOf = (status: Job['status']): readonly string[] =>
    [...jobs.values()].flatMap((job) => (job.status === status && job.runner) || []);
  const atWork = new Set([...rows.flatMap(({ busy, name }) => (busy ? name : [])), ...runnersOf('in_progress')]);
  const ended = new Set(runnersOf('completed'));

  /** Enters the remembered runners of a group that live into its books. @returns those at work */
  const recall = (books: Books): readonly Wanted[] => {
    const { group } = books;
    const mine = [...memory.values()].filter((asked) => asked.group === group);
    const working = mine.filter(({ name }) => atWork.has(name));
    books.room = Math.max(0, books.room - working.length);
    for (const asked of mine) {
      const mayCome = !ended.has(asked.name) && stage.nowMs - asked.atMs < group.spawnTimeoutS * 1000;
      if (!atWork.has(asked.name) && (mayCome || online.has(asked.name))) books.free.push(asked);
    }
    return working.map(({ name }) => ({ name, group, pinned: true, skip: true, madeFor: undefined }));
  };

  /** Counts a job to the first group that serves fewer than it can. */
  const share = (job: GiteaJob, most: (books: Books) => number): Books | undefined => {
    const books = all.find((each) => stage.isFor(each.group, job) && each.share < most(each));
    if (books) books.share += 1;
    return books;
  };

  const ask = (group: GroupSpec, job: GiteaJob): Asked => {
    let ordinal = 0;
    while (memory.has(`${group.name}-${job.id}-${ordinal}`)) ordinal += 1;
    const asked = { name: `${group.name}-${job.id}-${ordinal}`, group, atMs: stage.nowMs };
    memory.set(asked.name, asked);
    return asked;
  };

  /**
   * Returns as many free runners as there are jobs, registered ones first. The others are dropped, and forgotten if
   * they cannot be seen.
   */
  const keep = ({ group, free, share: most }: Books): readonly Wanted[] => {
    free.sort((a, b) => Number(online.has(b.name)) - Number(online.has(a.name)) || a.atMs - b.atMs);
    for (const asked of free.slice(most)) memory.set(asked.name, { ...asked, atMs: Number.NEGATIVE_INFINITY });
    return free.slice(0, most).map(({ name }) => ({ name, group, pinned: false, madeFor: undefined }));
  };

  const pinned = all.flatMap(recall);
  // The ready jobs that were seen, in Gitea's order.
  const ready = [...jobs.values()]
    .flatMap(({ id, status }) => (status === 'queued' && stage.gitea.state.jobs.get(id)) || [])
    .sort((a, b) => a.updated - b.updated || a.id - b.id);
  for (const job of ready.filter((each) => !share(each, ({ free, room }) => Math.min(free.length, room)))) {
    const books = share(job, ({ room }) => room);
    if (books) books.free.push(ask(books.group, job));
  }
  return [...pinned, ...all.flatMap(keep)];
}
