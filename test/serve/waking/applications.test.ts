/** What Argo CD says of an Application, and what follows. In virtual time. */
import { describe, expect, it, vi } from 'vitest';
import type { AppJob, AppState } from '../../../src/argocd/app-state.ts';
import type { WakeTarget } from '../../../src/argocd/wake.ts';
import { pause } from '../../../src/clock.ts';
import { Failure } from '../../../src/failure.ts';
import { NO_DIFFERENCE } from '../../../src/serve/planning/difference.ts';
import type { Applications } from '../../../src/serve/waking/applications.ts';
import { NO_PLAN as FAILED, keyOf, openApplications, PLANNED } from '../../support/applications.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

type Wish = Parameters<Applications['follow']>[1];

const REF = { namespace: 'argocd', name: 'runners' };
const JOB: AppJob = { namespace: 'runners', name: 'ci-7-1-0123abcd', outOfSync: false };
const LATER: AppJob = { namespace: 'runners', name: 'ci-8-1-0123abcd', outOfSync: false };
const STRANGER: AppJob = { namespace: 'runners', name: 'backup', outOfSync: true };
const KEPT_ERROR = { type: 'ComparisonError', message: 'GR-GITEA-01 list jobs', stops: true };
const WELL: Wish = { planning: PLANNED, difference: NO_DIFFERENCE, settled: true };
const MISSING: Wish = { ...WELL, difference: { ...NO_DIFFERENCE, missing: ['runners/ci-8-1-0123abcd'] } };
const NO_PLAN: Wish = { ...WELL, planning: FAILED };

function state(over: Partial<AppState> = {}): AppState {
  return {
    ...REF,
    project: 'default',
    sync: 'Synced',
    errors: [],
    refreshPending: false,
    manages: () => true,
    jobs: [],
    ...over,
  };
}

/** An Argo CD that says what its fields say, now or when it is let. */
class Argo implements WakeTarget {
  readonly clock = new VirtualClock();
  /** What a read shows, and what a refresh finds. */
  shown = state();
  found: AppState | undefined;
  readonly asked: string[] = [];
  /** Thrown instead of an answer. */
  failure: Failure | undefined;
  #held: Promise<void> = Promise.resolve();

  /** Answers wait until what is returned is called. */
  hold(): () => void {
    let release: () => void = () => undefined;
    this.#held = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  read = async (): Promise<AppState> => await this.#answer('read', () => this.shown);
  refresh = async (): Promise<AppState> =>
    await this.#answer('refresh', () => {
      this.shown = this.found ?? this.shown;
      return this.shown;
    });
  sync = async (): Promise<'started'> => await this.#answer('sync', () => 'started');

  async #answer<T>(step: string, answer: () => T): Promise<T> {
    this.asked.push(step);
    await this.#held;
    if (this.failure) throw this.failure;
    return answer();
  }
}

interface Scene {
  readonly apps: Applications;
  readonly clock: VirtualClock;
}

const KEY = keyOf('runners');

async function start(argocd: Argo): Promise<Scene> {
  const { apps } = openApplications(argocd, argocd.clock);
  await argocd.clock.pass(0);
  return { apps, clock: argocd.clock };
}

/** The leader tells the verdict again every 5 s. */
async function follow({ apps, clock }: Scene, wish: Wish, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 5_000) {
    apps.follow(KEY, wish);
    await clock.pass(5_000);
  }
}

const printed = ({ apps }: Scene): readonly string[] => [...(apps.wakes.get(KEY)?.printed ?? [])];

describe('an Application', () => {
  it('has printed what Argo CD says at the start, whoever led before', async () => {
    const argocd = new Argo();
    argocd.shown = state({ jobs: [JOB, STRANGER] });

    expect(printed(await start(argocd))).toEqual(['runners/ci-7-1-0123abcd']);
  });

  it('has printed what Argo CD says after a refresh, not what was wanted at its begin or its end', async () => {
    const argocd = new Argo();
    const app = await start(argocd);
    argocd.found = state({ sync: 'OutOfSync', jobs: [JOB, LATER] });
    await follow(app, MISSING, 5_000);

    expect(argocd.asked.slice(0, 4)).toEqual(['read', 'read', 'refresh', 'sync']);
    expect(printed(app)).toEqual(['runners/ci-7-1-0123abcd', 'runners/ci-8-1-0123abcd']);
  });

  it.each<[string, Partial<AppState>]>([
    ['in error', { errors: [KEPT_ERROR] }],
    ['not compared', { sync: 'Unknown' }],
    ['of somebody else', { manages: () => false }],
  ])('has not printed what an Application says that is %s', async (_, over) => {
    const argocd = new Argo();
    argocd.shown = state({ jobs: [JOB] });
    const app = await start(argocd);
    argocd.shown = state({ jobs: [LATER], ...over });
    await follow(app, MISSING, 5_000);

    expect(printed(app)).toEqual(['runners/ci-7-1-0123abcd']);
  });

  it('is read once a minute while nothing is wanted, and left alone', async () => {
    const argocd = new Argo();
    argocd.shown = state({ sync: 'OutOfSync', jobs: [JOB, STRANGER] });
    const app = await start(argocd);
    await follow(app, WELL, 595_000);

    expect(argocd.asked).toEqual(Array.from({ length: 10 }, () => 'read'));
  });

  it('is not read while it is woken: each wake tells the same', async () => {
    const argocd = new Argo();
    const app = await start(argocd);
    await follow(app, MISSING, 600_000);

    const reads = argocd.asked.filter((step) => step === 'read').length;
    expect(reads - 1).toBe(argocd.asked.filter((step) => step === 'refresh').length);
  });

  it.each<[string, Partial<AppState>]>([
    ['an error that Argo CD has kept', { errors: [KEPT_ERROR] }],
    ['a Job of ours that Argo CD misses', { sync: 'OutOfSync', jobs: [{ ...JOB, outOfSync: true }] }],
    ['an Application that was never compared', { sync: 'Unknown' }],
  ])('is woken within a minute for %s, at the start at once', async (_, over) => {
    const early = new Argo();
    Object.assign(early, { shown: state(over), found: state() });
    await follow(await start(early), WELL, 5_000);
    expect(early.asked).toContain('refresh');

    const late = new Argo();
    const app = await start(late);
    await follow(app, WELL, 5_000);
    Object.assign(late, { shown: state(over), found: state() });
    await follow(app, WELL, 65_000);
    expect(late.asked.filter((step) => step === 'refresh')).toHaveLength(1);
  });

  it('is asked after an outage of Gitea, which may have left an error', async () => {
    const argocd = new Argo();
    const app = await start(argocd);
    await follow(app, NO_PLAN, 20_000);
    expect(argocd.asked).toEqual(['read']);

    await follow(app, WELL, 5_000);
    expect(argocd.asked).toEqual(['read', 'read']);
  });

  it('is woken when a question has failed', async () => {
    const argocd = new Argo();
    argocd.failure = new Failure('GR-HTTP-01', 1, 'refused.');
    const app = await start(argocd);
    argocd.failure = undefined;
    await follow(app, WELL, 5_000);

    expect(argocd.asked.slice(-2)).toEqual(['read', 'refresh']);
    expect(app.apps.troubles).toEqual([]);
  });

  it('is refreshed less and less often while Argo CD answers reads and fails at the sync', async () => {
    const argocd = new Argo();
    argocd.shown = state({ sync: 'OutOfSync' });
    const app = await start(argocd);
    argocd.sync = async () => {
      argocd.asked.push('sync');
      throw new Failure('GR-ARGOCD-08', 1, 'an error of the server (500).');
    };
    await follow(app, MISSING, 600_000);

    const refreshes = argocd.asked.filter((step) => step === 'refresh').length;
    expect(refreshes).toBe(argocd.asked.filter((step) => step === 'sync').length);
    expect(refreshes).toBeGreaterThan(6);
    // 1 + 2 + 4 + 8 + 16 + 32 s, then 60 s each. Every refresh costs Argo CD seconds of a processor.
    expect(refreshes).toBeLessThan(20);
  });

  it('begins with short pauses again when Argo CD answers after an outage and is not well at once', async () => {
    const argocd = new Argo();
    argocd.failure = new Failure('GR-HTTP-01', 1, 'refused.');
    const app = await start(argocd);
    await follow(app, MISSING, 300_000);
    argocd.failure = undefined;
    const { refresh } = argocd;
    argocd.refresh = async () => {
      argocd.refresh = refresh;
      throw new Failure('GR-ARGOCD-07', 1, 'Argo CD is busy or starting (503).');
    };
    argocd.shown = state({ sync: 'OutOfSync' });
    await follow(app, MISSING, 5_000);

    expect(argocd.asked).toContain('sync');
  });

  it('is left alone when the question of a minute has failed: nothing is known to be wrong', async () => {
    const argocd = new Argo();
    const app = await start(argocd);
    argocd.failure = new Failure('GR-HTTP-01', 1, 'refused.');
    await follow(app, WELL, 295_000);

    expect(argocd.asked).toEqual(Array.from({ length: 5 }, () => 'read'));
    expect(app.apps.troubles).toEqual([]);
  });

  it('believes a wake more than a read that began before it', async () => {
    const argocd = new Argo();
    const release = argocd.hold();
    argocd.shown = state({ jobs: [JOB] });
    const app = await start(argocd);
    // The wake's own requests are answered at once, the first read only at the end.
    const { shown } = argocd;
    argocd.hold()();
    argocd.found = state({ jobs: [LATER] });
    await follow(app, MISSING, 5_000);
    argocd.shown = shown;
    release();
    await argocd.clock.pass(0);

    expect(printed(app)).toEqual(['runners/ci-8-1-0123abcd']);
  });

  it('believes a wake more than a read that was sent beside it and came later', async () => {
    const argocd = new Argo();
    const app = await start(argocd);
    argocd.refresh = async () => {
      await pause(argocd.clock, 1_000);
      return state({ sync: 'OutOfSync', jobs: [LATER] });
    };
    argocd.shown = state({ jobs: [JOB] });
    app.apps.follow(KEY, MISSING);
    await argocd.clock.pass(500);
    // Gitea fails for a moment during the wake, so Argo CD is asked.
    app.apps.follow(KEY, NO_PLAN);
    const before = argocd.shown;
    argocd.read = async () => {
      await pause(argocd.clock, 2_000);
      return before;
    };
    app.apps.follow(KEY, MISSING);
    await argocd.clock.pass(2_800);

    expect(printed(app)).toEqual(['runners/ci-8-1-0123abcd']);
  });

  it('ends quietly when its question to Argo CD is ended with it', async () => {
    let end: (reason: Error) => void = () => undefined;
    const asked = new Promise<never>((_, reject) => {
      end = reject;
    });
    const onNews = vi.fn();
    const clock = new VirtualClock();
    const argocd = { clock, read: () => asked } as Partial<WakeTarget> as WakeTarget;
    const { apps } = openApplications(argocd, clock, { onNews });
    await clock.pass(0);
    apps.keep(new Map());
    // As an HTTP client does that is closed while it waits before it tries again. Unhandled, it would fail this run.
    end(new DOMException('This operation was aborted', 'AbortError'));
    await clock.pass(0);

    expect(onNews).not.toHaveBeenCalled();
  });
});
