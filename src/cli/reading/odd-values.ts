/** Values that are legal and cannot be meant: another unit, another machine, what a word processor or another tool has left. Pure. */
import type { Path } from '../../config/runnergroup/documents.ts';
import { pathText, valueAt } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { quantityValue, withoutTypography } from '../../config/runnergroup/words.ts';
import { cut } from '../../shared/printable.ts';
import { childrenAt, type Odd, type Part, specOf } from './odd.ts';
import { aboutSetup } from './odd-commands.ts';
import {
  aboutGitea,
  aboutLimits,
  aboutMarks,
  aboutNamespace,
  aboutRepositories,
  aboutSwallowed,
  aboutTime,
} from './odd-group.ts';
import { aboutMachines, aboutNodes, aboutSpread } from './odd-nodes.ts';
import { aboutDaemon, aboutImage, aboutLabels, aboutOptions, aboutRootless, aboutSharing } from './odd-runner.ts';

/** Returns what cannot be meant in the values of a group. */
export function oddValues(group: RunnerGroup): readonly Odd[] {
  return [...within(specOf(group)), ...ABOUT.flatMap((about) => about(group))];
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

const ABOUT = [
  ...[aboutNamespace, aboutMarks, aboutGitea, aboutRepositories, aboutSwallowed, aboutLimits, aboutTime],
  ...[aboutImage, aboutLabels, aboutMachines, aboutSetup, aboutOptions, aboutDaemon, aboutSharing],
  ...[aboutNodes, aboutRootless, aboutSpread],
];
