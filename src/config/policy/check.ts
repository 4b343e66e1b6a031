/**
 * Applies the policy to the RunnerGroups of a run; each is denied as a whole, and no other with it (docs/adr/0081).
 * Entry of lib/policy.cjs. It throws nothing: a `Failure` of that file would be none to the rest of the program.
 */
import { groupBy } from '../../shared/keys.ts';
import { quoted } from '../runnergroup/problems.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { withSizes } from '../runnergroup/sizes.ts';
import { type Asker, allowedBy, type Denial, type Finding, finding, type GroupRule, NONE } from './denial.ts';
import { allLevels, coversScope, entryOf, levelsOf, type Rules } from './levels.ts';
import { matchesAny, matchesGlob, normalRepository } from './policy-patterns.ts';
import { GROUP_RULES } from './policy-rules.ts';
import type { Policy, RuleName } from './policy-schema.ts';
import { type Settled, settle } from './settle.ts';

export { defaultsOf } from './defaults.ts';
export { levelsOf } from './levels.ts';
export { readPolicyFile } from './policy-schema.ts';

/** Judgement of a policy. Each denial is about one group, or about the whole Application. */
export interface PolicyJudgement {
  readonly denials: readonly Denial[];
  /** Denials that stop nothing: of rules that only warn, and of exceptions that end soon. */
  readonly warnings: readonly Denial[];
}

/** Rules of the policy that are skipped: nobody tells what they need, and nobody of Argo CD asks. */
export function skippedRules(policy: Policy, { isArgoCd, project, repository }: Asker): readonly RuleName[] {
  if (isArgoCd) return [];
  const argocdFields = { projects: project, repositories: repository } as const;
  return (['projects', 'repositories'] as const).filter(
    (rule) => argocdFields[rule] === undefined && allLevels(policy).some((level) => level[rule] !== undefined),
  );
}

type AskerRule = (rules: Pick<Policy, 'projects' | 'repositories'>, asker: Asker) => readonly Finding[];

const projects: AskerRule = ({ projects: allowed }, { isArgoCd, project }) => {
  if (allowed === undefined) return NONE;
  if (project === undefined) return isArgoCd ? missingVariable('ARGOCD_APP_PROJECT_NAME') : NONE;
  if (matchesAny(allowed, project)) return NONE;
  const message = `the Argo CD project is ${quoted(project)}; ${allowedBy(allowed)}. Move the Application, or ask for its project to be allowed`;
  return finding('', message);
};

const NOT_ALLOWED =
  'the repository of the Application is not among those that the policy allows. Commit the RunnerGroups to one of them, or ask for this one to be allowed';

const repositories: AskerRule = ({ repositories: allowed }, { isArgoCd, repository }) => {
  if (allowed === undefined) return NONE;
  if (repository === undefined) return isArgoCd ? missingVariable('ARGOCD_APP_SOURCE_REPO_URL') : NONE;
  const normal = normalRepository(repository);
  const patterns = allowed.flatMap((pattern) => normalRepository(pattern) ?? []);
  if (normal !== undefined && matchesAny(patterns, normal)) return NONE;
  return finding('', NOT_ALLOWED);
};

function missingVariable(variable: string): ReturnType<typeof finding> {
  const message = `${variable} is not set, so this Application cannot be judged. It needs a newer Argo CD, or a policy without this rule`;
  return finding('', message);
}

const ASKER_RULES: readonly (readonly [RuleName, AskerRule])[] = [
  ['projects', projects],
  ['repositories', repositories],
];

/** Rules that hold in entries for their groups, besides the rules of the whole Application. */
const RULES: readonly (readonly [RuleName, GroupRule])[] = [
  ...ASKER_RULES.map(([rule, judge]): readonly [RuleName, GroupRule] => [
    rule,
    (_, group, asker, policy) => levelsOf(policy, group).entries.flatMap((entry) => judge(entry, asker)),
  ]),
  ...GROUP_RULES,
];

/** Returns the findings of each rule about a group, and their outcomes. */
export function rowsOf(policy: Policy, group: RunnerGroup, asker: Asker) {
  const { entries, rules } = levelsOf(policy, group);
  return RULES.map(([rule, judge]) => {
    const [own = NONE, ...ofSizes] = withSizes(group).map((each) =>
      judge(rules, each, asker, policy).map((finding) => placedInSize(each, finding)),
    );
    const ownFindings = new Set(own.map(({ path, message }) => path + message));
    const sizeFindings = ofSizes.flat().filter(({ path, message }) => !ownFindings.has(path + message));
    const about = { rule, group, entries, nowMs: asker.nowMs };
    return { rule, found: [...own, ...sizeFindings].map((finding) => settle(policy, about, finding)) };
  });
}

/** Returns a finding with its place in the size. Faults of a size's podTemplate or resources are shown there. */
function placedInSize({ size }: RunnerGroup, { path, ...findingFields }: Finding): Finding {
  const sizeFields = size?.group.sizes[size.index];
  const [, field] = /^spec\.(podTemplate|resources)/.exec(path) ?? [];
  const isOwn = field !== undefined && sizeFields?.[field as 'podTemplate' | 'resources'] !== undefined;
  return { path: isOwn ? path.replace('spec.', `spec.sizes[${size?.index}].`) : path, ...findingFields };
}

type Judged = Denial & Pick<Settled, 'outcome'>;

/** Rules about the Application as a whole: a denial concerns all of its groups. */
function judgeApplication(policy: Policy, asker: Asker): readonly Judged[] {
  return ASKER_RULES.flatMap(([rule, judge]) =>
    judge(policy, asker).map((finding) => {
      const { outcome, found } = settle(policy, { rule }, finding);
      return { outcome, rule, ...found };
    }),
  );
}

/**
 * Judges the sums of the groups' caps, so that the planner need not. The limit of an entry holds for each namespace.
 * Groups that only get warnings do not deny others, and groups with an exception do not count.
 */
function judgeCaps(policy: Policy, groups: readonly RunnerGroup[], { nowMs }: Asker): readonly Judged[] {
  const rule = 'maxActiveRunners';
  const counting = groups.map((group) => {
    const { entries } = levelsOf(policy, group);
    return {
      group,
      entries,
      ...settle(policy, { rule, group, entries, nowMs }, { path: `spec.${rule}`, message: '' }),
    };
  });
  const excessOf = (
    members: typeof counting,
    { maxActiveRunners: maximum = Number.POSITIVE_INFINITY }: Rules,
    placeText: string,
  ) => {
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

/** Judges all groups. Denials of the whole Application come first. A denied group does not count for the others. */
export function judge(policy: Policy, groups: readonly RunnerGroup[], asker: Asker): PolicyJudgement {
  const ofGroups = groups.flatMap((group) =>
    rowsOf(policy, group, asker).flatMap(({ rule, found }) =>
      found.map(({ outcome, found: finding }): Judged => ({ outcome, rule, group, ...finding })),
    ),
  );
  const denied = new Set(ofGroups.flatMap(({ outcome, group }) => (outcome === 'denied' ? group : [])));
  const sound = groups.filter((group) => !denied.has(group));
  const all = [...judgeApplication(policy, asker), ...judgeCaps(policy, sound, asker), ...ofGroups];
  const denialsOf = (wanted: Settled['outcome']): readonly Denial[] =>
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
      const entriesOfNamespace = [entryOf(policy, { namespace }) ?? []].flat();
      const entries = groups.filter(({ match }) => matchesGlob(match.namespace ?? '**', namespace));
      const lists = [...entriesOfNamespace, ...entries].flatMap((entry) => {
        const { outcome } = settle(
          policy,
          { rule, entries: [entry, ...entriesOfNamespace] },
          { path: '', message: '' },
        );
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
