/** Sorts the objects of the files: those that start runners, those that scale these, and the others. */
import * as z from 'zod';
import { OTHER_NAMES } from '../../config/runnergroup/field-problem.ts';
import { isMapping, valueAt } from '../../config/runnergroup/paths.ts';
import { RUNNER_IMAGE } from '../../config/runnergroup/words.ts';
import { printable } from '../../shared/printable.ts';
import { notCarriedOver } from './import-fates.ts';
import { Pod } from './import-shapes.ts';
import { KIND_OF_PLAIN_CONFIG, objectNamed } from './import-variables.ts';

export const Metadata = z.looseObject({ name: z.string(), namespace: z.string().optional() });
const Head = z.looseObject({ kind: z.string(), metadata: Metadata });
const count = z.int().optional();
const Target = z.looseObject({ kind: z.string().default('Deployment'), name: z.string() }).optional();

const Trigger = z.looseObject({
  type: z.string(),
  metadata: z.record(z.string(), z.coerce.string()).default({}),
  authenticationRef: z.looseObject({ name: z.string(), kind: z.string().optional() }).optional(),
});

/** Fields of ScaledJobs, ScaledObjects and autoscalers of Kubernetes. */
const Scaling = z.looseObject({
  scaleTargetRef: Target,
  targetRef: Target,
  ...{ maxReplicaCount: count, maxReplicas: count, minReplicaCount: count, minReplicas: count },
  triggers: z.array(Trigger).default([]),
});
const Scaler = Head.extend({ spec: Scaling });

/** A workload: its template and the fields around it. */
const Workload = Scaling.extend({
  ...Head.shape,
  // Fields of other operators of Gitea runners beside their template.
  ...{ maxRunners: count, minRunners: count, labels: z.array(z.string()).optional() },
  suspend: z.boolean().optional(),
  ...{ replicas: count, parallelism: count, activeDeadlineSeconds: count, ttlSecondsAfterFinished: count },
  template: Pod,
});
/** Whatever kind has its template there: of Kubernetes, of KEDA, of Argo Rollouts. */
const AROUND_TEMPLATE = [['spec'], ['spec', 'jobTargetRef'], ['spec', 'jobTemplate', 'spec']];

/** Pods that may be runners, and what says how many there are. */
export type OldRunners = Exclude<ReturnType<typeof runnersOf>, string | undefined>;

/** Undefined: no object with pods. A sentence: it has a runner, and cannot be read. */
export function runnersOf(value: unknown, otherObjects: readonly unknown[]) {
  const object = asWorkload(value);
  const around = AROUND_TEMPLATE.find((path) => isMapping(valueAt(object, [...path, 'template', 'spec'])));
  if (!isMapping(object) || !around || isOwned(object, otherObjects)) return undefined;
  const { kind, metadata } = object;
  const read = Workload.safeParse({ ...Object(object['spec']), ...Object(valueAt(object, around)), kind, metadata });
  if (!read.success) return unreadable(object, around, read.error);
  const isOf = (target: z.output<typeof Target>) => target?.kind === kind && target?.name === read.data.metadata.name;
  const scalers = otherObjects.flatMap((other) => {
    const { data } = Scaler.safeParse(other);
    return data && (isOf(data.spec.scaleTargetRef) || isOf(data.spec.targetRef)) ? [{ ...data, object: other }] : [];
  });
  const jobTemplate = kind === 'ScaledJob' ? { ...read.data, spec: read.data } : undefined;
  const scaling = scalers.filter(({ spec }) => isOf(spec.scaleTargetRef));
  // KEDA makes an autoscaler of Kubernetes, whose least number is 1.
  const scaler = jobTemplate ?? scaling.find((each) => each.kind === 'ScaledObject') ?? scaling[0];
  return { ...read.data, scaler, read: [value, ...scalers.map((each) => each.object)] };
}

/** A bare pod is the template of itself. */
function asWorkload(object: unknown): unknown {
  const pod = Head.extend({ kind: z.literal('Pod') }).safeParse(object).data;
  if (!pod) return object;
  const { name, namespace, ownerReferences, labels, annotations } = pod.metadata;
  const template = { metadata: { labels, annotations }, spec: pod['spec'] };
  return { kind: pod.kind, metadata: { name, namespace, ownerReferences }, spec: { template } };
}

/** `kubectl get all` shows what a Deployment has made, too. */
function isOwned(object: unknown, otherObjects: readonly unknown[]): boolean {
  const owners = z.array(z.looseObject({ kind: z.string(), name: z.string() }));
  const { data = [] } = owners.safeParse(valueAt(object, ['metadata', 'ownerReferences']));
  return data.some(({ kind, name }) => objectNamed(kind, name, otherObjects) !== undefined);
}

function unreadable(object: unknown, around: readonly string[], { issues: [issue] }: z.ZodError): string | undefined {
  const text = JSON.stringify(object);
  if (!issue || !/GITEA_INSTANCE_URL|act[_-]runner|gitea\/runner/.test(text)) return undefined;
  if (text.includes('.Values')) return `${nameOf(object)} is a template. Render it first: ${HELM}.`;
  const path = [...around, ...issue.path].join('.');
  const value = valueAt(object, [...around, ...issue.path.map(String)]);
  const isQuoted = issue.code === 'invalid_type' && typeof value === 'string' && /^(?:\d+|true|false)$/.test(value);
  const why = isQuoted ? `write "${String(issue.path.at(-1))}: ${value}", without quotes` : issue.message;
  return printable(`${nameOf(object)}: ${path} cannot be read: ${why}.`);
}

/** `Deployment act-runner` */
export function nameOf(object: unknown): string {
  const kind = valueAt(object, ['kind']);
  const name = valueAt(object, ['metadata', 'name']);
  return printable([kind, name].filter((word) => typeof word === 'string').join(' '));
}

/** Returns the fields of the objects around a pod that a RunnerGroup does not have, each once. */
export function aroundThePod(objects: readonly unknown[]): readonly string[] {
  return objects.flatMap((object) => notCarriedOver(asWorkload(object), nameOf(object)));
}

export const INIT = "start with 'gitea-runners init'";
export const HELM = 'helm template NAME CHART -f VALUES | gitea-runners import -';
const LIVING =
  'kubectl get statefulset,deployment,configmap -n NAMESPACE -o yaml | gitea-runners import - (with KEDA also scaledjob,scaledobject)';
const RENDER = `Only its objects can be read. If they run: ${LIVING}. If not: `;

/** Kinds that name a source of objects, with what makes these. */
const RENDERED = new Map([
  ...['HelmRelease', 'HelmChart'].map((kind) => [kind, HELM] as const),
  ...['Application', 'ApplicationSet'].map(
    (kind) => [kind, 'argocd app manifests NAME | gitea-runners import -'] as const,
  ),
  ['Kustomization', 'kustomize build FOLDER | gitea-runners import -'],
]);

/** Our fields that are repeated from objects of other tools. No other: it could hold a token. */
const REPEATED = ['maxActiveRunners', 'minIdleRunners', 'labels', 'org', 'repo'];

/** Returns lines such as `maxActiveRunners: 12` by our field. The last of two words for one field counts. */
function ourFieldsIn(value: object): ReadonlyMap<string, string> {
  const fields = Object.entries(value).flatMap(([key, inner]: [string, unknown]): (readonly [string, string])[] => {
    const field = Object.hasOwn(OTHER_NAMES, key) ? OTHER_NAMES[key] : key;
    const [, of] = (key === 'githubConfigUrl' && /^https?:\/\/[^/]+\/(.+?)\/?$/.exec(String(inner))) || [];
    if (of !== undefined) return [of.includes('/') ? ['repo', `repo: ${of}`] : ['org', `org: ${of}`]];
    const text = valueAt(inner, ['name']) ?? (Array.isArray(inner) ? `[${inner.join(', ')}]` : inner);
    if (field && REPEATED.includes(field) && typeof text !== 'object') return [[field, `${field}: ${text}`]];
    return typeof inner === 'object' && inner ? [...ourFieldsIn(inner)] : [];
  });
  return new Map(fields);
}

/** A sentence with our fields for those of these objects. Empty: they have none. */
export function saidByOthers(objects: readonly unknown[]): string {
  const fields = [...ourFieldsIn(objects.map((each) => valueAt(each, ['spec']) ?? {})).values()].join(', ');
  return fields && ` What they say is here: ${printable(fields)}.`;
}

const isOfOtherTool = (object: unknown) =>
  isMapping(object) && /runner|garm|gitea|forgejo|actions/i.test(`${object['apiVersion']} ${object['kind']}`);

/** Returns a sentence about an object of runners that is not read. All objects of other tools get the same one. */
export function strangerNote(object: unknown, otherObjects: readonly unknown[]): string | undefined {
  if (Array.isArray(object) && /runner/i.test(JSON.stringify(object)))
    return `This is a list, as tasks of Ansible are, and no object of Kubernetes: ${INIT}. GITEA_RUNNER_LABELS are labels; import reads the runner's config.yaml.`;
  if (!isMapping(object)) return undefined;
  const { kind, services } = object;
  const objectName = nameOf(object);
  if ('githubConfigUrl' in object)
    return `Values of ARC say nothing of Gitea: ${INIT}. maxRunners is maxActiveRunners, minRunners is minIdleRunners, and the scale set's name is a label.`;
  if ('gitlabUrl' in object) return `Values of GitLab's chart say nothing of Gitea: ${INIT}.`;
  if (isMapping(services)) {
    const runners = Object.keys(services).filter((name) =>
      RUNNER_IMAGE.test(String(valueAt(services, [name, 'image']))),
    );
    return `This is a docker compose file (runners: ${printable(runners.join(', ')) || 'none of Gitea'}), and no pod: ${INIT}. GITEA_RUNNER_LABELS are labels; import reads the runner's config.yaml.`;
  }
  if (kind === KIND_OF_PLAIN_CONFIG || !/runner/i.test(JSON.stringify(object))) return undefined;
  if (kind === undefined) return `This has no kind, as values of a chart have none. ${RENDER}${HELM}`;
  const rendered = RENDERED.get(String(kind));
  if (rendered !== undefined) return `${objectName} says where objects come from. ${RENDER}${rendered}`;
  if (!isOfOtherTool(object)) return undefined;
  const all = otherObjects.filter((each) => isOfOtherTool(each) && /runner/i.test(JSON.stringify(each)));
  return `Objects of another tool (${all.map(nameOf).join(', ')}): ${INIT}.${saidByOthers(all)}`;
}
