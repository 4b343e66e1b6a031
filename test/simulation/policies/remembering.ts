/**
 * What can be reached with Gitea alone as evidence. It sees as little of Kubernetes as the planner does then, but it remembers every runner
 * that it has asked for, and is told when each job became ready. The planner has to guess both.
 */

import type { GiteaJob } from '../../../model/gitea/gitea.ts';
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
    return new Pass(stage, memory, [...groups].sort(byOwnership), [...looks.values()]).decide();
  },
};

/** A runner that was asked for. */
interface Asked {
  readonly name: string;
  readonly group: GroupSpec;
  readonly atMs: number;
}

/** What one run remembers. */
const memories = new WeakMap<Stage, Map<string, Asked>>();

/** What one group has. */
interface Books {
  readonly group: GroupSpec;
  /** Cap less those at work. */
  room: number;
  /** Registered or still to come. */
  readonly free: Asked[];
  /** How many jobs it serves. */
  share: number;
}

class Pass {
  readonly #stage: Stage;
  readonly #memory: Map<string, Asked>;
  readonly #books: readonly Books[];
  readonly #jobs: ReadonlyMap<number, Job>;
  readonly #online: ReadonlySet<string>;
  readonly #atWork: ReadonlySet<string>;

  constructor(stage: Stage, memory: Map<string, Asked>, groups: readonly GroupSpec[], looks: readonly Look[]) {
    this.#stage = stage;
    this.#memory = memory;
    this.#books = groups.map((group) => ({ group, room: group.cap, free: [], share: 0 }));
    this.#jobs = new Map(looks.flatMap(({ jobs }) => jobs.map((job): [number, Job] => [job.id, job])));
    const rows = looks.flatMap(({ runners }) => runners).filter(({ online }) => online);
    this.#online = new Set(rows.map(({ name }) => name));
    this.#atWork = new Set([
      ...rows.flatMap(({ busy, name }) => (busy ? name : [])),
      ...this.#runnersOf('in_progress'),
    ]);
  }

  decide(): readonly Wanted[] {
    const pinned = this.#recall();
    const left = this.#ready().filter((job) => !this.#share(job, ({ free, room }) => Math.min(free.length, room)));
    for (const job of left) {
      const books = this.#share(job, ({ room }) => room);
      if (books) books.free.push(this.#ask(books.group, job));
    }
    return [...pinned, ...this.#books.flatMap((books) => this.#keep(books))];
  }

  #runnersOf(status: Job['status']): readonly string[] {
    return [...this.#jobs.values()].flatMap((job) => (job.status === status && job.runner) || []);
  }

  /** Enters all remembered runners that live into the books. @returns those at work */
  #recall(): readonly Wanted[] {
    const ended = new Set(this.#runnersOf('completed'));
    return this.#books.flatMap((books) => {
      const { group } = books;
      const mine = [...this.#memory.values()].filter((asked) => asked.group === group);
      const atWork = mine.filter(({ name }) => this.#atWork.has(name));
      books.room = Math.max(0, books.room - atWork.length);
      for (const asked of mine) {
        const mayCome = !ended.has(asked.name) && this.#stage.nowMs - asked.atMs < group.spawnTimeoutS * 1000;
        if (!this.#atWork.has(asked.name) && (mayCome || this.#online.has(asked.name))) books.free.push(asked);
      }
      return atWork.map(({ name }) => ({ name, group, pinned: true, skip: true, madeFor: undefined }));
    });
  }

  /** The ready jobs that were seen, in Gitea's order. */
  #ready(): readonly GiteaJob[] {
    return [...this.#jobs.values()]
      .flatMap(({ id, status }) => (status === 'queued' && this.#stage.gitea.state.jobs.get(id)) || [])
      .sort((a, b) => a.updated - b.updated || a.id - b.id);
  }

  /** Counts a job to the first group that serves fewer than it can. */
  #share(job: GiteaJob, most: (books: Books) => number): Books | undefined {
    const books = this.#books.find((each) => this.#stage.isFor(each.group, job) && each.share < most(each));
    if (books) books.share += 1;
    return books;
  }

  #ask(group: GroupSpec, job: GiteaJob): Asked {
    let ordinal = 0;
    while (this.#memory.has(`${group.name}-${job.id}-${ordinal}`)) ordinal += 1;
    const asked = { name: `${group.name}-${job.id}-${ordinal}`, group, atMs: this.#stage.nowMs };
    this.#memory.set(asked.name, asked);
    return asked;
  }

  /** As many free runners as there are jobs, registered ones first; the others are dropped, and forgotten when they cannot be seen. */
  #keep({ group, free, share }: Books): readonly Wanted[] {
    free.sort((a, b) => Number(this.#online.has(b.name)) - Number(this.#online.has(a.name)) || a.atMs - b.atMs);
    for (const asked of free.slice(share)) this.#memory.set(asked.name, { ...asked, atMs: Number.NEGATIVE_INFINITY });
    return free.slice(0, share).map(({ name }) => ({ name, group, pinned: false, madeFor: undefined }));
  }
}
