/** RunnerGroups as the planner knows them. When it cannot plan, that becomes a `Failure`. */
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { terminationGraceSeconds } from '../manifests/container-mode.ts';
import type { Plan } from '../planner/decisions.ts';
import type { Evidence, Group, Limit, ScopeWidth } from '../planner/evidence.ts';
import { choosersFinder } from '../planner/owners.ts';
import { plan, type WithPast } from '../planner/plan.ts';
import { GroupsCollide } from '../planner/traces.ts';
import { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';
import { coverOf, hasJobsOf, type Scope, scopeWord } from '../shared/scope.ts';

const WIDTH: Readonly<Record<Scope['kind'], ScopeWidth>> = {
  global: 'global',
  org: 'owner',
  user: 'owner',
  repo: 'repo',
};

/** Returns what the planner reads of a RunnerGroup, or of a size of one. @param look key of its target */
export function toPlanned(group: RunnerGroup, look: string, templateHash: string): Group {
  const { size, limits, registration, repositories, order, scope, ...unchanged } = group;
  const cover = coverOf(scope);
  return {
    // Fields that the planner reads as they are written have no line of their own here.
    ...unchanged,
    origin: group.giteaUrl,
    ...(size && { size: size.name, weight: size.weight }),
    ...(limits.length > 0 && { limits: limits.map((limit) => limitOf(limit, group)) }),
    look,
    scope: WIDTH[scope.kind],
    ...(cover !== undefined && { covers: cover.toLowerCase() }),
    labels: group.labels.map(({ name }) => name),
    spawnTimeoutMs: group.spawnTimeoutSeconds * 1000,
    pendingDeadlineMs: group.pendingDeadlineSeconds * 1000,
    longestRunMs: (group.activeDeadlineSeconds + terminationGraceSeconds(group)) * 1000,
    ...(group.keepFailedSeconds > 0 && { keepFailedMs: group.keepFailedSeconds * 1000 }),
    ...(registration.by === 'serve' && { registeredAt: scopeWord(scope) }),
    ...(registration.for === 'repository' && { isBound: true as const }),
    ...(repositories.length > 0 && { repositories: repositories.map(inLowerCase) }),
    ...(order.length > 0 && { order: order.map(inLowerCase) }),
    templateHash,
  };
}

function inLowerCase(pattern: string): string {
  return pattern.toLowerCase();
}

function limitOf({ name, max, per, branches }: RunnerGroup['limits'][number], group: RunnerGroup): Limit {
  const key = name === undefined ? `${keyText(group)} per ${[per, ...(branches ?? [])].join()}` : `limit ${name}`;
  return { key, ...(name !== undefined && { name }), most: max, ...(per && { per }), ...(branches && { branches }) };
}

/** Tells whether a repository is in the scope of a group and chosen by it, by its former or current name. */
export function servesRepository(group: RunnerGroup, renamedTo: string | undefined): (repository: string) => boolean {
  const scope = { ...group.scope, now: renamedTo };
  const chosenBy = choosersFinder([toPlanned(group, '', '')], new Map([['', { ...(renamedTo && { renamedTo }) }]]));
  return (repository) => hasJobsOf(scope, repository) && chosenBy(repository).size > 0;
}

/** The groups with the names that Gitea has for their scopes now. */
export function withNamesNow(groups: readonly RunnerGroup[], plan: Pick<Plan, 'groups'>): readonly RunnerGroup[] {
  const names = new Map(plan.groups.map(({ group, renamedTo }) => [keyText(group), renamedTo]));
  return groups.map((group) => ({ ...group, scope: { ...group.scope, now: names.get(keyText(group)) } }));
}

/** Idle runners that all groups of a plan may keep. Each costs a plan 0.1 ms, in `serve` too; one file could ask for 1,500,000. */
const MOST_IDLE_TOGETHER = 10_000;

/** Plans like `plan`. Colliding groups, and warm pools that are too large together, throw a `Failure` (exit 2). */
export function planOrRefuse(groups: readonly Group[], evidence: Evidence, withPast?: WithPast): Plan {
  const idle = groups.reduce((sum, { minIdleRunners }) => sum + minIdleRunners, 0);
  if (idle > MOST_IDLE_TOGETHER) {
    const message = `plan: minIdleRunners of all RunnerGroups together is ${idle}, more than ${MOST_IDLE_TOGETHER}. Lower it, or spread the RunnerGroups over several Applications.`;
    throw new Failure('GR-INPUT-93', 2, message);
  }
  try {
    return plan(groups, evidence, withPast);
  } catch (error) {
    if (error instanceof GroupsCollide) throw collisionFailure(error);
    throw error;
  }
}

export function collisionFailure({ message }: GroupsCollide): Failure {
  return new Failure('GR-INPUT-90', 2, `plan: ${message}.`);
}
