/** RunnerGroups made of objects of other tools: the operator, KEDA, runners that always run. */
import * as z from 'zod';
import { readList } from '../flags/readers.ts';
import { AUTH_TOKEN, AUTH_TOKEN_NOTE, filled, type ImportedGroup, type Known } from './found.ts';
import { fromPod, PodSpec } from './pod.ts';

const Metadata = z.looseObject({ name: z.string(), namespace: z.string().optional() });

const Workload = z.looseObject({
  kind: z.enum(['Deployment', 'StatefulSet', 'DaemonSet']),
  metadata: Metadata,
  spec: z.looseObject({ replicas: z.int().default(1), template: z.looseObject({ spec: PodSpec }) }),
});

const ScaledJob = z.looseObject({
  kind: z.literal('ScaledJob'),
  metadata: Metadata,
  spec: z.looseObject({
    jobTargetRef: z.looseObject({ template: z.looseObject({ spec: PodSpec }) }),
    // KEDA's own defaults (keda.sh, ScaledJob specification).
    maxReplicaCount: z.int().default(100),
    minReplicaCount: z.int().default(0),
    triggers: z.array(
      z.looseObject({ type: z.string(), metadata: z.record(z.string(), z.coerce.string()).default({}) }),
    ),
  }),
});

const OperatorGroup = z.looseObject({
  apiVersion: z.string().regex(/^gitea\.bpg\.pw\//),
  kind: z.literal('RunnerGroup'),
  metadata: Metadata,
  spec: z.record(z.string(), z.unknown()),
});

/** Undefined: nothing in this object is about runners of Gitea. */
export function fromObject(object: unknown, known: Known): ImportedGroup | undefined {
  const workload = Workload.safeParse(object);
  if (workload.success) return fromWorkload(workload.data, known);
  const scaled = ScaledJob.safeParse(object);
  if (scaled.success) return fromScaledJob(scaled.data, known);
  const group = OperatorGroup.safeParse(object);
  return group.success ? fromOperator(group.data) : undefined;
}

function fromWorkload({ kind, metadata, spec }: z.output<typeof Workload>, known: Known): ImportedGroup | undefined {
  const pod = fromPod(spec.template.spec);
  if (!pod) return undefined;
  const gitea = known.gitea ?? pod.gitea;
  const cap = kind === 'DaemonSet' ? 10 : Math.max(1, spec.replicas);
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    spec: filled({
      ...known.scope,
      gitea: gitea && { url: gitea },
      maxActiveRunners: cap,
      ...pod.spec,
      authToken: AUTH_TOKEN,
    }),
    notes: [
      kind === 'DaemonSet'
        ? 'maxActiveRunners is a guess: a DaemonSet has as many runners as there are nodes.'
        : `maxActiveRunners is the number of replicas. If the runner's capacity was more than 1, multiply it.`,
      ...pod.notes,
      AUTH_TOKEN_NOTE,
      `The ${kind} goes on: delete it when the new runners work.`,
    ],
    missing: missingOf(known.scope, gitea),
  };
}

function fromScaledJob({ metadata, spec }: z.output<typeof ScaledJob>, known: Known): ImportedGroup | undefined {
  const pod = fromPod(spec.jobTargetRef.template.spec);
  const trigger = spec.triggers.find(({ type }) => type === 'forgejo-runner' || type === 'github-runner');
  if (!pod && !trigger) return undefined;
  const asked = trigger?.metadata ?? {};
  const scope = known.scope ?? scopeOf(asked);
  const gitea = known.gitea ?? pod?.gitea ?? asked['address'] ?? asked['githubApiURL']?.replace(/\/api\/v1\/?$/, '');
  const labels = readList(asked['labels'] ?? '');
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    spec: filled({
      ...scope,
      gitea: gitea && { url: gitea },
      maxActiveRunners: spec.maxReplicaCount,
      minIdleRunners: spec.minReplicaCount || undefined,
      ...(labels.length > 0 && { labels, defaultLabels: false }),
      ...pod?.spec,
      authToken: AUTH_TOKEN,
    }),
    notes: [
      ...(pod?.notes ?? []),
      ...(asked['repos']?.includes(',')
        ? ['The trigger names several repositories: make a group for each, or one for their owner.']
        : []),
      AUTH_TOKEN_NOTE,
      'The ScaledJob goes on: delete it when the new runners work.',
    ],
    missing: missingOf(scope, gitea),
  };
}

function missingOf(scope: Known['scope'], gitea: string | undefined): readonly string[] {
  return [...(scope ? [] : ['--scope', '--owner']), ...(gitea === undefined ? ['--gitea'] : [])];
}

/** Of KEDA's triggers `forgejo-runner` (`global`, `owner`, `repo`) and `github-runner` (`runnerScope`, `owner`, `repos`). */
function scopeOf(asked: Readonly<Record<string, string>>): Known['scope'] {
  const { owner } = asked;
  const repo = asked['repo'] ?? asked['repos']?.split(',')[0];
  if (asked['global'] === 'true') return { scope: 'global' };
  if (owner === undefined) return undefined;
  if (repo !== undefined && repo !== '') return { scope: 'repo', repo: `${owner}/${repo}` };
  // KEDA does not say whether the owner is an organization: a person must.
  return asked['runnerScope'] === 'org' ? { scope: 'org', org: owner } : undefined;
}

function fromOperator({ metadata, spec }: z.output<typeof OperatorGroup>): ImportedGroup {
  const { giteaURL, registrationToken, authToken, ...same } = spec;
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    spec: filled({
      ...same,
      gitea: same['gitea'] ?? (giteaURL === undefined ? undefined : { url: giteaURL }),
      registrationToken: selector(registrationToken),
      authToken: selector(authToken),
    }),
    notes: [
      'The Secret of authToken must have the key url, with the URL of Gitea: the token is sent nowhere else (docs/install.md).',
      'Stop the operator first: both would start runners for the same jobs.',
    ],
    missing: [],
  };
}

/** Both spellings -> `secretRef`. */
function selector(value: unknown): unknown {
  const flat = z.strictObject({ name: z.string(), key: z.string() }).safeParse(value);
  return flat.success ? { secretRef: flat.data } : value;
}
