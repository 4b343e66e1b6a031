/** A pod with a runner, as Deployments and ScaledJobs have it -> the fields of a RunnerGroup. */
import * as z from 'zod';
import { proxy } from '../../config/runnergroup/field-kinds.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import { CA_PLACES, CA_VARIABLE, DOCKER_IMAGE, parseLabel, RUNNER_IMAGE } from '../../config/runnergroup/words.ts';
import { manual, REGISTRATION_SECRET } from '../../shared/installed/installed-names.ts';
import { readList } from '../flags/readers.ts';
import { nameOf } from './import-objects.ts';
import type { FromRunnerFile } from './import-runner-file.ts';
import type { OldContainer, Pod, PodSpec } from './import-shapes.ts';
import { filled, lostNote, mayBeSecret, pointsInto } from './import-template.ts';
import {
  certificatesOf,
  mapsOf,
  ownFilesOf,
  registrationOf,
  TOKEN_VARIABLES,
  tokenOf,
  variablesOf,
} from './import-variables.ts';

/** Fields that RunnerGroups have elsewhere, or that belong to the old pod's docker. They mean nothing in a new pod. */
const HANDLED =
  /^(?:GITEA_(?:INSTANCE_(?:URL|INSECURE)|RUNNER_(?:REGISTRATION_TOKEN(?:_FILE)?|LABELS|NAME|EPHEMERAL))|CONFIG_FILE|DOCKER_(?:HOST|CERT_PATH|TLS_VERIFY|TLS_CERTDIR))$/;

/** Matches the address of a daemon outside of the pod. */
const ELSEWHERE = /^(?!unix:|\w+:\/\/(?:localhost|127\.|0\.0\.0\.0|\[::1\]))./;
/** Variables and their values that mean something else for our runners, with the reason. */
const OTHERWISE = [
  ['DOCKER_HOST', ELSEWHERE, 'each runner has its own. For that one: containerMode host, and it in podTemplate'],
  ['GITEA_RUNNER_EPHEMERAL', /^(?:false|0)$/, 'each runner takes one CI job'],
  ['GITEA_INSTANCE_INSECURE', /^(?:true|1)$/i, "Gitea's certificate is checked: for a CA of yours use spec.caBundle"],
] as const;

const isPlainSecret = ({ name, value }: Variable) => value !== undefined && mayBeSecret(name, value);

const PROXY = /^(?:https?|no)_proxy$/i;

/** Returns the proxy as a RunnerGroup has it: the container that registers needs it, too. Undefined: none that can be read. */
function proxyOf(variableOf: ReturnType<typeof variablesOf>, ofFile: FromRunnerFile['envs'] = {}) {
  const [http, https, direct] = ['http_proxy', 'https_proxy', 'no_proxy'].map(
    (name) => [name.toUpperCase(), name].flatMap((each) => variableOf(each)?.value ?? ofFile[each] ?? [])[0],
  );
  const read = proxy().safeParse(filled({ http, https, noProxy: direct && readList(direct) }));
  return (http ?? https) === undefined ? undefined : read.data;
}

/** Parts of the pod that other fields of the RunnerGroup replace. `volumes`: those of the old runner's own files. */
interface ReplacedParts {
  readonly volumes: readonly string[];
  readonly isProxied: boolean;
  readonly isCertified: boolean;
  /** The Secret with the registration token. */
  readonly tokenRef: { readonly name: string; readonly key: string } | undefined;
  /** Labels whose CI jobs ran in the container of the runner. */
  readonly hostLabels: readonly string[];
  /** Variables that the old command passed to `register`. */
  readonly passedVariables: readonly string[];
}

/** Returns the fields of a RunnerGroup that the pod tells, and notes on the rest. Undefined: no container is a Gitea runner. */
export function fromPod({ metadata, spec }: Pod, otherObjects: readonly unknown[], otherLabels: readonly string[]) {
  const parts = partsOf(spec);
  if (!parts) return undefined;
  const { runner, registers } = parts;
  const registrations = [runner, ...registers].map((each) => registrationOf(each, otherObjects));
  const registeredContainers = registrations.map(({ container }) => container);
  const variable = variablesOf(registeredContainers, otherObjects);
  const path = variable('CONFIG_FILE')?.value ?? CONFIG_OPTION.exec([...runner.command, ...runner.args].join(' '))?.[1];
  const { file, state, ...ownFiles } = ownFilesOf(spec, path, otherObjects);
  const token = tokenOf(spec, registeredContainers, otherObjects);
  const ofVariable = readList(variable('GITEA_RUNNER_LABELS')?.value ?? '');
  const labelTexts = [file?.labels, state?.labels, ofVariable].find((each) => each?.length) ?? [];
  const { kept: labels, note } = ofDefaultRunner(labelTexts.map((label) => label.trim()));
  const otherwise = OTHERWISE.filter(([name, is]) => is.test(variable(name)?.value ?? ''));
  const [containerMode, why] = modeOf(spec, parts, labels);
  const { name, key } = token.ref ?? { name: REGISTRATION_SECRET, key: 'registration-token' };
  const gitea = (variable('GITEA_INSTANCE_URL') ?? variable('GITEA_URL') ?? { value: state?.address }).value?.trim();
  const { requests, limits } = runner.resources ?? {};
  const proxySettings = proxyOf(variable, file?.envs);
  const trusted = certificatesOf(spec, variable, otherObjects);
  const certificates = variable('DOCKER_CERT_PATH')?.value?.replace(/\/$/, '');
  const ofClient = runner.volumeMounts
    .filter(({ mountPath }) => certificates && `${certificates}/`.startsWith(`${mountPath.replace(/\/$/, '')}/`))
    .map((each) => each.name);
  const { template, notes } = templateOf(spec, parts, {
    volumes: [...ownFiles.volumes, ...ofClient],
    isProxied: !!proxySettings,
    isCertified: !!trusted.caBundle,
    tokenRef: token.ref,
    hostLabels: hostLabelsIn(labels.length > 0 ? labels : otherLabels),
    passedVariables: registrations.flatMap(({ passed }) => passed),
  });
  const ofFile = ofMode(file ?? { spec: {}, notes: [] }, containerMode);
  return {
    gitea: /^https?:\/\/[^\s<>{}$?#@]+$/.exec(gitea ?? '')?.[0],
    missingGitea: gitea === undefined ? '--gitea' : `--gitea (${lostNote('GITEA_INSTANCE_URL', gitea, NO_URL)})`,
    variableOf: variable,
    capacity: file?.capacity,
    tokenSecrets: token.secrets,
    read: [...ownFiles.read, ...mapsOf([runner, ...registers], otherObjects)],
    spec: filled({
      ...ofFile.spec,
      labels,
      // A runner that names its labels has no others.
      defaultLabels: labels.length > 0 ? false : undefined,
      containerMode,
      proxy: proxySettings,
      caBundle: trusted.caBundle,
      registrationToken: { secretRef: { name, key } },
      resources: filled({ requests, limits }),
      podTemplate: filled({ metadata: filled(metadata), spec: template }),
    }),
    notes: [
      ...[why ?? []].flat(),
      ...otherwise.map(([name, , instead]) => lostNote(name, variable(name)?.value, instead)),
      ...[note ?? []].flat(),
      ...ofFile.notes,
      ...tokenNotes(token, name),
      ...(ownFiles.secret.length > 0 ? [stateNote(ownFiles.secret, state !== undefined)] : []),
      ...(!file && path !== undefined ? [NO_CONFIG] : []),
      ...(ownFiles.unmounted ? [`The pod mounts no ${path}: ${nameOf(ownFiles.unmounted)} is taken for it.`] : []),
      ...trusted.notes,
      ...privilegeNotes(spec, containerMode),
      ...notes,
    ],
  };
}

const NO_URL = 'it is no URL, as a template is none';
const NO_CONFIG =
  'The config.yaml of the runner was in none of the files. Give it, too, or put its keys into runnerConfig, its labels into labels, and multiply maxActiveRunners by its capacity.';

function tokenNotes({ isGuess, isWritten, ref }: ReturnType<typeof tokenOf>, name: string): readonly string[] {
  const revoke = `The registration token stood in the manifest: revoke it, and put a new one into the Secret ${REGISTRATION_SECRET}.`;
  if (isWritten) return [revoke];
  if (isGuess) return [`registrationToken is a guess: a key of the Secret ${name}, which envFrom names.`];
  const made = `which ${manual('install.md')} makes: no file says where the token is`;
  return ref ? [] : [`registrationToken names the Secret ${REGISTRATION_SECRET}, ${made}.`];
}

/** @param volumes those with the token of the old runner @param isRead its file .runner was in one of the files */
function stateNote(volumes: readonly string[], isRead: boolean): string {
  const advice = isRead ? 'Its labels and its address are.' : 'Write the labels of its file .runner into labels.';
  return `What registered the old runner is not carried over (volume ${volumes.join(', ')}): CI jobs could read its token. ${advice}`;
}

/** Roles of the pod's containers. `registers`: they register the old runner in Gitea, and end before it starts. */
type Parts = Readonly<{ runner: OldContainer; docker: OldContainer | undefined; registers: readonly OldContainer[] }>;

function partsOf({ containers, initContainers }: PodSpec): Parts | undefined {
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
  const runner = [...containers, ...sidecars].find(isRunner);
  if (!runner) return undefined;
  const isDocker = (each: OldContainer) => each !== runner && (DOCKER_IMAGE.test(each.image) || isDaemon(each));
  const docker = [...containers, ...sidecars].find(isDocker);
  return { runner, docker, registers: initContainers.filter((each) => isRunner(each) && !sidecars.includes(each)) };
}

const NO_PROBES = { livenessProbe: undefined, readinessProbe: undefined, startupProbe: undefined };

const ASKS_OLD = 'it asks the old program, and a probe that fails ends the runner with its CI job';
const OF_MODE = 'containerMode sets user and privileges. Write other fields into podTemplate, if runners need them';
const OF_A_HOME = /^\/(?:root|home\/[^/]+)\//;

type Variable = OldContainer['env'][number];

const isSocket = (volume: PodSpec['volumes'][number]) => JSON.stringify(volume).includes('docker.sock');

/** Sorts the parts of a pod: those to carry over, and those that our runners replace. */
function sortPod(pod: PodSpec, parts: Parts, ownVolumes: readonly string[]) {
  const { runner, docker, registers } = parts;
  const claims = pod.volumes.filter(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined);
  const sockets = pod.volumes.filter(isSocket);
  const volumes = pod.volumes.filter((one) => ![...claims, ...sockets].includes(one) && !ownVolumes.includes(one.name));
  const isMounted = (mount: { readonly name: string }) => volumes.some(({ name }) => name === mount.name);
  const used = [runner, ...(docker ? [docker] : [])];
  const all = [...pod.initContainers, ...pod.containers];
  const others = all.filter((each) => !used.includes(each) && !registers.includes(each));
  const isEmptied = ({ volumeMounts }: OldContainer) => volumeMounts.length > 0 && !volumeMounts.some(isMounted);
  const [runners, rest] = [others.filter(isRunner), others.filter((each) => !isRunner(each))];
  const empty = rest.filter(isEmptied);
  const inits = rest.filter((each) => pod.initContainers.includes(each) && !empty.includes(each));
  const sidecars = rest.filter((each) => ![...inits, ...empty].includes(each));
  // A mount is removed with its volume: a volume of ours may have the same name.
  const lostMounts = [...used, ...inits].flatMap((each) => each.volumeMounts.filter((mount) => !isMounted(mount)));
  return { ...parts, pod, all, claims, empty, inits, isMounted, lostMounts, runners, sidecars, sockets, used, volumes };
}

type SortedPod = ReturnType<typeof sortPod>;

/** Tells which variables other fields of the RunnerGroup replace. */
function replacedVariables({ passedVariables, isProxied, isCertified, tokenRef }: ReplacedParts) {
  const isTheToken = ({ name, valueFrom: { secretKeyRef } = {} }: Variable): boolean =>
    TOKEN_VARIABLES.test(name.replace(/_FILE$/, '')) ||
    (tokenRef !== undefined && secretKeyRef?.name === tokenRef.name && secretKeyRef.key === tokenRef.key);
  const isHandled = (each: Variable): boolean =>
    HANDLED.test(each.name) ||
    isTheToken(each) ||
    passedVariables.includes(each.name) ||
    (isProxied && PROXY.test(each.name)) ||
    (isCertified && CA_VARIABLE.test(each.name));
  const isOfToken = ({ secretRef: ref }: OldContainer['envFrom'][number]) => !!ref && ref.name === tokenRef?.name;
  return { isHandled, isOfToken, isTheToken };
}

/** Values that the API server writes where nobody has written one. They mean the same in a new pod. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  ...{ schedulerName: 'default-scheduler', dnsPolicy: 'ClusterFirst' },
  ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
};

const withoutDefaults = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([field, value]) => DEFAULTS[field] !== value));

/** Returns the old pod as a podTemplate, and notes on the parts that are not tried. */
function templateOf(pod: PodSpec, parts: Parts, replacedParts: ReplacedParts) {
  const sorted = sortPod(pod, parts, replacedParts.volumes);
  const { inits, isMounted, used, volumes } = sorted;
  const { isHandled, isOfToken } = replacedVariables(replacedParts);
  const isReplaced = ({ mountPath }: { readonly mountPath: string }) =>
    replacedParts.isCertified && CA_PLACES.test(mountPath);
  const carried = ({ env, envFrom, volumeMounts, ...container }: OldContainer, isOurs = false) =>
    filled({
      ...withoutDefaults(container),
      envFrom: envFrom.filter((each) => !(isOurs && isOfToken(each))),
      env: env.filter((each) => !(isOurs && isHandled(each)) && !isPlainSecret(each)),
      volumeMounts: volumeMounts.filter((each) => isMounted(each) && !(isOurs && isReplaced(each))),
    });
  const ours = (container: OldContainer, name: string) => {
    const { image: _image, securityContext: _security, resources, ...kept } = carried(container, true);
    const { requests: _requests, limits: _limits, ...claimed } = container.resources ?? {};
    const main = filled({ ...kept, resources: claimed, restartPolicy: undefined, ...NO_PROBES });
    const made = filled(name === 'runner' ? { ...main, name } : { ...kept, resources, name });
    return Object.keys(made).length > 1 ? [made] : [];
  };
  const { securityContext: _security, serviceAccountName: _name, serviceAccount: _account, ...otherFields } = pod;
  const template = filled({
    ...withoutDefaults(otherFields),
    restartPolicy: undefined,
    volumes,
    containers: ours(parts.runner, 'runner'),
    initContainers: [...(parts.docker ? ours(parts.docker, 'docker') : []), ...inits.map((each) => carried(each))],
  });
  const carriedContainers = [...used, ...inits].map((each) => carried(each, true));
  return { template, notes: notesOf(sorted, replacedParts, carriedContainers) };
}

/** Returns a note on all parts that are not carried over for the same reason. */
function noteOn(subject: string, parts: readonly { readonly name: string }[], advice: string): readonly string[] {
  const names = parts.map(({ name }) => name).join(', ');
  return parts.length === 0 ? [] : [`${subject} not carried over (${names}): ${advice}.`];
}

const NO_INIT = 'each runner registers by itself and starts empty. What does more belongs into podTemplate';
const NOW_PRIVILEGED = `The daemon of this group is privileged, and no container of the old pod was. Modes without privileges: host, and buildkit for image builds (${manual('runnergroup.md#container-modes')}).`;
const AS_SIDECAR = 'add each to podTemplate.spec.initContainers, with restartPolicy: Always';

/** Returns the notes on all parts of the old pod that a podTemplate cannot have. */
function notesOf(sorted: SortedPod, replacedParts: ReplacedParts, carriedContainers: Parameters<typeof pointsInto>[0]) {
  const { pod, runner, registers, claims, empty, isMounted, lostMounts, runners, sidecars, sockets } = sorted;
  const otherMounts = lostMounts.filter((mount) => !sockets.some(({ name }) => name === mount.name));
  const mountPlaces = otherMounts.map(({ name, mountPath }) => ({ name: `${mountPath} of ${name}` }));
  const account = pod.serviceAccountName ?? pod['serviceAccount'];
  const accounts = account ? [{ name: String(account) }] : [];
  return [
    ...variableNotes(sorted, replacedParts),
    ...imageNotes(sorted, replacedParts.hostLabels),
    ...noteOn('Persistent volumes are', claims, `runners end with their CI job. See ${manual('cache.md')}`),
    ...noteOn('The docker socket of the node is', sockets, 'each runner has a dockerd of its own'),
    ...noteOn('Mounts are', mountPlaces, 'their volume is not'),
    ...pointsInto(carriedContainers, lostMounts),
    ...homeNotes(runner, isMounted),
    ...noteOn('Other runners of the pod are', runners, 'make a RunnerGroup for each'),
    ...noteOn('Init containers with the program of the runner are', registers, NO_INIT),
    ...noteOn('Containers beside the runner are', sidecars, AS_SIDECAR),
    ...noteOn('Containers without their volumes are', empty, 'none of what they mount is'),
    ...noteOn('serviceAccountName is', accounts, `a policy must allow it (${manual('policy.md')})`),
    ...probeAndUserNotes(sorted),
  ];
}

function variableNotes({ all, used }: SortedPod, replacedParts: ReplacedParts): readonly string[] {
  const { isOfToken, isTheToken } = replacedVariables(replacedParts);
  const isPlain = (each: Variable) => isPlainSecret(each) && !HANDLED.test(each.name);
  const isOldToken = (each: Variable) => isTheToken(each) && !HANDLED.test(each.name);
  const isWhole = used.some(({ envFrom }) => envFrom.some(isOfToken));
  const wholeSecret = isWhole ? [{ name: `all of Secret ${replacedParts.tokenRef?.name}` }] : [];
  const tokens = [...used.flatMap(({ env }) => env.filter(isOldToken)), ...wholeSecret];
  const secrets = all.flatMap(({ env }) => env.filter(isPlain));
  const why = 'CI jobs could read it. Runners of ours have it from registrationToken';
  return [
    ...noteOn('Plain values that may be secrets are', secrets, 'put them into a Secret'),
    ...noteOn("Variables with the old runner's token are", tokens, why),
  ];
}

/** CI jobs of mode host may need the programs of an image that is not the project's own. */
function imageNotes({ runner, used }: SortedPod, hostLabels: readonly string[]): readonly string[] {
  const isOwn = hostLabels.length > 0 && runner.image !== '' && !OF_PROJECT.test(runner.image);
  const images = used.flatMap((each) => (each.image === '' || (isOwn && each === runner) ? [] : { name: each.image }));
  const write = `If it has act_runner 0.2.12 or newer, write "image: ${runner.image}" below spec`;
  const ownNote = `CI jobs of ${hostLabels.join(', ')} ran in the image ${runner.image}, which is not carried over. ${write}. If not, they lack its programs.`;
  return [...noteOn('Images are', images, 'runners have those of this version'), ...(isOwn ? [ownNote] : [])];
}

function probeAndUserNotes({ pod, runner, used }: SortedPod): readonly string[] {
  const pathOf = (each: OldContainer) =>
    `spec.${pod.containers.includes(each) ? 'containers' : 'initContainers'}[${each.name}]`;
  const lost = (path: string, value: unknown, why: string) => (value === undefined ? [] : [lostNote(path, value, why)]);
  return [
    ...Object.keys(NO_PROBES).flatMap((field) => lost(`${pathOf(runner)}.${field}`, runner[field], ASKS_OLD)),
    ...lost('spec.securityContext', pod['securityContext'], OF_MODE),
    ...used.flatMap((each) => lost(`${pathOf(each)}.securityContext`, each['securityContext'], OF_MODE)),
  ];
}

/** A note if the old pod had less rights than a privileged daemon. Without an image there was no pod. */
function privilegeNotes({ containers, initContainers, volumes }: PodSpec, mode: Mode): readonly string[] {
  const was = (each: OldContainer) => !each.image || valueAt(each, ['securityContext', 'privileged']) === true;
  const had = volumes.some(isSocket) || [...containers, ...initContainers].some(was);
  return had || mode === 'host' ? [] : [NOW_PRIVILEGED];
}

/** Images of the runner project, which hold no tools of CI jobs. */
const OF_PROJECT = /^(?:(?:docker\.io|(?:docker\.)?gitea\.com)\/)?(?:gitea\/)?(?:act_)?runner(?:[:@]|$)/;

/** Notes on mounts in a home folder that is not the one of our runners. */
function homeNotes({ env, volumeMounts }: OldContainer, isMounted: (mount: { readonly name: string }) => boolean) {
  const home = env.find(({ name }) => name === 'HOME')?.value ?? '/data';
  const homes = volumeMounts.filter(
    (mount) => OF_A_HOME.test(mount.mountPath) && !mount.mountPath.startsWith(`${home}/`) && isMounted(mount),
  );
  return homes.map(({ mountPath }) => {
    const ofClient = 'Mount it elsewhere and name the place, e.g. DOCKER_CONFIG=/docker for /docker/config.json';
    const advice = mountPath.endsWith('/daemon.json') ? `See ${manual('recipes/daemon.md')}` : ofClient;
    return `The home of a runner is ${home}, so nothing looks for ${mountPath}. ${advice}.`;
  });
}

/** Containers have no place in mode host. */
function ofMode({ spec, notes }: Pick<FromRunnerFile, 'spec' | 'notes'>, mode: Mode) {
  const { container, ...otherSections } = z.looseObject({}).safeParse(spec['runnerConfig']).data ?? {};
  if (mode !== 'host' || container === undefined) return { spec, notes };
  const note = lostNote('container', container, 'containerMode host starts no containers');
  return { spec: { ...spec, runnerConfig: otherSections }, notes: [...notes, note] };
}

/** Runners of other forges, by their images. */
const OF_OTHERS: readonly (readonly [RegExp, string])[] = [
  [/forgejo/i, "Forgejo's"],
  [/github-runner|actions-runner|actions\/runner/i, "GitHub's"],
  [/gitlab-runner/i, "GitLab's"],
];

/** True for a container with a runner, by its image, its variables or its command. */
function isRunner(container: OldContainer): boolean {
  const { image, env } = container;
  if (isDaemon(container)) return false;
  if (RUNNER_IMAGE.test(image) || /gitea[\w-]*runner/i.test(image)) return true;
  const isTold = env.some(({ name }) => name === 'GITEA_INSTANCE_URL');
  return (isTold || starts(container, 'act_runner|gitea-runner')) && !OF_OTHERS.some(([others]) => others.test(image));
}

/** A dockerd beside the runner, whatever its image: one may hold both programs. */
function isDaemon(each: OldContainer): boolean {
  return starts(each, 'dockerd(?:-entrypoint\\.sh)?') && !starts(each, 'act_runner|gitea-runner|run\\.sh');
}

/** True if the container starts one of these programs: as a command, behind `sh -c` or `--`, or in a script. */
function starts({ command, args }: OldContainer, programs: string): boolean {
  const before = '(?:^|[\\n;&|(]|(?:\\b(?:exec|then|do|else)|\\s--)\\s)\\s*(?:[\\w./-]*/)?';
  const first = new RegExp(`${before}(?:${programs})(?=\\s|$)`);
  const argv = [...command, ...args];
  const isCommand = (index: number) => index === 0 || /^(?:-\w*c|--|exec)$/.test(argv[index - 1] ?? '');
  return argv.some((word, index) => isCommand(index) && first.test(word));
}

const CONFIG_OPTION = /(?:--config|\b(?:act_runner|gitea-runner)\s+(?:\w+\s+)?-c)[\s=]+["']?([^\s"';]+)/;

/** The other forge whose runner this pod is. */
export function otherForge({ containers }: Pick<PodSpec, 'containers'>): string | undefined {
  return OF_OTHERS.find(([image]) => containers.some((each) => image.test(each.image)))?.[1];
}

type Mode = 'dind-rootless' | 'dind' | 'host';

function modeOf(pod: PodSpec, { runner, docker }: Parts, labels: readonly string[]): readonly [Mode, string?] {
  if (runner.image.includes('dind-rootless') && !docker) return ['dind-rootless'];
  if (docker || runner.image.includes('dind')) return ['dind'];
  if (pod.volumes.some(isSocket)) return ['dind-rootless'];
  if (labels.length > 0 && labels.every((label) => !label.includes(':docker:'))) return ['host'];
  return ['dind-rootless', 'containerMode is a guess: no docker was found beside the runner.'];
}

function hostLabelsIn(labels: readonly string[]): readonly string[] {
  return labels.map(parseLabel).flatMap((label) => ('schema' in label && label.schema === 'host' ? [label.name] : []));
}

/** The labels that the default runner takes, and what to say of the others. */
export function ofDefaultRunner(labels: readonly string[]): { readonly kept: string[]; readonly note?: string } {
  const kept = labels.filter((label) => {
    const parsed = parseLabel(label);
    return !('wrong' in parsed) && parsed.schema !== 'foreign';
  });
  if (kept.length === labels.length) return { kept };
  const lost = labels.filter((label) => !kept.includes(label)).join(', ');
  const note = `These labels are not carried over, for they are neither name:host nor name:docker://image: ${lost}. Add them in one of these forms, and change runs-on if the name changes.`;
  return { kept, note };
}
