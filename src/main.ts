/** The cdk8s app (`cdk8s.yaml`): writes what `generate` prints as files under `dist/`. Settings come from the environment. */

import { buildApp, knowsRunnerGroups } from './charts/index.ts';
import { mainIo, reportFailure } from './cli/process.ts';
import { defaultNamespace, pathsFrom, settingsFrom } from './cli/settings.ts';
import { lookAndPlan } from './look-and-plan.ts';
import { readRunnerGroups } from './runnergroup/read.ts';
import { toAppGroups } from './to-app-groups.ts';

async function synth(): Promise<void> {
  const io = mainIo();
  const settings = await settingsFrom({}, io);
  const read = await readRunnerGroups({
    ...pathsFrom([], {}, io),
    cwd: io.cwd,
    defaultNamespace: defaultNamespace(io),
  });
  const plan = await lookAndPlan(read.groups, settings, { includeBlocked: false });
  buildApp({
    groups: toAppGroups(read.groups, plan),
    others: read.others.map(({ text }) => text),
    emitGroups: knowsRunnerGroups(io.env),
  }).synth();
}

synth().catch((error: unknown) => {
  process.exitCode = reportFailure(error, mainIo(), false);
});
