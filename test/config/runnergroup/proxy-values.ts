/** Values of `proxy` and `caBundle` that are refused, and what is said. */
const PROXY = 'http://proxy:3128';
const URL_RULE = 'must be an http or https URL with a port and without a path, e.g. http://proxy.example.com:3128';
const NO_LOGIN =
  'must have no user and no password: never put a password into git. Name a Secret with the keys username and password in secretRef';
const DIRECT_RULE =
  'must be a host name (with a dot before it: all hosts below it), an IP address or a CIDR block, e.g. .example.internal or 10.0.0.0/8';

export type Values = readonly (readonly [value: unknown, message: string])[];

export const REFUSED_PROXIES: Values = [
  ['http://proxy:3128', 'must be a mapping, not a string'],
  [
    {},
    'spec.proxy: needs http or https: the URL of the proxy, e.g. "https: http://proxy.example.com:3128" [GR-INPUT-06]',
  ],
  [{ http: 'http://me:s3cret@proxy:3128' }, `spec.proxy.http: ${NO_LOGIN} [GR-INPUT-05]`],
  [{ https: 'http://me@proxy:3128' }, `spec.proxy.https: ${NO_LOGIN} [GR-INPUT-05]`],
  [{ http: 'http://proxy' }, `spec.proxy.http: ${URL_RULE} [GR-INPUT-05]`],
  [{ https: 'http://proxy:65536' }, `spec.proxy.https: ${URL_RULE} [GR-INPUT-05]`],
  [{ http: PROXY, noProxy: '*' }, 'spec.proxy.noProxy: must be a list, not a string [GR-INPUT-05]'],
  [{ http: PROXY, noProxy: ['*'] }, `spec.proxy.noProxy[0]: ${DIRECT_RULE} [GR-INPUT-05]`],
  [{ http: PROXY, no: [] }, 'spec.proxy.no: unknown field; did you mean "noProxy"? [GR-INPUT-04]'],
  [
    { http: PROXY, secretRef: { name: 'gitea-api' } },
    'spec.proxy.secretRef.name: is a Secret with a token of Gitea; CI jobs can read the login of the proxy, so use another Secret [GR-INPUT-06]',
  ],
  [
    { http: PROXY, secretRef: { name: 'a', key: 'b' } },
    'spec.proxy.secretRef.key: unknown field; known here: name [GR-INPUT-04]',
  ],
];

export const REFUSED_CA_BUNDLES: Values = [
  [{}, 'spec.caBundle.configMapRef: is required: a mapping [GR-INPUT-05]'],
  [
    { configMapRef: { name: 'ca', key: '../ca' } },
    'spec.caBundle.configMapRef.key: must be a key of a ConfigMap: letters, digits, dots, dashes and underscores; got the string "../ca" [GR-INPUT-05]',
  ],
  [
    { configMapRef: { name: 'CA', key: 'ca.crt' } },
    'spec.caBundle.configMapRef.name: must be the name of a ConfigMap: lower-case letters, digits, dashes and dots, with a letter or digit at both ends; got the string "CA" [GR-INPUT-05]',
  ],
];

/** Field, a value that is accepted, and what the model then has. */
export const ACCEPTED: readonly (readonly [field: string, value: unknown, expected: object])[] = [
  [
    'proxy',
    { https: 'http://proxy.example.com:3128/', noProxy: ['git.example.com:8443', '[fd00::1]:80', 'fd00::/8'] },
    {
      proxy: {
        https: 'http://proxy.example.com:3128',
        direct: ['git.example.com:8443', '[fd00::1]:80', 'fd00::/8'],
      },
    },
  ],
  [
    'proxy',
    { http: 'https://[fd00::1]:3128', secretRef: { name: 'proxy.login' } },
    { proxy: { http: 'https://[fd00::1]:3128', direct: [], secret: 'proxy.login' } },
  ],
  [
    'caBundle',
    { configMapRef: { name: 'a.b', key: 'ca_1.crt' } },
    { caBundle: { configMapRef: { name: 'a.b', key: 'ca_1.crt' } } },
  ],
];
