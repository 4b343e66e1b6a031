/**
 * What a podTemplate may not set: fields on which the life of a runner depends, and ways to the registration token. The table is data,
 * so that the manual can show it. What only some installations forbid (images, priority classes, service accounts) is the policy's,
 * and what weakens the pod is the Pod Security Standards' (pod-security.ts).
 */
import { posix } from 'node:path';
import { type Found, findPlaces, sameElement } from './places.ts';
import { fieldsOf } from './schema.ts';
import {
  type FieldPath,
  fieldValue,
  isList,
  isMapping,
  type Mapping,
  stringOf,
  type TemplateFault,
  type Value,
} from './value.ts';
import { visitStructs } from './visit.ts';

/**
 * `path`: a step `[NAME]` is the element with that merge key, `[ours]` every element that our pod has, too, `*` any one; a key or name
 * may end in `*`. What says the same as our pod is allowed, and so is what `unless` allows.
 */
export interface ReservedField {
  readonly path: readonly string[];
  readonly reason: string;
  readonly instead: string;
  readonly unless?: (found: Found) => boolean;
}

const isFalse = ({ value }: Found): boolean => value === false;
const RUNNER = ['spec', 'containers', '[runner]'];
const LABELS_REASON = 'the generator and the Job controller find pods by it';
const ARGO_REASON = 'Argo CD would take the pod for a part of an Application';
const OUR_ENV_REASON = 'the runner is registered and configured with it';
const HOST_REASON = 'a runner pod shares no namespace with its node';
const REMOVE = 'remove it';

const row = (
  path: readonly string[],
  reason: string,
  instead = REMOVE,
  unless?: ReservedField['unless'],
): ReservedField => ({
  path,
  reason,
  instead,
  ...(unless && { unless }),
});

/** Fields of metadata that are no labels and no annotations. */
const OF_THE_OBJECT = [...fieldsOf('ObjectMeta').keys()].filter(
  (field) => field !== 'labels' && field !== 'annotations',
);
/** Of the docker sidecar: where its image comes from, how much it may use, and what it is configured with. */
const DOCKER_MAY = ['name', 'image', 'imagePullPolicy', 'resources', 'env', 'envFrom', 'volumeMounts'];
const OF_OUR_SIDECAR = [...fieldsOf('Container').keys()].filter((field) => !DOCKER_MAY.includes(field));

export const RESERVED_FIELDS: readonly ReservedField[] = [
  ...OF_THE_OBJECT.map((field) =>
    row(['metadata', field], 'a pod gets it from its Job', 'keep labels and annotations only'),
  ),
  ...[
    'gitea.bpg.pw/*',
    'app.kubernetes.io/name',
    'app.kubernetes.io/managed-by',
    'batch.kubernetes.io/*',
    'job-name',
    'controller-uid',
  ].map((key) => row(['metadata', 'labels', key], LABELS_REASON, 'use a label of your own')),
  row(['metadata', 'labels', 'app.kubernetes.io/instance'], ARGO_REASON, 'use a label of your own'),
  row(['metadata', 'labels', 'argocd.argoproj.io/*'], ARGO_REASON),
  row(['metadata', 'annotations', 'argocd.argoproj.io/*'], ARGO_REASON),
  row(['metadata', 'annotations', 'gitea.bpg.pw/*'], 'it holds the configuration of the runner'),
  row(['spec', 'restartPolicy'], 'a runner runs one CI job and ends', 'remove it: it is Never'),
  row(['spec', 'automountServiceAccountToken'], 'CI jobs get no token of the cluster', REMOVE, isFalse),
  row(['spec', 'serviceAccount'], 'it is the old name of serviceAccountName', 'use serviceAccountName'),
  ...['hostNetwork', 'hostPID', 'hostIPC'].map((field) => row(['spec', field], HOST_REASON, REMOVE, isFalse)),
  row(['spec', 'shareProcessNamespace'], 'other containers could read the registration token', REMOVE, isFalse),
  row(
    ['spec', 'terminationGracePeriodSeconds'],
    'a stopped runner finishes its CI job in it',
    'use spec.gracefulStopSeconds',
  ),
  row(['spec', 'activeDeadlineSeconds'], 'it is of the Job', 'use spec.activeDeadlineSeconds of the RunnerGroup'),
  row(['spec', 'nodeName'], 'it goes past the scheduler, and past taints', 'use nodeSelector or affinity'),
  row(['spec', 'priority'], 'the API server sets it', 'use priorityClassName'),
  row(['spec', 'ephemeralContainers'], 'they cannot be part of a new pod', 'use containers or initContainers'),
  row(
    ['spec', 'os'],
    'runners are Linux pods; others are checked less',
    REMOVE,
    ({ value }) => stringOf(value, 'name') === 'linux',
  ),
  ...['command', 'args'].map((field) =>
    row(
      [...RUNNER, field],
      "the runner's image starts the runner with its own",
      'name an image of your own, too',
      hasOwnImage,
    ),
  ),
  ...['preStop', 'stopSignal'].map((field) =>
    row([...RUNNER, 'lifecycle', field], 'a stopped runner finishes its CI job by it', 'use spec.gracefulStopSeconds'),
  ),
  ...['GITEA_INSTANCE_URL', 'GITEA_RUNNER_*', 'CONFIG_FILE', 'RUNNER_STATE_FILE'].map((name) =>
    row([...RUNNER, 'env', `[${name}]`], OUR_ENV_REASON, 'use the fields of the RunnerGroup'),
  ),
  // HOME is ours only because uid 1000 has none in the default image.
  row(
    [...RUNNER, 'env', '[ours]'],
    OUR_ENV_REASON,
    'use the fields of the RunnerGroup',
    ({ element }) => stringOf(element, 'name') === 'HOME',
  ),
  row(['spec', 'initContainers', '[register]'], 'it alone has the registration token', 'use another name'),
  ...OF_OUR_SIDECAR.map((field) =>
    row(
      ['spec', 'initContainers', '[ours]', field],
      "it starts the runner's docker daemon",
      'mount a daemon.json to configure it',
      isRegister,
    ),
  ),
  row(['spec', 'initContainers', '[ours]', 'env', '[ours]'], 'the runner finds its docker daemon by it'),
  row(
    ['spec', 'volumes', '[ours]'],
    'the runner keeps its registration or its configuration there',
    'use another name, or emptyDir or ephemeral for data',
    isOwnSpace,
  ),
  ...['serviceAccountToken', 'podCertificate'].map((source) =>
    row(['spec', 'volumes', '*', 'projected', 'sources', '*', source], 'CI jobs get no identity of the cluster'),
  ),
  ...['containers', 'initContainers'].map((list) =>
    row(['spec', list, '*', 'restartPolicyRules'], 'a runner runs one CI job and ends'),
  ),
];

/** The whole container is reserved: its fields are not told one by one. */
function isRegister({ element }: Found): boolean {
  return stringOf(element, 'name') === 'register';
}

function hasOwnImage({ parent }: Found): boolean {
  return stringOf(parent, 'image') !== '';
}

/** Space that belongs to one pod: another size or class of storage for a volume of ours that is an `emptyDir`. */
function isOwnSpace({ value, ours }: Found): boolean {
  if (fieldValue(ours, 'emptyDir') === undefined || !isMapping(value)) return false;
  const sources = Object.keys(value).filter((field) => field !== 'name' && value[field] !== null);
  return sources.every((source) => source === 'emptyDir' || source === 'ephemeral');
}

/**
 * Every reserved field that a template sets, by path. `secrets`: names of the Secrets with the tokens of Gitea, which no container but
 * ours may read. The template must have passed `checkShape`.
 */
export function reservedFields(
  ours: Mapping,
  template: Mapping,
  { secrets }: { readonly secrets: readonly string[] },
): readonly TemplateFault[] {
  const hits = RESERVED_FIELDS.flatMap((field) =>
    findPlaces(field.path, ours, template)
      // A null that our pod does not have takes nothing away.
      .filter((found) => !isSame(found.value, found.ours) && !field.unless?.(found))
      // An element of a list is known by its name, not by its number.
      .map(({ path, value }) => ({
        path,
        message: `${typeof path.at(-1) === 'number' ? `${stringOf(value, 'name')} ` : ''}is reserved: ${field.reason}; ${field.instead}`,
      })),
  );
  const all = [...hits, ...ourMounts(ours, template), ...ofSecrets(template, secrets), ...takenAway(ours, template)];
  const first = new Map(all.toReversed().map((fault) => [JSON.stringify(fault.path), fault]));
  return [...first.values()].toReversed();
}

function isSame(value: Value, ours: Value | undefined): boolean {
  return value === null ? ours === undefined : JSON.stringify(value) === JSON.stringify(ours);
}

/** `/data/`, `/x/../data` and `//data` are other merge keys than `/data`, and the same folder. */
function ourMounts(ours: Mapping, template: Mapping): readonly TemplateFault[] {
  const lists = ['containers', 'initContainers'].map((list) => [
    'spec',
    list,
    '[ours]',
    'volumeMounts',
    '*',
    'mountPath',
  ]);
  return lists.flatMap((pattern) => {
    const taken = findPlaces(pattern, ours, ours).map(({ value }) => folder(value));
    return findPlaces(pattern, ours, template).flatMap(({ path, value }) => {
      const hidden = taken.find((mount) => isOurs(mount, folder(value)));
      if (hidden === undefined) return [];
      return [{ path, message: `is reserved: the runner has ${hidden} for itself; mount it elsewhere` }];
    });
  });
}

/** Folders that hold data: something may be mounted below them. */
const ROOMY = ['/data', '/var/lib/docker'];
/** What the runner registered with. */
const STATE = '/data/.runner';

function isOurs(mount: string, wanted: string): boolean {
  if (wanted === mount || wanted === STATE) return true;
  return !ROOMY.includes(mount) && wanted.startsWith(`${mount}/`);
}

function folder(mountPath: Value): string {
  const path = posix.resolve('/', typeof mountPath === 'string' ? mountPath : '');
  // /var/run is a link to /run in every image that we know.
  return path.replace(/^\/var\/run(?=\/|$)/, '/run');
}

/** Structs that put a Secret's contents into a container, and the field that names it. */
const SECRET_NAMES: ReadonlyMap<string, string> = new Map([
  ['SecretKeySelector', 'name'],
  ['SecretEnvSource', 'name'],
  ['SecretProjection', 'name'],
  ['SecretVolumeSource', 'secretName'],
  // References of a volume and imagePullSecrets.
  ['SecretReference', 'name'],
  ['LocalObjectReference', 'name'],
]);

function ofSecrets(template: Mapping, secrets: readonly string[]): readonly TemplateFault[] {
  return visitStructs(template, (struct, value, path) => {
    const field = SECRET_NAMES.get(struct);
    if (field === undefined || !secrets.includes(stringOf(value, field))) return [];
    return [
      {
        path: [...path, field],
        message: 'is reserved: CI jobs could read the token of Gitea in it; use another Secret',
      },
    ];
  });
}

/** What a template may take away with null: hardening that the security profile checks, requests, and advice to autoscalers. */
const MAY_GO = [
  'securityContext',
  'resources',
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  'karpenter.sh/do-not-disrupt',
];

function takenAway(ours: Mapping, template: Mapping): readonly TemplateFault[] {
  const visit = (value: Value, mine: Value | undefined, path: FieldPath): readonly TemplateFault[] => {
    if (mine === undefined || path.some((step) => MAY_GO.includes(String(step)))) return [];
    if (value === null) return [{ path, message: 'is null, which would take ours away; remove the line' }];
    if (isList(value))
      return value.flatMap((element, index) => visit(element, sameElement(element, mine), [...path, index]));
    if (!isMapping(value)) return [];
    return Object.entries(value).flatMap(([key, entry]) => visit(entry, fieldValue(mine, key), [...path, key]));
  };
  return visit(template, ours, []);
}
