/** The clocks of Gitea and Kubernetes as `serve` sees them: the correction for an Application, the metric, and a log line now and then. */

import type { ServerClocks } from '../http/clock.ts';
import { type ClockCorrection, correctClocks, type ServerClock } from '../look/clock-correction.ts';
import type { Log } from './subscribers/log.ts';
import type { Metrics } from './subscribers/metrics.ts';

export interface ClockWatchOptions {
  readonly clocks: ServerClocks;
  /** Origin of the API server. */
  readonly kubernetes: string;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly now: () => number;
}

/** The same warning is logged this often: plans are made every few seconds, and clocks stay wrong for days. */
const REPEAT_MS = 3_600_000;

export class ClockWatch {
  readonly #options: ClockWatchOptions;
  /** When a warning was logged last, by code and servers. */
  readonly #loggedMs = new Map<string, number>();

  constructor(options: ClockWatchOptions) {
    this.#options = options;
  }

  /** @param giteas base URLs that an Application's groups look at. */
  correctionFor(giteas: readonly string[]): ClockCorrection {
    const origins = originsOf(giteas);
    const correction = this.#compare(origins);
    for (const { code, message } of correction.warnings) this.#warn(code, message, origins);
    return correction;
  }

  /** Writes the metric of each Gitea. */
  measure(giteas: readonly string[]): void {
    for (const origin of originsOf(giteas)) {
      const { skewMs } = this.#compare([origin]);
      if (skewMs !== undefined) this.#options.metrics.clockSkew.set({ origin }, skewMs / 1000);
    }
  }

  #compare(origins: readonly string[]): ClockCorrection {
    const { clocks, kubernetes } = this.#options;
    const clock = (origin: string): ServerClock => ({ origin, bounds: clocks.of(origin) });
    return correctClocks(origins.map(clock), clock(kubernetes));
  }

  #warn(code: string, message: string, origins: readonly string[]): void {
    const { log, now } = this.#options;
    const key = [code, ...origins].join(' ');
    const lastMs = this.#loggedMs.get(key);
    if (lastMs !== undefined && now() - lastMs < REPEAT_MS) return;
    this.#loggedMs.set(key, now());
    log.warn({ code, error: message }, 'the clocks of servers differ');
  }
}

function originsOf(urls: readonly string[]): readonly string[] {
  return [...new Set(urls.map((url) => new URL(url).origin))].sort();
}
