/** Histories of commands against the real client and planner, over real HTTP. The commands are in commands.ts, the laws in laws.ts. */
import { expect, it } from 'vitest';
import type { GiteaVersion } from '../../simulator/gitea/versions.ts';
import { fc, RUNS as PROPERTY_RUNS } from '../support/property.ts';
import { endInPeace } from './checked.ts';
import { EMPTY, STEPS } from './commands.ts';
import { type Setting, World } from './world.ts';

/** Histories per version: they are long. */
const RUNS = Math.ceil(PROPERTY_RUNS / 10);
const SEED = process.env['PROPERTY_SEED'];

const anySetting = fc.record({
  pageSize: fc.constantFrom(2, 5, 50),
  twoGroups: fc.boolean(),
  seesCluster: fc.boolean(),
  explains: fc.boolean(),
});

const anyCommands = fc.commands(STEPS, { maxCommands: 60, size: 'max' });
type Commands = ReturnType<typeof anyCommands.generate>['value'];

/** Plays a history. Then `end` judges the world. */
async function play(setting: Setting, commands: Commands, end: (world: World) => unknown): Promise<void> {
  const world = await World.start(setting);
  try {
    await fc.asyncModelRun(() => ({ model: { ...EMPTY }, real: world }), commands);
    await end(world);
  } finally {
    await world.close();
  }
}

it.concurrent.each<GiteaVersion>(['1.25.4', '1.26.0', '1.27.3'])(
  'every plan keeps the laws, every failed look gives none, and all jobs end, with Gitea %s',
  async (version) => {
    await fc.assert(
      fc.asyncProperty(anySetting, anyCommands, (setting, commands) =>
        play({ version, ...setting }, commands, endInPeace),
      ),
      { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) },
    );
  },
  600_000 + RUNS * 30_000,
);

it('the histories have runners that work, die and start again, and looks that fail', async () => {
  const told: string[] = [];
  for (const [setting, commands] of fc.sample(fc.tuple(anySetting, anyCommands), { numRuns: 20, seed: 4 }))
    await play({ version: '1.27.3', ...setting }, commands, ({ story }) => told.push(...story));

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
