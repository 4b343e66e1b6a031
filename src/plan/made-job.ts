/**
 * Reads the Job that a platform's app made of a group's Job (docs/adr/0095). The app may add labels and annotations,
 * and change the pod as a podTemplate may: differences become a podTemplate, with null for removed fields.
 */
import { followRunner } from '../config/pods/apply-template.ts';
import * as schema from '../config/pods/pod-schema.ts';
import { reservedFields } from '../config/pods/reserved.ts';
import { valueAt } from '../config/runnergroup/paths.ts';
import { quoted } from '../config/runnergroup/problems.ts';
import type { JudgeJob } from '../manifests/platform.ts';
import { finalPod, placeText } from './final-pods.ts';

type Value = schema.Value | undefined;

/** Keys of both Jobs are in order; lists keep the order of the app. */
export const judgeJob: JudgeJob = (group, from, to, secrets) => {
  const [ours, madeJob] = [from as schema.Mapping, to as schema.Mapping];
  const changed = mappingOf(difference(ours, madeJob, ''));
  const problems: string[] = [];
  const tell = (path: schema.FieldPath, message = 'is ours, and runners depend on it') => {
    const came = valueAt(changed, path);
    const shown = came === undefined || typeof came === 'object' ? '' : ` (${quoted(String(came))})`;
    const text = came === null ? 'is gone, or a part of it; keep it' : message;
    problems.push(`${placeText(changed, path)}${shown} ${text}`);
  };
  const otherKeys = (part: Value, ...may: string[]) => Object.keys(mappingOf(part)).filter((key) => !may.includes(key));
  const { metadata = {}, spec } = changed;
  for (const key of otherKeys(changed, 'metadata', 'spec')) tell([key]);
  for (const key of otherKeys(metadata, 'labels', 'annotations')) tell(['metadata', key]);
  for (const key of otherKeys(spec, 'template')) tell(['spec', key]);
  // The rules for a pod also hold for its Job.
  const reserved = problems.length > 0 ? [] : reservedFields({ metadata: ours['metadata'] ?? {} }, { metadata }, []);
  for (const { path, message } of reserved) tell(path, message);
  const [template, pod] = [ours, madeJob].map((job) => mappingOf(mappingOf(job['spec'])['template']));
  const podTemplate = mappingOf(spec)['template'];
  if (podTemplate !== undefined && !schema.isMapping(podTemplate)) tell(['spec', 'template']);
  if (!schema.isMapping(podTemplate) || !template || !pod) return problems.length > 0 ? { problems } : { job: madeJob };
  const final = finalPod({ ...group, podTemplate }, template as never, secrets);
  for (const { path, message } of 'faults' in final ? final.faults : [])
    tell(path[1] === 'podTemplate' ? ['spec', 'template', ...path.slice(2)] : path, message);
  if (problems.length > 0) return { problems };
  return { job: { ...madeJob, spec: { ...mappingOf(madeJob['spec']), template: followRunner(pod, template) } } };
};

function mappingOf(value: Value): schema.Mapping {
  return schema.isMapping(value) ? value : {};
}

/** Returns the podTemplate that leads from `ours` to `made`. Undefined: they are equal. */
function difference(ours: Value, made: Value, field: string): Value {
  if (JSON.stringify(ours) === JSON.stringify(made)) return undefined;
  if (made === undefined) return null;
  if (schema.isMapping(ours) && schema.isMapping(made)) {
    const keys = new Set([...Object.keys(ours), ...Object.keys(made)]);
    const entries = [...keys].map((key) => [key, difference(ours[key], made[key], key)] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as schema.Mapping;
  }
  // All merged lists of our pod have one of these two keys.
  const key = field === 'volumeMounts' ? 'mountPath' : 'name';
  const named = (list: Value) =>
    new Map(schema.isList(list) ? list.map((each) => [schema.stringOf(each, key), each]) : []);
  const [before, after] = [named(ours), named(made)];
  if (!schema.isList(ours) || !schema.isList(made) || after.size !== made.length || after.has('') || before.has(''))
    return made;
  if ([...before.keys()].some((name) => !after.has(name))) return null;
  return [...after].flatMap(([name, element]) => {
    const changed = difference(before.get(name), element, '');
    return schema.isMapping(changed) ? [{ ...changed, [key]: name }] : [];
  });
}
