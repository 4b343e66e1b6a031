/** People and Gitea's cron: pushes, cancels, reruns, approvals, the nightly clean-up, what becomes of repositories and of Gitea, commits. */
import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import { scopeNow } from '../../simulator/gitea/renames.ts';
import { RerunRefused } from '../../simulator/gitea/reruns.ts';
import { backUp, deleteRepo } from './backup.ts';
import { weightOf } from './ceilings.ts';
import type { Cluster } from './cluster.ts';
import type { Act, GroupSpec, Settings } from './history.ts';
import { ELSEWHERE, type Stage } from './stage.ts';

/** Notifications for the runners. */
type Runners = Pick<Cluster, 'notice' | 'beforeLoss' | 'afterLoss' | 'deleteInForeground'>;

export class People {
  readonly #stage: Stage;
  readonly #runOfPush = new Map<number, number>();
  readonly #pushOfRun = new Map<number, number>();
  /** Ids of repositories by the names that they have at the beginning. */
  readonly #ids: ReadonlyMap<string, number>;
  #toCome: number;
  readonly #runners: Runners;
  /** Functions that restore Gitea, by the time of the backup. */
  readonly #restores = new Map<number, () => void>();

  constructor(stage: Stage, runners: Runners) {
    this.#stage = stage;
    this.#runners = runners;
    const { pushes, acts } = stage.history;
    this.#toCome = pushes.length + acts.length;
    this.#ids = new Map([...stage.gitea.state.repos.values()].map(({ fullName, id }) => [fullName, id]));
    pushes.forEach(({ atS, repo, run }, index) => {
      stage.timeline.after(atS * 1000, () => {
        this.#toCome -= 1;
        const name = this.#nameOf(repo);
        // The repository was deleted.
        if (name === undefined) return;
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

  /** True if no further event comes from outside. */
  get finished(): boolean {
    return this.#toCome === 0;
  }

  /** Returns the duration of a CI job, ms: written in its push, the same for every attempt. */
  ciTimeMs(job: GiteaJob): number {
    const push = this.#stage.history.pushes[this.#pushOfRun.get(job.runId) ?? -1];
    return 1000 * (push?.ciS[job.position % push.ciS.length] ?? 30);
  }

  /** True if a CI job fails: written in its push, the same for every attempt. */
  fails(job: GiteaJob): boolean {
    const { fails } = this.#stage.history.pushes[this.#pushOfRun.get(job.runId) ?? -1] ?? {};
    return fails?.[job.position % fails.length] ?? false;
  }

  #act(act: Act): void {
    const { gitea } = this.#stage;
    const name = 'repo' in act ? this.#nameOf(act.repo) : undefined;
    this.#stage.tell(() => `${act.kind}${'push' in act ? ` of push ${act.push}` : ''}`);
    switch (act.kind) {
      case 'clean-up':
        gitea.cleanUp();
        return;
      case 'transfer':
        if (name !== undefined && !name.startsWith(`${ELSEWHERE}/`)) gitea.transferRepo(name, ELSEWHERE);
        return;
      case 'rename-repo':
        if (name !== undefined) gitea.renameRepo(name, `${name.split('/')[1]}-2`);
        return;
      case 'rename-org':
      case 'rename-user': {
        const scope = scopeNow(gitea.state, { kind: 'owner', owner: act.name });
        if (scope.kind === 'owner') gitea.renameOwner(scope.owner, `${scope.owner}-2`);
        return;
      }
      case 'delete-repo':
        this.#runners.beforeLoss();
        deleteRepo(gitea, name ?? act.repo);
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
      case 'settings':
        this.#set(act.group, act.settings);
        return;
      case 'delete-job':
        this.#runners.deleteInForeground(act.pod);
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

  /** Returns the current name of a repository. Undefined: it was deleted. */
  #nameOf(repo: string): string | undefined {
    const wanted = this.#ids.get(repo);
    return [...this.#stage.gitea.state.repos.values()].find(({ id }) => id === wanted)?.fullName;
  }

  /** A commit changes a group. */
  #change(name: string, change: (spec: GroupSpec) => Partial<GroupSpec>): void {
    const { commit, history } = this.#stage;
    // All sizes of a group have one name, and are in one file.
    const groups = history.groups.filter((each) => each.name === name);
    const changed = groups.map((group): [GroupSpec, GroupSpec] => {
      const spec = this.#stage.specOf(group);
      return [group, { ...spec, ...change(spec) }];
    });
    if (changed.length > 0) this.#stage.push({ ...commit, specs: new Map([...commit.specs, ...changed]) });
  }

  #set(name: string, { cap, most, suspend, fairness, label }: Settings): void {
    const heaviest = Math.max(...this.#stage.history.groups.map(weightOf));
    // Groups that share a limit say one number.
    for (const each of most === undefined ? [] : new Set(this.#stage.history.groups.map((group) => group.name)))
      this.#change(each, ({ limits }) => ({
        ...(limits && { limits: limits.map((limit) => ({ ...limit, most: Math.max(most ?? 0, heaviest) })) }),
      }));
    this.#change(name, (spec) => ({
      ...(cap !== undefined && withCap(spec, Math.max(cap, heaviest))),
      ...(suspend !== undefined && { suspend }),
      ...(fairness && { fairness }),
      ...(label && { labels: [...spec.labels, label] }),
    }));
  }

  #backUp(atS: number): void {
    const restore = backUp(this.#stage.gitea);
    const runOfPush = new Map(this.#runOfPush);
    this.#restores.set(atS, () => {
      this.#runners.beforeLoss();
      restore();
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

/** The last threshold is the cap. */
function withCap({ priorityTiers }: GroupSpec, cap: number): Pick<GroupSpec, 'cap' | 'priorityTiers'> {
  const tiers = priorityTiers.filter(({ threshold }, nth) => threshold < cap || nth === priorityTiers.length - 1);
  return {
    cap,
    priorityTiers: tiers.map((tier, nth) => (nth < tiers.length - 1 ? tier : { ...tier, threshold: cap })),
  };
}
