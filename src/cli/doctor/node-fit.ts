/**
 * Judges whether a node could ever take a pod: by labels, taints, size and user namespaces. Pure.
 * The scheduler alone knows the rest (other pods, affinity to pods, volumes, ports), and `explain` shows its words.
 */
import * as z from 'zod';
import { type Remedies, TAINTS } from '../../answers/remedies.ts';
import { requestsOf } from '../../config/runnergroup/resource-requests.ts';
import { quantityValue } from '../../config/runnergroup/words.ts';
import { Expression, type Node } from '../reading/reads.ts';

const texts = z.record(z.string(), z.string());
const quantities = z.record(z.string(), z.union([z.string(), z.number()]).transform(String));
const resources = z.looseObject({ requests: quantities.optional(), limits: quantities.optional() }).optional();
const Container = z.looseObject({ restartPolicy: z.string().optional(), resources });
const expressions = z.array(Expression).default([]);
const Term = z.looseObject({ matchExpressions: expressions, matchFields: expressions });
const word = z.string().default('');
const Toleration = z.looseObject({ key: word, operator: z.string().default('Equal'), value: word, effect: word });
const Required = z.looseObject({ nodeSelectorTerms: z.array(Term).default([]) });
const NodeAffinity = z.looseObject({ requiredDuringSchedulingIgnoredDuringExecution: Required.optional() });
/** The fields of a pod's spec that decide where it may run. */
export const PodPlace = z.looseObject({
  nodeSelector: texts.default({}),
  affinity: z.looseObject({ nodeAffinity: NodeAffinity.optional() }).optional(),
  tolerations: z.array(Toleration).default([]),
  hostUsers: z.boolean().default(true),
  containers: z.array(Container).default([]),
  initContainers: z.array(Container).default([]),
  resources,
});
export type PodPlace = z.output<typeof PodPlace>;

/** Returns why the node cannot take the pod, e.g. `it has not the label gpu=yes`. Undefined: it can. */
export function whyNot(pod: PodPlace, node: Node): string | undefined {
  return byLabels(pod, node) ?? byTaints(pod, node) ?? bySize(pod, node) ?? byUserNamespaces(pod, node);
}

function byLabels({ nodeSelector, affinity }: PodPlace, { metadata: { labels, name } }: Node): string | undefined {
  const lacking = Object.entries(nodeSelector).filter(([key, value]) => labels[key] !== value);
  if (lacking.length > 0) return `no label ${lacking.map(([key, value]) => `${key}=${value}`).join(', ')}`;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (terms === undefined) return undefined;
  const fields = { 'metadata.name': name };
  const fits = terms.some(
    ({ matchExpressions, matchFields }) =>
      matchExpressions.length + matchFields.length > 0 &&
      matchExpressions.every((expression) => matchesExpression(expression, labels)) &&
      matchFields.every((expression) => matchesExpression(expression, fields)),
  );
  return fits ? undefined : 'its labels do not fit nodeAffinity';
}

type Requirement = z.output<typeof Expression>;

const OPERATORS = new Map<string, (label: string | undefined, values: readonly string[]) => boolean>([
  ['In', (label, values) => label !== undefined && values.includes(label)],
  ['NotIn', (label, values) => label === undefined || !values.includes(label)],
  ['Exists', (label) => label !== undefined],
  ['DoesNotExist', (label) => label === undefined],
  ['Gt', (label, [bound]) => Number(label) > Number(bound)],
  ['Lt', (label, [bound]) => Number(label) < Number(bound)],
]);

/** True if the expression holds. An unknown operator may hold: a doubt is not a fault. */
export function matchesExpression({ key, operator, values }: Requirement, labels: Readonly<Record<string, string>>) {
  return OPERATORS.get(operator)?.(labels[key], values) ?? true;
}

const KEEPS_AWAY = ['NoSchedule', 'NoExecute'];

/** The taint that `kubectl cordon` leads to a moment later. */
const CORDONED = { key: 'node.kubernetes.io/unschedulable', value: '', effect: 'NoSchedule' };

function byTaints({ tolerations }: PodPlace, { spec: { taints, unschedulable } }: Node): string | undefined {
  const blockingTaint = [...taints, ...(unschedulable ? [CORDONED] : [])].find(
    (taint) =>
      KEEPS_AWAY.includes(taint.effect) &&
      !tolerations.some(
        ({ key, operator, value, effect }) =>
          (effect === '' || effect === taint.effect) &&
          (key === '' ? operator === 'Exists' : key === taint.key) &&
          (operator === 'Exists' || value === taint.value),
      ),
  );
  if (!blockingTaint) return undefined;
  const { effect, key, value } = blockingTaint;
  return `taint ${key}${value && `=${value}`}:${effect}`;
}

function bySize(pod: PodPlace, { status: { allocatable, capacity } }: Node): string | undefined {
  const [resource] = [...requestsOf(pod)].find(([name, size]) => size > quantityValue(allocatable[name] ?? '0')) ?? [];
  if (resource === undefined) return undefined;
  const [offered = 'none', whole = offered] = [allocatable[resource], capacity[resource]];
  return `${resource}: ${offered}${whole === offered ? '' : ` of ${whole} offered`}, too little`;
}

/** Remedies for what `whyNot` says. */
export const NODE_REMEDIES: Remedies = [
  ...TAINTS,
  [
    /^(?<resource>[\w.-]+\/[\w.-]+): (?:none|\S+ of)/,
    'see whether the device plugin of <resource> works on those nodes, a DaemonSet as a rule: kubectl get daemonsets -A. Or add a node that offers it',
  ],
  [/unschedulable:NoSchedule$/, 'uncordon a node, or add one: kubectl get nodes'],
  [/^/, 'correct podTemplate in git, or label, untaint or add a node: kubectl get nodes --show-labels'],
];

/** The first kernel whose tmpfs can show the ids of a pod: Secrets and tokens are mounted as one. */
const KERNEL = { major: 6, minor: 3 };

function byUserNamespaces(
  { hostUsers }: PodPlace,
  { status: { nodeInfo, runtimeHandlers } }: Node,
): string | undefined {
  const { containerRuntimeVersion: runtime, kernelVersion: kernel } = nodeInfo;
  const [major = Number.NaN, minor = Number.NaN] = kernel.split('.').map(Number.parseFloat);
  const isOld = major < KERNEL.major || (major === KERNEL.major && minor < KERNEL.minor);
  if (hostUsers || (!isOld && runtimeHandlers.some(({ features }) => features.userNamespaces))) return undefined;
  const requirement = `Linux ${KERNEL.major}.${KERNEL.minor}, containerd 2 and runc 1.2, or CRI-O`;
  return `no user namespaces, which need Kubernetes 1.33, ${requirement} (it has Linux ${kernel}, ${runtime})`;
}
