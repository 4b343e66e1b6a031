/**
 * A map by Gitea and an id that is unique there (job, run). Two maps, because a text made of both for each look-up would cost more than
 * the rest of the planning.
 */
export class ByGitea<V> {
  readonly #byOrigin = new Map<string, Map<number, V>>();

  get(origin: string, id: number): V | undefined {
    return this.#byOrigin.get(origin)?.get(id);
  }

  set(origin: string, id: number, value: V): void {
    this.ofGitea(origin).set(id, value);
  }

  /** The part of one Gitea, by id; made when it is not there. */
  ofGitea(origin: string): Map<number, V> {
    const known = this.#byOrigin.get(origin);
    if (known) return known;
    const made = new Map<number, V>();
    this.#byOrigin.set(origin, made);
    return made;
  }

  forEach(visit: (value: V) => void): void {
    for (const ofGitea of this.#byOrigin.values()) for (const value of ofGitea.values()) visit(value);
  }
}
