/** What a podTemplate asks for, with paths as people write them. Reads it through src/config/pods, so that both see the same template. */
import { type AskedKind, asksOf } from '../pods/asks.ts';
import { checkShape } from '../pods/check-shape.ts';
import { boundFault, type FieldPath, isList, isMapping, type Mapping, type Value } from '../pods/value.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import type {} from './denial.ts';

/** One thing that a template names. */
export interface TemplateAsk {
  /** e.g. `spec.podTemplate.spec.containers[0].image`. */
  readonly path: string;
  readonly value: string;
}

/** Everything of these kinds. Nothing for a template with a fault: the rule `podTemplateFields` denies that one. */
export function templateAsks({ podTemplate }: RunnerGroup, ...kinds: readonly AskedKind[]): readonly TemplateAsk[] {
  const template = judgeable(podTemplate);
  if (template === undefined) return [];
  return asksOf(template)
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ path, value }) => ({ path: pathText(path), value }));
}

/** The first thing that keeps a template from being judged; undefined: nothing. */
export function templateFault(template: unknown): { readonly path: string; readonly message: string } | undefined {
  const value = template as Value;
  const fault =
    boundFault(value) ??
    (isMapping(value) ? undefined : { path: [], message: 'must be a mapping' }) ??
    shapeFault(value);
  return fault && { path: pathText(fault.path), message: fault.message };
}

/**
 * Fields that are not among the allowed paths, the outermost ones only. A path allows all below it. On the way to a path lists are
 * passed, and the name of an element is allowed: without it nobody could say which one is meant.
 */
export function fieldsBeyond({ podTemplate }: RunnerGroup, allowed: readonly string[]): readonly string[] {
  const template = judgeable(podTemplate);
  return template === undefined ? [] : beyond(template, [], '', allowed);
}

function beyond(value: Value, path: FieldPath, fields: string, allowed: readonly string[]): readonly string[] {
  const isOnTheWay = fields === '' || allowed.some((other) => other.startsWith(`${fields}.`));
  if (!isOnTheWay) return [pathText(path)];
  if (isList(value)) return value.flatMap((element, index) => beyond(element, [...path, index], fields, allowed));
  if (!isMapping(value)) return [pathText(path)];
  const isElement = typeof path.at(-1) === 'number';
  return Object.entries(value).flatMap(([name, entry]) => {
    const inner = fields === '' ? name : `${fields}.${name}`;
    if (allowed.includes(inner) || (isElement && name === 'name' && typeof entry === 'string')) return [];
    return beyond(entry, [...path, name], inner, allowed);
  });
}

function judgeable(template: unknown): Mapping | undefined {
  if (template === undefined || templateFault(template) !== undefined) return undefined;
  return template as Mapping;
}

function shapeFault(template: Value): ReturnType<typeof boundFault> {
  return checkShape(template, () => undefined)[0];
}

function pathText(path: FieldPath): string {
  return path.reduce<string>(
    (text, step) => text + (typeof step === 'number' ? `[${step}]` : `.${step.slice(0, 80)}`),
    'spec.podTemplate',
  );
}
