/** Limits how much a look keeps: authors of workflows choose names and labels of any length and number. */
import { groupBy } from '../../shared/keys.ts';

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
/** About 700 running jobs: as much has every scope, however many there are. */
const LEAST_OF_LOOK = 512 * 1024;
/** Bytes of labels and names that decide nothing and are shown to people. */
const BYTES_OF_UNCOVERED = 256 * 1024;
const UNCOVERED_LABELS = 10;
/** A row without its texts: an object with its numbers. */
const ROW_BYTES = 300;

type WithUrl = { readonly url: string };

/** Bytes for the look at each target. Giteas have equal shares, and so have the scopes of each. */
export function shareOutBytes(targets: readonly WithUrl[]): (target: WithUrl) => number {
  const originOf = ({ url }: WithUrl) => new URL(url).origin;
  const giteas = groupBy(targets, originOf);
  return (target) => {
    const share = BYTES_OF_ALL / giteas.size / (giteas.get(originOf(target))?.length ?? 1);
    return Math.max(LEAST_OF_LOOK, Math.min(MOST_OF_LOOK, share));
  };
}

/** Largest part of a look's bytes by use. `needed`: without room the look fails. `uncovered`: jobs without a group. */
const SHARES = { needed: 1, optional: 1 / 2, uncovered: 1 / 4 } as const;

/** The memory of one look: rows and texts are kept while there is room. */
export class Shelf {
  readonly #bytes: number;
  readonly #labels: ReadonlySet<string> | undefined;
  readonly #texts = new Map<string, string>();
  readonly #rows = new Set<number>();
  #used = 0;
  #uncoveredLeft = BYTES_OF_UNCOVERED;
  /** Queued jobs that the look does not have. */
  leftOut = 0;

  /** @param labels of all groups; absent: nobody knows which ones matter. */
  constructor(bytes = MOST_OF_LOOK, labels?: ReadonlySet<string>) {
    this.#bytes = bytes;
    this.#labels = labels;
  }

  /** False: a group with all of these labels cannot be. */
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
    this.#used += bytesOf(text);
    return text;
  }

  /** Reserves the bytes of a row, once for each id. False if there is no room. @param id negative for a runner */
  reserveRow(id: number, use: keyof typeof SHARES, texts: readonly string[]): boolean {
    if (this.#rows.has(id)) return true;
    const bytes = texts.reduce((sum, text) => sum + bytesOf(text), ROW_BYTES);
    if (this.#used + bytes > this.#bytes * SHARES[use]) return false;
    this.#used += bytes;
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

/** Returns the name, or `TOO_LONG` in its place. */
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
