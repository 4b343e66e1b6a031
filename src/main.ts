/** The cdk8s app (`cdk8s.yaml`): writes what `generate` prints as files under `dist/`. Settings come from the environment. */

import { toAppGroups } from './charts/app-groups.ts';
import { buildApp, knowsRunnerGroups } from './charts/index.ts';
import { mainIo, reportFailure } from './cli/process.ts';
import { readAndPlan } from './cli/read-and-plan.ts';

async function synth(): Promise<void> {
  const io = mainIo();
  const { read, plan } = await readAndPlan([], {}, io, { includeBlocked: false });
  buildApp({
    groups: toAppGroups(read.groups, plan),
    others: read.others.map(({ text }) => text),
    emitGroups: knowsRunnerGroups(io.env),
  }).synth();
}

synth().catch((error: unknown) => {
  process.exitCode = reportFailure(error, mainIo(), false);
});
