/** People and Gitea's cron: pushes, cancels, reruns, approvals, the nightly clean-up, a commit of a new pod template. */
import type { GiteaJob } from '../../src/simulator/gitea.ts';
import { RerunRefused } from '../../src/simulator/reruns.ts';
import type { Act } from './history.ts';
import { ELSEWHERE, type Stage } from './stage.ts';

export class People {
  readonly #stage: Stage;
  readonly #runOfPush = new Map<number, number>();
  readonly #pushOfRun = new Map<number, number>();
  /** New names of repositories. */
  readonly #moved = new Map<string, string>();
  #toCome: number;
  readonly #afterCancel: () => void;

  /** @param afterCancel told when running jobs may have been cancelled. */
  constructor(stage: Stage, afterCancel: () => void) {
    this.#stage = stage;
    this.#afterCancel = afterCancel;
    const { pushes, acts } = stage.history;
    this.#toCome = pushes.length + acts.length;
    pushes.forEach(({ atS, repo, run }, index) => {
      stage.timeline.after(atS * 1000, () => {
        this.#toCome -= 1;
        const { run: row, jobs } = stage.gitea.push(this.#moved.get(repo) ?? repo, run);
        this.#runOfPush.set(index, row.id);
        this.#pushOfRun.set(row.id, index);
        stage.tell(() => `push ${index} to ${repo}: jobs ${jobs.map(({ id, name }) => `${id} "${name}"`).join(', ')}`);
        stage.settle();
      });
    });
    for (const act of acts) {
      stage.timeline.after(act.atS * 1000, () => {
        this.#toCome -= 1;
        this.#act(act);
        stage.settle();
      });
    }
  }

  /** Nothing more will come from outside. */
  get finished(): boolean {
    return this.#toCome === 0;
  }

  /** How long a CI job takes: written in its push, the same for every attempt. */
  ciTimeMs(job: GiteaJob): number {
    const push = this.#stage.history.pushes[this.#pushOfRun.get(job.runId) ?? -1];
    return 1000 * (push?.ciS[job.position % push.ciS.length] ?? 30);
  }

  /** Whether a CI job fails: written in its push, the same for every attempt. */
  fails(job: GiteaJob): boolean {
    const { fails } = this.#stage.history.pushes[this.#pushOfRun.get(job.runId) ?? -1] ?? {};
    return fails?.[job.position % fails.length] ?? false;
  }

  #act(act: Act): void {
    const { gitea } = this.#stage;
    this.#stage.tell(() => `${act.kind}${'push' in act ? ` of push ${act.push}` : ''}`);
    switch (act.kind) {
      case 'clean-up':
        gitea.cleanUp();
        return;
      case 'transfer':
        this.#moved.set(act.repo, gitea.transferRepo(act.repo, ELSEWHERE).fullName);
        return;
      case 'new-template':
        this.#stage.template = `${this.#stage.template}+`;
        return;
      default:
    }
    const run = this.#runOfPush.get(act.push);
    if (run === undefined) return;
    switch (act.kind) {
      case 'approve':
        gitea.approve(run);
        return;
      case 'cancel-run':
        gitea.cancelRun(run);
        this.#afterCancel();
        return;
      case 'cancel-job': {
        const job = gitea.jobsOfRun(run).find(({ position, caller }) => position === act.position && !caller);
        if (job) gitea.cancelJob(job.id);
        this.#afterCancel();
        return;
      }
      case 'rerun':
        this.#rerun(run);
        return;
      default:
        act satisfies never;
    }
  }

  #rerun(run: number): void {
    try {
      this.#stage.gitea.rerun(run);
    } catch (error) {
      if (!(error instanceof RerunRefused)) throw error;
    }
  }
}
