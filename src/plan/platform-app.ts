/** A platform's own cdk8s app: where it may lie, and what it must not have done, as a failure. */
import { realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { Platform, RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { RunnersApp } from '../manifests/app.ts';
import type { FinishPod } from '../manifests/job-manifest.ts';
import { Failure, systemReason } from '../shared/failure.ts';
import type { Io } from '../shared/io.ts';
import { firstLines, printable } from '../shared/printable.ts';

/** Reads the platform's app. @throws Failure exit 2 if it is none, or a repository's author may write it */
export async function readPlatform(file: string, { env, cwd }: Pick<Io, 'env' | 'cwd'>): Promise<Platform> {
  const failed = (problem: string): Failure =>
    new Failure('GR-APP-01', 2, `load the platform's app ${printable(file)}: ${printable(problem)}.`);
  const realPath = (path: string): string => {
    try {
      return realpathSync(path);
    } catch (error) {
      throw failed(systemReason(error));
    }
  };
  const real = realPath(resolve(cwd, file));
  // Argo CD starts the program in the repository.
  if (env['ARGOCD_APP_NAME'] && !/^\.\.(?:\/|$)/.test(relative(realPath(cwd), real)))
    throw failed('it lies in the repository, whose authors choose no code. Build it into the image');
  const { loadPlatform } = await import('../manifests/platform.ts');
  const { judgeJob } = await import('./made-job.ts');
  const loaded = loadPlatform(real, judgeJob);
  if ('problem' in loaded) throw failed(loaded.problem);
  return loaded.platform;
}

/** The app of these groups, with its templates. @throws Failure exit 2 when a platform's app has done what it must not */
export async function appOf(groups: readonly RunnerGroup[], finish: FinishPod | undefined) {
  const { RunnersApp } = groups.some(({ platform }) => platform)
    ? await import('../manifests/platform.ts')
    : await import('../manifests/app.ts');
  const app = new RunnersApp(groups, finish);
  refuseProblems(app);
  return app;
}

export function refuseProblems({ problems }: Pick<RunnersApp, 'problems'>): void {
  if (problems.length === 0) return;
  throw new Failure('GR-APP-02', 2, ["run the platform's app:", ...firstLines(problems.map(printable), 15)].join('\n'));
}
