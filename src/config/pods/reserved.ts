/**
 * Fields that a podTemplate may not set: the runner depends on them, or they lead to the registration token. What only
 * some installations forbid is checked by the policy, and what weakens the pod by pod-security.ts.
 */
import { posix } from 'node:path';
import { asksOf } from './asks.ts';
import {
  type FieldPath,
  fieldsOf,
  fieldValue,
  isList,
  isMapping,
  type Mapping,
  stringOf,
  type TemplateFault,
  type Value,
} from './pod-schema.ts';

/**
 * A reserved field. A step of `path` is a key, `[NAME]` (the element with that merge key), `[ours]` (an element that our
 * pod has, too) or `*` (any element); names may end in `*`. Our own value is allowed, and what `unless` allows.
 */
interface ReservedField {
  readonly path: readonly string[];
  readonly reason: string;
  readonly instead: string;
  readonly unless?: ((found: Found) => boolean) | undefined;
}

interface Found {
  readonly path: FieldPath;
  /** May be null: in a merge it takes ours away. */
  readonly value: Value;
  /** Value of our pod in the same place. */
  readonly ours: Value | undefined;
  /** The innermost element of a list on the way. */
  readonly element: Value | undefined;
}

const reserve = (
  paths: readonly string[],
  reason: string,
  instead = 'remove it',
  unless?: ReservedField['unless'],
): readonly ReservedField[] => paths.map((path) => ({ path: path.split(' '), reason, instead, unless }));

const below = (parent: string, ...names: readonly string[]): readonly string[] =>
  names.map((name) => `${parent} ${name}`);
const isFalse = ({ value }: Found): boolean => value === false;
const nameOf = ({ element }: Found): string => stringOf(element, 'name');

const RUNNER = 'spec containers [runner]';
const OWN_LABEL = 'use a label of your own';
const ARGO_REASON = 'Argo CD would take the pod for a part of an Application';
const OUR_ENV_REASON = 'the runner is registered and configured with it';
const OUR_ENV_INSTEAD = 'use the fields of the RunnerGroup';
const GRACE = 'use spec.gracefulStopSeconds';

/** Fields of metadata except labels and annotations. */
const OF_THE_OBJECT = [...fieldsOf('ObjectMeta').keys()].filter((field) => !['labels', 'annotations'].includes(field));
/** Fields of the docker sidecar that a template may set: its image, resources, and configuration. */
const DOCKER_MAY = ['name', 'image', 'imagePullPolicy', 'resources', 'env', 'envFrom', 'volumeMounts'];
const OF_OUR_SIDECAR = [...fieldsOf('Container').keys()].filter((field) => !DOCKER_MAY.includes(field));
const LABELS =
  'gitea.bpg.pw/* app.kubernetes.io/name app.kubernetes.io/managed-by batch.kubernetes.io/* job-name controller-uid';

export const RESERVED_FIELDS: readonly ReservedField[] = [
  reserve(below('metadata', ...OF_THE_OBJECT), 'a pod gets it from its Job', 'keep labels and annotations only'),
  reserve(
    below('metadata labels', ...LABELS.split(' ')),
    'the generator and the Job controller find pods by it',
    OWN_LABEL,
  ),
  reserve(['metadata labels app.kubernetes.io/instance'], ARGO_REASON, OWN_LABEL),
  reserve(['metadata labels argocd.argoproj.io/*', 'metadata annotations argocd.argoproj.io/*'], ARGO_REASON),
  reserve(['metadata annotations gitea.bpg.pw/*'], 'it holds the configuration of the runner'),
  reserve(['spec restartPolicy'], 'a runner runs one CI job and ends', 'remove it: it is Never'),
  reserve(['spec automountServiceAccountToken'], 'CI jobs get no token of the cluster', undefined, isFalse),
  reserve(['spec serviceAccount'], 'it is the old name of serviceAccountName', 'use serviceAccountName'),
  reserve(
    below('spec', 'hostNetwork', 'hostPID', 'hostIPC'),
    'a runner pod shares no namespace with its node',
    undefined,
    isFalse,
  ),
  reserve(['spec shareProcessNamespace'], 'other containers could read the registration token', undefined, isFalse),
  reserve(['spec terminationGracePeriodSeconds'], 'a stopped runner finishes its CI job in it', GRACE),
  reserve(['spec activeDeadlineSeconds'], 'it is of the Job', 'use spec.activeDeadlineSeconds of the RunnerGroup'),
  reserve(['spec nodeName'], 'it goes past the scheduler, and past taints', 'use nodeSelector or affinity'),
  reserve(['spec priority'], 'the API server sets it', 'use priorityClassName'),
  reserve(['spec ephemeralContainers'], 'they cannot be part of a new pod', 'use containers or initContainers'),
  reserve(
    ['spec os'],
    'runners are Linux pods; others are checked less',
    undefined,
    ({ value }) => stringOf(value, 'name') === 'linux',
  ),
  reserve(
    below(RUNNER, 'command', 'args'),
    "the runner's image starts the runner with its own",
    'name an image of your own, too',
    ({ element }) => stringOf(element, 'image') !== '',
  ),
  reserve(below(`${RUNNER} lifecycle`, 'preStop', 'stopSignal'), 'a stopped runner finishes its CI job by it', GRACE),
  reserve(
    below(`${RUNNER} env`, '[GITEA_INSTANCE_URL]', '[GITEA_RUNNER_*]', '[CONFIG_FILE]', '[RUNNER_STATE_FILE]'),
    OUR_ENV_REASON,
    OUR_ENV_INSTEAD,
  ),
  // HOME is set only because uid 1000 has no home in the default image.
  reserve([`${RUNNER} env [ours]`], OUR_ENV_REASON, OUR_ENV_INSTEAD, (found) => nameOf(found) === 'HOME'),
  reserve(['spec initContainers [register]'], 'it alone has the registration token', 'use another name'),
  reserve(
    ['spec initContainers [prepare]'],
    'the runner needs what it prepares',
    'use another name',
    ({ ours }) => ours === undefined,
  ),
  // The whole containers `register` and `prepare` are reserved: their fields are not told one by one.
  reserve(
    below('spec initContainers [ours]', ...OF_OUR_SIDECAR),
    'it starts the daemon of docker or BuildKit',
    'mount a file of its configuration',
    (found) => ['register', 'prepare'].includes(nameOf(found)) || choosesProfiles(found),
  ),
  reserve(
    ['metadata annotations container.apparmor.security.beta.kubernetes.io/buildkit'],
    'it is of our own container',
  ),
  reserve(['spec initContainers [ours] env [ours]'], 'the runner finds its daemon by it'),
  reserve(
    ['spec volumes [ours]'],
    'the runner keeps its registration or its configuration there',
    'use another name, or emptyDir or ephemeral for data',
    isOwnSpace,
  ),
  reserve(
    below('spec volumes * projected sources *', 'serviceAccountToken', 'podCertificate'),
    'CI jobs get no identity of the cluster',
  ),
  reserve(
    ['spec containers * restartPolicyRules', 'spec initContainers * restartPolicyRules'],
    'a runner runs one CI job and ends',
  ),
].flat();

/** True if BuildKit's container, unless it is unconfined, sets only profiles, which Pod Security judges. */
function choosesProfiles({ element, ours, path, value }: Found): boolean {
  if (stringOf(element, 'name') !== 'buildkit' || path.at(-1) !== 'securityContext' || !isMapping(value)) return false;
  if (fieldValue(ours, 'seccompProfile') !== undefined) return false;
  return Object.keys(value).every((field) => ['appArmorProfile', 'seccompProfile', 'seLinuxOptions'].includes(field));
}

/** True for space that belongs to one pod: another size or storage class for a volume of ours that is an `emptyDir`. */
function isOwnSpace({ value, ours }: Found): boolean {
  if (fieldValue(ours, 'emptyDir') === undefined || !isMapping(value)) return false;
  const sources = Object.keys(value).filter((field) => field !== 'name' && value[field] !== null);
  return sources.every((source) => source === 'emptyDir' || source === 'ephemeral');
}

/** Returns the reserved fields of a template that passed `checkShape`. @param secrets with tokens of Gitea */
export function reservedFields(ours: Mapping, template: Mapping, secrets: readonly string[]): readonly TemplateFault[] {
  const hits = RESERVED_FIELDS.flatMap((field) =>
    findPlaces(field.path, ours, template)
      // A null for a field that our pod lacks changes nothing.
      .filter((found) => !isSame(found.value, found.ours) && !field.unless?.(found))
      // A message names an element by its name, not by its index.
      .map(({ path, value }) => {
        const name = typeof path.at(-1) === 'number' ? `${stringOf(value, 'name')} ` : '';
        return { path, message: `${name}is reserved: ${field.reason}; ${field.instead}` };
      }),
  );
  const ofOthers = [...tokenSecretsIn(template, secrets), ...removedByNull(ours, template)];
  const all = [...hits, ...hiddenMounts(ours, template), ...ofOthers];
  const first = new Map(all.toReversed().map((fault) => [JSON.stringify(fault.path), fault]));
  return [...first.values()].toReversed();
}

function isSame(value: Value, ours: Value | undefined): boolean {
  return value === null ? ours === undefined : JSON.stringify(value) === JSON.stringify(ours);
}

/** `/data/`, `/x/../data` and `//data` are other merge keys than `/data`, and the same folder. */
function hiddenMounts(ours: Mapping, template: Mapping): readonly TemplateFault[] {
  const lists = ['containers', 'initContainers'].map((list) =>
    `spec ${list} [ours] volumeMounts * mountPath`.split(' '),
  );
  // In mode dind-rootless, the socket is in a folder of the image. A mount above the folder hides it, but a mount of
  // ours is on top.
  const rooms = findPlaces('spec containers [ours] env [DOCKER_HOST] value'.split(' '), ours, ours)
    .map(({ value }) => posix.dirname(String(value).replace('unix://', '')))
    .filter((room) => room.startsWith('/run/user/'));
  return lists.flatMap((pattern) => {
    const ownMounts = findPlaces(pattern, ours, ours);
    const takenFolders = ownMounts.map(({ value }) => folder(value));
    return findPlaces(pattern, ours, template).flatMap(({ path, value }) => {
      const hidden = takenFolders.find((mount) => isOurs(mount, folder(value)));
      const isAbove = (room: string) => room.startsWith(`${folder(value)}/`);
      const below =
        hidden ?? (absolute(value) === '/var/run' ? takenFolders.find(isAbove) : undefined) ?? rooms.find(isAbove);
      if (below === undefined) return [];
      // Their volumes may be another disk.
      const volume = ROOMY.includes(folder(value)) && ownMounts.find((mount) => folder(mount.value) === folder(value));
      const instead = volume
        ? `for another disk, name your volume ${nameOf(volume)}, and remove this mount`
        : 'mount it elsewhere';
      return [{ path, message: `is reserved: the runner has ${below} for itself; ${instead}` }];
    });
  });
}

/** Folders that hold data: something may be mounted below them. */
const ROOMY = ['/data', '/var/lib/docker', '/home/user/.local/share/buildkit'];
/** File with the runner's registration. */
const STATE = '/data/.runner';

function isOurs(mount: string, mountPath: string): boolean {
  if (mountPath === mount || mountPath === STATE) return true;
  return !ROOMY.includes(mount) && mountPath.startsWith(`${mount}/`);
}

function absolute(mountPath: Value): string {
  return posix.resolve('/', typeof mountPath === 'string' ? mountPath : '');
}

function folder(mountPath: Value): string {
  // /var/run is a link to /run in every image that we know.
  return absolute(mountPath).replace(/^\/var\/run(?=\/|$)/, '/run');
}

function tokenSecretsIn(template: Mapping, secrets: readonly string[]): readonly TemplateFault[] {
  const message = 'is reserved: CI jobs could read the token of Gitea in it; use another Secret';
  return asksOf(template)
    .filter(({ kind, value }) => (kind === 'secret' || kind === 'pullSecret') && secrets.includes(value))
    .map(({ path }) => ({ path, message }));
}

/** Values that null may take away: hardening that Pod Security checks, resources, hints for autoscalers. */
const MAY_GO =
  'securityContext resources cluster-autoscaler.kubernetes.io/safe-to-evict karpenter.sh/do-not-disrupt'.split(' ');

function removedByNull(ours: Mapping, template: Mapping): readonly TemplateFault[] {
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

/** The places of a template that a path of `ReservedField` names. */
function findPlaces(pattern: readonly string[], ours: Value, template: Value): readonly Found[] {
  const whole: Found = { path: [], value: template, ours, element: undefined };
  return pattern.reduce<readonly Found[]>((found, step) => found.flatMap((place) => placesBelow(step, place)), [whole]);
}

function placesBelow(step: string, { value, ours, path, element }: Found): readonly Found[] {
  if (isList(value)) {
    return value.flatMap((inner, index) => {
      const sameOfOurs = sameElement(inner, ours);
      if (!isElement(step, inner, sameOfOurs)) return [];
      return [{ path: [...path, index], value: inner, ours: sameOfOurs, element: inner }];
    });
  }
  if (!isMapping(value)) return [];
  const keys = step.endsWith('*') ? Object.keys(value).filter((key) => isNamed(step, key)) : [step];
  return keys
    .filter((key) => Object.hasOwn(value, key))
    .map((key) => ({ path: [...path, key], value: value[key] ?? null, ours: fieldValue(ours, key), element }));
}

function isElement(step: string, element: Value, elementOfOurs: Value | undefined): boolean {
  if (step === '*') return true;
  const condition = step.slice(1, -1);
  return condition === 'ours' ? elementOfOurs !== undefined : isNamed(condition, mergeKeyOf(element));
}

function isNamed(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** The element of our list that an element of the template would be merged over. */
function sameElement(element: Value, ours: Value | undefined): Value | undefined {
  const key = mergeKeyOf(element);
  return isList(ours) && key !== '' ? ours.find((mine) => mergeKeyOf(mine) === key) : undefined;
}

/** Returns the merge key of an element: of a mount its path, although it has a name, too. */
function mergeKeyOf(element: Value): string {
  return stringOf(element, 'mountPath') || stringOf(element, 'name');
}
