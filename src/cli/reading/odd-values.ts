/** Values that are legal and cannot be meant: another unit, another machine, what a word processor or another tool has left. Pure. */
import { isTarget, machineOf } from '../../answers/uncovered-labels.ts';
import { matchesGlob } from '../../config/policy/policy-patterns.ts';
import type { Path } from '../../config/runnergroup/documents.ts';
import { DEFAULT_LABELS } from '../../config/runnergroup/group-schema.ts';
import { isMapping, pathText, valueAt } from '../../config/runnergroup/paths.ts';
import { hasDocker, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import {
  CA_PLACES,
  CA_VARIABLE,
  DOCKER_IMAGE,
  ONLY_DATA,
  OUTSIDE_DATA,
  quantityValue,
  RUNNER_IMAGE,
  shellLine,
  withoutTypography,
} from '../../config/runnergroup/words.ts';
import { GROUP_NAME, groupLabels, LOOK_NOW, QUEUE, SKIP_RECONCILE, SUSPENDED } from '../../shared/marks.ts';
import { cut } from '../../shared/printable.ts';

/** A field, and what cannot be meant about it. */
export type Odd = readonly [path: Path, message: string];

/** A value of a RunnerGroup, with its path from the root of the document. */
export type Part = Readonly<{ path: Path; value: unknown }>;

/** Returns what cannot be meant in the values of a group. */
export function oddValues(group: RunnerGroup): readonly Odd[] {
  return [...within(specOf(group)), ...ABOUT.flatMap((about) => about(group))];
}

/** Returns the rows of which the condition is true. */
export function oddIf(...rows: readonly (readonly [condition: boolean, ...odd: Odd])[]): readonly Odd[] {
  return rows.flatMap(([condition, ...odd]) => (condition ? [odd] : []));
}

export function partAt({ path, value }: Part, ...steps: Path): Part {
  return { path: [...path, ...steps], value: valueAt(value, steps) };
}

/** Returns the elements of a list, or the fields of a mapping. Empty for other values. */
function childrenAt(part: Part, ...steps: Path): readonly Part[] {
  const { path, value } = partAt(part, ...steps);
  if (Array.isArray(value)) return value.map((each, index) => ({ path: [...path, index], value: each }));
  return isMapping(value) ? Object.entries(value).map(([key, each]) => ({ path: [...path, key], value: each })) : [];
}

/** Returns the elements of a list. Empty: there is no list. */
export function elementsAt(part: Part, ...steps: Path): readonly Part[] {
  return Array.isArray(valueAt(part.value, steps)) ? childrenAt(part, ...steps) : [];
}

function specOf({ manifest }: RunnerGroup): Part {
  return partAt({ path: [], value: manifest }, 'spec');
}

/** Returns the pods of the podTemplates: of the group and of its sizes. */
export function podsOf(group: RunnerGroup) {
  const spec = specOf(group);
  return [spec, ...elementsAt(spec, 'sizes')].map((owner) => {
    const pod = partAt(owner, 'podTemplate', 'spec');
    const containers = ['containers', 'initContainers'].flatMap((list) => elementsAt(pod, list));
    const runners = containers.filter(({ value }) => valueAt(value, ['name']) === 'runner');
    return { owner, pod, containers, runners, labels: valueAt(owner.value, ['podTemplate', 'metadata', 'labels']) };
  });
}

function containersOf(group: RunnerGroup): readonly Part[] {
  return podsOf(group).flatMap(({ containers }) => containers);
}

/** Returns the containers of podTemplates that are merged over the runner's own. */
function runnersOf(group: RunnerGroup): readonly Part[] {
  return podsOf(group).flatMap(({ runners }) => runners);
}

const OF_GIT = "is no branch of Gitea, but git's name for one: write $1";
const NO_NODE_LABEL = 'is no label that Kubernetes gives nodes';
const NO_LINUX = 'is $&, and runners are Linux programs: write linux, or remove it';
const NO_MASTER =
  'is a label that no node has since Kubernetes 1.24: write the label of nodes for CI, or node-role.kubernetes.io/control-plane';
/** A runner has no port and no health of its own: what fails here is a CI job that is busy. */
const ENDS_JOB = 'ends the CI job when it fails, and the kubelet sees the end of a runner without it: remove it';

/** What cannot be meant in some places: the place, the form of the value, and the message with its parts. */
const ODD: readonly (readonly [places: RegExp, form: RegExp, message: string])[] = [
  [/\.branches\.\d+$/, /^(?:refs\/(?:heads|remotes\/[^/]+)|origin)\/(.+)$/, OF_GIT],
  [/\.topologyKey$/, /^hostname$/, `${NO_NODE_LABEL}: write kubernetes.io/$&`],
  [/\.topologyKey$/, /^(?:zone|region)$/, `${NO_NODE_LABEL}: write topology.kubernetes.io/$&`],
  [/\.subPath$/, /^(?:~|\$HOME)\/(.+)$/, 'is read by no shell: write $1'],
  [/\.(?:mountPath|workingDir)$/, /^(?:~|\$HOME)(?:$|\/)(.*)$/, 'is read by no shell: write /data/$1'],
  [/\.nodeSelector\.kubernetes\.io\/os$/, /^(?!linux$).*$/, NO_LINUX],
  [/\.nodeSelector\.node-role\.kubernetes\.io\/master$/, /^.*$/, NO_MASTER],
  [
    /\.(?!nvidia\.com\/gpu$)nv[\w.]*\/(?:gpus?|GPUs?)$/,
    /^.*$/,
    'is a resource that no node has: write "nvidia.com/gpu: $&"',
  ],
  [
    /\.(?!amd\.com\/gpu$)amd[\w.]*\/(?:gpus?|GPUs?)$/,
    /^.*$/,
    'is a resource that no node has: write "amd.com/gpu: $&"',
  ],
  [/\.containers\.\d+\.(?:liveness|startup)Probe$/, /^.*$/, ENDS_JOB],
];

/** Returns the odd values in a value, without its surroundings. @param isRunner false in other containers than `runner` */
export function within(part: Part, isRunner = true): readonly Odd[] {
  const { path, value } = part;
  const place = path.join('.');
  const [, form, odd = ''] = ODD.find(([places, each]) => places.test(place) && each.test(String(value))) ?? [];
  if (form && (isRunner || !place.endsWith('Probe'))) return [[path, String(value).replace(form, odd)]];
  if (typeof value === 'object' && value !== null) {
    const areContainers = /ontainers$/.test(String(path.at(-1)));
    const isOfRunner = (each: Part) => (areContainers ? valueAt(each.value, ['name']) === 'runner' : isRunner);
    return childrenAt(part).flatMap((each) => within(each, isOfRunner(each)));
  }
  const message = oddValue(value, path, isRunner);
  return message === undefined ? [] : [[path, message]];
}

/** Decimal numbers that are modes only when they are read as octal. */
const OCTAL: ReadonlySet<unknown> = new Set([400, 440, 444, 500]);

function oddValue(value: unknown, path: Path, isRunner: boolean): string | undefined {
  const [parent, field] = [String(path.at(-2)), String(path.at(-1))];
  const isAmount = /^(?:requests|limits|maxResources)$/.test(parent) || field === 'sizeLimit';
  if (isAmount && (typeof value === 'string' || typeof value === 'number'))
    return oddAmount(field, String(value), parent !== 'requests' && field !== 'sizeLimit' && isRunner);
  if (OCTAL.has(value) && /^(?:defaultMode|mode)$/.test(field))
    return `is ${Number(value).toString(8).padStart(4, '0')} in octal: write 0${value}`;
  if (typeof value !== 'string' || path.includes('annotations')) return undefined;
  const text = oddText(value, path[1] === 'labels') ?? oddWord(value, path);
  return text ?? (OF_SERVER.test(pathText(path)) ? oddAddress(value, String(path[1])) : undefined);
}

function oddText(text: string, isLabel: boolean): string | undefined {
  const typed = withoutTypography(text);
  if (typed === text) return undefined;
  const plain = isLabel ? typed.replace(/["']/g, '') : typed;
  return `holds quotes, dashes or spaces of a word processor: write ${cut(JSON.stringify(plain), 200)}`;
}

/** Warns of impossible images, in fields and in labels. */
function oddWord(text: string, path: Path): string | undefined {
  const field = String(path.at(-1));
  const isImage = /^(?:image|default_image)$/.test(field) || (field === 'reference' && path.at(-2) === 'image');
  const isLabel = path.length === 3 && /^(?:labels|defaultLabels)$/.test(String(path[1]));
  const image = isLabel ? /:docker:(?:\/\/)?(.+)/.exec(text)?.[1] : isImage && text;
  return image ? oddImage(image) : undefined;
}

/** Warns of impossible images. The first part of a name is a host if it has a dot, a colon or capitals. */
function oddImage(image: string): string | undefined {
  const plain = image
    .replace(/^[a-z]+:\/\//, '')
    .replace(/\/(?=v?\d+\.\d[\w.-]*$)/, ':')
    .replace(/(?<!:[^/]*)@(?!sha256:)/, ':');
  const [, host = '', name = '', tags = ''] =
    /^((?:[^/@]*[.:A-Z][^/@]*|localhost)\/)?([^:@]*)([^@]*)/.exec(plain) ?? [];
  if (tags.indexOf(':') !== tags.lastIndexOf(':')) return `names the image ${image} with two tags: keep one`;
  const correctedHost = /[.:]/.test(host) ? host : host.toLowerCase();
  const correctedImage = plain.replace(host + name, correctedHost + name.toLowerCase());
  if (correctedImage === image) return undefined;
  return `names the image ${image}, which no registry has: write ${correctedImage}`;
}

const OF_SERVER = /^spec\.(?:gitea\.url|giteaURL|cache\.url|proxy\.\w+)$/;

const OWN_EXAMPLE: Readonly<Record<string, string>> = {
  proxy: 'http://proxy.example.com:3128',
  cache: 'http://gitea-runner-cache.runners.svc:8088',
};

/** @param part the field of the spec */
function oddAddress(text: string, part: string): string | undefined {
  const [, before, host, after] = /^(https?:\/\/)((?!localhost)[a-z0-9-]+)((?::\d+)?(?:\/.*)?)$/i.exec(text) ?? [];
  if (host !== undefined && part !== 'cache')
    return `has no namespace, so each pod looks for ${host} in its own: write ${before}${host}.NAMESPACE.svc${after}`;
  if (!/^https?:\/\/(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])(?:[:/]|$)/i.test(text)) return undefined;
  const example = OWN_EXAMPLE[part] ?? 'http://gitea-http.gitea.svc:3000';
  return `is this machine, and for a runner its own pod: write the address at which pods reach it, e.g. ${example}`;
}

const MEBIBYTE = 1_048_576;
/** Few nodes have more, and those have a multiple of 32. */
const MOST_CORES = 100;

/** A page of memory. A volume may hold no more than some small files. */
const PAGE_BYTES = 4096;
/** Less than a runner and its shell need. Another container may need less. */
const SMALL_BYTES = 32 * MEBIBYTE;
const SMALL_CORES = 0.01;

/** @param name of the resource, or `sizeLimit` @param isOfRunner true for its limits: a request may be as small as one likes */
function oddAmount(name: string, amountText: string, isOfRunner: boolean): string | undefined {
  const amount = quantityValue(amountText);
  const digits = /^\d+/.exec(amountText)?.[0] ?? '1';
  const unit = isOfRunner && name === 'memory' && Number(digits) < 64 ? 'Gi' : 'Mi';
  if (isOfRunner && name === 'cpu' && amount > 0 && amount < SMALL_CORES)
    return `is ${amount * 1000} thousandths of a core: write ${digits}`;
  if (isOfRunner && name === 'memory' && amount >= MEBIBYTE && amount < SMALL_BYTES)
    return `is ${amount} bytes, and no runner starts with that: write ${digits}${unit}`;
  if (name === 'cpu' && /^\d+$/.test(amountText) && amount >= MOST_CORES && (amount >= 1000 || amount % 32 !== 0))
    return `is ${amountText} whole cores: write ${amountText}m for thousandths of a core`;
  const least = name === 'sizeLimit' ? PAGE_BYTES : MEBIBYTE;
  if (!/^(?:memory|(?:ephemeral-)?storage|sizeLimit)$/.test(name) || !(amount > 0 && amount < least)) return undefined;
  return `is ${amount < 1 ? 'less than a byte' : `${Math.ceil(amount)} bytes`}, which no program can use: write ${digits}${unit}`;
}

function aboutNamespace({ namespace, manifest }: RunnerGroup): readonly Odd[] {
  const path = ['metadata', ...(valueAt(manifest, ['metadata', 'namespace']) === undefined ? [] : ['namespace'])];
  const message = `is ${namespace}: CI jobs would run beside what rules the cluster. Give runners a namespace of their own, e.g. "namespace: runners"`;
  return oddIf([/^argocd$|^kube-/.test(namespace), path, message]);
}

const OTHER_FORGES = /^(?:[\w-]+\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)$/;

/** First steps below Gitea of its pages (Gitea, `models/user/user.go`, reserved names). */
const PAGES: ReadonlySet<string> = new Set(
  '- admin api explore issues login milestones notifications org pulls repo user'.split(' '),
);

/** Folders in which people serve a Gitea: an owner of that name proves no page. */
const FOLDER = /^(?:gitea|git|forge|code|scm|vcs)$/i;

/** What a server speaks at a port. */
const SPEAKS: Readonly<Record<string, string>> = { 80: 'http', 443: 'https', 22: 'ssh', 2222: 'ssh' };

/** Warns of another forge, and of the address of a page in a browser. */
function aboutGitea({ giteaUrl, manifest, scope }: RunnerGroup): readonly Odd[] {
  const { hostname, origin, pathname, port, protocol } = new URL(giteaUrl);
  const path = valueAt(manifest, ['spec', 'giteaURL']) === undefined ? ['spec', 'gitea', 'url'] : ['spec', 'giteaURL'];
  const right = SPEAKS[port];
  const wrong = protocol.slice(0, -1);
  const withoutPort = giteaUrl.replace(`:${port}`, '');
  const name = ownerNameIn(scope).toLowerCase();
  const steps = pathname.split('/').slice(1);
  const isOwner = (step: string) => step.toLowerCase() === name && !FOLDER.test(step);
  const first = steps.findIndex((step) => step !== '' && (PAGES.has(step) || isOwner(step)));
  const [page, base] = [steps.slice(first).join('/'), [origin, ...steps.slice(0, first)].join('/')];
  const forge = `is ${hostname}, which is no Gitea: write the address of yours, e.g. https://gitea.example.com`;
  const crossed = `is ${wrong} at port ${port}, which speaks ${right}: write ${withoutPort}, or the right port`;
  return oddIf(
    [OTHER_FORGES.test(hostname), path, forge],
    [right !== undefined && right !== wrong, path, crossed],
    [first >= 0, path, `is the address of a page, ${page}: write the address of Gitea, ${base}`],
  ).slice(0, 1);
}

/** The organization, the user, or the owner of the repository. Empty: the scope is global. */
function ownerNameIn(scope: RunnerGroup['scope']): string {
  const { org, user, owner } = { org: '', user: '', owner: '', ...scope };
  return org || user || owner;
}

/** Fields with the seconds from which on they may be meant. */
const SHORT = [
  ['activeDeadlineSeconds', 900, "all of a runner's life: write e.g. 21600, if these are minutes"],
  ['gracefulStopSeconds', 10, 'a CI job to finish after a stop: write e.g. 10800, or 0 if it need not'],
  ['keepFailedSeconds', 60, 'people to come and enter the pod: write e.g. 3600, or 0 if nobody does'],
] as const;

function aboutTime({ manifest }: RunnerGroup): readonly Odd[] {
  return SHORT.flatMap(([field, least, what]) => {
    const seconds = Number(valueAt(manifest, ['spec', field]));
    return oddIf([seconds > 0 && seconds < least, ['spec', field], `is ${seconds} s for ${what}`]);
  });
}

const LOOKS_ONCE =
  'asks for one look only, because each sync writes the same value: remove the line, and use the action "Look now" in Argo CD';
const OF_APPLICATIONS =
  'has no effect here, because Argo CD reads it at Applications only: remove the line. "suspend: true" stops new runners';

/** Annotations of ours, of Argo CD and of autoscalers. */
const NOTES =
  /^(?:argocd\.argoproj\.io\/(?!instance$)|gitea\.bpg\.pw\/(?:suspended|look-now|profile-reason)|karpenter\.sh\/do-not-disrupt|cluster-autoscaler\.kubernetes\.io\/safe-to-evict)/;

/** Warns of annotations and labels that do something else than their lines seem to say, or nothing there. */
function aboutMarks(group: RunnerGroup): readonly Odd[] {
  const root: Part = { path: [], value: group.manifest };
  const owners = [root, ...podsOf(group).map(({ owner }) => partAt(owner, 'podTemplate'))];
  const marks = owners.flatMap((owner) =>
    ['annotations', 'labels'].flatMap((field) => childrenAt(owner, 'metadata', field)),
  );
  return marks.flatMap(({ path, value }) => {
    const key = String(path.at(-1));
    const isLabel = path.at(-2) === 'labels';
    const isNegative = !isLabel && /^(?:|false|no|off|0|none|null)$/i.test(String(value));
    const suspends = `is ${JSON.stringify(value)}, and suspends the group, as any value does: remove the line`;
    const instead = key === SUSPENDED ? 'write "suspend: true" below spec' : 'move it to annotations';
    return oddIf(
      [key === SUSPENDED && isNegative, path, suspends],
      [key === LOOK_NOW && !isLabel, path, LOOKS_ONCE],
      [key === SKIP_RECONCILE && !isLabel, path, OF_APPLICATIONS],
      [isLabel && NOTES.test(key), path, `is an annotation, and does nothing as a label: ${instead}`],
      [key === QUEUE, path, `belongs to Jobs, which have it from spec: write "queue: ${value}" there`],
    );
  });
}

/** Warns of entries that a wider entry covers: repositories, and hours of a pool. */
function aboutSwallowed(group: RunnerGroup): readonly Odd[] {
  const spec = specOf(group);
  const ofPatterns = ['repositories', 'order'].flatMap((field) => {
    const entries = elementsAt(spec, field);
    const wide = entries.findIndex(({ value }) => value === '*');
    const covered = entries.filter((_, at) => wide >= 0 && (field === 'order' ? at > wide : at !== wide));
    return covered.map(({ path }): Odd => [path, 'never counts beside "*", which fits all: remove one of them']);
  });
  type Hours = Readonly<Record<'days' | 'timeZone' | 'from' | 'to', string> & { runners: number }>;
  const hours = elementsAt(spec, 'idleSchedule').map(({ value }) => value as Hours);
  const ofHours = hours.flatMap(({ days, timeZone, from, to, runners }, at): readonly Odd[] => {
    const wide = hours.findIndex((other, index) => {
      const isSame = `${other.days} ${other.timeZone}` === `${days} ${timeZone}`;
      const isAround = from < to && other.from <= from && to <= other.to;
      return isSame && isAround && (other.runners > runners || (other.runners === runners && index < at));
    });
    const message = `never counts: idleSchedule[${wide}] has as many runners at these hours. Raise runners, or remove it`;
    return oddIf([wide >= 0, ['spec', 'idleSchedule', at], message]);
  });
  return [...ofPatterns, ...ofHours];
}

/** What an option of docker mounts. A `-v` without a colon makes a volume without a name. */
const MOUNTED =
  /(?:^|\s)(?:(?:-v|--volume)[\s=]*["']?([^\s:"']+):|--mount[\s=]+["']?(?:\S*,)?(?:source|src)=([^\s,"']+))/g;
/** Amounts as Kubernetes writes them. Docker takes 4g, 4GiB and 0.5. */
const NOT_DOCKERS =
  /(?:^|\s)(?:-m|--(?:memory(?:-swap|-reservation)?|shm-size|cpus))[\s=]*["']?(([\d.]+)([kmgt])i|(?<=cpus.)(\d+)m)(?!\S)/i;

/** Warns of options of docker: the daemon sees the folders of its own pod, and the runner lets through what is listed. */
function aboutOptions(group: RunnerGroup): readonly Odd[] {
  const container = partAt(specOf(group), 'runnerConfig', 'container');
  const { path, value: options = '' } = partAt(container, 'options');
  const names = [...String(options).matchAll(MOUNTED)].map(([, volume, source = volume ?? '']) => source);
  const mounts = containersOf(group).flatMap((each) => elementsAt(each, 'volumeMounts'));
  const folders = ['/data', ...mounts.map(({ value }) => String(valueAt(value, ['mountPath'])))];
  const isInPod = (name: string) =>
    !name.startsWith('/') || folders.some((each) => `${name}/`.startsWith(each) || `${each}/`.startsWith(`${name}/`));
  const folder = names.find((name) => !isInPod(name));
  const valid = listAt(container.value, ['valid_volumes']).map(String);
  // For the runner `*` is all, slashes too, and it knows more signs.
  const isListed = (name: string) =>
    valid.some((each) => /[[{?]/.test(each) || matchesGlob(each.replace(/\*/g, '**'), name));
  const left = names.filter((name) => !isListed(name));
  const [, amount, number, unit = '', thousandths] = NOT_DOCKERS.exec(String(options)) ?? [];
  const ofDocker = thousandths ? Number(thousandths) / 1000 : `${number}${unit.toLowerCase()}`;
  const notThere = `mounts ${folder} of the runner's own pod, which has nothing there, and not of the node: remove it`;
  const notListed = `mounts ${left.join(' and ')}, which valid_volumes does not list, so the runner leaves it out: write "valid_volumes: [${[...valid, ...left].join(', ')}]"`;
  return oddIf(
    [folder !== undefined, path, notThere],
    [folder === undefined && left.length > 0, path, notListed],
    [amount !== undefined, path, `has ${amount}, and docker reads no unit of Kubernetes: write ${ofDocker}`],
  );
}

/** Warns of names that are no repository, or are repositories of others. */
function aboutRepositories(group: RunnerGroup): readonly Odd[] {
  const [spec, ownOwner] = [specOf(group), ownerNameIn(group.scope)];
  const ofOthers = ['repositories', 'order'].flatMap((field) =>
    elementsAt(spec, field).flatMap(({ path, value }) => {
      const [owner = '', name] = String(value).split('/');
      const isForeign = !owner.includes('*') && owner.toLowerCase() !== ownOwner.toLowerCase();
      const message = `is of ${owner}, and the group has jobs of ${ownOwner} only: write "${name}"`;
      return oddIf([name !== undefined && ownOwner !== '' && isForeign, path, message]);
    }),
  );
  const { path, value } = partAt(spec, 'repo');
  const [, base] = /^(.+)\.git$/i.exec(String(value ?? '')) ?? [];
  return [
    ...oddIf([base !== undefined, path, `ends with .git, as no repository does: write "repo: ${base}"`]),
    ...ofOthers,
  ];
}

function aboutLimits({ manifest, limits = [], maxActiveRunners }: RunnerGroup): readonly Odd[] {
  return limits.flatMap(({ max, name }, index) => {
    const path = ['spec', 'limits', index, 'max'];
    const message = `is ${max}, more than the cap, which is ${maxActiveRunners}, so it limits nothing: write less, or remove it`;
    // A name may be shared with other groups.
    const isOwn = name === undefined && valueAt(manifest, path) !== undefined;
    return oddIf([isOwn && max > maxActiveRunners, path, message]);
  });
}

/** Images of Gitea, of other forges' runners, and of CI jobs. */
const NO_RUNNER =
  /^(?:docker\.io\/)?(?:library\/)?(?:ubuntu|debian|alpine|fedora|node|golang|python|rust|ruby|maven|gradle|eclipse-temurin|busybox|docker)(?:[:@](?!\/)|$)|(?:^|\/)(?:gitea\/gitea|gitea\.com\/gitea|runner-images|catthehacker\/\w+|forgejo\/forgejo|actions-runner|github-runner|gitlab-runner|inbound-agent|woodpecker-agent|drone-runner-\w+)(?:[:@]|$)/;
/** An image of the runner project, with its tag. `own`: from its own registries, which have no other tags. */
const OF_PROJECT =
  /^(?<repository>(?:(?<own>(?:docker\.io\/)?)|.*\/)gitea\/(?:act_)?runner):(?:v(?=\d))?(?<version>nightly|latest|\d+(?:\.\d+)*)(?<rest>[\w.-]*)(?<digest>@.+)?$/;
/** Names near those of the images of the runner project. */
const NEAR_PROJECT =
  /^(?:(?:docker\.io|(?:docker\.)?gitea\.com)\/)?((?:gitea\/)?(?:act-runner|act-?runners|act_runners|gitea\/(?:runners|gitea-runner|actrunner)))(?:[:@]|$)/;
const HOLDS_NO_RUNNER =
  'holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line';
/** Releases without `register --ephemeral`. */
const TOO_OLD = /(?:^|\/)act_runner:v?0\.(?:[01]\.\d+|2\.(?:\d|1[01]))(?![\d.])/;
const NEVER_REGISTERS =
  'is older than act_runner 0.2.12, which brought ephemeral runners: it never registers. Remove the line';

function aboutImage(group: RunnerGroup): readonly Odd[] {
  const { containerMode } = group;
  const isRootless = containerMode === 'dind-rootless';
  const mayHaveDaemon = isRootless || containerMode === 'buildkit' || RIGHTS.test(JSON.stringify(podsOf(group)));
  return [specOf(group), ...runnersOf(group)].flatMap((part) => {
    const { path, value } = partAt(part, 'image');
    const image = String(value ?? '');
    const near = NEAR_PROJECT.exec(image)?.[1];
    const { repository, own, version, rest = '', digest } = OF_PROJECT.exec(image)?.groups ?? {};
    const right = `"image: ${repository}:${version}${isRootless ? '-dind-rootless' : ''}"`;
    const isPlain = repository !== undefined && rest === '';
    const isRootlessDaemon = rest === '-dind-rootless';
    const isTag = image.includes(`:${version}`) && (rest === '' || rest === '-dind' || isRootlessDaemon);
    const orMode = isRootlessDaemon ? ', or "containerMode: dind-rootless"' : '';
    const notThere = `names ${near}, which the runner project has not: write gitea/runner, or gitea/act_runner before 1.0`;
    return oddIf(
      [near !== undefined, path, notThere],
      [TOO_OLD.test(image), path, NEVER_REGISTERS],
      [NO_RUNNER.test(image), path, HOLDS_NO_RUNNER],
      [own !== undefined && !digest && !isTag, path, `has a tag that the runner project has not: write ${right}`],
      [isRootless && (isPlain || rest === '-dind'), path, `${NEEDS_DAEMON}: write ${right}, or "containerMode: dind"`],
      [/^-dind(?:-rootless)?$/.test(rest) && !mayHaveDaemon, path, `${OWN_DAEMON}: write ${right}${orMode}`],
    ).slice(0, 1);
  });
}

const NEEDS_DAEMON = 'has no docker daemon, which containerMode dind-rootless needs';
const OWN_DAEMON = 'starts a docker daemon of its own, which has no rights here, so the runner does not start';
/** With these a container may run a daemon of its own. */
const RIGHTS = /"(?:privileged":true|runtimeClassName")/;

/** Variables of containers, and of the runner's configuration, whose container is `runner`, too. */
function variablesOf(group: RunnerGroup) {
  const ofContainers = containersOf(group).flatMap((container) =>
    elementsAt(container, 'env').map(({ path, value }) => ({
      container: valueAt(container.value, ['name']),
      name: String(valueAt(value, ['name'])),
      value: valueAt(value, ['value']),
      path,
    })),
  );
  const ofConfig = childrenAt(specOf(group), 'runnerConfig', 'runner', 'envs').map(({ path, value }) => {
    return { container: 'runner', name: String(path.at(-1)), value, path };
  });
  return [...ofContainers, ...ofConfig];
}

/** Warns of labels that take the place of a label with an image, or nearly have its name. */
function aboutLabels(group: RunnerGroup): readonly Odd[] {
  if (!hasDocker(group.containerMode)) return [];
  const nameIn = (label: string) => label.split(':')[0] ?? '';
  const images = new Map(DEFAULT_LABELS.map((label) => [nameIn(label), label.slice(nameIn(label).length)]));
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return elementsAt(specOf(group), 'labels').flatMap(({ path, value }) => {
    const label = String(value);
    const name = nameIn(label);
    const near = [...images.keys()].find((each) => plain(each) === plain(name) && each !== name);
    const image = images.get(name);
    const bare = `has no image, so its CI jobs run in the runner's own container, which lacks their tools: write "${name}${image}", or "${name}:host" if that is meant`;
    return oddIf(
      [near !== undefined, path, `is not ${near}, as workflows write it: write "${near}${label.slice(name.length)}"`],
      [image !== undefined && !label.includes(':'), path, bare],
    );
  });
}

/** Names of architectures in `uname -m` and in images. */
const ARCHITECTURES: ReadonlyMap<unknown, string> = new Map([
  ...['x86_64', 'x86-64', 'x64', 'AMD64', 'intel'].map((name) => [name, 'amd64'] as const),
  ...['aarch64', 'arm64v8', 'armv8', 'ARM64'].map((name) => [name, 'arm64'] as const),
  ...['armv7', 'armv7l', 'armhf', 'arm32v7'].map((name) => [name, 'arm'] as const),
  ...['i386', 'i686', 'x86'].map((name) => [name, '386'] as const),
]);
const ARCH = 'kubernetes.io/arch';

/** Warns of values of `kubernetes.io/arch` that no node has, in a selector and in an affinity. */
function aboutArchitecture(part: Part): readonly Odd[] {
  const { path, value } = part;
  const architecture = ARCHITECTURES.get(value);
  if (architecture !== undefined && (path.at(-1) === ARCH || path.at(-2) === 'values'))
    return [[path, `is ${value}, which no node says: write ${architecture}`]];
  const key = valueAt(value, ['key']) ?? ARCH;
  return key === ARCH ? childrenAt(part).flatMap((each) => aboutArchitecture(each)) : [];
}

/** Returns the architectures that a pod asks for: by its selector, and by all terms of its affinity. */
function architecturesOf(pod: Part) {
  const required = ['affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms'];
  const picks = ({ value }: Part) => valueAt(value, ['key']) === ARCH && valueAt(value, ['operator']) === 'In';
  const terms = elementsAt(pod, ...required).map((term) =>
    elementsAt(term, 'matchExpressions')
      .filter(picks)
      .flatMap(({ value }) => listAt(value, ['values'])),
  );
  const picked = terms.some(({ length }) => length === 0) ? [] : terms.flat();
  return { selected: valueAt(pod.value, ['nodeSelector', ARCH]), picked };
}

const EVERY_TAINT = 'tolerates every taint, also of nodes that are ill: write the key of the taint that you mean';
const NO_VALUE = 'is Equal without a value, which fits no taint that has one: write "operator: Exists", or the value';

function aboutNodes(group: RunnerGroup): readonly Odd[] {
  return podsOf(group).flatMap(({ pod }) => {
    const { selected, picked } = architecturesOf(pod);
    const isTorn = selected !== undefined && picked.length > 0 && !picked.includes(selected);
    const selector = partAt(pod, 'nodeSelector');
    const isToleration = /^(?:No|PreferNo)(?:Schedule|Execute)$/.test(String(valueAt(selector.value, ['effect'])));
    const taint = childrenAt(selector).map(({ path, value }) => `${path.at(-1)}: ${value}`);
    const ofTolerations = elementsAt(pod, 'tolerations').flatMap(({ path, value }) => {
      const [operator, key, taintValue] = ['operator', 'key', 'value'].map((field) => valueAt(value, [field]));
      return oddIf(
        [operator === 'Exists' && !key && !valueAt(value, ['effect']), path, EVERY_TAINT],
        [operator === 'Equal' && (taintValue ?? '') === '', [...path, 'operator'], NO_VALUE],
      );
    });
    return [
      ...oddIf(
        [isTorn, [...selector.path, ARCH], `is ${selected}, and affinity asks for ${picked.join(' or ')}: remove one`],
        [isToleration, selector.path, `holds a toleration: write "tolerations: [{${taint.join(', ')}}]" in its place`],
      ),
      ...ofTolerations,
      ...['nodeSelector', 'affinity'].flatMap((field) => aboutArchitecture(partAt(pod, field))),
    ];
  });
}

/** Warns of a spread that selects other pods than the group's own, and of selectors that are missing and select none. */
function aboutSpread(group: RunnerGroup): readonly Odd[] {
  const { name } = group;
  const field = 'topologySpreadConstraints';
  return podsOf(group).flatMap(({ pod, labels }) => {
    const podLabels = new Map<unknown, unknown>(Object.entries({ ...groupLabels(name), ...(labels ?? {}) }));
    const wrong = (path: Path, key: unknown, selected: readonly unknown[]): readonly Odd[] => {
      const own = podLabels.has(key) ? `${key}: ${podLabels.get(key)}` : `${GROUP_NAME}: ${name}`;
      const message = `is ${selected.join(' or ')}, which no pod of the group has, so nothing is spread: write "${own}"`;
      return oddIf([!selected.includes(podLabels.get(key)), path, message]);
    };
    const ofSpreads = elementsAt(pod, field).flatMap((spread) => [
      ...childrenAt(spread, 'labelSelector', 'matchLabels').flatMap(({ path, value }) =>
        wrong(path, path.at(-1), [value]),
      ),
      ...elementsAt(spread, 'labelSelector', 'matchExpressions').flatMap(({ path, value }) => {
        const isIn = valueAt(value, ['operator']) === 'In';
        return isIn ? wrong([...path, 'values'], valueAt(value, ['key']), listAt(value, ['values'])) : [];
      }),
    ]);
    return [...ofSpreads, ...[field, 'affinity'].flatMap((each) => withoutSelector(partAt(pod, each), name))];
  });
}

/** Constraints of pods, all with a topologyKey, that lack a selector: for Kubernetes that is no pod, and not all. */
function withoutSelector(part: Part, name: string): readonly Odd[] {
  const [topologyKey, selector] = ['topologyKey', 'labelSelector'].map((field) => valueAt(part.value, [field]));
  if (topologyKey === undefined) return childrenAt(part).flatMap((each) => withoutSelector(each, name));
  const message = `selects no pod, so it has no effect: write "labelSelector: {matchLabels: {${GROUP_NAME}: ${name}}}"`;
  return oddIf([(selector ?? undefined) === undefined, part.path, message]);
}

/** Values with which the daemon of `dind-rootless` does not start, by field: it is uid 1000 of its image, which it writes to. */
const AGAINST_ROOTLESS: Readonly<Record<string, (value: unknown) => boolean>> = {
  privileged: (value) => value === false,
  runAsUser: (value) => typeof value === 'number' && value !== 1000,
  readOnlyRootFilesystem: (value) => value === true,
};

const NAMED_USER =
  'is true, and the image names its user and no number, so the kubelet refuses it: write "runAsUser: 1000", too';

/**
 * Warns if the rootless daemon gets no privileged container, another user or a file system that it cannot write. Other
 * runtimes may need no privileges.
 */
function aboutRootless(group: RunnerGroup): readonly Odd[] {
  if (group.containerMode !== 'dind-rootless') return [];
  return podsOf(group).flatMap(({ pod, runners }) => {
    const isOther = ['runtimeClassName', 'hostUsers'].some((field) => valueAt(pod.value, [field]) !== undefined);
    const contexts = [pod, ...runners].map((each) => partAt(each, 'securityContext'));
    const isNamed = contexts.every(({ value }) => typeof valueAt(value, ['runAsUser']) !== 'number');
    return contexts.flatMap((context) => {
      const rootless = Object.entries(isOther ? {} : AGAINST_ROOTLESS).flatMap(([field, isWrong]) => {
        const { path, value } = partAt(context, field);
        const message = `is ${value}, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"`;
        return oddIf([isWrong(value), path, message]);
      });
      const nonRoot = partAt(context, 'runAsNonRoot');
      return [...rootless, ...oddIf([isNamed && nonRoot.value === true, nonRoot.path, NAMED_USER])];
    });
  });
}

const NO_DAEMON =
  'runs in an init container, where no docker daemon answers: do this in the workflow. For images, see the Helm value prePull';

/** Signs of a shell as words of their own, and words that only a shell replaces. */
const SIGN = /^(?:&&?|\|\|?|;|\d?>>?(?:\/.*|&\d)?|<|~\/.*|\$\{?[A-Z_]+\}?(?:\/.*)?|[\w./-]+;)$/;
/** Programs that read such signs themselves. */
const READS_SIGNS = /^(?:\S*\/)?(?:find|expr|test|\[|env|awk|sed|jq|python3?|node|perl)$/;
/** Commands that are no programs, and variables before a command. */
const BUILT_IN = /^(?:cd|source|\.|export|set|unset|eval|exec|alias|trap|ulimit|umask|if|for|while|[A-Za-z_]\w*=.*)$/s;
const SHELL = /(?:^|\/)(?:ba|da|a|k|z)?sh$/;

/** Returns the script that was meant by words which are no program with its arguments. Undefined: they are one. */
function scriptMeantBy(words: readonly string[]): string | undefined {
  const isShell = SHELL.test(words[0] ?? '');
  const start = isShell ? words.findIndex((word, at) => at > 0 && !/^[-+]/.test(word)) : 0;
  const parts = words.slice(start);
  const [first = '', ...more] = parts;
  const isLine = /\s/.test(first);
  const hasOption = words.slice(1, start).some((word) => /^-\w*c/.test(word));
  const isCut = more.length > (isLine ? 1 : 0) && !first.includes('$');
  const isSigned = !READS_SIGNS.test(first) && parts.some((word) => SIGN.test(word));
  const ofShell = start > 0 && (hasOption ? isCut : isLine);
  if (!(isShell ? ofShell : isLine || isSigned || BUILT_IN.test(first))) return undefined;
  // A list of commands, as in a workflow.
  const areCommands = isLine && parts.every((part) => /^[A-Za-z][\w.-]*(?:\s|$)/.test(part));
  return parts.join(areCommands ? ' && ' : ' ');
}

function aboutSetup(group: RunnerGroup): readonly Odd[] {
  const { path, value } = partAt(specOf(group), 'setupCommand');
  const words = listAt(value, []).map(String);
  if (OUTSIDE_DATA.test(words.join(' '))) return [[path, ONLY_DATA]];
  const hasHost = variablesOf(group).some(({ name }) => name === 'DOCKER_HOST');
  if (!hasHost && /^(?:\S*\/)?docker$/.test(words[0] ?? '')) return [[path, NO_DAEMON]];
  // Without a command, the image of a container says what reads its arguments.
  const ofContainers = containersOf(group).flatMap((container) => {
    const command = listAt(container.value, ['command']);
    const all = command.length > 0 ? [...command, ...listAt(container.value, ['args'])] : [];
    return withoutShell([...container.path, 'command'], all.map(String), all.length > command.length);
  });
  return [...withoutShell(path, words), ...ofContainers];
}

/** Warns of words that only a shell reads. @param hasArgs some of them stand in `args` */
function withoutShell(path: Path, words: readonly string[], hasArgs = false): readonly Odd[] {
  const script = scriptMeantBy(words);
  const line = shellLine(script ?? '', String(path.at(-1)));
  const message = `is one program with its arguments, and no shell reads it: write ${line}${hasArgs ? ', without args' : ''}`;
  return oddIf([script !== undefined, path, message]);
}

function architectureIn(label: string, other: string): string {
  return /armv[67]|armhf/i.test(label) ? 'arm' : (/s390x|ppc64le|riscv64/i.exec(label)?.[0].toLowerCase() ?? other);
}

/** Labels of other machines, where nothing picks such nodes, or where others are picked. */
function aboutMachines(group: RunnerGroup): readonly Odd[] {
  const { manifest, labels } = group;
  const pods = podsOf(group);
  const isPicked = /"(?:nodeSelector|affinity|runtimeClassName)":|kubernetes\.io\/arch/.test(JSON.stringify(pods));
  const { selected, picked } = architecturesOf(pods[0]?.pod ?? specOf(group));
  const asked = selected === undefined ? picked : [selected];
  const hasDevice = isPicked || DEVICE.test(JSON.stringify(manifest));
  const labelNames = listAt(manifest, ['spec', 'labels']).map((text) => String(text).split(':')[0]);
  return labels.flatMap(({ name, text }): readonly Odd[] => {
    const isAmd = AMD64.test(name) && !isTarget(name, text);
    const machine = machineOf(name, text);
    if ((machine === undefined && !isAmd) || /Windows|macOS/.test(machine ?? '')) return [];
    const arch = architectureIn(name, isAmd ? 'amd64' : 'arm64');
    const line = machine === 'GPU' ? DEVICE_LINE : `podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: ${arch}}}}`;
    const index = labelNames.indexOf(name);
    const path = ['spec', 'labels', ...(index < 0 ? [] : [index])];
    const isOther = machine !== 'GPU' && asked.length > 0 && !asked.includes(arch);
    const isFree = !isAmd && !(machine === 'GPU' ? hasDevice : isPicked);
    return oddIf(
      [isOther, path, `${name} asks for ${arch}, and podTemplate for ${asked.join(' or ')}: change one of them`],
      [isFree, path, `${name} asks for other machines, and nothing picks them: write "${line}"`],
    );
  });
}

const AMD64 = /(?:^|[-_./])(?:amd64|x64|x86[-_]64)(?:[-_./]|$)/i;
/** Something that asks for a device, or for nodes that have one. */
const DEVICE = /"(?:[a-z0-9.-]+\/[\w.-]*(?:gpu|mig-|cuda)|runtimeClassName"|tolerations"|resourceClaims")/i;
const DEVICE_LINE = 'resources: {limits: {nvidia.com/gpu: 1}}';

/** Warns of variables that lead docker's client elsewhere: the daemon of a runner has a socket without TLS. */
function aboutDaemon(group: RunnerGroup): readonly Odd[] {
  const { containerMode } = group;
  const isClient = (name: unknown) => name === 'runner' || (name === 'docker' && hasDocker(containerMode));
  const leads = /^DOCKER_(?:HOST|TLS|TLS_VERIFY|TLS_CERTDIR|CERT_PATH|CONTEXT)$/;
  const variables = variablesOf(group).filter(({ container, name }) => isClient(container) && leads.test(name));
  const daemon = `the daemon of containerMode ${containerMode}, which has a socket without TLS`;
  if (hasDocker(containerMode))
    return variables.map(({ path, name }) => [path, `${name} leads docker away from ${daemon}: remove it`]);
  const host = variables.find(({ name }) => name === 'DOCKER_HOST');
  const tls = variables.find(({ name }) => name !== 'DOCKER_HOST');
  if (tls && !host) return [[tls.path, `${tls.name} means nothing without DOCKER_HOST: write that, too, or remove it`]];
  if (!host || tls || !/:2376\/?$/.test(String(host.value))) return [];
  return [[host.path, 'port 2376 speaks TLS: write DOCKER_TLS_VERIFY: "1" and DOCKER_CERT_PATH, too']];
}

/** Variables of a proxy and of CA certificates, with the field of the spec that gives them to all who need them. */
const OF_ALL = [
  ['proxy', /^(?:https?|no|all)_proxy$/i, 'proxy: {http: …, https: …, noProxy: […]}'],
  ['caBundle', CA_VARIABLE, 'caBundle: {configMapRef: {name: …, key: …}}'],
] as const;

/**
 * Warns of a proxy and of CA certificates that only container `runner` has. In modes without docker it runs the CI jobs,
 * too, and may be the only one that needs them.
 */
function aboutSharing(group: RunnerGroup): readonly Odd[] {
  if (!hasDocker(group.containerMode)) return [];
  return OF_ALL.flatMap(([field, names, line]) => {
    if (valueAt(group.manifest, ['spec', field]) !== undefined) return [];
    const message = `reaches only container runner, and neither the registration nor CI jobs: write "${line}" below spec in its place`;
    const isMount = (path: unknown) => field === 'caBundle' && CA_PLACES.test(String(path));
    const places = runnersOf(group).flatMap((runner) => [
      ...elementsAt(runner, 'env').filter(({ value }) => names.test(String(valueAt(value, ['name'])))),
      ...elementsAt(runner, 'volumeMounts').filter(({ value }) => isMount(valueAt(value, ['mountPath']))),
    ]);
    return places.slice(0, 1).map(({ path }): Odd => [path, message]);
  });
}

/** Programs that serve until they are stopped, and commands that wait for ever. */
const SERVER =
  /(?:^|\/)(?:nginx|httpd|caddy|traefik|haproxy|redis|valkey|memcached|postgres|mysql|mariadb|mongo|rabbitmq|registry|minio)(?:[:@]|$)/;
/** Commands that wait for ever, at the begin of a command line, and a loop without a condition. */
const WAITS =
  /(?:^|[;\n]|&&|\bdo\b|\b(?:exec|--)\s)\s*(?:\/\S*\/)?(?:sleep inf(?:inity)?\b|tail (?:-\S+ (?:\d+ )?)*?-\w*[fF]\b)/;
const LOOPS = /(?:^|[;\n]|&&)\s*while (?:true|:|\[ 1 \])/;
/** What may end a loop, and what else may end a line: a choice, a signal, a job in the background, a pipe. */
const BREAKS = /\b(?:break|exit|return|kill|timeout|trap)\b|\bset -\w*e|(?<![&>|])&(?![&\d>])/;
const MAY_END = /\|\|?|\b(?:if|case|until)\b|--pid/;

/** True for a command that cannot end. The script of a shell is judged, and of other programs the whole line. */
function neverEnds(words: readonly string[]): boolean {
  const [program = '', option = '', script] = words;
  const isScript = SHELL.test(program) && /^-\w*c$/.test(option) && script !== undefined;
  const line = isScript ? script : words.join(' ');
  if (BREAKS.test(line)) return false;
  return (LOOPS.test(line) && isScript && !option.includes('e')) || (WAITS.test(line) && !MAY_END.test(line));
}

const SECOND_RUNNER: Readonly<Record<string, string>> = {
  containers: 'looks like a Gitea runner, but container `runner` is the runner: rename it to runner',
  initContainers: 'looks like a second Gitea runner, beside container `runner`: remove it',
};
const LASTS =
  'does not end with the CI job, so its pod stays: make it an init container with restartPolicy: Always, or remove it';

/** Warns of containers of the podTemplate except `runner`. The parsed template has only JSON values, in any form. */
export function oddContainers(group: RunnerGroup): readonly Odd[] {
  const { containerMode } = group;
  const ofOwn = hasDocker(containerMode) ? `: containerMode ${containerMode} has a daemon of its own` : '';
  return containersOf(group).flatMap(({ path, value: container }): readonly Odd[] => {
    const [name, image] = [valueAt(container, ['name']), String(valueAt(container, ['image']) ?? '')];
    if (typeof name !== 'string' || image === '' || OF_OURS.has(name)) return [];
    const list = String(path.at(-2));
    const ofDaemon = DOCKER_IMAGE.test(image) ? ofOwn : '';
    const faultOfOther = () => (list === 'containers' ? `${LASTS}${ofDaemon}` : oddBefore(container, image, ofDaemon));
    const message = RUNNER_IMAGE.test(image) ? SECOND_RUNNER[list] : faultOfOther();
    return message === undefined ? [] : [[path, message]];
  });
}

/** Returns the fault of an init container. */
function oddBefore(container: unknown, image: string, ofDaemon: string): string | undefined {
  const [command, args] = [listAt(container, ['command']), listAt(container, ['args'])];
  const words = [...command, ...args].map(String);
  const isSidecar = valueAt(container, ['restartPolicy']) === 'Always';
  const isServer = words.length === 0 && (DOCKER_IMAGE.test(image) || SERVER.test(image));
  if (ofDaemon !== '' && (isSidecar || isServer)) return `is a second docker daemon: remove it${ofDaemon}`;
  if (isSidecar || !(isServer || neverEnds(words))) return undefined;
  return 'does not end, so the runner never starts: write "restartPolicy: Always" here';
}

/** Containers that are merged over those of our own pod. */
const OF_OURS: ReadonlySet<string> = new Set(['runner', 'docker', 'buildkit']);

export function listAt(value: unknown, path: Path): readonly unknown[] {
  const listOrOther = valueAt(value, path);
  return Array.isArray(listOrOther) ? listOrOther : [];
}

const ABOUT = [
  ...[aboutNamespace, aboutMarks, aboutGitea, aboutRepositories, aboutSwallowed, aboutLimits, aboutTime],
  ...[aboutImage, aboutLabels, aboutMachines, aboutSetup, aboutOptions, aboutDaemon, aboutSharing],
  ...[aboutNodes, aboutRootless, aboutSpread],
];
