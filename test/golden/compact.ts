/**
 * A printed Job in few lines: its hash, its labels and annotations, and where it differs from a Job that is kept whole.
 *
 *     Job runners/ci-7-1-cab95807 is as in dind-rootless-is-the-default, but
 *       sha256: "5c4f…"
 *       metadata.annotations.gitea.bpg.pw/repository: "acme/web"
 *       spec.activeDeadlineSeconds: 3600
 *       no spec.template.spec.containers[runner].volumeMounts[docker].name
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';

/** One case of each container mode. A Job is compared with the first one of the case that it is most like. */
const MODELS = ['dind-rootless-is-the-default', 'dind-is-a-native-sidecar', 'a-job-keeps-its-own-runner'];
/** All Jobs of ours have them. */
const SAME_FOR_ALL =
  /^metadata\.(?:labels\.app\.kubernetes\.io\/|labels\.gitea\.bpg\.pw\/managed-by|annotations\.argocd\.argoproj\.io\/ignore-h)/;

const Values = z.record(z.string(), z.string());
const Job = z.looseObject({
  kind: z.literal('Job'),
  metadata: z.looseObject({ name: z.string(), namespace: z.string(), annotations: Values, labels: Values }),
  spec: z.looseObject({ template: z.looseObject({ metadata: z.looseObject({ labels: Values }) }) }),
});

/** What `generate` printed, with every Job in short. */
export function compact(output: string, cases: string): string {
  const models = MODELS.map((name) => {
    const [first = ''] = documentsOf(readFileSync(join(cases, name, 'expected.yaml'), 'utf8'));
    return { name, leaves: leavesOf(Job.parse(parse(first))) };
  });
  const short = (document: string): string => {
    const job = Job.safeParse(parse(document)).data;
    if (!job) return document;
    const leaves = leavesOf(job);
    const [nearest = { name: '', lines: [] }] = models
      .map((model) => ({ name: model.name, lines: differences(leaves, model.leaves) }))
      .sort((a, b) => a.lines.length - b.lines.length);
    const hash = createHash('sha256').update(document).digest('hex');
    const lines = [`sha256: "${hash}"`, ...nearest.lines].map((line) => `  ${line}\n`);
    return `Job ${job.metadata.namespace}/${job.metadata.name} is as in ${nearest.name}, but\n${lines.join('')}`;
  };
  return documentsOf(output).map(short).join('');
}

/** The documents, each with the line that begins it: joined, they are the output. */
function documentsOf(output: string): readonly string[] {
  return output.split(/^(?=---\n)/m);
}

function differences(leaves: ReadonlyMap<string, string>, model: ReadonlyMap<string, string>): readonly string[] {
  const own = [...leaves].filter(
    ([path, value]) => model.get(path) !== value || (path.startsWith('metadata.') && !SAME_FOR_ALL.test(path)),
  );
  const without = [...model.keys()].filter((path) => !leaves.has(path) && !path.startsWith('metadata.'));
  return [...own.map(([path, value]) => `${path}: ${value}`), ...without.map((path) => `no ${path}`)];
}

/** Each value by its path. The Job's own name is `$NAME`; labels that its pod shares with it are left out. */
function leavesOf({ metadata, spec, ...rest }: z.infer<typeof Job>): ReadonlyMap<string, string> {
  const { name, namespace: _, ...told } = metadata;
  const { labels, ...others } = spec.template.metadata;
  const own = Object.entries(labels).filter(([key, value]) => metadata.labels[key] !== value);
  const template = { ...spec.template, metadata: { ...others, labels: Object.fromEntries(own) } };
  const leaves = valuesIn({ ...rest, metadata: told, spec: { ...spec, template } }, '');
  return new Map(leaves.map(([path, value]) => [path, JSON.stringify(value).replaceAll(name, '$NAME')]));
}

const Named = z.object({ name: z.string() });

/** Items of a list are known by their name, where they have one. */
function valuesIn(value: unknown, path: string): readonly (readonly [path: string, value: unknown])[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => valuesIn(item, `${path}[${Named.safeParse(item).data?.name ?? index}]`));
  }
  if (typeof value !== 'object' || value === null) return [[path, value]];
  const prefix = path === '' ? '' : `${path}.`;
  const entries = Object.entries(value);
  return entries.length === 0 ? [[path, {}]] : entries.flatMap(([key, one]) => valuesIn(one, prefix + key));
}
