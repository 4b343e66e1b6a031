import { expect, test } from 'vitest';
import { Metadata, type Spec as SpecSchema } from '../../../src/config/runnergroup/group-schema.ts';
import { complaintsOf, groupOf, type Spec } from '../../support/group-files.ts';

const PROXY = 'http://proxy:3128';
const PROXY_RULE = 'must be an http or https URL with a port and without a path, e.g. http://proxy.example.com:3128';
const NO_LOGIN =
  'must have no user and no password: never put a password into git. Name a Secret with the keys username and password in secretRef';
const DIRECT_RULE =
  'must be a host name (with a dot before it: all hosts below it), an IP address or a CIDR block, e.g. .example.internal or 10.0.0.0/8';
const NAME_RULE = 'must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string';
const NO_NAME = '; write the name that stands in the address of its page';
const DNS_RULE = 'must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string';
const URL_RULE = 'must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com';
const REPO_RULE = 'must be a repository in Gitea: "name" or "owner/name"; got the string';
const SECRET_RULE = 'must name a Secret and its key: "secretRef: {name: …, key: …}"';
const NO_IMAGE =
  'must be an image reference, e.g. gitea/runner:1.0.8-dind-rootless, or name:tag@sha256: with 64 hexadecimal digits';
const PINNED = `reg.example.com:5000/a/b:1@sha256:${'0123456789abcdef'.repeat(4)}`;
const BRANCH =
  'must be a branch, or a pattern with one "*" (any characters but "/") or one "**" (any): letters, digits and ._/@#-';
const QUANTITY = 'must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"';

const SIZE_RULE = 'must be letters, digits, dots, dashes and underscores, with a letter or digit at both ends';
const CLASS_RULE =
  'must be the name of a PriorityClass: lower-case letters, digits, dashes and dots, with a letter or digit at both ends';

function tiers(...written: readonly (readonly [priorityClassName: string, threshold: number])[]): readonly object[] {
  return written.map(([priorityClassName, threshold]) => ({ priorityClassName, threshold }));
}

const PATTERN =
  'must be a repository, or a pattern with one "*" (any characters but "/"): "name" or "owner/name", of letters, digits and ._-';
const NEEDS_BOUND =
  'needs runners that are bound to a repository: write "registration: {by: serve, for: repository}", or remove it';

/** Registration token of the group that gets the values. */
const REGISTRATION_TOKEN = { name: 'gitea-runner', key: 'registration-token' };
const API_TOKEN = { name: 'gitea-api', key: 'token' };

type Refused = readonly [value: unknown, message: string];

/** Returns a value one below the least number of a field, and one above the most. */
function outside(least: number, most: number): readonly Refused[] {
  return [
    [least - 1, `must be at least ${least}, not the number ${least - 1}`],
    [most + 1, `must be at most ${most}, not the number ${most + 1}`],
  ];
}

/**
 * Refused values of each field (missing values: problems.test.ts), with the message after the field's own path and
 * before its usual code.
 */
const REFUSED: Readonly<Record<keyof typeof SpecSchema.shape, readonly Refused[]>> = {
  scope: [
    ['Org', 'must be one of global, org, user, repo, not the string "Org"; did you mean "org"?'],
    [null, 'must be one of global, org, user, repo, not empty'],
  ],
  org: [
    ['', 'must not be empty'],
    ['a/b', `${NAME_RULE} "a/b"; for one repository write "scope: repo" and "repo: a/b"`],
    ['..', 'must not be "." and must not contain ".."; got the string ".."'],
    ['a\u0000b', `${NAME_RULE} "a\\u{0}b"${NO_NAME}`],
    ['x'.repeat(256), 'must have at most 255 characters'],
    [7, 'must be a string, but YAML reads 7 as the number 7: quote it: "7"'],
  ],
  user: [['a b', `${NAME_RULE} "a b"${NO_NAME}`]],
  repo: [
    ['a/b/c', `${REPO_RULE} "a/b/c"`],
    ['../x', 'must not be "." and must not contain ".."; got the string "../x"'],
    ['a/.', 'must not be "." and must not contain ".."; got the string "a/."'],
  ],
  gitea: [
    ['https://x', 'must be a mapping, not a string, e.g. "gitea: {url: https://gitea.example.com}"'],
    [{}, '.url: is required: a string, e.g. "url: https://gitea.example.com"'],
    [{ url: 'https://gitea.example.com/api/v1/' }, '.url: must be the address of Gitea itself: leave out "/api/v1"'],
    [{ url: 'ftp://x' }, `.url: ${URL_RULE}`],
    [{ uri: 'https://x' }, '.uri: unknown field; did you mean "url"? [GR-INPUT-04]'],
  ],
  giteaURL: [
    ['https://other.example.com', 'differs from gitea.url: remove one of the two spellings [GR-INPUT-06]'],
    ...['https://user:pw@x', 'https://x?token=1', 'https://x#a', 'https://x\\@evil', 'https://a b'].map(
      (address): Refused => [
        address,
        address.includes('@') ? `${URL_RULE}. If a password of it is real, revoke it` : URL_RULE,
      ],
    ),
    ['https://x:99999', 'must be a URL with a host, e.g. https://gitea.example.com'],
  ],
  labels: [
    ['gpu', 'must be a list, not the string "gpu"; write "labels: [gpu]"'],
    [
      [{ 'ubuntu-latest': 'docker://node:20' }],
      '[0]: must be a string, not a mapping: quote it, without a space: "ubuntu-latest:docker://node:20"',
    ],
    [[{ a: 'host', b: 'host' }], '[0]: must be a string, not a mapping'],
    [['a'.repeat(513)], '[0]: must have at most 512 characters'],
    [Array.from({ length: 101 }, (_, index) => `l${index}`), 'must have at most 100 entries'],
  ],
  defaultLabels: [
    [true, 'must be a list of labels or false, not the boolean true'],
    [['-x'], '[0]: must not start with "-": the runner would take it for an option; got the string "-x"'],
  ],
  maxActiveRunners: [...outside(0, 10_000), [1.5, 'must be a whole number, not the number 1.5']],
  maxWorkers: [
    ...outside(0, 10_000),
    [3, 'differs from maxActiveRunners: remove one of the two spellings [GR-INPUT-06]'],
  ],
  priorityTiers: [
    [tiers(['a', 0]), '[0].threshold: must be at least 1, not the number 0'],
    [
      tiers(['system-node-critical', 10]),
      "[0].priorityClassName: is a class of Kubernetes' own parts: a runner with it could push them off their node [GR-INPUT-06]",
    ],
    [tiers(['A_b', 4]), `[0].priorityClassName: ${CLASS_RULE}; got the string "A_b"`],
    [
      tiers(['a', 2], ['b', 2]),
      '[1].threshold: is 2, but must be greater than 2, the threshold of the tier before it [GR-INPUT-06]',
    ],
    [
      tiers(['a', 1], ['b', 9]),
      'spec.maxActiveRunners: is 10, but must be the last threshold of priorityTiers, which is 9: correct one, or remove maxActiveRunners [GR-INPUT-06]',
    ],
    [[{ priorityClassName: 'a', treshold: 4 }], '[0].treshold: unknown field; did you mean "threshold"? [GR-INPUT-04]'],
    [tiers(...Array.from({ length: 11 }, (_, nth) => ['a', nth + 1] as const)), 'must have at most 10 entries'],
  ],
  minIdleRunners: [
    ...outside(0, 500),
    [1.5, 'must be a whole number, not the number 1.5'],
    [11, 'is 11, but must be at most the cap, which is 10: idle runners count under it [GR-INPUT-06]'],
  ],
  idleSchedule: [
    [
      [{ runners: 11, from: '07:00', to: '19:00' }],
      '[0].runners: is 11, but must be at most the cap, which is 10: idle runners count under it [GR-INPUT-06]',
    ],
    [
      [{ runners: 1, from: '7:00', to: '19:00' }],
      '[0].from: must be a time of the day, e.g. "07:00"; got the string "7:00"; write "07:00"',
    ],
    [
      [{ runners: 1, from: '07:00', to: '24:00' }],
      '[0].to: must be a time of the day, e.g. "07:00"; got the string "24:00"',
    ],
    [
      [{ runners: 1, from: '07:00', to: '19:00', timeZone: 'Europe/Atlantis' }],
      '[0].timeZone: must be the IANA name of a time zone, e.g. Europe/Berlin: this one is not known; got the string "Europe/Atlantis"',
    ],
    [
      [{ runners: 1, from: '07:00', to: '19:00', days: ['Mo'] }],
      '[0].days[0]: must be one of Mon, Tue, Wed, Thu, Fri, Sat, Sun, not the string "Mo"; did you mean "Mon"?',
    ],
  ],
  idleDemand: [
    [{ most: 11 }, '.most: is 11, but must be at most the cap, which is 10: idle runners count under it [GR-INPUT-06]'],
    [{ most: 2, minutes: 0 }, '.minutes: must be at least 1, not the number 0'],
    [{}, '.most: is required: a whole number'],
  ],
  sizes: [
    [[{ weight: 2 }], '[0].name: is required: a string'],
    [[{ name: 'large size' }], `[0].name: ${SIZE_RULE}; got the string "large size"`],
    [[{ name: 'large', weight: 0 }], '[0].weight: must be at least 1, not the number 0'],
    [[{ name: 'a' }, { name: 'a' }], '[1].name: is the name of a size before it: choose another one [GR-INPUT-06]'],
    [
      [{ name: 'large', resources: { requests: { cpu: '4' }, limits: { cpu: '2' } } }],
      '[0].resources.requests.cpu: is 4, more than its limit 2: write "cpu: 2", or raise limits.cpu [GR-INPUT-06]',
    ],
  ],
  limits: [
    [[{ name: 'gpus' }], '[0].max: is required: a whole number'],
    [[{ name: 'gpus', max: 0 }], '[0].max: must be at least 1, not the number 0'],
    [[{ max: 2, per: 'branch' }], '[0].per: must be one of repository, organization, not the string "branch"'],
    [
      Array.from({ length: 6 }, (_, nth) => ({ max: 2, branches: [`b${nth}`] })),
      'spec.limits: has 6 limits with per or branches, more than 5: remove some [GR-INPUT-06]',
    ],
    [[{ max: 2 }], '[0]: needs name, per or branches: the cap of the group is maxActiveRunners [GR-INPUT-06]'],
    ...['a*b*c', 'a b', '!main', 'a?', '[ab]', 'c++', 'main\n', '***'].map(
      (branch): Refused => [
        [{ max: 2, branches: [branch] }],
        `[0].branches[0]: ${BRANCH}; got the string ${JSON.stringify(branch)}`,
      ],
    ),
    [[{ max: 2, branches: [''] }], '[0].branches[0]: must not be empty'],
    [[{ max: 2, branches: [] }], '[0].branches: must have at least 1 entries'],
    [[{ max: 2, branches: Array.from({ length: 11 }, () => 'main') }], '[0].branches: must have at most 10 entries'],
    [[{ max: 2, branches: ['a'.repeat(256)] }], '[0].branches[0]: must have at most 255 characters'],
  ],
  groupLabel: [['yes', 'must be true or false, not the string "yes"; write "groupLabel: true"']],
  registration: [
    ['serve', 'must be a mapping, not the string "serve", e.g. "registration: {by: serve}"'],
    [{ by: 'server' }, '.by: must be one of pod, serve, not the string "server"; did you mean "serve"?'],
    [{ by: 'serve', for: 'repo' }, '.for: must be one of scope, repository, not the string "repo"'],
    [{ of: 'scope' }, '.of: unknown field; known here: by, for [GR-INPUT-04]'],
    [
      { for: 'repository' },
      '.for: is repository, but a pod registers for the scope only: write "registration: {by: serve, for: repository}" [GR-INPUT-06]',
    ],
  ],
  repositories: [
    [['web'], `${NEEDS_BOUND} [GR-INPUT-06]`],
    [[], 'must have at least 1 entries'],
    [['a*b*'], `[0]: ${PATTERN}; got the string "a*b*"`],
    [['a/b/c'], `[0]: ${PATTERN}; got the string "a/b/c"`],
    [['/web'], `[0]: ${PATTERN}; got the string "/web"`],
    [Array.from({ length: 101 }, (_, nth) => `r${nth}`), 'must have at most 100 entries'],
  ],
  order: [
    [['web'], `${NEEDS_BOUND} [GR-INPUT-06]`],
    [['a b'], `[0]: ${PATTERN}; got the string "a b"`],
    [Array.from({ length: 21 }, (_, nth) => `r${nth}`), 'must have at most 20 entries'],
  ],
  registrationToken: [
    [{}, `${SECRET_RULE} [GR-INPUT-06]`],
    [{ name: 'a' }, 'needs key beside name [GR-INPUT-06]'],
    [{ key: 'a' }, 'needs name beside key [GR-INPUT-06]'],
    [
      { secretRef: { name: 'a', key: 'k' }, name: 'b' },
      'name and key differ from secretRef: remove one of the two spellings [GR-INPUT-06]',
    ],
    ...[API_TOKEN, { secretRef: API_TOKEN }].map(
      (selector): Refused => [
        selector,
        'is the API token, which no pod may hold: name the key with the registration token [GR-INPUT-06]',
      ],
    ),
    [
      'plain-token',
      'must be a mapping, not a string, e.g. "registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}"',
    ],
  ],
  authToken: [
    [
      { secretRef: { name: '../x', key: 'k' } },
      '.secretRef.name: must be the name of a Secret: lower-case letters, digits, dashes and dots, with a letter or digit at both ends',
    ],
    [{ name: 's', key: '..' }, '.key: must not be "." and must not start with ".."'],
    [{ name: 's', key: 'a/b' }, '.key: must be a key of a Secret: letters, digits, dots, dashes and underscores'],
    [{ secretRef: { name: 's' } }, '.secretRef.key: is required: a string, e.g. "key: token"'],
  ],
  suspend: [['yes', 'must be true or false, not the string "yes"; write "suspend: true"']],
  tracing: [[{ endpoint: 'x' }, 'must be true or false, not a mapping']],
  acceptUnlabelledJobs: [[1, 'must be true or false, not the number 1']],
  fairness: [['fair', 'must be one of oldest, per-repository, not the string "fair"']],
  image: [
    ['a b', `${NO_IMAGE}; got the string "a b"`],
    ['a@sha256:00', `${NO_IMAGE}; got the string "a@sha256:00"`],
    ['a@b', `${NO_IMAGE}; got the string "a@b"`],
    ['', 'must not be empty'],
  ],
  containerMode: [
    [
      'dind-rootles',
      'must be one of dind-rootless, dind, buildkit, host, not the string "dind-rootles"; did you mean "dind-rootless"?',
    ],
  ],
  podTemplate: [
    ['x', 'must be a mapping, not the string "x"'],
    [null, 'must be a mapping, not empty'],
  ],
  securityProfile: [['strict', 'must be one of privileged, baseline, restricted, not the string "strict"']],
  resources: [
    [
      { limits: { 'nvidia.com/gpu': 0.5 } },
      '.limits["nvidia.com/gpu"]: must be a whole number, because Kubernetes gives no part of a device: write "nvidia.com/gpu: 1"',
    ],
    [{ limits: { cpu: 0.5 } }, '.limits.cpu: must be a whole number or quoted: "0.5"'],
    [{ limits: { cpu: 'two' } }, `.limits.cpu: ${QUANTITY}; got the string "two"`],
    [{ limits: { cpu: '-1' } }, `.limits.cpu: ${QUANTITY}; got the string "-1"`],
    [{ limits: { cpu: true } }, `.limits.cpu: ${QUANTITY}, not the boolean true`],
    [{ limits: { cpus: 1 } }, '.limits.cpus: is no resource of a container; did you mean "cpu"? [GR-INPUT-06]'],
    [
      { requests: { cpu: 2 }, limits: { cpu: '1500m' } },
      '.requests.cpu: is 2, more than its limit 1500m: write "cpu: 1500m", or raise limits.cpu [GR-INPUT-06]',
    ],
    [
      { requests: { 'example.com/gpu': 1 } },
      '.requests["example.com/gpu"]: must have an equal limit: Kubernetes does not overcommit this resource. Write "limits: {example.com/gpu: 1}" [GR-INPUT-06]',
    ],
    [{ claims: [] }, '.claims: unknown field; known here: requests, limits [GR-INPUT-04]'],
  ],
  proxy: [
    ['http://proxy:3128', 'must be a mapping, not a string; write "proxy: {https: …}"'],
    [{}, 'needs http or https: the URL of the proxy, e.g. "https: http://proxy.example.com:3128" [GR-INPUT-06]'],
    [{ http: 'http://me:s3cret@proxy:3128' }, `.http: ${NO_LOGIN}`],
    [{ https: 'http://me@proxy:3128' }, `.https: ${NO_LOGIN}`],
    [{ http: 'http://proxy' }, `.http: ${PROXY_RULE}`],
    [{ https: 'http://proxy:65536' }, `.https: ${PROXY_RULE}`],
    [{ http: PROXY, noProxy: '*' }, '.noProxy: must be a list, not the string "*"'],
    [{ http: PROXY, noProxy: ['*'] }, `.noProxy[0]: ${DIRECT_RULE}; got the string "*"`],
    [{ http: PROXY, no: [] }, '.no: unknown field; did you mean "noProxy"? [GR-INPUT-04]'],
    ...['gitea-runner', 'gitea-api'].map(
      (name): Refused => [
        { http: PROXY, secretRef: { name } },
        '.secretRef.name: is a Secret with a token of Gitea; CI jobs could read it, so use another Secret [GR-INPUT-06]',
      ],
    ),
    [{ http: PROXY, noProxy: Array.from({ length: 101 }, () => 'a') }, '.noProxy: must have at most 100 entries'],
    [
      { http: PROXY, secretRef: { name: 'a', key: 'b' } },
      '.secretRef.key: unknown field; known here: name [GR-INPUT-04]',
    ],
  ],
  caBundle: [
    [{}, '.configMapRef: is required: a mapping'],
    [
      { configMapRef: { name: 'ca', key: '../ca' } },
      '.configMapRef.key: must be a key of a ConfigMap: letters, digits, dots, dashes and underscores; got the string "../ca"',
    ],
    [
      { configMapRef: { name: 'CA', key: 'ca.crt' } },
      '.configMapRef.name: must be the name of a ConfigMap: lower-case letters, digits, dashes and dots, with a letter or digit at both ends; got the string "CA"; write "name: ca"',
    ],
  ],
  runnerConfig: [
    ['log: info', 'must be a mapping, not the string "log: info"'],
    [{ log: null }, '.log: must be a mapping, not empty'],
  ],
  queue: [
    ['', 'must not be empty'],
    [7, 'must be a string, but YAML reads 7 as the number 7: quote it: "7"'],
    ['Team A', `${DNS_RULE} "Team A"`],
  ],
  cache: [
    [{ url: 'http://c' }, '.secretRef: is required: a mapping, e.g. "secretRef: {name: runner-cache, key: secret}"'],
    [
      { url: 'c:8088', secretRef: { name: 'c', key: 'secret' } },
      `.url: ${URL_RULE.replace('https://gitea.example.com', 'http://gitea-runner-cache.runners.svc:8088')}`,
    ],
    ['http://c', 'must be a mapping, not a string'],
    ...[API_TOKEN, REGISTRATION_TOKEN].map(
      (secretRef): Refused => [
        { url: 'http://c:1', secretRef },
        '.secretRef: is a token of Gitea; CI jobs could read it, so name another key [GR-INPUT-06]',
      ],
    ),
  ],
  notify: [
    [{ slack: { channel: '#ci' } }, 'must be a list, not a mapping; write "notify: [{slack: …}]"'],
    [[{}], '[0]: needs either slack or webhook: write one entry for each'],
    [
      [{ slack: { channel: '#ci' }, webhook: { url: 'https://h' } }],
      '[0]: needs either slack or webhook: write one entry for each',
    ],
    [[{ slack: { channel: 'a b' } }], '[0].slack.channel: must be a channel: "#ci" or its id; got the string "a b"'],
    [
      [{ webhook: { url: 'https://user:pw@h' } }],
      '[0].webhook.url: must hold no login: it stands in git; got the string "https://…@h"',
    ],
    [
      [{ webhook: { url: 'file:///etc/passwd' } }],
      '[0].webhook.url: must be a URL with https or http; got the string "file:///etc/passwd"',
    ],
    [
      [{ slack: { channel: '#ci' }, on: 'never' }],
      '[0].on: must be one of failure, success, always, not the string "never"',
    ],
    [
      [{ slack: { channel: '#ci' }, true: 'always' }],
      '[0].true: is what YAML makes of on without quotes: write "on": …; got the string "always"',
    ],
    [Array.from({ length: 11 }, () => ({ slack: { channel: '#ci' } })), 'must have at most 10 entries'],
  ],
  setupCommand: [
    ['npm ci', 'must be a list, not the string "npm ci"; write "setupCommand: [npm, ci]"'],
    [['a\u0000b'], '[0]: must not have a NUL character; got the string "a\\u{0}b"'],
    [Array.from({ length: 101 }, () => 'a'), 'must have at most 100 entries'],
    [['sh', '-c', 'x'.repeat(16_381)], 'has 16385 characters, more than 16384: put a script into the image'],
  ],
  commitStatusAfterSeconds: outside(0, 86_400),
  keepFailedSeconds: outside(0, 86_400),
  spawnTimeoutSeconds: outside(30, 86_400),
  pendingDeadlineSeconds: [
    ...outside(30, 2_592_000),
    [299, 'is 299, but must be at least spawnTimeoutSeconds, which is 300 [GR-INPUT-06]'],
  ],
  activeDeadlineSeconds: outside(1, 2_592_000),
  ttlSecondsAfterFinished: outside(0, 2_592_000),
  maxEvictionRetries: outside(0, 10),
  evictionRetryDelaySeconds: outside(1, 3600),
  gracefulStopSeconds: [
    ...outside(0, 86_400),
    ['5m', 'must be a whole number, not the string "5m"; write "gracefulStopSeconds: 300"'],
  ],
};

/** The message with its code, which is this one unless it says another. */
function coded(message: string, usual: string): string {
  return / \[GR-.*\]$/.test(message) ? message : `${message} [${usual}]`;
}

/** `[field, value, message]` for the tables below. */
const refused = Object.entries(REFUSED).flatMap(([field, values]) =>
  values.map(([value, message]) => [field, value, message] as const),
);

test.each(refused)('%s refuses %j', async (field, value, message) => {
  const scope = { user: { scope: 'user', org: undefined }, repo: { scope: 'repo' } }[field];

  const told = message.startsWith('spec') ? message : `spec.${field}${/^[.[]/.test(message) ? '' : ': '}${message}`;
  expect(await complaintsOf({ ...scope, [field]: value })).toEqual([coded(told, 'GR-INPUT-05')]);
});

/** Without a third column, the model has the value as it was written. */
test.each<[field: string, value: unknown, expected?: object]>([
  ['org', 'a-b_c.d', { scope: { kind: 'org', org: 'a-b_c.d' } }],
  ['giteaURL', undefined, { giteaUrl: 'https://gitea.example.com' }],
  ['gitea', { url: 'http://G.example.com:3000/git//' }, { giteaUrl: 'http://g.example.com:3000/git' }],
  ['maxActiveRunners', 0],
  ['maxWorkers', 10, { maxActiveRunners: 10 }],
  ['priorityTiers', tiers(['a', 2], ['b', 10]), { maxActiveRunners: 10, priorityTiers: tiers(['a', 2], ['b', 10]) }],
  ['spawnTimeoutSeconds', 1000, { spawnTimeoutSeconds: 1000, pendingDeadlineSeconds: 1000 }],
  ['registrationToken', { name: 'a.b', key: '.dot' }],
  ['authToken', { name: 'a', key: 'K_1' }],
  ['acceptUnlabelledJobs', true],
  ['image', 'reg.example.com:5000/a/b:1'],
  ['image', PINNED],
  [
    'labels',
    [`a:docker://${PINNED}`],
    { labels: expect.arrayContaining([{ name: 'a', text: `a:docker://${PINNED}` }]) },
  ],
  ['containerMode', 'dind', { containerMode: 'dind', image: 'gitea/runner:1.0.8' }],
  [
    'resources',
    {
      requests: { cpu: '500m', 'hugepages-2Mi': '4Mi' },
      limits: { cpu: 1, memory: '1.5Gi', 'example.com/gpu': 2, 'hugepages-2Mi': '4Mi' },
    },
    {
      resources: {
        requests: { cpu: '500m', 'hugepages-2Mi': '4Mi' },
        limits: { cpu: '1', memory: '1.5Gi', 'example.com/gpu': '2' },
      },
    },
  ],
  ['runnerConfig', { log: { level: 'debug' }, runner: { envs: { A: 'b' } } }],
  ['cache', { url: 'http://c:8088/', secretRef: { name: 'c', key: 'secret' } }],
  [
    'proxy',
    { https: 'http://proxy.example.com:3128/', noProxy: ['git.example.com:8443', '[fd00::1]:80', 'fd00::/8'] },
    { proxy: { https: 'http://proxy.example.com:3128', direct: ['git.example.com:8443', '[fd00::1]:80', 'fd00::/8'] } },
  ],
  [
    'proxy',
    { http: 'https://[fd00::1]:3128', secretRef: { name: 'proxy.login' } },
    { proxy: { http: 'https://[fd00::1]:3128', direct: [], secret: 'proxy.login' } },
  ],
  ['caBundle', { configMapRef: { name: 'a.b', key: 'ca_1.crt' } }],
  ['notify', [{ slack: { channel: '#ci' } }], { notify: [{ slack: { channel: '#ci' }, on: 'failure' }] }],
  ['notify', [{ webhook: { url: 'https://h/ci?x=1' }, on: 'always' }]],
  ['setupCommand', ['sh', '-c', 'date > now']],
  ['activeDeadlineSeconds', 10_801, { activeDeadlineSeconds: 10_801, gracefulStopSeconds: 10_800 }],
  ['activeDeadlineSeconds', 10_800, { activeDeadlineSeconds: 10_800, gracefulStopSeconds: 10_799 }],
  ['ttlSecondsAfterFinished', 0],
  ['gracefulStopSeconds', 0],
])('%s accepts %j', async (field, value, expected = { [field]: value }) => {
  expect(await groupOf({ [field]: value })).toMatchObject(expected);
});

test.each<readonly [Spec, readonly string[]]>([
  [{ scope: 'org', org: undefined }, ['spec: scope org needs org: add "org: …"']],
  [{ scope: 'user', org: undefined }, ['spec: scope user needs user: add "user: …"']],
  [{ scope: 'repo' }, ['spec: scope repo needs repo: add "repo: …"']],
  [{ scope: 'org', user: 'ann' }, ['spec.user: does not go with scope org: remove it, or set "scope: user"']],
  [
    { scope: 'global', repo: 'a/b' },
    [
      'spec.org: does not go with scope global: remove it, or set "scope: org"',
      'spec.repo: does not go with scope global: remove it, or set "scope: repo"',
    ],
  ],
  [{ scope: 'user', user: 'ann' }, ['spec.org: does not go with scope user: remove it, or set "scope: org"']],
  [
    { scope: 'repo', org: undefined, repo: 'web' },
    ['spec.repo: needs its owner: write "repo: OWNER/web", or add org or user'],
  ],
  [{ scope: 'repo', user: 'ann', repo: 'web' }, ['spec.user: a repository has one owner: set org or user, not both']],
  [
    { scope: 'repo', repo: 'other/web' },
    ['spec.org: "acme" is not the owner in "repo: other/web": remove it or correct one of them'],
  ],
  [
    { scope: 'repo', org: '..', repo: 'web' },
    ['spec.org: must not be "." and must not contain ".."; got the string ".." [GR-INPUT-05]'],
  ],
])('scope rules: %j', async (spec, complaints) => {
  expect(await complaintsOf(spec)).toEqual(complaints.map((complaint) => coded(complaint, 'GR-INPUT-06')));
});

test.each([
  [{ name: 'CI' }, `name: ${DNS_RULE} "CI"; write "name: ci"`],
  [{ name: 'x'.repeat(64) }, 'name: must have at most 63 characters'],
  [{ name: 'a.b' }, `name: ${DNS_RULE} "a.b"; write "name: a-b"`],
  [{ name: undefined }, 'name: is required: a string, e.g. "name: ci"'],
  [{ namespace: '../x' }, `namespace: ${DNS_RULE} "../x"`],
  [{ labels: { a: true } }, 'labels.a: must be a string, but YAML reads true as the boolean true: quote it: "true"'],
  [{ labels: { 'a b': 'c' } }, 'labels["a b"]: must have a key such as "team" or "example.com/team"'],
  [
    { labels: { a: 'b c' } },
    'labels.a: must be at most 63 letters, digits, dots, dashes and underscores, with a letter or digit at both ends; got the string "b c"',
  ],
  [{ annotations: { a: 1 } }, 'annotations.a: must be a string, but YAML reads 1 as the number 1: quote it: "1"'],
  [{ annotations: { 'a b': 'c' } }, 'annotations["a b"]: must have a key such as "note" or "example.com/note"'],
])('metadata refuses %j', async (metadata, complaint) => {
  expect(await complaintsOf({}, metadata)).toEqual([`metadata.${complaint} [GR-INPUT-05]`]);
});

test('annotations have as many bytes as Kubernetes takes, and a prefix may have capitals', async () => {
  const note = 'Example.com/note';
  const longest = 262_144 - note.length;

  expect(await complaintsOf({}, { annotations: { [note]: 'x'.repeat(longest) } })).toEqual([]);
  expect(await complaintsOf({}, { annotations: { [note]: 'x'.repeat(longest + 1) } })).toEqual([
    'metadata.annotations: has 262145 bytes; Kubernetes takes 262144 [GR-INPUT-05]',
  ]);
});

test('metadata that changes the sync of the whole Application is refused, and what only describes the group is not', async () => {
  const good = ['compare-options', 'ignore-healthcheck', 'tracking-id'].map((name) => `argocd.argoproj.io/${name}`);
  const bad = ['hook', 'hook-delete-policy', 'sync-options', 'sync-wave'].map((name) => `argocd.argoproj.io/${name}`);
  bad.push('helm.sh/hook', 'helm.sh/hook-weight');
  const annotated = (keys: readonly string[]) => ({ annotations: Object.fromEntries(keys.map((key) => [key, 'x'])) });

  expect(await complaintsOf({}, { ...annotated(good), finalizers: [], ownerReferences: [] })).toEqual([]);
  expect(await complaintsOf({}, { ...annotated(bad), finalizers: ['a/b'], ownerReferences: 7 })).toEqual([
    ...bad.map((key) =>
      expect.stringContaining(`metadata.annotations["${key}"]: would make every sync of the Application wait`),
    ),
    expect.stringMatching(/^metadata\.finalizers: would keep Argo CD from deleting the group/),
    expect.stringMatching(/^metadata\.ownerReferences: would have Kubernetes delete the group/),
  ]);
});

test.each(['problem', 'problem-reason', 'shards'])(
  'annotation %s, which serve believes, is in no file (law V214)',
  async (name) => {
    const key = `gitea.bpg.pw/${name}`;
    expect(await complaintsOf({}, { annotations: { [key]: '2' } })).toEqual([
      `metadata.annotations["${key}"]: is written by gitea-runners into the cluster only: remove it [GR-INPUT-05]`,
    ]);
  },
);

test('metadata of every kind that a server adds is left alone', async () => {
  const extra = Object.keys(Metadata.shape).filter(
    (name) => !['name', 'namespace', 'labels', 'annotations', 'finalizers', 'ownerReferences'].includes(name),
  );

  expect(await complaintsOf({}, Object.fromEntries(extra.map((name) => [name, ['anything']])))).toEqual([]);
});

test.each<[Spec, number]>([
  [{ maxActiveRunners: undefined, maxWorkers: 7 }, 7],
  [{ maxActiveRunners: undefined, priorityTiers: tiers(['a', 2], ['b', 5]) }, 5],
  [{ maxActiveRunners: 5, maxWorkers: 5, priorityTiers: tiers(['a', 5]) }, 5],
])('%j is a cap of %d', async (spec, cap) => {
  expect(await groupOf(spec)).toMatchObject({ maxActiveRunners: cap });
});

const CACHE = { url: 'http://cache:8088', secretRef: { name: 'cache', key: 'secret' } };
const ENV_FILE = { runner: { env_file: '/env' } };
const QUIET = ['info', 'error'].map((level) => ({ log: { level } }));

test.each([
  { runnerConfig: ENV_FILE },
  { keepFailedSeconds: 60, runnerConfig: { log: { level: 'trace' } } },
  ...QUIET.map((runnerConfig) => ({ keepFailedSeconds: 0, runnerConfig })),
])('fields that go together: %j', async (spec) => {
  expect(await complaintsOf(spec)).toEqual([]);
});

test.each<readonly [Spec, string]>([
  [
    { activeDeadlineSeconds: 540, gracefulStopSeconds: 540 },
    'activeDeadlineSeconds: is 540, but must be greater than gracefulStopSeconds, which is 540',
  ],
  [
    { runnerConfig: ENV_FILE, caBundle: { configMapRef: { name: 'ca', key: 'ca.crt' } } },
    'runnerConfig.runner.env_file: does not go with spec.proxy and spec.caBundle, which need a file of their own there: use runner.envs',
  ],
  [
    { priorityTiers: tiers(['a', 10]), podTemplate: { spec: { priorityClassName: 'b' } } },
    'podTemplate.spec.priorityClassName: does not go with priorityTiers, which set it for each runner: remove one of them',
  ],
  // These values hide how a CI job ended.
  ...QUIET.map((runnerConfig): readonly [Spec, string] => [
    { keepFailedSeconds: 60, runnerConfig },
    'runnerConfig.log.level: does not go with keepFailedSeconds, for which it is debug: remove one of them',
  ]),
  [
    { containerMode: 'host', labels: ['a:host'], runnerConfig: { container: { privileged: true } } },
    'runnerConfig.container: does not go with containerMode host, which starts no containers',
  ],
  [
    { cache: CACHE, runnerConfig: { cache: { enabled: false } } },
    'runnerConfig.cache.enabled: is false, but spec.cache names a cache: remove one of them',
  ],
])('fields that do not go together: %j', async (spec, complaint) => {
  expect(await complaintsOf(spec)).toEqual([`spec.${complaint} [GR-INPUT-06]`]);
});
