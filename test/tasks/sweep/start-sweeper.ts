/** A simulated Gitea with org acme, and a sweeper on the same clock. Nothing waits: pauses move the clock. */

import { onTestFinished } from 'vitest';
import type { RunnerScope } from '../../../simulator/gitea/model.ts';
import type { SimulatorOptions } from '../../../simulator/gitea/simulator.ts';
import type { SweepClock } from '../../../src/cli/commands/sweep.ts';
import { giteaClient } from '../../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { LiveJob } from '../../../src/planner/evidence.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { DEFAULT_BUDGET, SIGHTINGS_APART_MS } from '../../../src/tasks/sweep/choose.ts';
import {
  atOnce,
  Sweeper,
  type SweeperOptions,
  type SweepGroup,
  type SweepReport,
} from '../../../src/tasks/sweep/sweeper.ts';
import { ACME as ORG } from '../../support/looking.ts';
import { startAcme } from '../../support/start-acme.ts';
import { INSTANCE } from './scene.ts';

export const SECRET = 'api-token-of-the-sweeper-0123456789';
/** Token of a site administrator. */
export const ROOT = 'root-all';
const ACME: RunnerScope = { kind: 'owner', owner: 'acme' };

export type SweepWorld = Awaited<ReturnType<typeof startSweepWorld>>;

export async function startSweepWorld(options: SimulatorOptions = {}) {
  const clock = { now: Date.UTC(2026, 8, 1) };
  const { simulator } = await startAcme({ now: () => clock.now, ...options });
  const { gitea } = simulator;
  gitea.addUser('root', { admin: true });
  gitea.addToken('root', ['all'], ROOT);
  gitea.addToken('anna', ['write:organization'], SECRET);
  const http = giteaClient({ deadlineMs: 10_000, env: {} });
  onTestFinished(() => http.close());
  const pauses: number[] = [];
  const live: LiveJob[] = [];

  const group = (over: Partial<SweepGroup> = {}, scope: Scope = ORG, secret = SECRET): SweepGroup => ({
    namespace: 'runners',
    name: 'ci',
    target: { key: `${scope.kind} ${secret}`, url: simulator.url, scope, token: new Token(secret, simulator.url) },
    ...over,
  });
  return {
    simulator,
    clock,
    /** Pauses of the sweeper, ms. */
    pauses,
    /** Jobs that Kubernetes shows. */
    live,
    group,
    /** A runner that registered and was never heard of again: offline after 60 s. Its id. */
    register: (name: string, scope: RunnerScope = ACME, ephemeral = true): number =>
      gitea.register({ name, scope, labels: ['linux'], ephemeral }).id,
    sweeper: (over: Partial<SweeperOptions> = {}) =>
      new Sweeper({
        instance: INSTANCE,
        ask: atOnce(http, 10_000),
        budget: DEFAULT_BUDGET,
        clock: jumpingClock(clock, (ms) => pauses.push(ms)),
        ...over,
      }),
    /** Two passes, far enough apart; what the second one did. */
    sweepTwice: async (sweeper: Sweeper, groups = [group()]): Promise<SweepReport> => {
      const scene = { groups, liveJobs: async () => live };
      // From their last sign of life until Gitea shows them as offline.
      clock.now += 61_000;
      await sweeper.pass(scene);
      clock.now += SIGHTINGS_APART_MS;
      return await sweeper.pass(scene);
    },
    /** Names of all rows that are left. */
    left: () => [...gitea.state.runners.values()].filter(({ deleted }) => !deleted).map(({ name }) => name),
  };
}

/** Returns the outcome of each row, by name: `deleted`, or `kept online` and the like. */
export function outcomes({ registrations }: SweepReport): Readonly<Record<string, string>> {
  return Object.fromEntries(
    registrations.map(({ name, outcome }) => [name, outcome.is === 'kept' ? `kept ${outcome.because}` : outcome.is]),
  );
}

/** A clock whose pauses pass at once. */
export function jumpingClock(clock: { now: number }, onPause: (ms: number) => void = () => undefined): SweepClock {
  return {
    steadyMs: () => clock.now,
    after: (ms, call) => {
      onPause(ms);
      clock.now += ms;
      queueMicrotask(call);
      return () => undefined;
    },
  };
}
