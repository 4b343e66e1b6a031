/**
 * Static runners: others have registered them by hand. They ask for work at their own pace, run one CI job at a time
 * and are never deleted. Kubernetes does not know them; Gitea's runner list shows them.
 */
import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import type { CiTime } from './cluster.ts';
import type { StaticRunner } from './history.ts';
import { draw } from './random.ts';
import type { Stage } from './stage.ts';

const REPORT_EVERY_MS = 5000;

/** Starts the static runners of the history. Returns a count of the jobs that they take. */
export function startStatics(stage: Stage, ciTimeMs: CiTime): { readonly taken: number } {
  const { gitea, history, timeline } = stage;
  const counts = { taken: 0 };

  const fetch = (id: number, runner: StaticRunner): void => {
    const job = gitea.poll(id);
    if (!job) {
      timeline.after(runner.pollEveryS * 1000, () => fetch(id, runner));
      return;
    }
    counts.taken += 1;
    stage.tell(() => `static runner ${id} takes job ${job.id} "${job.name}"`);
    stage.noteClaim(job);
    gitea.report(id);
    work(id, runner, job, stage.nowMs + ciTimeMs(job));
  };

  /** Reports until the CI job is over, or a report says that it was cancelled. */
  const work = (id: number, runner: StaticRunner, job: GiteaJob, untilMs: number): void =>
    timeline.at(Math.min(untilMs, timeline.nowMs + REPORT_EVERY_MS), () => {
      const cancelled = gitea.report(id);
      const works = gitea.jobOfRunner(id)?.id === job.id;
      if (works && !cancelled && timeline.nowMs < untilMs) {
        work(id, runner, job, untilMs);
        return;
      }
      if (works) gitea.finish(id, 'success');
      stage.settle();
      fetch(id, runner);
    });

  history.statics.forEach((runner, nth) => {
    const { scope, labels, pollEveryS } = runner;
    const { id } = gitea.register({ name: `static-${nth}`, scope, labels, ephemeral: false });
    timeline.after(draw(history.seed, 'static-phase', nth) * pollEveryS * 1000, () => fetch(id, runner));
  });
  return counts;
}
