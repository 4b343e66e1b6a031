/** Caps and limits of a history, each with the groups that are below it. */
import type { Limit } from '../../src/planner/evidence.ts';
import type { GroupSpec, History } from './history.ts';

export interface Ceiling {
  readonly name: string;
  readonly groups: readonly GroupSpec[];
  /** Returns the ceiling that git has now. */
  readonly most: () => number;
  readonly per: Limit['per'];
  /** True if it counts only jobs of the branches `LIMITED_BRANCHES`. */
  readonly isOfBranches: boolean;
}

export const LIMITED_BRANCHES = ['main', 'release/*'] as const;

/** True for a ceiling that each repository has, or that is for some branches: it counts CI jobs. */
export function countsJobs({ per, isOfBranches }: Ceiling): boolean {
  return per !== undefined || isOfBranches;
}

/** True if it counts CI jobs of this branch. */
export function isOverBranch({ isOfBranches }: Ceiling, branch: string): boolean {
  return !isOfBranches || branch === 'main' || branch.startsWith('release/');
}

export function weightOf({ weight = 1 }: GroupSpec): number {
  return weight;
}

/** Sizes of a group have its name. @param now a group as git has it now */
export function ceilingsOf(
  { groups }: Pick<History, 'groups'>,
  now = (group: GroupSpec): GroupSpec => group,
): readonly Ceiling[] {
  const caps = [...new Set(groups.map(({ name }) => name))].map((name): Ceiling => {
    const sizes = groups.filter((group) => group.name === name);
    const most = (): number => Math.min(...sizes.map((group) => now(group).cap));
    return { name, groups: sizes, most, per: undefined, isOfBranches: false };
  });
  const limits = groups.flatMap((group) => group.limits ?? []);
  const keys = new Set(limits.map(({ key }) => key));
  const others = [...keys].map((key): Ceiling => {
    const same = limits.filter((limit) => limit.key === key);
    const below = groups.filter((group) => group.limits?.some((limit) => limit.key === key));
    const numbers = (group: GroupSpec): readonly number[] =>
      (now(group).limits ?? []).flatMap((limit) => (limit.key === key ? limit.most : []));
    return {
      name: key,
      groups: below,
      most: () => Math.min(...below.flatMap(numbers)),
      per: same[0]?.per,
      isOfBranches: same[0]?.branches !== undefined,
    };
  });
  return [...caps, ...others];
}

/** Returns the part of a repository's name that counts together. */
export function partOf({ per }: Pick<Ceiling, 'per'>, repository: string): string {
  if (per === undefined) return '';
  return per === 'organization' ? (repository.split('/')[0] ?? '') : repository;
}
