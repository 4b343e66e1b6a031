/**
 * What a platform's app made of a group's Job (docs/adr/0095). It may add labels and annotations, and do with the pod what a podTemplate
 * may do: what differs is taken for one. It may take nothing away: that could be a field on which the life of a runner depends.
 */
import { applyTemplate, followRunner } from './apply-template.ts';
import { reservedFields } from './reserved.ts';
import { type FieldPath, fieldValue, isList, isMapping, stringOf, type Value } from './schema.ts';

export interface JobFault {
  /** Elements of lists by their names. */
  readonly path: readonly string[];
  readonly message: string;
  readonly came: Value | undefined;
}

/** Keys of both are in order. The order of lists is that of the app. */
export function madeJob(from: unknown, to: unknown, context: Parameters<typeof applyTemplate>[2]) {
  // Both are JSON.
  const [ours, made] = [from as Value, to as Value];
  const faults: JobFault[] = [];
  const changed = difference(ours, made, [], faults) ?? {};
  const spec = fieldValue(changed, 'spec') ?? {};
  const metadata = fieldValue(changed, 'metadata') ?? {};
  for (const [part, may, at] of [
    [changed, ['metadata', 'spec'], []],
    [metadata, ['labels', 'annotations'], ['metadata']],
    [spec, ['template'], ['spec']],
  ] as const) {
    const found = Object.keys(part).filter((key) => !(may as readonly string[]).includes(key));
    faults.push(...found.map((key) => fault(changed, [...at, key], 'is ours, and runners depend on it')));
  }
  // What a pod may not have says the same of its Job.
  const reserved = faults.length > 0 ? [] : reservedFields({}, { metadata }, []);
  faults.push(...reserved.map(({ path, message }) => fault(changed, path, message)));
  const [template, pod] = [ours, made].map((job) => fieldValue(fieldValue(job, 'spec'), 'template'));
  const podChange = fieldValue(spec, 'template');
  if (podChange === undefined || !isMapping(template) || !isMapping(pod)) return { faults, pod };
  const applied = applyTemplate(template, podChange, context);
  const found = 'faults' in applied ? applied.faults : applied.violations;
  faults.push(...found.map(({ path, message }) => fault(changed, ['spec', 'template', ...path], message)));
  return { faults, pod: followRunner(pod, template) };
}

/** What a template would say to get from `ours` to `made`; undefined: nothing. What is gone is a fault. */
function difference(
  ours: Value | undefined,
  made: Value,
  path: readonly string[],
  gone: JobFault[],
): Value | undefined {
  if (JSON.stringify(ours) === JSON.stringify(made)) return undefined;
  const isGone = (key: string): number =>
    gone.push({ path: [...path, key], message: 'is gone; keep it', came: undefined });
  if (isMapping(ours) && isMapping(made)) {
    for (const key of Object.keys(ours).filter((each) => !Object.hasOwn(made, each))) isGone(key);
    const entries = Object.entries(made).flatMap(([key, value]) => {
      const changed = difference(fieldValue(ours, key), value, [...path, key], gone);
      return changed === undefined ? [] : [[key, changed] as const];
    });
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  }
  // All lists of our pod in which elements are merged have one of these two keys.
  const key = path.at(-1) === 'volumeMounts' ? 'mountPath' : 'name';
  const named = [ours, made].map(
    (list) => new Map(isList(list) ? list.map((each) => [stringOf(each, key), each]) : []),
  );
  const [before = new Map<string, Value>(), after = new Map<string, Value>()] = named;
  if (!isList(ours) || !isList(made) || after.size !== made.length || after.has('') || before.has('')) return made;
  for (const name of before.keys()) if (!after.has(name)) isGone(name);
  const elements = [...after].flatMap(([name, element]) => {
    const changed = difference(before.get(name), element, [...path, name], gone);
    return isMapping(changed) ? [{ ...changed, [key]: name }] : [];
  });
  return elements.length > 0 ? elements : undefined;
}

function fault(changed: Value, path: FieldPath, message: string): JobFault {
  let came: Value | undefined = changed;
  const named = path.map((step) => {
    came = isList(came) ? came[Number(step)] : fieldValue(came, String(step));
    return typeof step === 'number' ? stringOf(came, 'name') || String(step) : step;
  });
  return { path: named, message, came };
}
