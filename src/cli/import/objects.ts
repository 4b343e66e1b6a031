/** RunnerGroups made of objects of other tools: the operator, KEDA, runners that always run. */
import { parse } from 'yaml';
import * as z from 'zod';
import { API_SECRET, REGISTRATION_SECRET } from '../../shared/installed/names.ts';
import { readList } from '../flags/readers.ts';
import type { WhoseJobs } from '../init/answers.ts';
import { type FromRunnerFile, filled, fromPod, fromRunnerFile, ofDefaultRunner, PodSpec } from './pod.ts';

/** What no file says: a registration token does not tell whose jobs it is for. From the command line. */
export interface Known {
  readonly scope: WhoseJobs | undefined;
  readonly gitea: string | undefined;
}

export interface ImportedGroup {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly spec: Readonly<Record<string, unknown>>;
  /** What was left out or made up, and what to do: one sentence each. */
  readonly notes: readonly string[];
  /** Flags without which the group is not whole. */
  readonly missing: readonly string[];
}

/** The Secret with the API token: no other tool has one that is good for it. */
const AUTH_TOKEN = { secretRef: { name: API_SECRET, key: 'token' } };
const AUTH_TOKEN_NOTE = `authToken names the Secret ${API_SECRET}, which docs/install.md makes: the other tool had no API token, or one of another form.`;

const URL_NOTE =
  'The Secret of authToken must have the key url, with the URL of Gitea: the token is sent nowhere else (docs/install.md).';

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
      z.looseObject({
        type: z.string(),
        metadata: z.record(z.string(), z.coerce.string()).default({}),
        authenticationRef: z.looseObject({ name: z.string() }).optional(),
      }),
    ),
  }),
});

const TriggerAuthentication = z.looseObject({
  spec: z.looseObject({
    secretTargetRef: z.array(z.looseObject({ parameter: z.string(), name: z.string(), key: z.string() })),
  }),
});

const OperatorGroup = z.looseObject({
  apiVersion: z.string().regex(/^gitea\.bpg\.pw\//),
  kind: z.literal('RunnerGroup'),
  metadata: Metadata,
  spec: z.record(z.string(), z.unknown()),
});

/** Undefined: nothing in this object is about runners of Gitea. */
export function fromObject(object: unknown, known: Known, beside: readonly unknown[]): ImportedGroup | undefined {
  const workload = Workload.safeParse(object);
  if (workload.success) return fromWorkload(workload.data, known, beside);
  const scaled = ScaledJob.safeParse(object);
  if (scaled.success) return fromScaledJob(scaled.data, known, beside);
  const group = OperatorGroup.safeParse(object);
  return group.success ? fromOperator(group.data, known) : undefined;
}

/** The object of this kind and name in the files. Namespaces are not compared: manifests often leave them out. */
function named(kind: string, name: string | undefined, beside: readonly unknown[]): unknown {
  const wanted = z.looseObject({ kind: z.literal(kind), metadata: z.looseObject({ name: z.literal(name ?? '') }) });
  return beside.find((object) => wanted.safeParse(object).success);
}

/** The runner's config.yaml in a ConfigMap that the pod mounts. */
function fileOf({ volumes }: PodSpec, beside: readonly unknown[]): FromRunnerFile | undefined {
  const maps = z.looseObject({ data: z.record(z.string(), z.string()) });
  for (const { configMap } of volumes) {
    for (const text of Object.values(maps.safeParse(named('ConfigMap', configMap?.name, beside)).data?.data ?? {})) {
      const file = fromRunnerFile(parsed(text));
      if (file) return file;
    }
  }
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return parse(text, { logLevel: 'silent', maxAliasCount: 100 });
  } catch {
    return undefined;
  }
}

function fromWorkload(
  { kind, metadata, spec }: z.output<typeof Workload>,
  known: Known,
  beside: readonly unknown[],
): ImportedGroup | undefined {
  const file = fileOf(spec.template.spec, beside);
  const pod = fromPod(spec.template.spec, file);
  if (!pod) return undefined;
  const gitea = known.gitea ?? pod.gitea;
  const capacity = file?.capacity ?? 1;
  const cap = kind === 'DaemonSet' ? 10 : Math.max(1, spec.replicas) * capacity;
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
        : file
          ? `maxActiveRunners is the number of replicas, ${spec.replicas}, times the capacity of a runner, ${capacity}.`
          : `maxActiveRunners is the number of replicas. If the runner's capacity was more than 1, multiply it.`,
      ...pod.notes,
      AUTH_TOKEN_NOTE,
      `The ${kind} goes on: delete it when the new runners work.`,
    ],
    missing: missingOf(known.scope, gitea),
  };
}

function fromScaledJob(
  { metadata, spec }: z.output<typeof ScaledJob>,
  known: Known,
  beside: readonly unknown[],
): ImportedGroup | undefined {
  const podSpec = spec.jobTargetRef.template.spec;
  const pod = fromPod(podSpec, fileOf(podSpec, beside));
  const trigger = spec.triggers.find(({ type }) => type === 'forgejo-runner' || type === 'github-runner');
  if (!pod && !trigger) return undefined;
  const asked = trigger?.metadata ?? {};
  const scope = known.scope ?? scopeOf(asked);
  const gitea = known.gitea ?? pod?.gitea ?? asked['address'] ?? asked['githubApiURL']?.replace(/\/api\/v1\/?$/, '');
  const auth = TriggerAuthentication.safeParse(
    named('TriggerAuthentication', trigger?.authenticationRef?.name, beside),
  ).data?.spec.secretTargetRef.find(({ parameter }) => parameter === 'token' || parameter === 'personalAccessToken');
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
      registrationToken: { secretRef: { name: REGISTRATION_SECRET, key: 'registration-token' } },
      ...pod?.spec,
      authToken: auth ? { secretRef: { name: auth.name, key: auth.key } } : AUTH_TOKEN,
    }),
    notes: [
      ...(pod?.notes ?? []),
      ...(asked['repos']?.includes(',')
        ? ['The trigger names several repositories: make a group for each, or one for their owner.']
        : []),
      auth ? `authToken names KEDA's Secret ${auth.name}. ${URL_NOTE}` : AUTH_TOKEN_NOTE,
      'The ScaledJob goes on: delete it when the new runners work.',
    ],
    missing: missingOf(scope, gitea),
  };
}

function missingOf(scope: Known['scope'], gitea: string | undefined): readonly string[] {
  return [...(scope ? [] : ['--scope', '--owner']), ...(gitea === undefined ? ['--gitea'] : [])];
}

/** Of KEDA's triggers `forgejo-runner` (`global`, `org`, `owner` with `repo`) and `github-runner` (`runnerScope`, `owner`, `repos`). */
function scopeOf(asked: Readonly<Record<string, string>>): Known['scope'] {
  const { owner, org } = asked;
  const repo = asked['repo'] ?? asked['repos']?.split(',')[0];
  if (asked['global'] === 'true') return { scope: 'global' };
  if (org) return { scope: 'org', org };
  if (owner === undefined) return undefined;
  if (repo !== undefined && repo !== '') return { scope: 'repo', repo: `${owner}/${repo}` };
  // KEDA does not say whether the owner is an organization: a person must.
  return asked['runnerScope'] === 'org' ? { scope: 'org', org: owner } : undefined;
}

function fromOperator({ metadata, spec }: z.output<typeof OperatorGroup>, known: Known): ImportedGroup {
  const { giteaURL, registrationToken, authToken, ...same } = spec;
  const { kept, note } = ofDefaultRunner(z.array(z.string()).safeParse(same['labels']).data ?? []);
  const lost = same['image'] === undefined && note !== undefined;
  const { scope, org, user, repo, ...others } = same;
  // A scope without its name: a person says it.
  const isWhole = scope === 'global' || same[String(scope)] !== undefined || !known.scope;
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    spec: filled({
      ...(isWhole ? { scope, org, user, repo } : known.scope),
      ...others,
      ...(lost && { labels: kept }),
      gitea: same['gitea'] ?? (giteaURL === undefined ? undefined : { url: giteaURL }),
      registrationToken: selector(registrationToken),
      authToken: selector(authToken),
    }),
    notes: [...(lost ? [note] : []), URL_NOTE, 'Stop the operator first: both would start runners for the same jobs.'],
    missing: [],
  };
}

/** Both spellings -> `secretRef`. */
function selector(value: unknown): unknown {
  const flat = z.strictObject({ name: z.string(), key: z.string() }).safeParse(value);
  return flat.success ? { secretRef: flat.data } : value;
}
