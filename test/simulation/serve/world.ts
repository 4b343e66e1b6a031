/**
 * Common state of all parts of a history: time, random numbers, the story, and the obstacles of `serve` with their
 * ends.
 */
import { pause } from '../../../src/shared/clock.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { draw, type Stream } from '../random.ts';
import type { Act, FaultKind } from './history.ts';

/**
 * Obstacles in which looks may be late or fail, and nothing else: the laws see by themselves whether a look has shown
 * something.
 */
const LOOKS_ARE_LATE: ReadonlySet<string> = new Set<string>([
  ...(['gitea-away', 'looks-fail', 'clock-set'] satisfies readonly FaultKind[]),
  'a look fails',
  'a webhook is lost',
  'a webhook is late',
  'set-clocks' satisfies Act['is'],
]);

/** Name that means all Applications. */
export const EVERYBODY = '';

export class World {
  readonly clock = new VirtualClock();
  readonly seed: number;
  /** Events in words. Undefined if nobody reads them. */
  readonly story: string[] | undefined;
  /** Number of changes in Gitea, Kubernetes and git: while it stays, nothing has changed. */
  version = 0;
  /** Until then `serve` may not see events in Kubernetes, or does not lead, ms. */
  hiddenUntilMs = 0;
  readonly #counts = new Map<Stream, number>();
  readonly #obstacles = new Map<string, { readonly endMs: number; readonly what: string }>();

  constructor(seed: number, withStory: boolean) {
    this.seed = seed;
    this.story = withStory ? [] : undefined;
  }

  /** Ms since the begin of the history. */
  get nowMs(): number {
    return this.clock.steadyMs();
  }

  tell(words: string): void {
    this.story?.push(`${(this.nowMs / 1000).toFixed(2).padStart(7)} s  ${words}`);
  }

  /** The next number of a stream of chance, from 0 to below 1. */
  luck(stream: Stream): number {
    const count = (this.#counts.get(stream) ?? 0) + 1;
    this.#counts.set(stream, count);
    return draw(this.seed, stream, count);
  }

  async sleep(ms: number): Promise<void> {
    await pause(this.clock, ms);
  }

  later(ms: number, call: () => void): void {
    this.clock.after(ms, call);
  }

  /**
   * Notes a time in which `serve` cannot know or do better, as its manual says.
   * @param app default: every Application
   */
  obstacle(what: string, forMs: number, app = EVERYBODY): void {
    const endMs = this.nowMs + forMs;
    if (app === EVERYBODY && !LOOKS_ARE_LATE.has(what)) this.hiddenUntilMs = Math.max(this.hiddenUntilMs, endMs);
    if (endMs > (this.#obstacles.get(app)?.endMs ?? 0)) this.#obstacles.set(app, { endMs, what });
  }

  /** Returns the end of the last obstacle of an Application. */
  obstacleEndMs(app: string): number {
    return Math.max(this.#obstacles.get(EVERYBODY)?.endMs ?? 0, this.#obstacles.get(app)?.endMs ?? 0);
  }

  lastObstacle(app: string): string {
    const own = this.#obstacles.get(app);
    const all = this.#obstacles.get(EVERYBODY);
    return (own && own.endMs > (all?.endMs ?? 0) ? own.what : all?.what) ?? 'none';
  }
}

/** A question that is never answered. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
