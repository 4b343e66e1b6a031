/** Limits how often a person may ask, for example by a browser that reloads in a loop. */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../shared/clock.ts';

interface TokenBucket {
  readonly tokens: number;
  readonly atMs: number;
}

interface LimitOptions {
  readonly burst: number;
  readonly perS: number;
  /** Keys that are remembered. */
  readonly most: number;
  readonly clock: Pick<Clock, 'steadyMs'>;
}

/** A token bucket per key. */
export class RateLimit {
  readonly #options: LimitOptions;
  readonly #buckets: LRUCache<string, TokenBucket>;

  constructor(options: LimitOptions) {
    this.#options = options;
    this.#buckets = new LRUCache({ max: options.most });
  }

  /** False: too much was asked. */
  take(key: string): boolean {
    const { burst, clock, perS } = this.#options;
    const atMs = clock.steadyMs();
    const before = this.#buckets.get(key) ?? { tokens: burst, atMs };
    const tokens = Math.min(burst, before.tokens + ((atMs - before.atMs) / 1000) * perS);
    this.#buckets.set(key, { tokens: tokens < 1 ? tokens : tokens - 1, atMs });
    return tokens >= 1;
  }
}
