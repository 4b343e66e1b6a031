/** Limits how much a look keeps: authors of workflows choose names and labels of any length and number. */
import { groupBy, groupBySeveral, keepOnly } from '../../shared/keys.ts';

const LONGEST_NAME = 1_000;
/** Gitea's column has 255 characters in most databases (`Ref`, models/actions/run.go). */
const LONGEST_BRANCH = 255;
const LONGEST_LINK = 2_000;
const MOST_LABELS = 200;
/** Characters of all labels of a job, and of a runner, which has all labels of its group. */
const MOST_OF_JOB = 4_096;
const MOST_OF_RUNNER = 16_384;
/** Label for a string that is too long. No runner of ours and no label of a group has a space in its name. */
export const TOO_LONG = '(too long)';
export const TOO_MANY = '(too many)';

/** Bytes that all looks of a process may keep until they are read again. `serve` has a heap of 358 MiB. */
const BYTES_OF_ALL = 48 * 1024 * 1024;
/** Bytes that one look may keep. Above it, rows are left out by their use (`SHARES`). */
const MOST_OF_LOOK = 24 * 1024 * 1024;
/** Bytes that each look may keep however many scopes there are: about 700 running jobs. */
const LEAST_OF_LOOK = 512 * 1024;
/** Bytes of labels and names that decide nothing and are shown to people. */
const BYTES_OF_UNCOVERED = 256 * 1024;
const UNCOVERED_LABELS = 10;
/** A row without its texts: an object with its numbers. */
const ROW_BYTES = 300;

type Sharer = Readonly<Record<'key' | 'url', string>>;
type NamespacesOf = ReadonlyMap<Sharer, ReadonlySet<string>>;

/** The memory of one look. `most`: how many of the needed bytes it may keep. `sharers`: whose scopes share it. */
type Room = Readonly<{ most: (needed: number) => number; keeps: (bytes: number) => void; sharers: string }>;

/**
 * The memory of all looks of a process. Namespaces have equal shares; so have the Giteas of each, and their scopes.
 * What a look has left of its share goes to looks that need more, until the next look at that target begins.
 */
export class LookMemory {
  readonly #shares = new Map<string, number>();
  /** Bytes that a look keeps, or may still need. Absent: its share. */
  readonly #claims = new Map<string, number>();
  #namespacesOf: ReadonlyMap<string, ReadonlySet<string>> = new Map();

  constructor(namespacesOf: NamespacesOf) {
    this.share(namespacesOf);
  }

  /** The targets from now on, each with the namespaces whose groups need it. */
  share(namespacesOf: NamespacesOf): void {
    this.#namespacesOf = new Map([...namespacesOf].map(([{ key }, namespaces]) => [key, namespaces]));
    this.#shares.clear();
    const members = groupBySeveral([...namespacesOf], ([, namespaces]) => [...namespaces]);
    for (const entries of members.values()) {
      const giteas = [...groupBy(entries, ([{ url }]) => new URL(url).origin).values()];
      for (const [[{ key }], scopes] of giteas.flatMap((each) => each.map((entry) => [entry, each.length] as const)))
        this.#shares.set(key, (this.#shares.get(key) ?? 0) + BYTES_OF_ALL / members.size / giteas.length / scopes);
    }
    keepOnly(this.#claims, this.#shares);
  }

  /** Begins a look. `end` takes the bytes that it keeps. Undefined: it failed, and the look before it is kept. */
  begin(key: string): Room & { readonly end: (bytes: number | undefined) => void } {
    const share = this.#shares.get(key) ?? 0;
    const least = Math.max(LEAST_OF_LOOK, Math.min(MOST_OF_LOOK, share));
    const before = this.#claims.get(key) ?? 0;
    const keeps = (bytes: number) => this.#claims.set(key, Math.max(share, before, bytes));
    keeps(0);
    const names = [...(this.#namespacesOf.get(key) ?? [])].filter((name) => name !== '').sort();
    return {
      most: (needed) => {
        if (needed <= least) return least;
        // Each row of a large look asks this, so nothing is copied.
        let left = BYTES_OF_ALL;
        for (const [other, ofOther] of this.#shares) if (other !== key) left -= this.#claims.get(other) ?? ofOther;
        return Math.max(least, Math.min(MOST_OF_LOOK, left));
      },
      keeps,
      sharers: names.length === 0 ? '' : ` of namespace ${names.slice(0, 3).join(' or ')}`,
      end: (bytes) => this.#claims.set(key, bytes ?? before),
    };
  }
}

/** Largest part of a look's bytes by use. `needed`: without room the look fails. `uncovered`: jobs without a group. */
const SHARES = { needed: 1, optional: 1 / 2, uncovered: 1 / 4 } as const;

/** The memory of one look: rows and texts are kept while there is room. */
export class Shelf {
  readonly #room: Omit<Room, 'sharers'>;
  readonly #labels: ReadonlySet<string> | undefined;
  readonly #texts = new Map<string, string>();
  readonly #rows = new Set<number>();
  /** Bytes that are kept. */
  used = 0;
  #uncoveredLeft = BYTES_OF_UNCOVERED;
  /** How many queued jobs had no room. */
  leftOut = 0;
  /** Whose scopes share the memory, with a space before it. Empty: nobody knows. */
  readonly sharers: string;

  /** @param labels of all groups; absent: nobody knows which ones matter. */
  constructor(room: number | Room = MOST_OF_LOOK, labels?: ReadonlySet<string>) {
    this.#room = typeof room === 'number' ? { most: () => room, keeps: () => undefined } : room;
    this.sharers = typeof room === 'number' ? '' : room.sharers;
    this.#labels = labels;
  }

  /** False if no group can have all of these labels. */
  mayBeCovered(labels: readonly string[]): boolean {
    return labels.every((label) => this.#labels?.has(label) ?? true);
  }

  /** Returns the labels to keep. Those that no group has need room; `TOO_MANY` replaces what is left out. */
  labels(labels: readonly string[]): readonly string[] {
    let uncoveredCount = 0;
    const kept = labels.filter((label) => {
      if (this.mayBeCovered([label])) return true;
      uncoveredCount += 1;
      return uncoveredCount <= UNCOVERED_LABELS && this.#reserveText(label);
    });
    return (kept.length < labels.length ? [...kept, TOO_MANY] : kept).map((label) => this.text(label));
  }

  /** Returns a text about a job that no group covers, which only people read. Empty if there is no room. */
  textIfRoom(text: string): string {
    return this.#reserveText(text) ? this.text(text) : '';
  }

  /** Returns one object for equal strings. */
  text(text: string): string {
    const sharedText = this.#texts.get(text);
    if (sharedText !== undefined) return sharedText;
    this.#texts.set(text, text);
    this.used += bytesOf(text);
    return text;
  }

  /** Reserves the bytes of a row, once for each id. False if there is no room. @param id negative for a runner */
  reserveRow(id: number, use: keyof typeof SHARES, texts: readonly string[]): boolean {
    if (this.#rows.has(id)) return true;
    const bytes = texts.reduce((sum, text) => sum + bytesOf(text), ROW_BYTES);
    const needed = this.used + bytes;
    if (needed > this.#room.most(needed / SHARES[use]) * SHARES[use]) return false;
    this.used = needed;
    this.#room.keeps(needed);
    this.#rows.add(id);
    return true;
  }

  /** Reserves the bytes of a text that no plan needs. False if there is no room. */
  #reserveText(text: string): boolean {
    if (this.#texts.has(text)) return true;
    if (bytesOf(text) > this.#uncoveredLeft) return false;
    this.#uncoveredLeft -= bytesOf(text);
    return true;
  }
}

/** Node takes one byte for a Latin character, two for others, and a word for where it lies. */
function bytesOf(text: string): number {
  return 24 + 2 * text.length;
}

export const labelsOfJob = (labels: readonly string[]): readonly string[] => bounded(labels, MOST_OF_JOB);
export const labelsOfRunner = (labels: readonly string[]): readonly string[] => bounded(labels, MOST_OF_RUNNER);

/** Returns each label once if something is cut. Labels that a group cannot have replace too long and too many ones. */
function bounded(labels: readonly string[], mostCharacters: number): readonly string[] {
  const length = labels.reduce((sum, label) => sum + label.length, 0);
  const isShort = labels.length <= MOST_LABELS && length <= mostCharacters;
  if (isShort && labels.every((label) => label.length <= LONGEST_NAME)) return labels;
  const different = [...new Set(labels)];
  let charactersLeft = mostCharacters;
  const kept = different.slice(0, MOST_LABELS).map(boundedName);
  const fitting = kept.filter((label) => {
    charactersLeft -= label.length;
    return charactersLeft >= 0;
  });
  return fitting.length < different.length ? [...fitting, TOO_MANY] : fitting;
}

export function boundedName(name: string): string {
  return name.length > LONGEST_NAME ? TOO_LONG : name;
}

/** Returns the branch, or undefined if it is too long to be kept. A part of it could fit other patterns. */
export function boundedBranch(branch: string): string | undefined {
  return branch.length > LONGEST_BRANCH ? undefined : branch;
}

/** Returns the link; empty if it is too long. It also becomes an annotation, of which Kubernetes takes 256 KiB. */
export function boundedLink(url: string): string {
  return url.length > LONGEST_LINK ? '' : url;
}
