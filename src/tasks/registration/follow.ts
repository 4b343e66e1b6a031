/** Decides which runners `serve` registers, and whose rows may be left in Gitea. Pure: `registering.ts` asks Gitea. */
import { RUNNERS } from '../../answers/reasons.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { withSizes } from '../../config/runnergroup/sizes.ts';
import type { TargetOf } from '../../plan/find-targets.ts';
import { servesRepository } from '../../plan/plan-groups.ts';
import type { Plan, RunnerDecision } from '../../planner/decisions.ts';
import { ownerOf } from '../../planner/repositories.ts';
import type { AppVerdict } from '../../serve/planning/reconcile.ts';
import { keyOfDecision, type LiveGroup, type LiveRunner } from '../../serve/seen/live.ts';
import { Failure } from '../../shared/failure.ts';
import { groupBySeveral, keyText } from '../../shared/keys.ts';
import { boundTo, REGISTERED_AT } from '../../shared/marks.ts';
import { once } from '../../shared/once.ts';
import { printable } from '../../shared/printable.ts';
import { coverOf, type Scope, scopeWord } from '../../shared/scope.ts';

/** A runner that `serve` registers. */
export interface Wish {
  /**
   * - `wanted`: the plan wants it, and it has no Job.
   * - `starting`: its Job is there and wanted, and its container has not started.
   * - `alive`: its Job needs nothing, or the pod of another Job of its name still lives.
   * - `used`: it has got a CI job, with whose end Gitea removes its row.
   */
  readonly is: 'wanted' | 'starting' | 'alive' | 'used';
  readonly runner: string;
  /** Level of the runner, as `scopeWord` writes it. */
  readonly at: string;
  /** Uid of the runner's Job. Empty: it has none. */
  readonly uid: string;
  readonly object: LiveGroup['object'];
  readonly group: RunnerGroup;
  /** The size of `group` that the runner belongs to. Without sizes: `group`. */
  readonly own: RunnerGroup;
  readonly target: GiteaTarget | Failure | undefined;
  /** The name that Gitea has for the scope of its group now. */
  readonly renamedTo: string | undefined;
}

export type Wishes = ReadonlyMap<string, Wish>;

/**
 * Returns the wanted registrations by key of the runner. Applications that cannot be planned now keep those of `before`.
 * @param isTaken true while a pod of another Job than that with this uid may live under this name
 */
export function wishesOf(
  verdicts: readonly AppVerdict[],
  liveOf: ReadonlyMap<string, LiveRunner>,
  targetOf: TargetOf,
  before: Wishes,
  isTaken: (key: string, uid: string) => boolean,
): Wishes {
  const unplanned = verdicts.filter(({ planning }) => planning.is !== 'planned').flatMap(({ groups }) => groups);
  const stays = new Set(unplanned.map(({ live }) => live.key));
  const wishes = new Map([...before].filter(([, { object }]) => stays.has(keyText(object.metadata))));
  for (const { difference, groups, planning } of verdicts) {
    if (planning.is !== 'planned') continue;
    const members = new Map(groups.map(({ live }) => [live.key, live] as const));
    const missing = new Set(difference.missing);
    const namesNow = namesNowIn(planning.plan);
    for (const decision of planning.plan.runners) {
      const key = keyOfDecision(decision);
      const live = liveOf.get(key);
      const groupKey = keyText(decision.group);
      const { group, object } = members.get(groupKey) ?? {};
      const { registeredAt: at, size } = decision.emit ? decision : { ...live?.job };
      const isThere = live !== undefined || missing.has(key);
      if (!group || !object || at === undefined || !isThere || waitsInQueue(decision, live)) continue;
      const uid = live?.uid ?? '';
      const isFree = !isTaken(key, uid);
      if (!live && !isFree) continue;
      wishes.set(key, {
        is: stateOf(decision, live, isFree),
        runner: decision.runner,
        at,
        uid,
        object,
        group,
        own: withSizes(group).find((each) => each.size?.name === size) ?? group,
        target: targetOf.get(group),
        renamedTo: namesNow.get(groupKey),
      });
    }
  }
  return wishes;
}

/** Returns the names that Gitea has for the scopes of groups now, by key of the group. */
function namesNowIn({ groups }: Plan): ReadonlyMap<string, string | undefined> {
  return new Map(groups.map(({ group, renamedTo }) => [keyText(group), renamedTo]));
}

/** True while Kueue holds the Job. That may take days, so its runner is registered when the Job may start. */
function waitsInQueue(decision: RunnerDecision, live: LiveRunner | undefined): boolean {
  return live ? live.job.trouble?.queue !== undefined : decision.emit && decision.queue !== undefined;
}

function stateOf({ because, emit }: RunnerDecision, live: LiveRunner | undefined, isFree: boolean): Wish['is'] {
  if (!live) return 'wanted';
  if (RUNNERS[because].ciJob === 'taken') return 'used';
  // A Job that only loses its pin is wanted by nobody.
  return emit && because !== 'unpinning' && isFree && live.job.state === 'starting' ? 'starting' : 'alive';
}

/** Runners whose Jobs have gone before they got a CI job. */
export function unusedWishes(before: Wishes, now: Wishes): readonly Wish[] {
  const hasGone = (key: string): boolean => (now.get(key)?.is ?? 'wanted') === 'wanted';
  return [...before].flatMap(([key, wish]) =>
    (wish.is === 'starting' || wish.is === 'alive') && hasGone(key) ? wish : [],
  );
}

/** Returns the level of a runner, from an annotation that others may write. @throws Failure if its group has no such level */
export function levelOf({ at, group, renamedTo, runner }: Wish): Scope {
  const scope = { ...group.scope, now: renamedTo };
  if (group.registration.for === 'scope' && [scope, group.scope].map(scopeWord).includes(at)) return group.scope;
  const repository = repositoriesOf(group, renamedTo)(boundTo(at) ?? '');
  if (repository) return repository;
  const subject = `register runner ${runner}: its Job asks for ${printable(at).slice(0, 100)} (annotation ${REGISTERED_AT}), which its RunnerGroup does not give`;
  const remedy = 'The next sync corrects or removes the Job. If this comes again after it, delete the Job';
  throw new Failure('GR-REG-02', 1, `${subject}. ${remedy}.`);
}

/** Finds the repositories at which a group may register runners. */
function repositoriesOf(group: RunnerGroup, renamedTo: string | undefined): (name: string) => Scope | undefined {
  const serves = servesRepository(group, renamedTo);
  return (name) => {
    const [owner = '', repo, ...more] = name.split('/');
    const isOne = repo && more.length === 0 && serves(name);
    return isOne ? { kind: 'repo', owner, repo } : undefined;
  };
}

/** Returns where an earlier leader may have registered bound runners of a group: repositories whose jobs were seen lately. */
export function levelsSeen({ planning }: AppVerdict): (group: RunnerGroup) => readonly string[] {
  if (planning.is !== 'planned') return () => [];
  const { plan } = planning;
  const namesNow = once(() => namesNowIn(plan));
  const byOwner = once(() => repositoriesByOwner(plan));
  return (group) => {
    if (group.registration.for !== 'repository') return [];
    const renamedTo = namesNow().get(keyText(group));
    const covered = coverOf(group.scope);
    const owners = covered === undefined ? [ANY_OWNER] : [covered, renamedTo ?? covered].map(ownerOf);
    return [...new Set(owners)]
      .flatMap((owner) => byOwner().get(`${group.giteaUrl} ${owner}`) ?? [])
      .map(({ repository }) => repository)
      .filter(repositoriesOf(group, renamedTo))
      .map((repository) => `repo:${repository}`);
  };
}

const ANY_OWNER = '';

/** Returns the repositories of all jobs in the plan, each once, by Gitea and owner. */
function repositoriesByOwner({ jobs }: Plan) {
  const repositories = new Map(
    jobs.map(({ job: { repository }, origin }) => [`${origin} ${repository}`, { origin, repository }]),
  );
  return groupBySeveral([...repositories.values()], ({ origin, repository }) =>
    [ANY_OWNER, ownerOf(repository)].map((owner) => `${origin} ${owner}`),
  );
}
