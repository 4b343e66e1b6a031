/** The questions to a policy, its answers, and the failures that result. */
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/keys.ts';
import { count, firstLines, firstNames, printable, shortLine } from '../../shared/printable.ts';
import type { Path } from '../runnergroup/documents.ts';
import { pathText } from '../runnergroup/paths.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import type { Rules } from './levels.ts';
import type { Policy, RuleName } from './policy-schema.ts';

export interface Asker {
  /** True: Argo CD asks, and what it does not tell is denied. False: a person asks; such a rule is skipped. */
  readonly isArgoCd: boolean;
  /** Argo CD's `ARGOCD_APP_NAMESPACE`, `ARGOCD_APP_PROJECT_NAME`, `ARGOCD_APP_SOURCE_REPO_URL`; absent: not told. */
  readonly destination?: string | undefined;
  readonly project?: string | undefined;
  readonly repository?: string | undefined;
  /** Exceptions end. Absent: all have ended. */
  readonly nowMs?: number | undefined;
}

export interface Finding {
  /** The field as people write it, e.g. `spec.image`; empty when the whole Application is meant. */
  readonly path: string;
  /** Received value and remedy. May hold text from the file: print it through `printable`. */
  readonly message: string;
  /** `closed`: denied without a policy file, too. `unread`: other rules could not judge it. `told`: only a warning. */
  readonly reach?: 'closed' | 'unread' | 'told' | undefined;
  /** Place of the value in the policy. Absent: the group has it, or nobody. */
  readonly origin?: Path | undefined;
}

export function finding(path: string, message: string, reach?: Finding['reach']): readonly Finding[] {
  return [{ path, message, reach }];
}

export interface Denial extends Finding {
  readonly rule: RuleName;
  /** Absent when the whole Application is meant. */
  readonly group?: RunnerGroup;
}

export type GroupRule = (rules: Rules, group: RunnerGroup, asker: Asker, policy: Policy) => readonly Finding[];

/** The annotation of a RunnerGroup that says why it needs a higher profile. */
export const PROFILE_REASON = 'gitea.bpg.pw/profile-reason';

export const NONE: readonly Finding[] = [];

export const DAY_MS = 86_400_000;

/** Returns how many ms an exception still holds. Its last day is a whole one, by UTC. 0 or less: it has ended. */
export function timeLeft(until: string, nowMs: number): number {
  return Date.parse(until) + DAY_MS - nowMs;
}

/** Describes the values that a list of patterns allows, for a message. */
export function allowedBy(patterns: readonly string[]): string {
  return `the policy allows ${patterns.length === 0 ? 'none' : firstNames(patterns, 5)}`;
}

const SHOWN = 15;

/** `file:line: namespace/name: field: message [rule]`, one line, safe on a terminal. */
export function denialLine({ group, path, message, rule, origin }: Denial): string {
  const placeTexts = group === undefined ? [] : [`${group.place.file}:${group.place.line}`, keyText(group)];
  const from = origin ? ` (the policy gives it this value in ${pathText(origin)})` : '';
  return `${shortLine([...placeTexts, path, message + from].filter((part) => part !== '').join(': '))} [${rule}]`;
}

export function warningLines(file: string, warnings: readonly Denial[]): readonly string[] {
  const lines = warnings.map((each) => `warning: GR-WARN-15 ${denialLine(each)}`);
  return firstLines(lines, SHOWN, `gitea-runners validate --policy ${printable(file)}`);
}

/** Refused groups (exit 3). `whole`: the failure of a command that does all or nothing; undefined: none is refused. */
export type Refusals = Readonly<{ byGroup: ReadonlyMap<RunnerGroup, Failure>; whole: Failure | undefined }>;

/** Sorts denials by group. Those of the whole Application refuse each group. */
export function refusalsBy(file: string, groups: readonly RunnerGroup[], denials: readonly Denial[]): Refusals {
  const refusals = groups.flatMap((each) => {
    const concerning = denials.filter(({ group }) => group === undefined || group === each);
    return concerning.length > 0 ? [[each, denied(file, concerning)] as const] : [];
  });
  return { byGroup: new Map(refusals), whole: denials.length > 0 ? denied(file, denials) : undefined };
}

function denied(file: string, denials: readonly Denial[]): Failure {
  const summary = `serve RunnerGroups: ${count(denials.length, 'denial')} by the policy ${printable(file)}.`;
  const lines = firstLines(denials.map(denialLine), SHOWN, `gitea-runners validate --policy ${printable(file)}`);
  return new Failure('GR-POLICY-04', 3, [summary, ...lines].join('\n'), 'policy');
}

/** Makes the failure of an unusable policy file (exit 2). Its denials are not known, so nothing is served. */
export function unusablePolicy(file: string, problems: readonly string[]): Failure {
  const summary = `read the policy ${printable(file)}: ${count(problems.length, 'problem')}. Nothing is served without it.`;
  const lines = firstLines(problems.map(printable), SHOWN, 'correct these first');
  return new Failure('GR-POLICY-05', 2, [summary, ...lines].join('\n'), 'policy');
}
