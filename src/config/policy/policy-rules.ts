/** The rules about one group: its namespace, what it may name there, and its pods. */
import { scopeWord } from '../../shared/scope.ts';
import { normalBase } from '../../shared/url.ts';
import { mergePodTemplate } from '../pods/apply-template.ts';
import { type AskedKind, asksOf } from '../pods/asks.ts';
import { checkShape } from '../pods/check-shape.ts';
import {
  boundFault,
  type FieldPath,
  isList,
  isMapping,
  type Mapping,
  type TemplateFault,
  type Value,
} from '../pods/pod-schema.ts';
import { pathText, valueAt } from '../runnergroup/paths.ts';
import { quoted } from '../runnergroup/problems.ts';
import { mostAskedOf } from '../runnergroup/resource-requests.ts';
import { JUDGES, neededLevel, type RunnerGroup } from '../runnergroup/runner-group.ts';
import { otherSecrets } from '../runnergroup/secrets.ts';
import { profileRank, quantityValue } from '../runnergroup/words.ts';
import { allowedBy, type Finding, finding, type GroupRule, NONE, PROFILE_REASON } from './denial.ts';
import { coversScope, entryOf, levelsOf, type Rules } from './levels.ts';
import { coversImage, matchesAny, parseImage } from './policy-patterns.ts';
import { OTHERS, type RuleName } from './policy-schema.ts';

/** Rules of a group, in the order of their denials. */
export const GROUP_RULES: Readonly<Record<Exclude<RuleName, 'projects' | 'repositories'>, GroupRule>> = {
  namespaces: (_, group, __, policy) => {
    if (policy.namespaces === undefined || entryOf(policy, group)) return NONE;
    const names = policy.namespaces.map(({ name }) => name);
    return finding('metadata.namespace', `is ${group.namespace}; ${allowedBy(names)}. Use one of them`);
  },

  /** Also without a policy, a group must be in the destination namespace of its Application. */
  'namespaces.destinations': ({ destinations: allowed = [] }, group, { isArgoCd, destination }, policy) => {
    const isUnknown = destination === undefined;
    // Called by hand, there may be no Application. A policy without namespaces ignores an Application without a
    // destination namespace.
    if (isUnknown && (!isArgoCd || policy.namespaces === undefined)) return NONE;
    if (!isUnknown && matchesAny([group.namespace, ...allowed], destination)) return NONE;
    const subject = isUnknown
      ? 'the Application has no destination namespace'
      : `the destination namespace of the Application is ${destination}`;
    const message = `is ${group.namespace}, but ${subject}. Make an Application for that namespace, or ask for this destination to be allowed there`;
    return finding('metadata.namespace', message, 'closed');
  },

  'namespaces.scopes': ({ scopes: allowed }, group) => {
    if (allowed === undefined || coversScope(allowed, group.scope)) return NONE;
    const message = `is ${scopeWord(group.scope)}; ${allowedBy(allowed)} in namespace ${group.namespace}. Use one of these scopes`;
    return finding('spec.scope', message);
  },

  'namespaces.secrets': ({ secrets: allowed }, group) => {
    if (allowed === undefined) return NONE;
    const namedSecrets = [
      ...(group.registrationToken ? [{ path: 'spec.registrationToken', value: group.registrationToken.name }] : []),
      { path: 'spec.authToken', value: group.authToken.name },
      ...otherSecrets(group.manifest['spec']).map(({ path, name }) => ({ path, value: name })),
      ...templateAsks(group, 'secret', 'pullSecret'),
    ];
    const advice = ` in namespace ${group.namespace}. Use one of them`;
    return notAmong(allowed, namedSecrets, 'the Secret', undefined, advice);
  },

  /** A runner does what its Gitea says, and the pod runs here. */
  giteas: ({ giteas: allowed }, { giteaUrl }) => {
    if (allowed === undefined || allowed.some((url) => normalBase(url) === normalBase(giteaUrl))) return NONE;
    return finding('spec.gitea.url', `is ${giteaUrl}; ${allowedBy(allowed)}. Use one of them`);
  },

  images: ({ images: allowed }, group) => {
    if (allowed === undefined) return NONE;
    return imagesOf(group).flatMap(({ path, value }): readonly Finding[] => {
      const image = parseImage(value);
      if (image && allowed.some((pattern) => coversImage(pattern, image))) return NONE;
      const isDeeper = image && allowed.some((each) => coversImage(each.replace(/\*+$/, '**/**'), image));
      const ofStar = isDeeper ? ` ("*" ends at a slash: the policy needs ${image.registry}/${image.repository})` : '';
      const hint = image?.digest === undefined ? ofStar : ' (a pattern with a tag covers no image by digest)';
      const imageText = `${quoted(value)}${image ? '' : UNREADABLE}`;
      return finding(path, `is ${imageText}; ${allowedBy(allowed)}${hint}. Use one of them`);
    });
  },

  registries: ({ registries: allowed }, group) => {
    if (allowed === undefined) return NONE;
    return imagesOf(group).flatMap(({ path, value }): readonly Finding[] => {
      const image = parseImage(value);
      if (image && matchesAny(allowed, image.registry)) return NONE;
      const from = image ? `comes from ${image.registry}` : `is ${quoted(value)}${UNREADABLE}`;
      return finding(path, `${from}; ${allowedBy(allowed)}. Use an image from there`);
    });
  },

  securityProfile: ({ securityProfile: rule }, group) => {
    const { containerMode: mode, securityProfile: profile } = group;
    const field = 'spec.securityProfile';
    // Without the rule, only this program may make a privileged pod: as the containerMode needs it, and without a
    // template.
    const reach = profile === 'privileged' && hasTemplate(group) ? 'closed' : undefined;
    const lowerIt = 'is privileged, with a podTemplate. Lower it, or ask for a securityProfile in the policy';
    if (rule === undefined) return reach ? finding(field, lowerIt, reach) : NONE;
    const groupLevel = neededLevel(group);
    const { highest, withReason = highest } = rule;
    const highestAllowed = hasReason(group) && profileRank(withReason) > profileRank(highest) ? withReason : highest;
    const own = `is allowed by the annotation ${PROFILE_REASON}, which no release after 0.2 reads. Ask for an exception in the policy`;
    if (profileRank(groupLevel) <= profileRank(highest)) return NONE;
    if (profileRank(groupLevel) <= profileRank(highestAllowed)) return finding(field, own, 'told');
    const unset = `is not set, which means ${groupLevel} with containerMode ${mode}`;
    const stateText = profile === undefined ? unset : `is ${groupLevel}`;
    // With docker a pod is privileged, whatever the field says.
    const meetsMost = mode === 'host' || (mode === 'buildkit' && highestAllowed === 'baseline');
    const lower = `Set it to ${highestAllowed}${meetsMost ? '' : ', with containerMode: host'}`;
    const withWords = `, or say in the annotation ${PROFILE_REASON} why this group needs it`;
    const advice = `${lower}${profileRank(groupLevel) <= profileRank(withReason) ? withWords : ''}`;
    return finding(field, `${stateText}; the policy allows ${highestAllowed} at most. ${advice}`, reach);
  },

  /** Denies a template that cannot be read, too: the other rules cannot judge it. */
  podTemplateFields: (rules, group) => {
    const fault = hasTemplate(group) ? templateFault(group.podTemplate) : undefined;
    if (fault !== undefined)
      return finding(pathText([...TEMPLATE, ...fault.path]), `cannot be judged: ${fault.message}`, 'unread');
    const { podTemplateFields: allowed } = rules;
    const top = podFieldsAtTop(group.manifest['spec']);
    if (allowed === undefined) return hostNames(rules, [...top, ...templateAsks(group, 'field')]);
    const beyond = [
      ...top.flatMap(({ path, value }) => (allowed.includes(value) ? [] : [path])),
      ...(hasTemplate(group) ? fieldsBeyond(group.podTemplate as Mapping, TEMPLATE, '', allowed) : []),
    ];
    return beyond.map((path) => ({ path, message: `${allowedBy(allowed)}. Remove the field` }));
  },

  priorityClasses: ({ priorityClasses: allowed }, group) => {
    const tiers = group.priorityTiers.map(({ priorityClassName }, index) => ({
      path: `spec.priorityTiers[${index}].priorityClassName`,
      value: priorityClassName,
    }));
    const ofTemplate = notAmong(allowed ?? [], templateAsks(group, 'priorityClass'), 'the priority class', 'closed');
    return [...ofTemplate, ...(allowed ? notAmong(allowed, tiers, 'the priority class') : [])];
  },

  serviceAccounts: ({ serviceAccounts: allowed = [] }, group) =>
    notAmong(allowed, templateAsks(group, 'serviceAccount'), 'the service account', 'closed'),

  /** Denies a group that is too large by itself: so it denies no other. check.ts judges the sums. */
  maxActiveRunners: (_, group, __, policy) => {
    const groupCap = group.maxActiveRunners;
    const policyCap = Math.min(
      ...[policy, ...levelsOf(policy, group).entries].flatMap((each) => each.maxActiveRunners ?? []),
    );
    if (groupCap <= policyCap) return NONE;
    const message = `is ${groupCap}; the policy allows ${policyCap} for all RunnerGroups together. Lower it, or ask for a higher maxActiveRunners in the policy`;
    return finding('spec.maxActiveRunners', message);
  },

  maxResources: ({ maxResources: allowedResources }, group) => {
    if (allowedResources === undefined) return NONE;
    const { podTemplate: _, ...bare } = group;
    const all = mostAskedOf(askingPodOf(group)['spec']);
    const bareAmounts = mostAskedOf(askingPodOf(bare)['spec']);
    const { [OTHERS]: othersLimit, ...namedLimits } = allowedResources;
    const unnamed = othersLimit === undefined ? [] : [...all.keys()].map((name) => [name, othersLimit]);
    return Object.entries({ ...Object.fromEntries(unnamed), ...namedLimits }).flatMap(([name, allowed]) => {
      const isWithin = (amount = 0): boolean => amount <= quantityValue(String(allowed)) * ROUNDING;
      if (isWithin(all.get(name))) return NONE;
      const path = isWithin(bareAmounts.get(name)) ? 'spec.podTemplate' : 'spec.resources';
      const message = `asks for more ${name} than the policy allows for one runner: ${allowed}. Requests and limits of all its containers count together. Lower them, or ask for higher maxResources in the policy`;
      return finding(path, message);
    });
  },

  /** A group without a queue would bypass the quota. */
  queues: ({ queues: allowed }, { queue }) => {
    if (allowed === undefined) return NONE;
    if (queue !== undefined) return notAmong(allowed, [{ path: 'spec.queue', value: queue }], 'the queue');
    return allowed.length === 0 ? NONE : finding('spec.queue', `is not set; ${allowedBy(allowed)}. Use one of them`);
  },
};

const UNREADABLE = ', which is no image that can be judged';

function imagesOf(group: RunnerGroup): readonly Named[] {
  return [{ path: 'spec.image', value: group.image }, ...templateAsks(group, 'image')];
}

/** Where the podTemplate of a group stands. */
const TEMPLATE: FieldPath = ['spec', 'podTemplate'];

function hasTemplate({ podTemplate }: RunnerGroup): boolean {
  return podTemplate !== undefined && podTemplate !== null;
}

/** A reason is words: letters, more than a few. */
function hasReason({ manifest }: RunnerGroup): boolean {
  const reason = valueAt(manifest, ['metadata', 'annotations', PROFILE_REASON]);
  return typeof reason === 'string' && /\p{L}{2}/u.test(reason);
}

/** Fields at the top of the spec that are fields of the pod: no way around what a policy says of templates. */
export function podFieldsAtTop(spec: unknown, judges = JUDGES): readonly Named[] {
  const ofPod = judges.filter(([judge]) => judge.startsWith('spec.'));
  const isSet = (field: string): boolean => valueAt(spec, [field]) !== undefined;
  return ofPod.flatMap(([value, fields]) => fields.filter(isSet).map((field) => ({ path: `spec.${field}`, value })));
}

/** Fields of a pod that say where the name of a registry leads to. */
const NAMES_OF_HOSTS: readonly string[] = ['spec.hostAliases', 'spec.dnsConfig', 'spec.dnsPolicy'];

/** Such a field may lead a registry's name to another host, so it must be listed by its own name. */
function hostNames({ images: ofImages, registries: ofHosts }: Rules, fields: readonly Named[]): readonly Finding[] {
  if (ofImages === undefined && ofHosts === undefined) return NONE;
  return fields.flatMap(({ path, value }): readonly Finding[] => {
    if (!NAMES_OF_HOSTS.includes(value)) return NONE;
    const message = `can lead the name of a registry to another host, and the policy restricts images. Remove the field, or ask for ${value} in podTemplateFields of the policy`;
    return finding(path, message);
  });
}

/** Returns fields outside the allowed paths, outermost ones only. On the way, lists and names of elements are allowed. */
function fieldsBeyond(value: Value, path: FieldPath, fields: string, allowed: readonly string[]): readonly string[] {
  const isOnTheWay = fields === '' || allowed.some((other) => other.startsWith(`${fields}.`));
  if (!isOnTheWay) return [pathText(path)];
  if (isList(value)) return value.flatMap((element, index) => fieldsBeyond(element, [...path, index], fields, allowed));
  if (!isMapping(value)) return [pathText(path)];
  const isElement = typeof path.at(-1) === 'number';
  return Object.entries(value).flatMap(([name, entry]) => {
    const inner = fields === '' ? name : `${fields}.${name}`;
    if (allowed.includes(inner) || (isElement && name === 'name')) return [];
    return fieldsBeyond(entry, [...path, name], inner, allowed);
  });
}

/** Sums of decimal fractions are not exact: 100m and 200m are more than 300m by so much. */
const ROUNDING = 1 + 1e-9;

/** Our sidecars count only with the resources that a template gives them. */
const SIDECARS = ['docker', 'buildkit'].map((name) => ({ name, restartPolicy: 'Always' }));

/** The group's pod, as far as it asks for something. The rule `podTemplateFields` denies an unreadable template. */
function askingPodOf(group: RunnerGroup): Mapping {
  const { resources, setupCommand } = group;
  const asking = { resources: resources as unknown as Mapping };
  const setup = setupCommand.length > 0 ? [{ name: 'setup', ...asking }] : [];
  const ours = { spec: { containers: [{ name: 'runner', ...asking }], initContainers: [...SIDECARS, ...setup] } };
  const template = readableTemplate(group);
  return template ? mergePodTemplate(ours, template) : ours;
}

function notAmong(
  allowed: readonly string[],
  references: readonly Named[],
  subject: string,
  reach?: Finding['reach'],
  advice = '. Remove the field, or use one that is allowed',
): readonly Finding[] {
  const denied = references.filter(({ value }) => !matchesAny(allowed, value));
  return denied.map(({ path, value }) => ({
    path,
    message: `names ${subject} ${quoted(value)}; ${allowedBy(allowed)}${advice}`,
    reach,
  }));
}

/** Something that a group names, and where: `spec.podTemplate.spec.containers[0].image`. */
type Named = Readonly<Record<'path' | 'value', string>>;

/** Everything of these kinds. Nothing for a template with a fault: the rule `podTemplateFields` denies that one. */
export function templateAsks(group: RunnerGroup, ...kinds: readonly AskedKind[]): readonly Named[] {
  return asksOf(readableTemplate(group) ?? {})
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ path, value }) => ({ path: pathText([...TEMPLATE, ...path]), value }));
}

function readableTemplate({ podTemplate }: RunnerGroup): Mapping | undefined {
  return templateFault(podTemplate) ? undefined : (podTemplate as Mapping);
}

/** The first thing that keeps a template from being judged. */
export function templateFault(template: unknown): TemplateFault | undefined {
  const value = template as Value;
  return boundFault(value) ?? checkShape(value, () => undefined)[0];
}
