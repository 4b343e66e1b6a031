/** Time limits of a request: the class that measures, and the failures that say which limit was met. */
import type { Clock } from '../../shared/clock.ts';
import type { Failure } from '../../shared/failure.ts';
import type { Deadline } from './deadline.ts';
import { failure, type HttpRequest } from './request.ts';

/** The end of one attempt. */
export class TimeLimit {
  /** Rejects when the time is up. */
  readonly reached: Promise<never>;
  readonly clear: () => void;
  #isReached = false;
  #stop = noop;

  constructor(ms: number, { after }: Pick<Clock, 'after'>) {
    let reject: (error: Error) => void = noop;
    this.reached = new Promise((_resolve, rejectIt) => {
      reject = rejectIt;
    });
    this.clear = after(ms, () => {
      this.#isReached = true;
      reject(new Error('the time is up'));
      this.#stop();
    });
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  /** What to stop then. */
  onReached(stop: () => void): void {
    this.#stop = stop;
  }
}

/** The time of the whole run is up. */
export function outOfTime(request: HttpRequest, deadline: Deadline): Failure {
  return failure(
    request,
    'GR-HTTP-09',
    `not done within the time limit of ${deadline.ms / 1000} s`,
    'Check the load of the server, or raise --timeout',
  );
}

/** One attempt took too long. */
export function tooSlow(request: HttpRequest, limitMs: number): Failure {
  return failure(
    request,
    'GR-HTTP-09',
    `no complete answer within ${limitMs / 1000} s`,
    'Check the load of the server, or raise --timeout',
  );
}

function noop(): void {}
