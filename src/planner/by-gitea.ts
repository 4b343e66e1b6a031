/**
 * A map by Gitea and an id that is unique there (of a job or a run). It is two maps: one string of both for each look-up would cost more
 * than the rest of the plan.
 */
export class ByGitea<V> {
  readonly #byOrigin = new Map<string, Map<number, V>>();
  /** The part that was asked for last. Most often there is one Gitea only. */
  #last: { readonly origin: string; readonly ofGitea: Map<number, V> } | undefined;

  get(origin: string, id: number): V | undefined {
    return this.ofGitea(origin).get(id);
  }

  /** The part of one Gitea, by id. It is created if it is not there. */
  ofGitea(origin: string): Map<number, V> {
    if (this.#last?.origin === origin) return this.#last.ofGitea;
    const ofGitea = this.#byOrigin.get(origin) ?? new Map<number, V>();
    this.#byOrigin.set(origin, ofGitea);
    this.#last = { origin, ofGitea };
    return ofGitea;
  }

  forEach(visit: (value: V) => void): void {
    for (const ofGitea of this.#byOrigin.values()) for (const value of ofGitea.values()) visit(value);
  }
}

/** Appends to the list of this id. */
export function addTo<T>(lists: ByGitea<T[]>, origin: string, id: number, value: T): void {
  const ofGitea = lists.ofGitea(origin);
  const known = ofGitea.get(id);
  if (known) known.push(value);
  else ofGitea.set(id, [value]);
}
