/** `gitea-runners import`: RunnerGroups made of what other tools have. It asks no server and changes none. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { MOST_BYTES } from '../config/runnergroup/budget.ts';
import { runnerGroupFromObject } from '../config/runnergroup/from-object.ts';
import { API_VERSION, KIND } from '../config/runnergroup/schema.ts';
import { dnsLabelOf } from '../config/runnergroup/words.ts';
import { yamlText } from '../config/runnergroup/yaml-text.ts';
import { Failure, systemCode } from '../shared/failure.ts';
import { API_SECRET, REGISTRATION_SECRET } from '../shared/installed/names.ts';
import type { ExitCode, Io } from '../shared/io.ts';
import { count, printable } from '../shared/printable.ts';
import { type FlagsOf, flagValue } from './flags/flags.ts';
import { readList } from './flags/readers.ts';
import {
  type FromRunnerFile,
  filled,
  fromPod,
  fromRunnerFile,
  ofDefaultRunner,
  otherForge,
  Pod,
} from './import-pod.ts';
import { fittingTemplate } from './import-template.ts';
import { toScope, type WhoseJobs } from './init/answers.ts';

/** One RunnerGroup for each object that starts Gitea runners; notes stand above it as comments. @throws Failure exit 2 */
export async function importGroups(files: readonly string[], flags: FlagsOf<'import'>, io: Io): Promise<ExitCode> {
  const owner = flagValue('owner', flags, io);
  const word = flagValue('scope', flags, io);
  const isSaid = owner !== undefined || word === 'global';
  const scope = isSaid ? toScope('import', word, owner ?? '') : undefined;
  const known: Known = { scope, gitea: flagValue('gitea', flags, io) };
  const namespace = flagValue('groupNamespace', flags, io);
  const objects = files.flatMap((file) => read(file, io));
  const results = objects.map((object) => fromObject(object, known, objects));
  const found = results.filter((each) => typeof each === 'object');
  const foreign = results.filter((each) => typeof each === 'string');
  if (found.length === 0) {
    if (foreign[0] !== undefined) throw new Failure('GR-IMPORT-02', 2, `import: ${foreign.join(' ')}`);
    const ofArc = z.looseObject({ githubConfigUrl: z.string() });
    const why = objects.some((object) => ofArc.safeParse(object).success)
      ? `${files.join(', ')} has values of ARC, which say nothing of Gitea. Start with 'gitea-runners init': maxRunners is maxActiveRunners, minRunners is minIdleRunners, and the scale set's name is a label.`
      : `no Gitea runner was found in ${files.join(', ')}. Known are the operator's RunnerGroup, KEDA's ScaledJob, and Deployments, StatefulSets and DaemonSets with a runner. A runner's config.yaml is read from its ConfigMap.`;
    throw new Failure('GR-IMPORT-02', 2, `import: ${why}`);
  }
  const missing = new Set(found.flatMap((each) => each.missing));
  if (missing.size > 0)
    throw new Failure('GR-IMPORT-03', 2, `import: ${[...missing].join(', ')} must be given: no file says it.`);
  const made = await Promise.all(found.map(async (each) => textOf(await withTemplate(inNamespace(namespace, each)))));
  const bad = made.flatMap(({ problem }) => problem ?? []);
  if (bad.length === found.length) throw new Failure('GR-IMPORT-04', 2, bad.join('\n'));
  io.out(made.map(({ text }) => text).join('---\n'));
  io.err(
    `${count(found.length - bad.length, 'RunnerGroup')}. What was not carried over stands above each as a comment.\n`,
  );
  for (const sentence of foreign) io.err(`warning: ${sentence}\n`);
  for (const problem of bad) io.err(`warning: ${problem} It is printed as a comment.\n`);
  return 0;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EISDIR', 'it is a folder. Name the files in it'],
]);

const List = z.looseObject({ items: z.array(z.unknown()) });

/** The objects of a file, those of a `List` too. */
function read(file: string, io: Io): readonly unknown[] {
  const path = file === '-' ? 0 : resolve(io.cwd, file);
  try {
    if (typeof path === 'string' && statSync(path).size > MOST_BYTES) throw new Error('is longer than 4 MiB');
    const text = readFileSync(path, 'utf8');
    if (text.length > MOST_BYTES) throw new Error('is longer than 4 MiB');
    return parseAllDocuments(text, { logLevel: 'silent' }).flatMap((document) => {
      const [error] = document.errors;
      if (error) throw new Error(error.message.split('\n')[0]?.replace(/:$/, ''));
      const object: unknown = document.toJS({ maxAliasCount: 100 });
      return (List.safeParse(object).data?.items ?? [object]).map(withoutNulls);
    });
  } catch (error) {
    const why = WORDS.get(systemCode(error)) ?? (error instanceof Error ? error.message : 'it cannot be read');
    throw new Failure('GR-IMPORT-01', 2, `import ${file}: ${printable(why)}.`);
  }
}

/** Kubernetes reads null as absent. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([key, entry]) => [key, withoutNulls(entry)]));
}

/** The group with what of its podTemplate a runner can have; what is lost is told. The operator's has none. */
async function withTemplate(group: ImportedGroup): Promise<ImportedGroup> {
  const { metadata, spec, notes } = group;
  if (!spec['podTemplate']) return group;
  const written = { name: dnsLabelOf(metadata.name), namespace: metadata.namespace ?? '' };
  const fitting = await fittingTemplate(written, spec);
  const { podTemplate } = fitting;
  return { ...group, spec: filled({ ...spec, podTemplate }), notes: [...notes, ...fitting.notes] };
}

/** An object without a namespace goes to ours, and a Secret is read in its own namespace only: the installation's are there. */
function inNamespace(byDefault: string, group: ImportedGroup): ImportedGroup {
  if (group.metadata.namespace) return group;
  const own = [group.spec['registrationToken'], group.spec['authToken']].flatMap(
    (token) => SecretRef.safeParse(token).data?.secretRef.name ?? [],
  );
  const lost = own.filter((name) => name !== REGISTRATION_SECRET && name !== API_SECRET);
  const note = `Secrets of another namespace are not carried over: ${[...new Set(lost)].join(', ')}. docs/install.md makes ${REGISTRATION_SECRET} and ${API_SECRET}.`;
  return {
    metadata: { ...group.metadata, namespace: byDefault },
    spec: { ...group.spec, registrationToken: REGISTRATION_TOKEN, authToken: AUTH_TOKEN },
    notes: lost.length > 0 ? [...group.notes.filter((each) => each !== URL_NOTE), note] : group.notes,
    missing: group.missing,
  };
}

/** A group that would not be valid is all comment: it takes nothing away from the others. */
function textOf({ metadata: { name, namespace = '' }, spec, notes }: ImportedGroup) {
  const metadata = { name: dnsLabelOf(name), namespace };
  const result = runnerGroupFromObject({ ...metadata, spec });
  const comments = notes.map((note) => `# ${printable(note)}\n`).join('');
  const text = `${comments}${yamlText({ apiVersion: API_VERSION, kind: KIND, metadata, spec })}`;
  if ('group' in result) return { text };
  const problem = `import ${metadata.namespace}/${metadata.name}: the RunnerGroup would not be valid: ${printable(result.problem)}.`;
  return { text: `# ${problem}\n${text.replace(/^(?!#)(?=.)/gm, '# ')}`, problem };
}

/** What no file says: a registration token does not tell whose jobs it is for. From the command line. */
interface Known {
  readonly scope: WhoseJobs | undefined;
  readonly gitea: string | undefined;
}

interface ImportedGroup {
  readonly metadata: z.output<typeof Metadata>;
  readonly spec: Readonly<Record<string, unknown>>;
  /** What was left out or made up, and what to do: one sentence each. */
  readonly notes: readonly string[];
  /** Flags without which the group is not whole. */
  readonly missing: readonly string[];
}

/** The Secret with the API token: no other tool has one that is good for it. */
const AUTH_TOKEN = { secretRef: { name: API_SECRET, key: 'token' } };
const REGISTRATION_TOKEN = { secretRef: { name: REGISTRATION_SECRET, key: 'registration-token' } };
const SecretRef = z.looseObject({ secretRef: z.looseObject({ name: z.string() }) });
const AUTH_TOKEN_NOTE = `authToken names the Secret ${API_SECRET}, which docs/install.md makes: the other tool had no API token, or one of another form.`;

const URL_NOTE =
  'The Secret of authToken must have the key url, with the URL of Gitea: the token is sent nowhere else (docs/install.md).';

const Metadata = z.looseObject({ name: z.string(), namespace: z.string().optional() });

const Workload = z.looseObject({
  kind: z.enum(['Deployment', 'StatefulSet', 'DaemonSet']),
  metadata: Metadata,
  spec: z.looseObject({ replicas: z.int().optional(), template: Pod }),
});

/** Of ScaledJobs and ScaledObjects, with KEDA's own defaults (keda.sh, specifications of both). */
const Scaling = z.looseObject({
  maxReplicaCount: z.int().default(100),
  minReplicaCount: z.int().default(0),
  triggers: z.array(
    z.looseObject({
      type: z.string(),
      metadata: z.record(z.string(), z.coerce.string()).default({}),
      authenticationRef: z.looseObject({ name: z.string() }).optional(),
    }),
  ),
});

const ScaledJob = z.looseObject({
  kind: z.literal('ScaledJob'),
  metadata: Metadata,
  spec: Scaling.extend({ jobTargetRef: z.looseObject({ template: Pod }) }),
});

const Target = z.looseObject({ kind: z.string().default('Deployment'), name: z.string() });
const Autoscaler = z
  .looseObject({ scaleTargetRef: Target, minReplicas: z.int().default(0), maxReplicas: z.int() })
  .transform(({ scaleTargetRef, minReplicas, maxReplicas }) => ({
    ...{ scaleTargetRef, minReplicaCount: minReplicas, maxReplicaCount: maxReplicas },
    triggers: [],
  }));
const Scaler = z.union([
  z.looseObject({
    kind: z.literal('ScaledObject'),
    metadata: Metadata,
    spec: Scaling.extend({ scaleTargetRef: Target }),
  }),
  z.looseObject({ kind: z.literal('HorizontalPodAutoscaler'), metadata: Metadata, spec: Autoscaler }),
]);

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

/** A sentence: its runners are another forge's. Undefined: it starts none. @throws Failure exit 2: they are Gitea's, and a field cannot be read */
function fromObject(object: unknown, known: Known, beside: readonly unknown[]): ImportedGroup | string | undefined {
  const runners = runnersOf(object, beside);
  if (runners) return fromRunners(runners, known, beside);
  const group = OperatorGroup.safeParse(object);
  return group.success ? fromOperator(group.data, known) : undefined;
}

/** Pods that may be runners, and what says how many there are. */
type Runners = NonNullable<ReturnType<typeof runnersOf>>;

function runnersOf(object: unknown, beside: readonly unknown[]) {
  const job = ScaledJob.safeParse(object).data;
  if (job) return { ...job, template: job.spec.jobTargetRef.template, scaler: job };
  const workload = Workload.safeParse(object);
  if (!workload.success) return refuseUnreadable(object, workload.error);
  const { kind, metadata, spec } = workload.data;
  const scaler = beside
    .flatMap((other) => Scaler.safeParse(other).data ?? [])
    .find(({ spec: { scaleTargetRef: target } }) => target.kind === kind && target.name === metadata.name);
  return { kind, metadata, template: spec.template, replicas: spec.replicas, scaler };
}

/** @throws Failure exit 2: a workload of Kubernetes that seems to have a runner, and has a field of another type. */
function refuseUnreadable(object: unknown, { issues: [issue] }: z.ZodError): undefined {
  const seen = z.looseObject({ kind: Workload.shape.kind, metadata: Metadata }).safeParse(object).data;
  if (!seen || !issue || !/GITEA_INSTANCE_URL|act[_-]runner|gitea\/runner/.test(JSON.stringify(object))) return;
  const what = printable(`${seen.kind} ${seen.metadata.name}: ${issue.path.join('.')}`);
  throw new Failure('GR-IMPORT-01', 2, `import: ${what} cannot be read: ${printable(issue.message)}.`);
}

function ofOtherForge({ kind, metadata, template }: Runners): string | undefined {
  const whose = otherForge(template.spec);
  const what = `${kind} ${printable(metadata.name)} starts ${whose} runner`;
  return whose && `${what}, which does not register at Gitea: it is not served.`;
}

/** The object of this kind and name in the files. Namespaces are not compared: manifests often leave them out. */
function named(kind: string, name: string | undefined, beside: readonly unknown[]): unknown {
  const wanted = z.looseObject({ kind: z.literal(kind), metadata: z.looseObject({ name: z.literal(name ?? '') }) });
  return beside.find((object) => wanted.safeParse(object).success);
}

/** The runner's config.yaml in a ConfigMap that the pod mounts. */
function fileOf({ spec: { volumes } }: Pod, beside: readonly unknown[]): FromRunnerFile | undefined {
  const maps = z.looseObject({ data: z.record(z.string(), z.string()) });
  for (const { configMap } of volumes) {
    for (const text of Object.values(maps.safeParse(named('ConfigMap', configMap?.name, beside)).data?.data ?? {})) {
      try {
        const file = fromRunnerFile(parse(text, { logLevel: 'silent', maxAliasCount: 100 }), configMap?.name ?? '');
        if (file) return file;
      } catch {
        // It is no YAML.
      }
    }
  }
  return undefined;
}

function fromRunners(runners: Runners, known: Known, beside: readonly unknown[]): ImportedGroup | string | undefined {
  const { kind, metadata, template, scaler } = runners;
  const file = fileOf(template, beside);
  const pod = fromPod(template, file);
  if (!pod) return ofOtherForge(runners);
  const trigger = scaler?.spec.triggers.find(({ type }) => type === 'forgejo-runner' || type === 'github-runner');
  const asked = trigger?.metadata ?? {};
  const scope = known.scope ?? scopeOf(asked);
  const gitea = known.gitea ?? pod.gitea ?? asked['address'] ?? asked['githubApiURL']?.replace(/\/api\/v1\/?$/, '');
  const auth = TriggerAuthentication.safeParse(
    named('TriggerAuthentication', trigger?.authenticationRef?.name, beside),
  ).data?.spec.secretTargetRef.find(({ parameter }) => parameter === 'token' || parameter === 'personalAccessToken');
  const labels = readList(asked['labels'] ?? '');
  const [cap, ...aboutCap] = capOf(runners, file?.capacity);
  return {
    metadata,
    spec: filled({
      ...scope,
      gitea: gitea && { url: gitea },
      maxActiveRunners: cap,
      minIdleRunners: scaler?.spec.minReplicaCount || undefined,
      ...(labels.length > 0 && { labels, defaultLabels: false }),
      ...pod.spec,
      authToken: auth ? { secretRef: { name: auth.name, key: auth.key } } : AUTH_TOKEN,
    }),
    notes: [
      ...aboutCap,
      ...pod.notes,
      ...(asked['repos']?.includes(',')
        ? ['The trigger names several repositories: make a group for each, or one for their owner.']
        : []),
      ...(asked['token'] === undefined ? [] : ['A token stood in the trigger: revoke it.']),
      auth ? `authToken names KEDA's Secret ${auth.name}. ${URL_NOTE}` : AUTH_TOKEN_NOTE,
      `The ${kind} goes on: delete it when the new runners work.`,
    ],
    missing: [...(scope ? [] : ['--scope', '--owner']), ...(gitea === undefined ? ['--gitea'] : [])],
  };
}

/** How many runners there may be, and where that stands. A pod of a ScaledJob takes one CI job. */
function capOf({ kind, replicas, scaler }: Runners, ofFile: number | undefined): readonly [number, ...string[]] {
  if (kind === 'ScaledJob') return [scaler?.spec.maxReplicaCount ?? 1];
  if (kind === 'DaemonSet')
    return [10, 'maxActiveRunners is a guess: a DaemonSet has as many runners as there are nodes.'];
  const pods = scaler?.spec.maxReplicaCount ?? Math.max(1, replicas ?? 1);
  const where = scaler
    ? `that of ${scaler.kind} ${scaler.metadata.name}, ${pods}`
    : `the number of replicas, ${replicas ?? '1 where none is written'}`;
  const times =
    ofFile === undefined
      ? `. If the runner's capacity was more than 1, multiply it.`
      : `, times the capacity of a runner, ${ofFile}.`;
  return [pods * (ofFile ?? 1), `maxActiveRunners is ${where}${times}`];
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
    metadata,
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
