/** The final pod of a group: its podTemplate merged over ours and held to its security profile. Loaded when a group has one of the two. */
import { applyTemplate } from '../config/pods/apply-template.ts';
import { contradictions, ownContainers } from '../config/pods/check-pod.ts';
import {
  type FieldPath,
  fieldValue,
  isMapping,
  type Mapping,
  stringOf,
  type TemplateFault,
  type Value,
} from '../config/pods/pod-schema.ts';
import { type SecurityLevel, securityViolations, type Violation } from '../config/pods/pod-security.ts';
import { pathText, valueAt } from '../config/runnergroup/paths.ts';
import type { LateProblem } from '../config/runnergroup/placed.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { writtenPath } from '../config/runnergroup/sizes.ts';
import { type Quantities, resourceFaults, scalarInstead } from '../config/runnergroup/words.ts';
import type { PodTemplate } from '../manifests/job-manifest.ts';
import { count } from '../shared/printable.ts';

export type PodFault = Omit<LateProblem, 'group'>;

export type FinalPod = { readonly pod: PodTemplate } | { readonly faults: readonly PodFault[] };

/** Merges podTemplate into our pod and judges the result. @param secrets names of the namespace's Secrets with tokens of Gitea */
export function finalPod(group: RunnerGroup, ours: PodTemplate, secrets: readonly string[]): FinalPod {
  const madePod = ours as unknown as Mapping;
  // The parsed template has only JSON values.
  const template = (group.podTemplate ?? {}) as Mapping;
  const level = levelOf(group);
  const applied = applyTemplate(madePod, template, secrets, level);
  if ('faults' in applied) return { faults: applied.faults.map((fault) => templateFault(template, fault)) };
  const { pod, violations } = applied;
  // Elements are compared by name, because their indices differ between the two pods.
  const ofOurs = group.securityProfile === undefined ? securityViolations(madePod, level) : [];
  const allowed = new Set(ofOurs.map((violation) => nameOf(madePod, violation)));
  const denied = violations.filter((violation) => !allowed.has(nameOf(pod, violation)));
  const placed = denied.map((violation) => ({ violation, inTemplate: pathInTemplate(group, pod, violation.path) }));
  const [ofMode, ...moreOfMode] = placed.filter(({ inTemplate }) => !inTemplate);
  // The faults that containerMode causes count as one, however many rules are broken.
  const faults = ofMode ? [faultOfMode(group, pod, ofMode.violation, moreOfMode.length)] : [];
  for (const { inTemplate, violation } of placed)
    if (inTemplate) faults.push(faultOfTemplate(group, inTemplate, violation));
  if (faults.length === 0) faults.push(...againstEachOther(group, pod));
  if (faults.length > 0) return { faults };
  return { pod: group.podTemplate === undefined ? ours : (pod as unknown as PodTemplate) };
}

/** Returns the level that the pod must meet: the profile, or the strictest level of the containerMode (`baseline`, but for rules that our own pod breaks). */
function levelOf({ securityProfile, containerMode }: RunnerGroup): SecurityLevel {
  return securityProfile ?? (containerMode === 'host' ? 'restricted' : 'baseline');
}

function templateFault(template: Mapping, { path, message: text, wanted }: TemplateFault): PodFault {
  const place = ['spec', 'podTemplate', ...path];
  const value = valueAt(template, path);
  const message = wanted && typeof value === 'string' ? text + scalarInstead(String(path.at(-1)), wanted, value) : text;
  const code = message.startsWith('unknown field') ? 'GR-INPUT-04' : 'GR-INPUT-05';
  return { path: place, message, code };
}

/** Finds pairs of good fields that no cluster accepts together: one may be in the group, the other in its template. */
function againstEachOther(group: RunnerGroup, pod: Mapping): readonly PodFault[] {
  const placeOf = (path: FieldPath): PodFault['path'] => {
    const inTemplate = pathInTemplate(group, pod, path);
    const isThere = inTemplate && (valueAt(group.podTemplate, inTemplate) ?? undefined) !== undefined;
    return isThere ? ['spec', 'podTemplate', ...inTemplate] : ['spec', ...path.slice(-3)];
  };
  const ofResources = ownContainers(pod).flatMap(({ path, container }) => {
    const { requests = {}, limits = {} } = (fieldValue(container, 'resources') ?? {}) as Record<string, Quantities>;
    const placeBelow = (...below: string[]) => placeOf([...path, 'resources', ...below]);
    const limitOf = (name: string) => pathText(writtenPath(group, placeBelow('limits', name)));
    return resourceFaults(requests, limits, limitOf).map((fault) => ({ ...fault, path: placeBelow(...fault.path) }));
  });
  const ofFields = contradictions(pod, group.containerMode)
    .map((fault) => ({ ...fault, path: placeOf(fault.path) }))
    .filter(({ path }) => path.includes('podTemplate'));
  // Several containers may have it from one place.
  const byPlace = new Map([...ofFields, ...ofResources].map((fault) => [pathText(fault.path), fault]));
  return [...byPlace.values()].map((fault) => ({ ...fault, code: 'GR-INPUT-06' }));
}

function faultOfTemplate(group: RunnerGroup, inTemplate: FieldPath, violation: Violation): PodFault {
  const isAbsent = valueAt(group.podTemplate, inTemplate) === undefined;
  const lowerProfile =
    levelOf(group) === 'restricted' ? 'a lower securityProfile' : 'securityProfile: privileged, which needs a policy';
  return {
    path: ['spec', 'podTemplate', ...inTemplate],
    message: `${ruleText(group, violation)}: ${isAbsent ? 'add' : 'remove'} it, or set ${lowerProfile}`,
    code: 'GR-INPUT-10',
  };
}

/** The fault of our own pod, as containerMode makes it. @param more how many further rules it breaks */
function faultOfMode(group: RunnerGroup, pod: Mapping, violation: Violation, more: number): PodFault {
  const furtherRules = more > 0 ? `, and ${count(more, 'more rule')}` : '';
  const ofPolicy = isOfPolicy(group) ? ' (with the defaults of the policy)' : '';
  return {
    path: ['spec', 'securityProfile'],
    message: `${placeText(pod, violation.path)} ${ruleText(group, violation)}${furtherRules}${remedyFor(group)}${ofPolicy}`,
    code: 'GR-INPUT-10',
  };
}

function ruleText(group: RunnerGroup, { rule, message }: Violation): string {
  const { containerMode, securityProfile } = group;
  const byDefault = securityProfile === undefined ? `, the default of containerMode ${containerMode}` : '';
  return `${message} (rule ${rule} of securityProfile ${levelOf(group)}${byDefault})`;
}

/** Returns the remedy for a fault of our own pod. In mode `host` it meets every profile. */
function remedyFor(group: RunnerGroup): string {
  const { containerMode, securityProfile } = group;
  if (containerMode === 'host') return '';
  if (containerMode === 'buildkit' && securityProfile === 'restricted')
    return '; containerMode buildkit meets baseline at most: set that, or containerMode: host';
  const way = isOfPolicy(group) ? 'write a securityProfile of its own' : 'remove securityProfile';
  return `; containerMode ${containerMode} does not meet it: set containerMode: host, or ${way}`;
}

/** True if the profile is not written in the group. */
const isOfPolicy = ({ manifest, securityProfile }: RunnerGroup) =>
  securityProfile !== undefined && valueAt(manifest, ['spec', 'securityProfile']) === undefined;

function nameOf(pod: Mapping, { rule, path }: Violation): string {
  return `${rule} ${placeText(pod, path)}`;
}

/** `spec.containers[runner].securityContext.privileged` */
export function placeText(pod: Mapping, path: FieldPath): string {
  return path.reduce<string>((text, step, nth) => {
    if (typeof step === 'string') return text === '' ? step : `${text}.${step}`;
    return `${text}[${nameAt(pod, path.slice(0, nth + 1)) || step}]`;
  }, '');
}

function nameAt(pod: Mapping, path: FieldPath): string {
  return stringOf(valueAt(pod, path) as Value | undefined, 'name');
}

/** Returns the path in the template of a place in the final pod. Undefined: the template does not affect it. */
function pathInTemplate({ podTemplate }: RunnerGroup, pod: Mapping, path: FieldPath): FieldPath | undefined {
  const [part = '', field = '', index, ...rest] = path;
  const value = valueAt(podTemplate, [part, field]) ?? undefined;
  if (value === undefined || index === undefined) return value === undefined ? undefined : path;
  if (typeof index !== 'number' || !Array.isArray(value)) return path;
  const name = nameAt(pod, [part, field, index]);
  const position = value.findIndex((element) => isMapping(element) && stringOf(element, 'name') === name);
  return position < 0 ? undefined : [part, field, position, ...rest];
}
