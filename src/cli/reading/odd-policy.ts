/** Values of a policy that are legal and cannot be meant: entries that never count, rules that never judge. Pure. */
import { fieldsOf, TEMPLATE_TYPE, type ValueType } from '../../config/pods/pod-schema.ts';
import { DAY_MS, timeLeft } from '../../config/policy/denial.ts';
import { allLevels } from '../../config/policy/levels.ts';
import { matchesAny, matchesGlob } from '../../config/policy/policy-patterns.ts';
import type { GroupMatch, Policy, PolicyEntry } from '../../config/policy/policy-schema.ts';
import type { Path } from '../../config/runnergroup/documents.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import { isLabelValue, isQualifiedName, nearestName, profileRank } from '../../config/runnergroup/words.ts';
import { type Odd, oddIf } from './odd.ts';
import { within } from './odd-values.ts';

/** Returns warnings about a policy. The rules of one group are judged with that group. */
export function oddPolicy(policy: Policy, nowMs: number): readonly Odd[] {
  const judged = scalarsIn(policy, ['spec']).flatMap(([path, text]): readonly Odd[] => {
    const judge = JUDGES.find(([places]) => places.test(path.join('.')))?.[1];
    const message = judge?.(text, { path, policy, nowMs });
    return message === undefined ? [] : [[path, message]];
  });
  return [...within({ path: ['spec'], value: policy }), ...LISTS.flatMap((list) => behind(policy, list)), ...judged];
}

function scalarsIn(value: unknown, path: Path): readonly (readonly [Path, string])[] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]];
  return Object.entries(value).flatMap(([key, inner]) =>
    scalarsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
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
    return oddIf([first >= 0, ['spec', list, index], message]);
  });
}

type Place = Readonly<{ path: Path; policy: Policy; nowMs: number }>;
type Judge = (text: string, place: Place) => string | undefined;

const NO_PATTERN = 'fits no Gitea, because a star is no pattern here: write the address of each';

/** Judges of scalars by their places. */
const JUDGES: readonly (readonly [places: RegExp, judge: Judge])[] = [
  [/^spec\.(?:namespaces\.\d+\.name|groups\.\d+\.match\.namespace|tokenBindings\.\d+\.namespace)$/, oddNamespace],
  [/^spec\.groups\.\d+\.match\.name$/, (text) => oddName(text, 'RunnerGroup')],
  [/^spec\.exceptions\.\d+\.groups\./, oddKey],
  [/^spec\.exceptions\.\d+\.rules\./, (rule, { policy }) => oddRule(rule, policy)],
  [/\.enforcementOf\.[\w.]+$/, (_, { path, policy }) => oddRule(String(path.at(-1)), policy)],
  [/^spec\.exceptions\.\d+\.until$/, oddEnd],
  [/\.podTemplateFields\.\d+$/, (text) => unknownField(text.split('.'))],
  [/\.images\.\d+$/, oddRegistry],
  [/\.giteas\.\d+$/, (address) => (address.includes('*') ? NO_PATTERN : undefined)],
  [/\.securityProfile\.withReason$/, oddReason],
  [/^spec\.\w+\.\d+\.maxActiveRunners$/, oddCap],
  [
    /^spec\.groups\.\d+\.match\.labels\./,
    (text, { path }) =>
      isQualifiedName(String(path.at(-1))) && isLabelValue(text)
        ? undefined
        : 'is no label that an object can have: correct it',
  ],
];

function oddName(pattern: string, what: string): string | undefined {
  const good = pattern.replaceAll('.', '-').replace(/^-+|-+$/g, '');
  const written = good.includes('*') ? `"${good}"` : good;
  return good === pattern ? undefined : `fits no ${what}, whose names have dashes inside and no dots: write ${written}`;
}

function oddNamespace(pattern: string, { policy }: Place): string | undefined {
  const isAllowed =
    pattern.includes('*') || policy.namespaces?.some(({ name }) => matchesGlob(name, pattern)) !== false;
  const outside = `fits no RunnerGroup, because no entry of namespaces allows ${pattern}: add it there, or correct it`;
  return oddName(pattern, 'namespace') ?? (isAllowed ? undefined : outside);
}

/** `NAMESPACE/NAME`. An exception from the rule `namespaces` may be for one that the policy does not list. */
function oddKey(pattern: string, place: Place): string | undefined {
  const [namespace = '', name = ''] = pattern.split('/');
  const isOfRule = String(valueAt({ spec: place.policy }, [...place.path.slice(0, 3), 'rules'])).includes('namespaces');
  return oddName(name, 'RunnerGroup') ?? (isOfRule ? undefined : oddNamespace(namespace, place));
}

/** Rules that deny something also if no level of the policy has them. */
const ALWAYS = /^(?:namespaces\.destinations|securityProfile|podTemplateFields|priorityClasses|serviceAccounts)$/;

function oddRule(rule: string, policy: Policy): string | undefined {
  const field = rule.replace('namespaces.', '');
  const isSet = ALWAYS.test(rule) || allLevels(policy).some((level) => valueAt(level, [field]) !== undefined);
  return isSet ? undefined : `is about ${rule}, which no level of this policy has, so it does nothing: remove it`;
}

/** An exception is for some time. */
const MOST_YEARS = 3;

function oddEnd(until: string, { nowMs }: Place): string | undefined {
  const leftMs = timeLeft(until, nowMs);
  if (leftMs <= 0)
    return `is ${until}, which is over, so the rules deny again: remove the exception, or write a later day`;
  const years = Math.round(leftMs / DAY_MS / 365);
  if (years <= MOST_YEARS) return undefined;
  return `is ${until}, in ${years} years: write a day within a year, or allow it for good with an entry of groups`;
}

function oddRegistry(image: string, { path, policy }: Place): string | undefined {
  const [registry = ''] = image.split('/');
  const { registries = policy.registries } = valueAt({ spec: policy }, path.slice(0, -2)) as Pick<
    PolicyEntry,
    'registries'
  >;
  if (registries === undefined || registry.includes('*') || matchesAny(registries, registry)) return undefined;
  return `is of ${registry}, and registries has only ${registries.join(', ')}: add it there, or remove this`;
}

function oddReason(level: string, { path, policy }: Place): string | undefined {
  const highest = String(valueAt({ spec: policy }, [...path.slice(0, -1), 'highest']));
  if (profileRank(level) > profileRank(highest)) return undefined;
  return `is ${level}, and highest allows ${highest} without a reason: write a higher one, or remove it`;
}

function oddCap(cap: string, { policy: { maxActiveRunners: all = Infinity } }: Place): string | undefined {
  if (Number(cap) <= all) return undefined;
  return `is ${cap}, more than the ${all} of the whole policy, so it limits nothing: write less, or remove it`;
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
