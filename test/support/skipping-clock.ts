/** This machine's clock, or a slow one, with skipped hours. For tests with sockets: requests under way see the time pass, too. */
import { type Clock, systemClock } from '../../src/shared/clock.ts';

interface Timer {
  readonly atMs: number;
  readonly call: () => void;
  takeBack: () => void;
}

export class SkippingClock implements Clock {
  #skippedMs = 0;
  readonly #timers = new Set<Timer>();
  readonly #base: Clock;

  constructor(base: Clock = systemClock) {
    this.#base = base;
  }

  readonly now = (): number => this.#base.now() + this.#skippedMs;
  readonly steadyMs = (): number => this.#base.steadyMs() + this.#skippedMs;
  readonly nextTurn = systemClock.nextTurn;

  readonly after = (ms: number, call: () => void): (() => void) => {
    const timer: Timer = { atMs: this.steadyMs() + ms, call, takeBack: () => undefined };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => {
      timer.takeBack();
      this.#timers.delete(timer);
    };
  };

  leaveOut(ms: number): void {
    this.#skippedMs += ms;
    for (const timer of this.#timers) {
      timer.takeBack();
      this.#arm(timer);
    }
  }

  #arm(timer: Timer): void {
    timer.takeBack = this.#base.after(Math.max(0, timer.atMs - this.steadyMs()), () => {
      this.#timers.delete(timer);
      timer.call();
    });
  }
}
