/**
 * Applies the policy to the RunnerGroups of a run; each is denied as a whole, and no other with it (docs/adr/0081).
 * Entry of lib/policy.cjs. It throws nothing: other bundles would not recognize the class `Failure` of this bundle.
 */
import { groupBy, keyText } from '../../shared/keys.ts';
import { pathText } from '../runnergroup/paths.ts';
import { quoted } from '../runnergroup/problems.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { withSizes, writtenPath } from '../runnergroup/sizes.ts';
import { originOf } from './defaults.ts';
import {
  type Asker,
  allowedBy,
  DAY_MS,
  type Denial,
  type Finding,
  finding,
  type GroupRule,
  NONE,
  timeLeft,
} from './denial.ts';
import { allLevels, coversScope, entryOf, levelsOf, type Rules } from './levels.ts';
import { matchesAny, matchesGlob, normalRepository } from './policy-patterns.ts';
import { GROUP_RULES } from './policy-rules.ts';
import type { Policy, PolicyEntry, RuleName } from './policy-schema.ts';

export { defaultsOf, originOf } from './defaults.ts';
export { levelsOf } from './levels.ts';
export { readPolicyFile } from './policy-schema.ts';

/** Rules about what Argo CD tells of an Application. `refusal`: the message about a value that is not allowed. */
const ASKER_RULES = [
  {
    rule: 'projects',
    told: 'project',
    variable: 'ARGOCD_APP_PROJECT_NAME',
    refusal: (allowed: readonly string[], project: string) => {
      if (matchesAny(allowed, project)) return undefined;
      return `the Argo CD project is ${quoted(project)}; ${allowedBy(allowed)}. Move the Application, or ask for its project to be allowed`;
    },
  },
  {
    rule: 'repositories',
    told: 'repository',
    variable: 'ARGOCD_APP_SOURCE_REPO_URL',
    refusal: (allowed: readonly string[], repository: string) => {
      const normal = normalRepository(repository);
      const patterns = allowed.flatMap((pattern) => normalRepository(pattern) ?? []);
      if (normal !== undefined && matchesAny(patterns, normal)) return undefined;
      return 'the repository of the Application is not among those that the policy allows. Commit the RunnerGroups to one of them, or ask for this one to be allowed';
    },
  },
] as const;
type AskerRule = (typeof ASKER_RULES)[number];

/** Returns the rules that are skipped because a person asks, who does not tell what Argo CD tells. */
export function skippedRules(policy: Policy, asker: Asker): readonly RuleName[] {
  const levels = allLevels(policy);
  const skipped = ASKER_RULES.filter(
    ({ rule, told }) => asker[told] === undefined && levels.some((each) => each[rule]),
  );
  return asker.isArgoCd ? [] : skipped.map(({ rule }) => rule);
}

/** Judges what Argo CD tells, at one level of the policy. */
function judgeAsker({ rule, told, variable, refusal }: AskerRule, level: Rules, asker: Asker): readonly Finding[] {
  const [allowed, value] = [level[rule], asker[told]];
  if (allowed === undefined || (value === undefined && !asker.isArgoCd)) return NONE;
  const unset = `${variable} is not set, so this Application cannot be judged. It needs a newer Argo CD, or a policy without this rule`;
  const message = value === undefined ? unset : refusal(allowed, value);
  return message === undefined ? NONE : finding('', message);
}

/** Rules that hold in entries for their groups, besides the rules of the whole Application. */
const RULES: readonly (readonly [RuleName, GroupRule])[] = [
  ...ASKER_RULES.map((each): readonly [RuleName, GroupRule] => [
    each.rule,
    (_, group, asker, policy) => levelsOf(policy, group).entries.flatMap((entry) => judgeAsker(each, entry, asker)),
  ]),
  ...(Object.entries(GROUP_RULES) as [RuleName, GroupRule][]),
];

/** Returns the findings of each rule about a group, and their outcomes. */
export function rowsOf(policy: Policy, group: RunnerGroup, asker: Asker) {
  const { entries, rules } = levelsOf(policy, group);
  return RULES.map(([rule, judge]) => {
    const [own = NONE, ...ofSizes] = withSizes(group).map((each) =>
      judge(rules, each, asker, policy).map((finding) => {
        return placedInSize(each, { ...finding, origin: originOf(policy, each, finding.path) });
      }),
    );
    const ownFindings = new Set(own.map(({ path, message }) => path + message));
    const sizeFindings = ofSizes.flat().filter(({ path, message }) => !ownFindings.has(path + message));
    const about = { rule, group, entries, nowMs: asker.nowMs };
    return { rule, found: [...own, ...sizeFindings].map((finding) => settle(policy, about, finding)) };
  });
}

/** Returns a finding with its path in the RunnerGroup: a size's podTemplate or resources stand below the size. */
function placedInSize(group: RunnerGroup, { path, ...findingFields }: Finding): Finding {
  const inSize = (_: string, field: string) => pathText(writtenPath(group, ['spec', field]));
  return { path: path.replace(/^spec\.(podTemplate|resources)/, inSize), ...findingFields };
}

/** A finding with its outcome. Its message names an exception for it. `excepted`: it is not shown. */
interface Judged extends Denial {
  readonly outcome: 'denied' | 'warned' | 'excepted';
}

/** What a finding is about: a group with its entries, the nearest one first, or without a group the Application. */
type About = Pick<Denial, 'rule' | 'group'> & Pick<Asker, 'nowMs'> & { readonly entries?: readonly PolicyEntry[] };

/** How long before its end an exception is shown. */
const TOLD_MS = 14 * DAY_MS;

/**
 * Decides whether a finding denies, warns, or is excepted. A warning never allows what is denied without a policy file,
 * nor an exception what other rules could not read (docs/adr/0091). @param nowMs absent: every exception has ended
 */
function settle(
  policy: Policy,
  { rule, group, entries = [], nowMs = Number.POSITIVE_INFINITY }: About,
  { path, message, reach, origin }: Finding,
): Judged {
  const judged = (outcome: Judged['outcome'], note = ''): Judged => {
    return { outcome, rule, ...(group && { group }), path, message: message + note, ...(origin && { origin }) };
  };
  if (reach === 'unread') return judged('denied');
  if (reach === 'told') return judged('warned');
  const fitting = (policy.exceptions ?? []).filter(
    ({ groups, rules }) => group && rules.includes(rule) && matchesAny(groups, keyText(group)),
  );
  const [exception] = fitting.sort((a, b) => b.until.localeCompare(a.until));
  const leftMs = exception ? timeLeft(exception.until, nowMs) : 0;
  if (leftMs > TOLD_MS) return judged('excepted');
  const isInForce = leftMs > 0;
  const ends = `${isInForce ? 'an exception allows it until' : 'its exception ended on'} ${exception?.until}`;
  const note = exception ? ` (${ends}: ${exception.reason})` : '';
  if (isInForce) return judged('warned', note);
  const [nearest] = [...entries, policy].flatMap((level) => level.enforcementOf?.[rule] ?? level.enforcement ?? []);
  return judged(reach !== 'closed' && nearest === 'warn' ? 'warned' : 'denied', note);
}

/** Stands for any finding of a rule: the outcome does not depend on its message. */
const ANY: Finding = { path: '', message: '' };

/**
 * Judges the sums of the groups' caps, so the planner does not have to. The limit of an entry holds for each namespace.
 * Groups that only get warnings do not deny others, and groups with an exception do not count.
 */
function judgeCaps(policy: Policy, groups: readonly RunnerGroup[], { nowMs }: Asker): readonly Judged[] {
  const rule = 'maxActiveRunners';
  const counting = groups.map((group) => {
    const { entries } = levelsOf(policy, group);
    return { group, entries, outcome: settle(policy, { rule, group, entries, nowMs }, ANY).outcome };
  });
  const excessOf = (members: typeof counting, { maxActiveRunners: maximum = Infinity }: Rules, placeText: string) => {
    for (const outcome of ['denied', 'warned'] as const) {
      const counted = members.filter((each) => each.outcome === 'denied' || each.outcome === outcome);
      const sum = counted.reduce((total, { group }) => total + group.maxActiveRunners, 0);
      const message = `is ${sum} over all ${counted.length} RunnerGroups${placeText}; the policy allows ${maximum}. Lower it in some of them`;
      const judgement = { outcome, rule, path: `spec.${rule}`, message } as const;
      // If there is only one group, its own rule reports it.
      if (sum <= maximum || counted.length < 2) continue;
      const concerned = counted.filter((each) => each.outcome === outcome);
      if (placeText === '' && concerned.length === groups.length) return [judgement];
      return concerned.map(({ group }) => ({ ...judgement, group }));
    }
    return [];
  };
  const fitting = new Set(counting.flatMap(({ entries }) => entries));
  const ofEntries = [...fitting].flatMap((entry) => {
    const members = counting.filter(({ entries }) => entries.includes(entry));
    const namespaces = groupBy(members, ({ group }) => group.namespace);
    return [...namespaces].flatMap(([namespace, some]) => excessOf(some, entry, ` of namespace ${namespace}`));
  });
  return [...excessOf(counting, policy, ''), ...ofEntries];
}

/**
 * Judges all groups. A denial is about one group, or about the whole Application: those come first. `warnings`: denials
 * that stop nothing. A denied group does not count for the others.
 */
export function judge(policy: Policy, groups: readonly RunnerGroup[], asker: Asker) {
  const ofApplication = ASKER_RULES.flatMap((each) =>
    judgeAsker(each, policy, asker).map((finding) => settle(policy, { rule: each.rule }, finding)),
  );
  const ofGroups = groups.flatMap((group) => rowsOf(policy, group, asker).flatMap(({ found }) => found));
  const denied = new Set(ofGroups.flatMap(({ outcome, group }) => (outcome === 'denied' ? group : [])));
  const sound = groups.filter((group) => !denied.has(group));
  const all = [...ofApplication, ...judgeCaps(policy, sound, asker), ...ofGroups];
  const denialsOf = (wanted: Judged['outcome']): readonly Denial[] =>
    all.flatMap(({ outcome, ...denial }) => (outcome === wanted ? [denial] : []));
  return { denials: denialsOf('denied'), warnings: denialsOf('warned') };
}

/** Returns the allowed uses of the groups' tokens. If several entries match, the first one counts. */
export function tokenBounds(policy: Policy) {
  const { groups = [], tokenBindings = [] } = policy;
  const rule = 'namespaces.scopes';
  return {
    boundTo: (namespace: string, secret: string) =>
      tokenBindings.find((entry) => entry.secret === secret && matchesGlob(entry.namespace, namespace))?.url,
    // The group is not known here. So the values of every entry that may match hold.
    reachOf: (namespace: string) => {
      const ofNamespace = [entryOf(policy, { namespace }) ?? []].flat();
      const fitting = groups.filter(({ match }) => matchesGlob(match.namespace ?? '**', namespace));
      const lists = [...ofNamespace, ...fitting].flatMap((entry) => {
        const { outcome } = settle(policy, { rule, entries: [entry, ...ofNamespace] }, ANY);
        return entry.scopes && outcome === 'denied' ? [entry.scopes] : [];
      });
      const covers = (owner: string, repo: string) => {
        const scopes = [{ kind: 'global' }, { kind: 'repo', owner, repo }] as const;
        return lists.every((allowed) => scopes.some((scope) => coversScope(allowed, scope)));
      };
      return lists.length === 0 ? undefined : { id: lists.map((allowed) => allowed.join(' ')).join('; '), covers };
    },
  };
}
