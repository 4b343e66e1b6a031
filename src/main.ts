/** The cdk8s app (`cdk8s.yaml`): writes what `generate` prints as files under `dist/`. Settings come from the environment. */
import { outputOf } from './charts/output.ts';
import { mainIo, reportFailure } from './cli/process.ts';
import { readAndPlan } from './cli/read-and-plan.ts';

async function synth(): Promise<void> {
  const io = mainIo();
  const { read, plan, app } = await readAndPlan([], {}, io, { includeBlocked: false });
  const { RunnersApp } = await import('./charts/app.ts');
  const written = app ?? new RunnersApp([]);
  written.emit(outputOf(plan, read.others, io.env));
  written.synth();
}

synth().catch((error: unknown) => {
  process.exitCode = reportFailure(error, mainIo(), false);
});
