/** Events in the order of their time; those of the same moment in the order in which they were planned. */
interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** The clock of a run: it jumps from event to event. A binary heap, because a run has tens of thousands of them. */
export class Timeline {
  #nowMs: number;
  #planned = 0;
  readonly #heap: Event[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Plans `run` for later, in whole milliseconds rounded up; what lies in the past happens now. */
  after(delayMs: number, run: () => void): void {
    this.at(this.#nowMs + delayMs, run);
  }

  at(atMs: number, run: () => void): void {
    const event = { atMs: Math.max(Math.ceil(atMs), this.#nowMs), order: this.#planned, run };
    this.#planned += 1;
    this.#heap.push(event);
    this.#rise(this.#heap.length - 1);
  }

  /** Runs the next event. @returns false when there is none up to `untilMs`. */
  step(untilMs: number): boolean {
    const [first] = this.#heap;
    if (!first || first.atMs > untilMs) return false;
    const last = this.#heap.pop();
    if (last && last !== first) {
      this.#heap[0] = last;
      this.#sink(0);
    }
    this.#nowMs = first.atMs;
    first.run();
    return true;
  }

  #before(a: number, b: number): boolean {
    const [left, right] = [this.#heap[a], this.#heap[b]];
    if (!left || !right) return false;
    return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
  }

  #swap(a: number, b: number): void {
    const [left, right] = [this.#heap[a], this.#heap[b]];
    if (!left || !right) return;
    this.#heap[a] = right;
    this.#heap[b] = left;
  }

  #rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#before(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    for (let at = from; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) if (this.#before(child, least)) least = child;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }
}
