/** Schemas of fields that occur more than once, or that take many lines. */
import * as z from 'zod';
import { normalBase, parseUrl } from '../../shared/url.ts';
import {
  DNS_SUBDOMAIN,
  isLabelValue,
  isQualifiedName,
  isQuantity,
  labelsMeantBy,
  parseLabel,
  refinementOf,
} from './words.ts';

/** Key of the text that is shown beside a field whose default is not a constant. It is not in the generated schemas. */
export const DEFAULT_NOTE = 'defaultNote';

/** Adds the manual's text to a schema; `.meta()` would copy it. @param byDefault default that is no constant */
export function described<T extends z.ZodType>(schema: T, description: string, byDefault?: string): T {
  z.globalRegistry.add(schema, { description, ...(byDefault !== undefined && { [DEFAULT_NOTE]: byDefault }) });
  return schema;
}

/** A list of mappings, empty by default. Its schema is made only when needed. @param subject one element */
export const listOf = <S extends z.ZodRawShape>(maximum: number, subject: string, shape: () => S) =>
  z.lazy(() => z.array(described(z.strictObject(shape()), subject)).max(maximum)).default([]);

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_RULE = 'must be lower-case letters, digits and dashes, with a letter or digit at both ends';

/** A string of limited length. `rule`: message if the pattern does not match. `checks`: what no pattern can say. */
export function stringLike(
  least: number,
  maximum: number,
  pattern: RegExp,
  rule: string | ((issue: { readonly input?: unknown }) => string),
  ...checks: readonly ((text: string) => string | undefined)[]
): z.ZodString {
  return z.string({
    checks: [
      ...(least > 0 ? [z.minLength(least)] : []),
      z.maxLength(maximum),
      z.regex(pattern, { error: rule }),
      ...checks.map((check) => z.superRefine(refinementOf(check))),
    ],
  });
}

/** A schema that is made only when a group has the field. `z.lazy` alone is made with its optional fields. */
export const whenWritten = <T extends z.ZodType>(make: () => T) => z.preprocess((written) => written, z.lazy(make));

const whole = z.int();
export const wholeNumber = (least: number, most: number) => z.number({ checks: [whole, z.gte(least), z.lte(most)] });

export const clockTime = () =>
  stringLike(0, 20, /^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of the day, e.g. "07:00"');

const TIME_ZONE_RULE = 'must be the IANA name of a time zone, e.g. Europe/Berlin';

/** Node.js knows the zones, and their summer times. */
function checkTimeZone(name: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone: name });
    return undefined;
  } catch {
    return `${TIME_ZONE_RULE}: this one is not known`;
  }
}

export const timeZone = () => stringLike(1, 64, /^[A-Za-z][A-Za-z0-9_+/-]*$/, TIME_ZONE_RULE, checkTimeZone);

export const dnsLabel = () => stringLike(1, 63, DNS_LABEL, DNS_LABEL_RULE);

/** An owner or repository name of Gitea must not climb out of an API path. */
const checkGiteaName = (name: string) =>
  name === '.' || name.includes('..') ? 'must not be "." and must not contain ".."' : undefined;

const GITEA_NAME_RULE = 'must be a name in Gitea: letters, digits, dots, dashes and underscores';
export const giteaName = () => stringLike(1, 255, /^[A-Za-z0-9._-]+$/, GITEA_NAME_RULE, checkGiteaName);

const REPOSITORY_RULE = 'must be a repository in Gitea: "name" or "owner/name"';
export const repository = () =>
  stringLike(1, 511, /^(?:[A-Za-z0-9._-]+\/)?[A-Za-z0-9._-]+$/, REPOSITORY_RULE, (text) =>
    text.split('/').map(checkGiteaName).find(Boolean),
  );

const PATTERN_RULE =
  'must be a repository, or a pattern with one "*" (any characters but "/"): "name" or "owner/name", of letters, digits and ._-';
const PATTERN = /^(?:[-\w.]+\/)?(?:[-\w.]+|[-\w.]*\*[-\w.]*)$|^[-\w.]*\*[-\w.]*\/[-\w.]+$/;
export const repositoryPatterns = (maximum: number) =>
  z
    .array(stringLike(1, 511, PATTERN, PATTERN_RULE))
    .min(1)
    .max(maximum)
    .default([]);

const ENDS = 'lower-case letters, digits, dashes and dots, with a letter or digit at both ends';
export const objectName = (kind: string) => stringLike(1, 253, DNS_SUBDOMAIN, `must be the name of a ${kind}: ${ENDS}`);

/** Kubernetes `IsConfigMapKey`: a key is a file name when the Secret is mounted. */
const checkSecretKey = (key: string) =>
  key === '.' || key.startsWith('..') ? 'must not be "." and must not start with ".."' : undefined;

export const objectKey = (kind: string) => {
  const rule = `must be a key of a ${kind}: letters, digits, dots, dashes and underscores`;
  return stringLike(1, 253, /^[-._a-zA-Z0-9]+$/, rule, checkSecretKey);
};
const secretName = objectName('Secret');
const secretKey = objectKey('Secret');

export const secretRef = z.strictObject({
  name: described(secretName, 'Name of the Secret, in the namespace of the RunnerGroup.'),
  key: described(secretKey, 'Key in the Secret.'),
});

export const secretSelector = () =>
  z.strictObject({
    secretRef: described(secretRef.optional(), 'The Secret and its key.'),
    name: described(secretName.optional(), 'Older spelling of `secretRef.name`.'),
    key: described(secretKey.optional(), 'Older spelling of `secretRef.key`.'),
  });

/** A URL that the pattern has let through must still be one. */
const checkUrl = (text: string) =>
  normalBase(text) === undefined ? 'must be a URL with a host, e.g. https://gitea.example.com' : undefined;

export const url = (example: string) => {
  const rule = `must be an http or https URL without credentials, query or fragment, e.g. ${example}`;
  return stringLike(0, 2048, /^https?:\/\/[^\s\\?#@]+$/, rule, checkUrl);
};

/** The API's address is below Gitea's. */
const checkGiteaUrl = (text: string) =>
  /\/api\/v1\/*$/.test(text) ? 'must be the address of Gitea itself: leave out "/api/v1"' : undefined;

export const giteaUrl = () => url('https://gitea.example.com').check(z.superRefine(refinementOf(checkGiteaUrl)));

function checkLabel(text: string): string | undefined {
  const parsed = parseLabel(text);
  if (!('wrong' in parsed)) return undefined;
  const labels = labelsMeantBy(text).join(', ');
  return labels === '' ? parsed.wrong : `${parsed.wrong}; write "labels: [${labels}]"`;
}

export const runnerLabel = z.string().check(z.minLength(1), z.maxLength(512), z.superRefine(refinementOf(checkLabel)));

const QUANTITY_RULE = 'must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"';
const quantity = described(
  z
    .union([z.string(), z.int().min(0)])
    .superRefine(refinementOf((value) => (isQuantity(String(value)) ? undefined : QUANTITY_RULE))),
  'Kubernetes quantity.',
);
export const quantities = () => z.record(z.string().max(317), quantity);

const LABEL_RULE =
  'must be at most 63 letters, digits, dots, dashes and underscores, with a letter or digit at both ends';

export const objectLabels = z.record(z.string(), z.string()).superRefine((labels, context) => {
  for (const [key, value] of Object.entries(labels)) {
    const ofKey = !isQualifiedName(key);
    if (!ofKey && isLabelValue(value)) continue;
    const message = ofKey ? 'must have a key such as "team" or "example.com/team"' : LABEL_RULE;
    context.addIssue({ code: 'custom', path: [key], message, params: { ofKey } });
  }
});

/** Bytes of all keys and values (Kubernetes `TotalAnnotationSizeLimitB`). */
const MOST_ANNOTATION_BYTES = 262_144;

/** Annotations of a group. One that the API server refuses ends the sync of all groups beside it. */
export const objectAnnotations = z.record(z.string(), z.string()).superRefine((annotations, context) => {
  const bytes = Buffer.byteLength(Object.entries(annotations).flat().join(''));
  if (bytes > MOST_ANNOTATION_BYTES)
    context.addIssue({ code: 'custom', message: `has ${bytes} bytes; Kubernetes takes ${MOST_ANNOTATION_BYTES}` });
  for (const key of Object.keys(annotations)) {
    // Capitals of the prefix do not matter.
    if (isQualifiedName(key.toLowerCase())) continue;
    const message = 'must have a key such as "note" or "example.com/note"';
    context.addIssue({ code: 'custom', path: [key], message, params: { ofKey: true } });
  }
});

/** curl takes port 1080 where others take 80 or 443: a proxy needs its port. */
const PROXY_URL = /^https?:\/\/(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}\/?$/;
const PROXY_URL_RULE =
  'must be an http or https URL with a port and without a path, e.g. http://proxy.example.com:3128';
const NO_LOGIN =
  'must have no user and no password: never put a password into git. Name a Secret with the keys username and password in secretRef';

const proxyUrl = () => {
  const rule = ({ input }: { readonly input?: unknown }) => (String(input).includes('@') ? NO_LOGIN : PROXY_URL_RULE);
  return stringLike(0, 512, PROXY_URL, rule, (url) => (parseUrl(url) ? undefined : PROXY_URL_RULE));
};

const DIRECT_RULE =
  'must be a host name (with a dot before it: all hosts below it), an IP address or a CIDR block, e.g. .example.internal or 10.0.0.0/8';

/** A comma-separated list that all programs can read: no comma in an element, no space, no `*`. */
const directHosts = () => {
  const host = stringLike(1, 253, /^[A-Za-z0-9._:/[\]-]+$/, DIRECT_RULE, checkDirectHost);
  return z.array(described(host, 'Host name, IP address or CIDR block, the first two perhaps with a port.')).max(100);
};

const HOST = /^\.?[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?(?::[0-9]{1,5})?$/;
const BRACKETED = /^\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?$/;
const BLOCK = /^([0-9A-Fa-f:.]+)\/([0-9]{1,3})$/;
const IPV4 = /^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$/;

function checkDirectHost(entry: string): string | undefined {
  const [, net = '', bits] = BLOCK.exec(entry) ?? [];
  if (bits !== undefined) return Number(bits) <= longestPrefix(net) ? undefined : DIRECT_RULE;
  return HOST.test(entry) || isIpv6(BRACKETED.exec(entry)?.[1] ?? entry) ? undefined : DIRECT_RULE;
}

/** Returns the longest prefix of the address, in bits. -1: it is not an address. */
function longestPrefix(address: string): number {
  if (isIpv6(address)) return 128;
  return IPV4.test(address) && address.split('.').every((part) => Number(part) <= 255) ? 32 : -1;
}

function isIpv6(text: string): boolean {
  return text.includes(':') && parseUrl(`http://[${text}]`) !== undefined;
}

/** `noProxy`, not `no`: kubectl, Argo CD and we read a bare `no` as `false`, as YAML 1.1 has it. */
export const proxy = () =>
  z.strictObject({
    http: described(
      proxyUrl().optional(),
      'Proxy for http URLs: `http_proxy` and `HTTP_PROXY`. Without user and password.',
    ),
    https: described(
      proxyUrl().optional(),
      'Proxy for https URLs: `https_proxy` and `HTTPS_PROXY`. Without user and password.',
    ),
    noProxy: described(
      directHosts().optional(),
      'Hosts, IP addresses and CIDR blocks that need no proxy: `no_proxy` and `NO_PROXY`. `localhost`, the pod itself, `.svc` and `.cluster.local` are always added.',
    ),
    secretRef: described(
      z
        .strictObject({
          name: described(
            objectName('Secret'),
            'Name of the Secret, in the namespace of the RunnerGroup. Not one with a token of Gitea.',
          ),
        })
        .optional(),
      'Secret with the login of the proxy: keys `username` and `password`, percent-encoded as in a URL. CI jobs can read it.',
    ),
  });

export const caBundle = () =>
  z.strictObject({
    configMapRef: described(
      z.strictObject({
        name: described(objectName('ConfigMap'), 'Name of the ConfigMap, in the namespace of the RunnerGroup.'),
        key: described(objectKey('ConfigMap'), 'Key whose value is PEM: one certificate or more.'),
      }),
      'The ConfigMap and its key.',
    ),
  });
