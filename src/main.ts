/**
 * The cdk8s app: writes what `generate` prints as files under `dist/`. Settings come from the environment.
 *
 *   node main.cjs                     reads `GITEA_RUNNERS_PATH`, else the current folder, and asks Gitea
 *   node main.cjs --examples FOLDER   reads FOLDER if `GITEA_RUNNERS_PATH` is not set. If no Gitea is named either, it makes up two CI
 *                                     jobs per group, and says so. For a fresh clone: `cdk8s.yaml` of this repository
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { FLAGS } from './cli/flags/flags.ts';
import { mainIo, reportFailure } from './cli/process.ts';
import { readAndPlan } from './cli/read-and-plan.ts';
import { readGroups } from './cli/read-groups.ts';
import { standIn } from './config/runnergroup/broken.ts';
import { outputOf } from './manifests/output.ts';
import { planOfExample } from './observe/example.ts';
import { podsOf } from './observe/pods.ts';
import { liveJobsOf } from './planner/evidence.ts';
import type { Io } from './shared/io.ts';

async function synth(io: Io): Promise<void> {
  const { values } = parseArgs({ options: { examples: { type: 'string' } } });
  const examples = !io.env['GITEA_RUNNERS_PATH'] ? values.examples : undefined;
  const { read, plan, app, seen, broken } =
    examples !== undefined && !isGiteaNamed(io)
      ? await example(examples, io)
      : await readAndPlan([examples ?? []].flat(), {}, io, { includeBlocked: false, isolate: true });
  const written = app ?? new (await import('./manifests/app.ts')).RunnersApp([]);
  written.emit(outputOf(plan, liveJobsOf(seen?.evidence), read.others, io.env, broken.map(standIn)));
  written.synth();
}

/** Whether anything says that a Gitea is to be asked, or that Argo CD runs us. An empty variable counts as not set. */
function isGiteaNamed(io: Io): boolean {
  const named = [
    io.env['GITEA_URL'],
    io.env['GITEA_TOKEN'],
    io.env['ARGOCD_APP_NAME'],
    io.env['GITEA_RUNNERS_SECRETS_DIR'],
  ];
  return named.some((text) => text) || existsSync(FLAGS.secretsDir.default);
}

async function example(folder: string, io: Io) {
  const read = await readGroups({ paths: [folder], recursive: false }, io);
  const { RunnersApp } = await import('./manifests/app.ts');
  const pods = await podsOf(read);
  const app = new RunnersApp(read.groups, { finish: pods?.finish });
  await pods?.check();
  io.err(
    `Example: no Gitea is named, so no Gitea was asked. The CI jobs are made up: two per RunnerGroup in ${folder}/.\n` +
      'For your own RunnerGroups set GITEA_RUNNERS_PATH, GITEA_URL and GITEA_TOKEN.\n',
  );
  return { read, plan: planOfExample(app), app, seen: undefined, broken: [] };
}

synth(mainIo()).catch((error: unknown) => {
  process.exitCode = reportFailure(error, mainIo(), false);
});
