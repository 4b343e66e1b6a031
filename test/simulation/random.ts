/**
 * Random numbers without state: a number follows from the seed, a stream's name and a count only. So a history that
 * loses one event by shrinking, or that is run under another policy, keeps all other random numbers.
 */

/** Streams of chance inside a run. */
export type Stream =
  | 'history'
  | 'overlooked'
  | 'gitea-28'
  | 'signal-lag'
  | 'poll-phase'
  | 'static-phase'
  | 'condition-lag'
  | 'cancel-notice'
  | 'claim-lost'
  | 'poll-together'
  | 'wide'
  | 'transfer'
  | 'delete-repo'
  | 'restore'
  | 'rename'
  | 'rename-owner'
  | 'rename-repo'
  | 'changed'
  | 'move'
  | 'pool'
  | 'rollback'
  | 'apart'
  | 'silence'
  | 'list-lag'
  | 'partial'
  | 'mixed'
  | 'held'
  | 'limited'
  | 'sharded'
  | 'bound'
  | 'bound-groups'
  | 'branches'
  | 'warm'
  | 'serve'
  | 'by-serve'
  | 'serve-clocks'
  | 'serve-argocd'
  | 'serve-gitea'
  | 'serve-kubernetes'
  | 'serve-pods'
  | 'serve-process';

/** A number in [0, 1) for one count of one stream. */
export function draw(seed: number, stream: Stream, count: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(count + 0x7f4a7c15, 0xc2b2ae35);
  for (let i = 0; i < stream.length; i += 1) mixed = Math.imul(mixed ^ stream.charCodeAt(i), 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
}

/** Numbers one after the other, for making histories. */
export class Random {
  readonly #seed: number;
  readonly #stream: Stream;
  #count = 0;

  constructor(seed: number, stream: Stream = 'history') {
    this.#seed = seed;
    this.#stream = stream;
  }

  /** Returns a number in [0, 1). */
  unit(): number {
    this.#count += 1;
    return draw(this.#seed, this.#stream, this.#count);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** Whole number, both ends included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.unit() * (most - least + 1));
  }

  /** Seconds with three digits. */
  seconds(least: number, most: number): number {
    return Math.round((least + this.unit() * (most - least)) * 1000) / 1000;
  }

  /** Time until the next event of a process without memory. */
  gap(mean: number): number {
    return Math.round(-Math.log(1 - this.unit()) * mean * 1000) / 1000;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.unit() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
