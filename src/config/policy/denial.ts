/** What a policy is asked about, what it answers, and the failures that it leads to. */

import { Failure, joinFailures } from '../../shared/failure.ts';
import { count, firstLines, firstNames, printable, shortLine } from '../../shared/printable.ts';
import type { FilePlace, RunnerGroup } from '../runnergroup/runner-group.ts';
import type { Policy } from './schema.ts';

export interface Asker {
  /** True: Argo CD asks, and what it does not tell is denied. False: a person or a check before a merge; such a rule is skipped. */
  readonly isArgoCd: boolean;
  /** Argo CD's `ARGOCD_APP_NAMESPACE`, `ARGOCD_APP_PROJECT_NAME`, `ARGOCD_APP_SOURCE_REPO_URL`; absent: not told. */
  readonly destination?: string | undefined;
  readonly project?: string | undefined;
  readonly repository?: string | undefined;
}

/** The fields of a policy, which are also the names of its rules. `namespaces.scopes` is the rule `scopes` of a namespace. */
export type RuleName = keyof Policy | `namespaces.${'destinations' | 'scopes' | 'secrets'}`;

export interface Finding {
  /** The field as people write it, e.g. `spec.image`; empty when the whole Application is meant. */
  readonly path: string;
  /** What came and what to do. May hold text from the file: print it through `printable`. */
  readonly message: string;
}

export function finding(path: string, message: string): readonly Finding[] {
  return [{ path, message }];
}

export interface Denial extends Finding {
  readonly rule: RuleName;
  /** `namespace/name` and the place of the RunnerGroup; absent when the whole Application is meant. */
  readonly group?: { readonly name: string; readonly place: FilePlace };
}

/** What a policy says of the groups of a run. `common`: of all of them together. Empty lists: everything is allowed. */
export interface Denials {
  readonly common: readonly Denial[];
  readonly own: ReadonlyMap<RunnerGroup, readonly Denial[]>;
}

export type GroupRule = (policy: Policy, group: RunnerGroup, asker: Asker) => readonly Finding[];
export type ApplicationRule = (policy: Policy, groups: readonly RunnerGroup[], asker: Asker) => readonly Finding[];

/** The annotation of a RunnerGroup that says why it needs a higher profile. */
export const PROFILE_REASON = 'gitea.bpg.pw/profile-reason';

export const NONE: readonly Finding[] = [];

/** What a list of patterns allows, for a message. */
export function allowedBy(patterns: readonly string[]): string {
  return `the policy allows ${patterns.length === 0 ? 'none' : firstNames(patterns, 5)}`;
}

const SHOWN = 15;

/** `file:line: namespace/name: field: message [rule]`, one line, safe on a terminal. */
export function denialLine({ group, path, message, rule }: Denial): string {
  const where = group === undefined ? [] : [`${group.place.file}:${group.place.line}`, group.name];
  return `${shortLine([...where, path, message].filter((part) => part !== '').join(': '))} [${rule}]`;
}

/** In the order of their groups, those of all of them first. */
export function allDenials({ common, own }: Denials): readonly Denial[] {
  return [...common, ...[...own.values()].flat()];
}

/** Groups that are refused (exit 3), each with why. `all`: the failure of a run that can do nothing with that; undefined: none is refused. */
export interface Refusals {
  readonly of: ReadonlyMap<RunnerGroup, Failure>;
  readonly all: Failure | undefined;
}

export function refusalsBy(file: string, denials: Denials): Refusals {
  const of = [...denials.own].flatMap(([group, own]) => {
    const all = [...denials.common, ...own];
    return all.length > 0 ? [[group, denied(file, all)] as const] : [];
  });
  const all = allDenials(denials);
  return { of: new Map(of), all: all.length > 0 ? denied(file, all) : undefined };
}

export function refusals(of: ReadonlyMap<RunnerGroup, Failure>): Refusals {
  const [first, ...others] = of.values();
  return { of, all: first && joinFailures([first, ...others]) };
}

function denied(file: string, denials: readonly Denial[]): Failure {
  const what = `${count(denials.length, 'denial')} by the policy ${printable(file)}.`;
  const lines = firstLines(denials.map(denialLine), SHOWN, `gitea-runners validate --policy ${printable(file)}`);
  return new Failure('GR-POLICY-04', 3, [`serve RunnerGroups: ${what}`, ...lines].join('\n'), 'policy');
}

/** Exit 2: the policy file cannot be read, or is none. What it would deny is not known, so everything is refused. */
export function unusablePolicy(file: string, problems: readonly string[]): Failure {
  const what = `${count(problems.length, 'problem')}. Nothing is served without it.`;
  const lines = firstLines(problems.map(printable), SHOWN, 'correct these first');
  return new Failure('GR-POLICY-05', 2, [`read the policy ${printable(file)}: ${what}`, ...lines].join('\n'), 'policy');
}
