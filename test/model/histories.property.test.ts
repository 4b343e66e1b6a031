/** Histories of commands against the real client and planner, over real HTTP. The commands are in commands.ts, the laws in laws.ts. */
import { describe, expect, it } from 'vitest';
import type { GiteaVersion } from '../../model/gitea/versions.ts';
import { fc, RUNS as PROPERTY_RUNS } from '../support/property.ts';
import { endInPeace } from './checked.ts';
import { EMPTY, STEPS } from './commands.ts';
import { World } from './world.ts';

/** Histories per version: they are long. */
const RUNS = Math.ceil(PROPERTY_RUNS / 10);
const SEED = process.env['PROPERTY_SEED'];

const anySetting = fc.record({
  pageSize: fc.constantFrom(2, 5, 50),
  twoGroups: fc.boolean(),
  seesCluster: fc.boolean(),
  explains: fc.boolean(),
});

describe('every plan keeps the laws, every failed look gives none, and all jobs end', () => {
  it.concurrent.each<GiteaVersion>(['1.25.4', '1.26.0', '1.27.3'])(
    'with Gitea %s',
    async (version) => {
      await fc.assert(
        fc.asyncProperty(
          anySetting,
          fc.commands(STEPS, { maxCommands: 60, size: 'max' }),
          async (setting, commands) => {
            const world = await World.start({ version, ...setting });
            try {
              await fc.asyncModelRun(() => ({ model: { ...EMPTY }, real: world }), commands);
              await endInPeace(world);
            } finally {
              await world.close();
            }
          },
        ),
        { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) },
      );
    },
    120_000 + RUNS * 3_000,
  );
});

it('has histories in which runners work, die and start again, and looks fail', async () => {
  const told: string[] = [];
  const histories = fc.sample(fc.tuple(anySetting, fc.commands(STEPS, { maxCommands: 60, size: 'max' })), {
    numRuns: 20,
    seed: 4,
  });

  for (const [setting, commands] of histories) {
    const world = await World.start({ version: '1.27.3', ...setting });
    try {
      await fc.asyncModelRun(() => ({ model: { ...EMPTY }, real: world }), commands);
      told.push(...world.story);
    } finally {
      await world.close();
    }
  }

  const text = told.join('\n');
  for (const seen of [
    /RunnerTakesJob.*takes job/,
    /AllPoll.*jobs \d/,
    /JobEnds.*ends job \d/,
    /JobCancelled.*cancelling/,
    /RunnerDies.*busy/,
    /Rerun.*again/,
    /after \d requests .* takes job/,
    /the look fails/,
  ]) {
    expect(text).toMatch(seen);
  }
});
