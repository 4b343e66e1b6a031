/** The fields `proxy` and `caBundle`: how runner pods reach other servers, and whom they trust (docs/adr/0032). */
import * as z from 'zod';
import { parseUrl } from '../../shared/parse-url.ts';
import { objectKey, objectName } from './field-kinds.ts';
import { words } from './words.ts';

/** curl takes port 1080 where others take 80 or 443: a proxy needs its port. */
const PROXY_URL = /^https?:\/\/(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}\/?$/;
const PROXY_URL_RULE =
  'must be an http or https URL with a port and without a path, e.g. http://proxy.example.com:3128';
const NO_LOGIN =
  'must have no user and no password: never put a password into git. Name a Secret with the keys username and password in secretRef';

const proxyUrl = () =>
  z
    .string()
    .max(512)
    .regex(PROXY_URL, { error: ({ input }) => (String(input).includes('@') ? NO_LOGIN : PROXY_URL_RULE) })
    .superRefine(words((url) => (parseUrl(url) ? undefined : PROXY_URL_RULE)));

const DIRECT_RULE =
  'must be a host name (with a dot before it: all hosts below it), an IP address or a CIDR block, e.g. .example.internal or 10.0.0.0/8';

/** What comma-separated lists of all programs can hold: no comma, no space, no `*`. */
const directHosts = () =>
  z
    .array(
      z
        .string()
        .min(1)
        .max(253)
        .regex(/^[A-Za-z0-9._:/[\]-]+$/, { error: DIRECT_RULE })
        .superRefine(words(checkDirectHost))
        .meta({ description: 'Host name, IP address or CIDR block, the first two perhaps with a port.' }),
    )
    .max(100);

const HOST = /^\.?[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?(?::[0-9]{1,5})?$/;
const BRACKETED = /^\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?$/;
const BLOCK = /^([0-9A-Fa-f:.]+)\/([0-9]{1,3})$/;
const IPV4 = /^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$/;

function checkDirectHost(entry: string): string | undefined {
  const [, net = '', bits] = BLOCK.exec(entry) ?? [];
  if (bits !== undefined) {
    return Number(bits) <= longestPrefix(net) ? undefined : DIRECT_RULE;
  }
  return HOST.test(entry) || isIpv6(BRACKETED.exec(entry)?.[1] ?? entry) ? undefined : DIRECT_RULE;
}

/** In bits; -1 when it is no address. */
function longestPrefix(address: string): number {
  if (isIpv6(address)) return 128;
  return IPV4.test(address) && address.split('.').every((part) => Number(part) <= 255) ? 32 : -1;
}

function isIpv6(text: string): boolean {
  return text.includes(':') && parseUrl(`http://[${text}]`) !== undefined;
}

/** `noProxy`, not `no`: kubectl, Argo CD and we read a bare `no` as `false`, as YAML 1.1 has it. */
export const proxy = z.strictObject({
  http: proxyUrl()
    .optional()
    .meta({ description: 'Proxy for http URLs: `http_proxy` and `HTTP_PROXY`. Without user and password.' }),
  https: proxyUrl()
    .optional()
    .meta({ description: 'Proxy for https URLs: `https_proxy` and `HTTPS_PROXY`. Without user and password.' }),
  noProxy: directHosts().optional().meta({
    description:
      'Hosts, IP addresses and CIDR blocks that need no proxy: `no_proxy` and `NO_PROXY`. `localhost`, the pod itself, `.svc` and `.cluster.local` are always added.',
  }),
  secretRef: z
    .strictObject({
      name: objectName('Secret').meta({
        description: 'Name of the Secret, in the namespace of the RunnerGroup. Not one with a token of Gitea.',
      }),
    })
    .optional()
    .meta({
      description:
        'Secret with the login of the proxy: keys `username` and `password`, percent-encoded as in a URL. CI jobs can read it.',
    }),
});

export const caBundle = z.strictObject({
  configMapRef: z
    .strictObject({
      name: objectName('ConfigMap').meta({
        description: 'Name of the ConfigMap, in the namespace of the RunnerGroup.',
      }),
      key: objectKey('ConfigMap').meta({ description: 'Key whose value is PEM: one certificate or more.' }),
    })
    .meta({ description: 'The ConfigMap and its key.' }),
});
