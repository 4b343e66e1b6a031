/**
 * Static runners: others have registered them by hand. They ask for work at their own pace, run one CI job at a time and are never
 * deleted. Kubernetes does not know them; Gitea's runner list shows them.
 */
import type { GiteaJob } from '../../model/gitea/gitea.ts';
import type { CiTime } from './cluster.ts';
import type { StaticRunner } from './history.ts';
import { draw } from './random.ts';
import type { Stage } from './stage.ts';

const REPORT_EVERY_MS = 5000;

export class Statics {
  /** Jobs that they have taken. */
  taken = 0;
  readonly #stage: Stage;
  readonly #ciTime: CiTime;

  constructor(stage: Stage, ciTime: CiTime) {
    this.#stage = stage;
    this.#ciTime = ciTime;
    stage.history.statics.forEach((runner, nth) => {
      const { scope, labels, pollEveryS } = runner;
      const { id } = stage.gitea.register({ name: `static-${nth}`, scope, labels, ephemeral: false });
      const phase = draw(stage.history.seed, 'static-phase', nth);
      stage.timeline.after(phase * pollEveryS * 1000, () => this.#fetch(id, runner));
    });
  }

  #fetch(id: number, runner: StaticRunner): void {
    const job = this.#stage.gitea.poll(id);
    if (!job) {
      this.#stage.timeline.after(runner.pollEveryS * 1000, () => this.#fetch(id, runner));
      return;
    }
    this.taken += 1;
    this.#stage.tell(() => `static runner ${id} takes job ${job.id} "${job.name}"`);
    this.#stage.noteClaim(job);
    this.#stage.gitea.report(id);
    this.#work(id, runner, job, this.#stage.nowMs + this.#ciTime(job));
  }

  /** Reports until the CI job is over, or a report says that it was cancelled. */
  #work(id: number, runner: StaticRunner, job: GiteaJob, untilMs: number): void {
    const { timeline, gitea } = this.#stage;
    timeline.at(Math.min(untilMs, timeline.nowMs + REPORT_EVERY_MS), () => {
      const cancelled = gitea.report(id);
      const works = gitea.jobOfRunner(id)?.id === job.id;
      if (works && !cancelled && timeline.nowMs < untilMs) {
        this.#work(id, runner, job, untilMs);
        return;
      }
      if (works) gitea.finish(id, 'success');
      this.#stage.settle();
      this.#fetch(id, runner);
    });
  }
}
