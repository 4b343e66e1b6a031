/** Values of a policy that are legal and cannot be meant: entries that never count, rules that never judge. Pure. */
import { fieldsOf, TEMPLATE_TYPE, type ValueType } from '../../config/pods/pod-schema.ts';
import { allLevels, placedLevels } from '../../config/policy/levels.ts';
import { matchesAny, matchesGlob } from '../../config/policy/policy-patterns.ts';
import type { GroupMatch, Policy, PolicyEntry, RuleName } from '../../config/policy/policy-schema.ts';
import type { Path } from '../../config/runnergroup/documents.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import { isLabelValue, isQualifiedName, nearestName } from '../../config/runnergroup/words.ts';
import { type Odd, oddIf, within } from './odd-values.ts';

/** Returns warnings about a policy. The rules of one group are judged with that group. */
export function oddPolicy(policy: Policy, nowMs: number): readonly Odd[] {
  return [
    ...within(policy, ['spec']),
    ...LISTS.flatMap((list) => behind(policy, list)),
    ...named(policy).flatMap(([path, text, what]) => aboutName(policy, path, text, what)),
    ...placedLevels(policy).flatMap(([path, level]) => aboutLevel(policy, path, level)),
    ...aboutExceptions(policy, nowMs),
  ];
}

/** Lists of which the first fitting entry counts. */
const LISTS = ['namespaces', 'groups', 'tokenBindings'] as const;

/** Warns of entries behind one that fits all that they fit. */
function behind(policy: Policy, list: (typeof LISTS)[number]): readonly Odd[] {
  const entries = (policy[list] ?? []).map((entry) => {
    const { name, namespace, scope, labels }: GroupMatch = 'match' in entry ? entry.match : entry;
    const secret = 'secret' in entry ? entry.secret : undefined;
    return { texts: [name, namespace, scope?.toLowerCase(), secret], labels: Object.entries(labels ?? {}) };
  });
  return entries.flatMap(({ texts, labels }, index) => {
    const first = entries.slice(0, index).findIndex(
      (wide) =>
        // A star of the later pattern is a character like others, and only a star fits it.
        wide.texts.every((pattern, at) => pattern === undefined || matchesGlob(pattern, texts[at] ?? '**')) &&
        wide.labels.every(([key, value]) => labels.some(([other, own]) => other === key && own === value)),
    );
    const message = `never counts, because ${list}[${first}] comes first and fits all of it: move this entry before that one, or remove it`;
    return oddIf(first >= 0, ['spec', list, index], message);
  });
}

/** Patterns for names of Kubernetes: their places, and whose names they fit. */
function named(policy: Policy): readonly (readonly [Path, string, 'namespace' | 'RunnerGroup'])[] {
  const { namespaces = [], groups = [], tokenBindings = [], exceptions = [] } = policy;
  return [
    ...namespaces.map(({ name }, at) => [['spec', 'namespaces', at, 'name'], name, 'namespace'] as const),
    ...groups.flatMap(({ match }, at) =>
      (['namespace', 'name'] as const).flatMap((field) => {
        const pattern = match[field];
        const what = field === 'name' ? 'RunnerGroup' : field;
        return pattern === undefined ? [] : [[['spec', 'groups', at, 'match', field], pattern, what] as const];
      }),
    ),
    ...tokenBindings.map(
      ({ namespace }, at) => [['spec', 'tokenBindings', at, 'namespace'], namespace, 'namespace'] as const,
    ),
    ...exceptions.flatMap((exception, at) =>
      exception.groups.flatMap((pattern, nth) => {
        const [namespace = '', name = ''] = pattern.split('/');
        const path = ['spec', 'exceptions', at, 'groups', nth];
        const ofName = [path, name, 'RunnerGroup'] as const;
        // Such an exception may be for a namespace that the policy does not list.
        return exception.rules.includes('namespaces') ? [ofName] : [[path, namespace, 'namespace'] as const, ofName];
      }),
    ),
  ];
}

function aboutName(policy: Policy, path: Path, pattern: string, what: string): readonly Odd[] {
  const good = pattern.replaceAll('.', '-').replace(/^-+|-+$/g, '');
  if (good !== pattern)
    return [
      [
        path,
        `fits no ${what}, whose names have dashes inside and no dots: write ${pattern.includes('*') ? `"${good}"` : good}`,
      ],
    ];
  const { namespaces } = policy;
  const isAllowed = pattern.includes('*') || namespaces?.some(({ name }) => matchesGlob(name, pattern)) !== false;
  const message = `fits no RunnerGroup, because no entry of namespaces allows ${pattern}: add it there, or correct it`;
  return oddIf(what === 'namespace' && !isAllowed, path, message);
}

const RANKS = ['restricted', 'baseline', 'privileged'];

function aboutLevel(policy: Policy, path: Path, level: Policy | PolicyEntry): readonly Odd[] {
  const { images = [], registries = policy.registries, securityProfile, podTemplateFields = [] } = level;
  const cap = level === policy ? Number.POSITIVE_INFINITY : (policy.maxActiveRunners ?? Number.POSITIVE_INFINITY);
  const { highest = '', withReason = '' } = securityProfile ?? {};
  const isUseless = withReason !== '' && RANKS.indexOf(withReason) <= RANKS.indexOf(highest);
  const match = 'match' in level ? (level as { match: GroupMatch }).match : {};
  return [
    ...images.flatMap((image, index) => {
      const [registry = ''] = image.split('/');
      const isOut = registries !== undefined && !registry.includes('*') && !matchesAny(registries, registry);
      const message = `is of ${registry}, and registries has only ${registries?.join(', ')}: add it there, or remove this`;
      return oddIf(isOut, [...path, 'images', index], message);
    }),
    ...oddIf(
      isUseless,
      [...path, 'securityProfile', 'withReason'],
      `is ${withReason}, and highest allows ${highest} without a reason: write a higher one, or remove it`,
    ),
    ...oddIf(
      (level.maxActiveRunners ?? 0) > cap,
      [...path, 'maxActiveRunners'],
      `is ${level.maxActiveRunners}, more than the ${cap} of the whole policy, so it limits nothing: write less, or remove it`,
    ),
    ...podTemplateFields.flatMap((field, index) => {
      const message = unknownField(field.split('.'));
      return message === undefined ? [] : [[[...path, 'podTemplateFields', index], message] as const];
    }),
    ...Object.entries(match.labels ?? {}).flatMap(([key, value]) => {
      const isPossible = isQualifiedName(key) && isLabelValue(value);
      return oddIf(!isPossible, [...path, 'match', 'labels', key], 'is no label that an object can have: correct it');
    }),
    ...Object.keys(level.enforcementOf ?? {}).flatMap((rule) =>
      aboutRule(policy, rule as RuleName, [...path, 'enforcementOf', rule]),
    ),
  ];
}

/** Rules that deny something also if no level of the policy has them. */
const ALWAYS: readonly string[] = [
  'namespaces.destinations',
  'securityProfile',
  'podTemplateFields',
  'priorityClasses',
  'serviceAccounts',
];

function aboutRule(policy: Policy, rule: RuleName, path: Path): readonly Odd[] {
  const field = rule.replace('namespaces.', '');
  const isSet = ALWAYS.includes(rule) || allLevels(policy).some((level) => valueAt(level, [field]) !== undefined);
  return oddIf(!isSet, path, `is about ${rule}, which no level of this policy has, so it does nothing: remove it`);
}

/** Returns what is wrong with a path of a pod, e.g. `spec.containers.env`. */
function unknownField(steps: readonly string[]): string | undefined {
  let type: ValueType = { kind: 'struct', name: TEMPLATE_TYPE };
  for (const [index, step] of steps.entries()) {
    while (type.kind === 'list') type = type.element;
    if (type.kind === 'mapping') return undefined;
    const known: ReturnType<typeof fieldsOf> = type.kind === 'struct' ? fieldsOf(type.name) : new Map();
    const inner: ValueType | undefined = known.get(step)?.type;
    if (!inner) {
      const near = nearestName(step, [...known.keys()]);
      const path = [...steps.slice(0, index), near, ...steps.slice(index + 1)].join('.');
      return `is no field of a pod, so it allows nothing: ${near === undefined ? 'remove it' : `write ${path}`}`;
    }
    type = inner;
  }
  return undefined;
}

const DAY_MS = 86_400_000;
/** An exception is for some time. */
const MOST_YEARS = 3;

function aboutExceptions(policy: Policy, nowMs: number): readonly Odd[] {
  return (policy.exceptions ?? []).flatMap(({ rules, until }, index) => {
    const path = ['spec', 'exceptions', index];
    const years = Math.round((Date.parse(until) - nowMs) / DAY_MS / 365);
    return [
      ...oddIf(
        Date.parse(until) + DAY_MS <= nowMs,
        [...path, 'until'],
        `is ${until}, which is over, so the rules deny again: remove the exception, or write a later day`,
      ),
      ...oddIf(
        years > MOST_YEARS,
        [...path, 'until'],
        `is ${until}, in ${years} years: write a day within a year, or allow it for good with an entry of groups`,
      ),
      ...rules.flatMap((rule, nth) => aboutRule(policy, rule, [...path, 'rules', nth])),
    ];
  });
}
