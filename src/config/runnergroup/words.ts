/** Names, labels and quantities: texts that end up in file paths, URLs, command lines and environment variables. */
import type * as z from 'zod';
import { cut } from '../../shared/printable.ts';

/** A label as written, e.g. `ubuntu-latest:docker://image`, and its name, `ubuntu-latest`: Gitea sees only that. */
export type RunnerLabel = Readonly<Record<'name' | 'text', string>>;

/** A label and what its jobs need; `foreign`: a schema that only runner 2.1 and newer take, as part of the name. */
export interface ParsedLabel extends RunnerLabel {
  readonly schema: 'host' | 'docker' | 'foreign';
}

/** `scripts/run.sh` of the runner does not quote its labels: it splits or expands them, or takes one for an option. */
const UNSAFE_RULE =
  'must not contain spaces, commas, quotes, backslashes, "$", "`", "*", "?", "[", "]" or control characters: the runner\'s start script would split or expand it';
const UNSAFE = /[\s,'"`\\$*?[\]\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** Nearly every label. Told first, because the tables of Unicode that `UNSAFE` needs cost a start 1 ms. */
const PLAIN = /^[A-Za-z0-9._:/@-]*$/;

/** Parses `name`, `name:host` or `name:docker://image`, as the runner. Another schema is a part of the name (2.1). */
export function parseLabel(text: string): ParsedLabel | { readonly wrong: string } {
  if (!PLAIN.test(text) && UNSAFE.test(text)) return { wrong: UNSAFE_RULE };
  if (text.startsWith('-')) return { wrong: 'must not start with "-": the runner would take it for an option' };
  const [name = '', schema, ...imageParts] = text.split(':');
  if (name === '') return { wrong: 'must have a name before the colon' };
  if (schema === 'host' && imageParts.length > 0) return { wrong: 'must end after ":host"' };
  if (schema === 'docker' && ['', '//'].includes(imageParts.join(':')))
    return { wrong: `must name an image: "${name}:docker://image"` };
  if (schema === 'docker' && /^\/(?!\/[^/])/.test(imageParts.join(':')))
    return { wrong: `must have two slashes: write "${name}:docker://${imageParts.join(':').replace(/^\/+/, '')}"` };
  if (schema === undefined || schema === 'host') return { name, text, schema: 'host' };
  return schema === 'docker' ? { name, text, schema } : { name: text, text, schema: 'foreign' };
}

/** The labels that were probably meant by a text that is none: `a, b` or `["a", "b"]`. Empty: nobody knows. */
export function labelsMeantBy(text: string): readonly string[] {
  const parts = withoutTypography(text)
    .split(/[\s,"'`[\]]+/)
    .filter((part) => part !== '' && !part.startsWith(':'));
  const read = parts.map(parseLabel);
  return read.every((label) => 'schema' in label && label.schema !== 'foreign') ? parts : [];
}

/** The text as a keyboard gives it: without the quotes, dashes, blanks and invisible characters of word processors. */
export function withoutTypography(text: string): string {
  if (!TYPOGRAPHY.test(text)) return text;
  return text
    .replace(/^[\u2018-\u201f](.*)[\u2018-\u201f]$/s, '$1')
    .replace(/[\u201c-\u201f]/g, '"')
    .replace(/[\u2018-\u201b]/g, "'")
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u00a0\u2007\u202f]/g, ' ')
    .replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, '');
}

const TYPOGRAPHY = /[\u00a0\u00ad\u2007\u200b-\u200d\u2010-\u2015\u2018-\u201f\u202f\u2060\u2212\ufeff]/;

/** Returns how a number, quantity or boolean is written that came as another string. */
export function scalarInstead(field: string, expected: string, text: string): string {
  // "500 m" may be milli or mega.
  const [, amount = '', suffix = ''] =
    (expected === 'a quantity' && /^([0-9.]+) ?(?!m$)([kmgt]i?)b?$/i.exec(text)) || [];
  const unitPrefix = suffix.toLowerCase().replace(/^k(?=i)|^[mgt]/, (letter) => letter.toUpperCase());
  if (suffix !== '' && isQuantity(amount)) return `; write "${amount}${unitPrefix}"`;
  const [, cores] = (expected === 'a quantity' && /^([0-9.]+) ?v?(?:cores?|cpus?)$/i.exec(text)) || [];
  if (cores !== undefined) return `; write "${cores}"`;
  const [, number, unit = ''] = /^([0-9]+) ?(m|h|d|s)$/.exec(text.trim()) ?? [];
  if (number !== undefined && /Seconds(?:[A-Z]|$)/.test(field))
    return `; write "${field}: ${Number(number) * (SECONDS[unit] ?? 1)}"`;
  if (/^\d+%$/.test(text)) return '; a share is not known here: write how many';
  if (expected === 'a list') return `; write "${field}: […]"`;
  const word = expected === 'true or false' && ['no', 'off', 'yes', 'on'].indexOf(text.toLowerCase());
  if (typeof word === 'number' && word >= 0) return `; write "${field}: ${word > 1}"`;
  const isPlain = expected.startsWith('a whole number') ? /^-?[0-9]+$/.test(text) : /^(?:true|false)$/.test(text);
  return isPlain ? `; remove the quotes: ${cut(`${field}: ${text}`, 60)}` : '';
}

const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

export function shellLine(text: string, field = 'setupCommand'): string {
  return `${field}: ["sh", "-c", ${JSON.stringify(cut(text.trim(), 200))}]`;
}

/** Commands that change the root file system: that of container `setup`, which nobody else sees, and whose user is not root. */
export const OUTSIDE_DATA =
  /\b(?:apt|apt-get|apk|dnf|microdnf|yum|zypper)\s+(?:-\S+\s+)*(?:install|add|update|upgrade)\b|\bnpm\s+(?:i|install)\s+(?:\S+\s+)*?(?:-g|--global)\b|(?:>|\s-[oOC]|--output|\btee|\b(?:cp|mv|ln|install)\s+(?:-\S+\s+)*\S+)\s*\/(?:usr|opt|etc|s?bin)\//;
export const ONLY_DATA =
  'changes only its own container, where it is not root: the runner finds what is in /data, and CI jobs with docker do not. Put programs into the image that a label or spec.image names';

/** Returns a label with this name. Its jobs run as those of the first docker label, else on the host. */
export function labelNamed(labels: readonly RunnerLabel[], name: string): RunnerLabel {
  const docker = labels.find(({ name: { length }, text }) => text.startsWith(':docker:', length));
  return { name, text: `${name}${docker ? docker.text.slice(docker.name.length) : ':host'}` };
}

/** Wraps a check for zod. The check returns the fault, or nothing. */
export function refinementOf<T>(check: (value: T) => string | undefined): (value: T, context: z.RefinementCtx) => void {
  return (value, context) => {
    const message = check(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  };
}

/** Name of a Secret, a ConfigMap and most other objects (Kubernetes `IsDNS1123Subdomain`). */
export const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
/** The nearest DNS label: `CI_Runners` is `ci-runners`. Empty when no letter and digit is left. */
export function dnsLabelOf(text: string): string {
  const dashed = text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return dashed.slice(0, 63).replace(/^-|-$/g, '');
}

/** Name of an image, with tag and digest as far as they are given. */
export const IMAGE_REFERENCE = /^[A-Za-z0-9][A-Za-z0-9._/:-]*(?:@sha256:[0-9a-f]{64})?$/;
/** Most characters of an image reference. No longer name can be pulled. */
export const LONGEST_IMAGE = 512;

const LABEL_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

export function isLabelValue(text: string): boolean {
  return text === '' || LABEL_NAME.test(text);
}

/** Kubernetes `IsQualifiedName`: `name` or `dns.prefix/name`. */
export function isQualifiedName(text: string): boolean {
  const [first = '', second, ...more] = text.split('/');
  if (more.length > 0) return false;
  if (second === undefined) return LABEL_NAME.test(first);
  return first.length <= 253 && DNS_SUBDOMAIN.test(first) && LABEL_NAME.test(second);
}

/** A Kubernetes quantity (apimachinery, `pkg/api/resource`), as requests and limits need it: never negative. */
export const QUANTITY = /^\+?(?<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;
/** Most characters of a quantity. A longer one has no meaning. */
export const LONGEST_QUANTITY = 64;
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** True for what the API server takes as an amount of a resource. */
export function isQuantity(text: string): boolean {
  return text.length <= LONGEST_QUANTITY && QUANTITY.test(text) && Number.isFinite(quantityValue(text));
}

/** Returns the amount as a number, exact enough to compare two of them. NaN if it is not a quantity. */
export function quantityValue(text: string): number {
  const { number, suffix = '' } = QUANTITY.exec(text)?.groups ?? {};
  if (number === undefined) return Number.NaN;
  const power = BINARY.indexOf(suffix) + 1;
  if (power > 0) return Number(number) * 1024 ** power;
  const exponent = DECIMAL[suffix] ?? Number(suffix.slice(1));
  return Number(`${number}e${exponent}`);
}

const PLAIN_RESOURCES = ['cpu', 'memory', 'ephemeral-storage'];

/** Returns the right name for one that is not a resource. */
export function resourceInstead(name: string): string | undefined {
  if (PLAIN_RESOURCES.includes(name) || /^hugepages-[0-9]+[KMG]i$/.test(name)) return undefined;
  if (name.includes('/') && isQualifiedName(name)) return undefined;
  const near = /^gpus?$/i.test(name) ? 'nvidia.com/gpu' : nearestName(name, PLAIN_RESOURCES);
  if (near !== undefined) return `did you mean "${near}"?`;
  return `use ${PLAIN_RESOURCES.join(', ')} or a name with a domain, e.g. example.com/gpu`;
}

/** Returns the fault of a part of a device or of a huge page. Undefined: the amount is whole, or may be a part. */
export function notWhole(name: string, amount: number): string | undefined {
  const [, page] = /^hugepages-(.+)$/.exec(name) ?? [];
  const step = page === undefined ? 1 : quantityValue(page);
  const isDevice = name.includes('/') && !name.includes('kubernetes.io/');
  if ((page === undefined && !isDevice) || amount % step === 0) return undefined;
  const pages = Math.ceil(amount / step);
  if (page !== undefined) return `must be whole pages of ${page}: write "${name}: ${(pages * step) / 1024 ** 2}Mi"`;
  return `must be a whole number, because Kubernetes gives no part of a device: write "${name}: ${pages}"`;
}

const COMPUTED = ['cpu', 'memory'];
const ALONE = 'needs a request or a limit of cpu or memory beside it: Kubernetes refuses huge pages alone';

export type Quantities = Readonly<Record<string, string | number>>;

/** Returns the API server's faults of a container's resources. @param limitOf path of a limit, for the advice */
export function resourceFaults(requests: Quantities, limits: Quantities, limitOf = (name: string) => `limits.${name}`) {
  const faultOf = (name: string, quantity: unknown, limit: unknown): string | undefined => {
    const [amount, most] = [quantity, limit].map((each) => quantityValue(String(each))) as [number, number];
    const hint = resourceInstead(name);
    if (hint !== undefined) return `is no resource of a container; ${hint}`;
    if (Number.isNaN(amount)) return `is ${quantity}, and must not be below 0: write an amount`;
    const whole = notWhole(name, amount);
    if (whole !== undefined) return whole;
    const isShared = !name.startsWith('hugepages-') && (!name.includes('/') || name.includes('kubernetes.io/'));
    if (!isShared && amount !== most)
      return `must have an equal limit: Kubernetes does not overcommit this resource. Write "limits: {${name}: ${quantity}}"`;
    if (!(amount > most)) return undefined;
    return `is ${quantity}, more than its limit ${limit}: write "${name}: ${limit}", or raise ${limitOf(name)}`;
  };
  return Object.entries({ requests, limits }).flatMap(([field, quantities]) =>
    Object.entries(quantities).flatMap(([name, written]) => {
      const isAlone =
        field === 'limits' &&
        name.startsWith('hugepages-') &&
        !COMPUTED.some((other) => other in requests || other in limits);
      const message = isAlone ? ALONE : faultOf(name, written, field === 'requests' ? limits[name] : written);
      return message === undefined ? [] : [{ path: [field, name], message }];
    }),
  );
}

/** Known names that a message lists. More would bury the field. */
export const MOST_NAMES = 8;
/** A longer name is not a typing mistake, and the distance takes quadratic time. */
export const LONGEST_MISTYPED = 64;

/** Returns the name that was probably meant: equal but for case, nearly equal, or the only one with all its words. */
export function nearestName(misspelt: string, knownNames: readonly string[]): string | undefined {
  if (misspelt.length > LONGEST_MISTYPED) return undefined;
  const lower = misspelt.toLowerCase();
  const limit = Math.max(1, Math.floor(misspelt.length / 3));
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of knownNames) {
    if (Math.abs(name.length - misspelt.length) > limit) continue;
    const distance = editDistance(lower, name.toLowerCase());
    if (distance <= limit && (!best || distance < best.distance)) best = { name, distance };
  }
  return best?.name ?? onlyNameWithWordsOf(misspelt, knownNames);
}

function onlyNameWithWordsOf(misspelt: string, knownNames: readonly string[]): string | undefined {
  const ownWords = wordsOf(misspelt);
  const [name, another] = knownNames.filter((candidate) => ownWords.every((word) => wordsOf(candidate).includes(word)));
  return another === undefined ? name : undefined;
}

/** `maxActiveRunners` is `max`, `active`, `runners`. */
function wordsOf(name: string): readonly string[] {
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+/).map((word) => word.toLowerCase());
}

/** Words of other tools for words in our names. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ replica: 'runner', worker: 'runner', agent: 'runner', count: 'runner', concurrency: 'runner' },
    ...{ organization: 'org', organisation: 'org', repository: 'repo', username: 'user', tag: 'label' },
    ...{ instance: 'gitea', server: 'gitea', host: 'gitea', address: 'url', endpoint: 'url', uri: 'url' },
    ...{ api: 'auth', secret: 'token', cert: 'ca', certificate: 'ca', warm: 'idle', pool: 'idle', executor: 'mode' },
    ...{ grace: 'graceful', period: 'second', termination: 'stop', paused: 'suspend', disabled: 'suspend' },
  }),
);

/** Returns how alike two names are by their words: 1 for equal words, 0 for no common one. A plural is no other word. */
export function likeness(name: string, other: string): number {
  const [own, others] = [name, other].map((each) => {
    const singular = wordsOf(each).map((word) => word.replace(/ies$/, 'y').replace(/(?<=..[^s])s$/, ''));
    return new Set(singular.map((word) => OTHER_WORDS.get(word) ?? word));
  }) as [Set<string>, Set<string>];
  return (2 * [...own].filter((word) => others.has(word)).length) / (own.size + others.size);
}

/** Levenshtein distance that counts two swapped neighbours as one mistake (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = distanceAt(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? distanceAt(beforeLast, j - 2) + 1 : Infinity;
      row[j] = Math.min(distanceAt(last, j) + 1, distanceAt(row, j - 1) + 1, replace, swap);
    }
    [beforeLast, last] = [last, row];
  }
  return distanceAt(last, b.length);
}

function distanceAt(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}

/** Kubernetes' Pod Security Standards, the strictest first. */
export const SECURITY_PROFILES = ['restricted', 'baseline', 'privileged'] as const;

/** Returns the more, the more a profile allows. The strictest: 0. Unknown: -1 */
export function profileRank(profile: string): number {
  return SECURITY_PROFILES.map(String).indexOf(profile);
}

export const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;

/** Images of Gitea's runner and of docker, as people write them. */
export const RUNNER_IMAGE = /(?:^|\/)(?:act[_-]runner|gitea-act-runner|gitea\/runner)(?:[:@]|$)/;
export const DOCKER_IMAGE = /(?:^|\/)docker[:@]/;

/** Variables that make programs trust CA certificates, and their places in images. */
export const CA_VARIABLE =
  /^(?:SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|GIT_SSL_CAINFO|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE)$/;
export const CA_PLACES = /^\/(?:etc\/ssl\/cert|etc\/pki\/|usr\/local\/share\/ca-certificates)/;
