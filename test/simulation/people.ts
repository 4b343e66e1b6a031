/** People and Gitea's cron: pushes, cancels, reruns, approvals, the nightly clean-up, what becomes of repositories and of Gitea, commits. */
import type { GiteaJob } from '../../model/gitea/gitea.ts';
import { RerunRefused } from '../../model/gitea/reruns.ts';
import { backUp, deleteRepo } from './backup.ts';
import type { Cluster } from './cluster.ts';
import type { Act, GroupSpec } from './history.ts';
import { ELSEWHERE, type Stage } from './stage.ts';

/** What the runners are told. */
type Runners = Pick<Cluster, 'notice' | 'beforeLoss' | 'afterLoss'>;

export class People {
  readonly #stage: Stage;
  readonly #runOfPush = new Map<number, number>();
  readonly #pushOfRun = new Map<number, number>();
  /** New names of repositories. */
  #moved: ReadonlyMap<string, string> = new Map();
  #toCome: number;
  readonly #runners: Runners;
  /** How Gitea is restored, by the time of the backup. */
  readonly #restores = new Map<number, () => void>();

  constructor(stage: Stage, runners: Runners) {
    this.#stage = stage;
    this.#runners = runners;
    const { pushes, acts } = stage.history;
    this.#toCome = pushes.length + acts.length;
    pushes.forEach(({ atS, repo, run }, index) => {
      stage.timeline.after(atS * 1000, () => {
        this.#toCome -= 1;
        const name = this.#moved.get(repo) ?? repo;
        // It was deleted.
        if (!stage.gitea.state.repos.has(name)) return;
        const { run: row, jobs } = stage.gitea.push(name, run);
        this.#runOfPush.set(index, row.id);
        this.#pushOfRun.set(row.id, index);
        stage.tell(() => `push ${index} to ${repo}: jobs ${jobs.map(({ id, name }) => `${id} "${name}"`).join(', ')}`);
        stage.settle();
      });
    });
    for (const act of acts) {
      if (act.kind === 'restore') stage.timeline.after(act.backupS * 1000, () => this.#backUp(act.backupS));
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
        if (!gitea.state.repos.has(act.repo)) return;
        this.#moved = new Map(this.#moved).set(act.repo, gitea.transferRepo(act.repo, ELSEWHERE).fullName);
        return;
      case 'delete-repo':
        this.#runners.beforeLoss();
        deleteRepo(gitea, this.#moved.get(act.repo) ?? act.repo);
        this.#runners.afterLoss();
        return;
      case 'restore':
        this.#restores.get(act.backupS)?.();
        return;
      case 'new-template':
        this.#stage.push({ ...this.#stage.commit, template: `${this.#stage.commit.template}+` });
        return;
      case 'rename':
        this.#change(act.group, ({ name }) => ({ name: `${name}2` }));
        return;
      case 'move':
        this.#change(act.group, () => ({ scope: { kind: 'owner', owner: ELSEWHERE } }));
        return;
      case 'pool':
        this.#change(act.group, () => ({ minIdle: act.minIdle }));
        return;
      case 'rollback':
        this.#stage.rollBack();
        return;
      default:
    }
    const run = this.#runOfPush.get(act.push);
    if (run === undefined || !gitea.state.runs.has(run)) return;
    switch (act.kind) {
      case 'approve':
        gitea.approve(run);
        return;
      case 'cancel-run':
        gitea.cancelRun(run);
        this.#runners.notice();
        return;
      case 'cancel-job': {
        const job = gitea.jobsOfRun(run).find(({ position, caller }) => position === act.position && !caller);
        if (job) gitea.cancelJob(job.id);
        this.#runners.notice();
        return;
      }
      case 'rerun':
        this.#rerun(run);
        return;
      default:
        act satisfies never;
    }
  }

  /** A commit changes a group. */
  #change(name: string, change: (spec: GroupSpec) => Partial<GroupSpec>): void {
    const { commit, history } = this.#stage;
    const group = history.groups.find((each) => each.name === name);
    if (!group) return;
    const spec = this.#stage.specOf(group);
    this.#stage.push({ ...commit, specs: new Map(commit.specs).set(group, { ...spec, ...change(spec) }) });
  }

  #backUp(atS: number): void {
    const restore = backUp(this.#stage.gitea);
    const [moved, runOfPush] = [this.#moved, new Map(this.#runOfPush)];
    this.#restores.set(atS, () => {
      this.#runners.beforeLoss();
      restore();
      this.#moved = moved;
      this.#runOfPush.clear();
      for (const [push, run] of runOfPush) this.#runOfPush.set(push, run);
      this.#runners.afterLoss();
      this.#stage.forget();
    });
  }

  #rerun(run: number): void {
    try {
      this.#stage.gitea.rerun(run);
    } catch (error) {
      if (!(error instanceof RerunRefused)) throw error;
    }
  }
}
