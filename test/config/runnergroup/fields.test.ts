import { expect, test } from 'vitest';
import { Metadata, type Spec } from '../../../src/config/runnergroup/schema.ts';
import { complaintsOf, groupOf } from '../../support/group-files.ts';
import { REFUSED_CA_BUNDLES, REFUSED_PROXIES, type Values } from './proxy-values.ts';

const NAME_RULE = 'must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string';
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

/** For each field, values that are refused and what is said, without path and code when these are the field's own. */
const REFUSED: Readonly<Record<keyof typeof Spec.shape, Values>> = {
  scope: [
    [undefined, 'is required: one of global, org, user, repo, e.g. "scope: org"'],
    ['Org', 'must be one of global, org, user, repo, not the string "Org"; did you mean "org"?'],
    [null, 'must be one of global, org, user, repo, not empty'],
  ],
  org: [
    ['', 'must not be empty'],
    ['a/b', `${NAME_RULE} "a/b"`],
    ['..', 'must not be "." and must not contain ".."; got the string ".."'],
    ['a\u0000b', `${NAME_RULE} "a\\u{0}b"`],
    ['x'.repeat(256), 'must have at most 255 characters'],
    [7, 'must be a string, but YAML reads 7 as the number 7: quote it: "7"'],
  ],
  user: [['a b', `${NAME_RULE} "a b"`]],
  repo: [
    ['a/b/c', `${REPO_RULE} "a/b/c"`],
    ['../x', 'must not be "." and must not contain ".."; got the string "../x"'],
    ['a/.', 'must not be "." and must not contain ".."; got the string "a/."'],
  ],
  gitea: [
    ['https://x', 'must be a mapping, not a string, e.g. "gitea: {url: https://gitea.example.com}"'],
    [{}, 'spec.gitea.url: is required: a string, e.g. "url: https://gitea.example.com" [GR-INPUT-05]'],
    [
      { url: 'https://gitea.example.com/api/v1/' },
      'spec.gitea.url: must be the address of Gitea itself: leave out "/api/v1" [GR-INPUT-05]',
    ],
    [{ url: 'ftp://x' }, `spec.gitea.url: ${URL_RULE} [GR-INPUT-05]`],
    [{ uri: 'https://x' }, 'spec.gitea.uri: unknown field; did you mean "url"? [GR-INPUT-04]'],
    [undefined, 'spec: gitea.url is required: add "gitea: {url: https://…}" [GR-INPUT-06]'],
  ],
  giteaURL: [
    [
      'https://other.example.com',
      'spec.giteaURL: differs from gitea.url: remove one of the two spellings [GR-INPUT-06]',
    ],
    ['https://user:pw@x', `${URL_RULE}`],
    ['https://x?token=1', `${URL_RULE}`],
    ['https://x#a', `${URL_RULE}`],
    ['https://x\\@evil', `${URL_RULE}`],
    ['https://a b', `${URL_RULE}`],
    ['https://x:99999', 'must be a URL with a host, e.g. https://gitea.example.com'],
  ],
  labels: [
    ['gpu', 'must be a list, not the string "gpu"; write "labels: [gpu]"'],
    [['a'.repeat(513)], 'spec.labels[0]: must have at most 512 characters [GR-INPUT-05]'],
    [Array.from({ length: 101 }, (_, index) => `l${index}`), 'must have at most 100 entries'],
  ],
  defaultLabels: [
    [true, 'must be a list of labels or false, not the boolean true'],
    [
      ['-x'],
      'spec.defaultLabels[0]: must not start with "-": the runner would take it for an option; got the string "-x" [GR-INPUT-05]',
    ],
  ],
  maxActiveRunners: [
    [undefined, 'is required: a whole number, e.g. "maxActiveRunners: 10"'],
    [-1, 'must be at least 0, not the number -1'],
    [10_001, 'must be at most 10000, not the number 10001'],
    [1.5, 'must be a whole number, not the number 1.5'],
    ['3', 'must be a whole number, not the string "3"; remove the quotes: maxActiveRunners: 3'],
  ],
  maxWorkers: [
    [-1, 'must be at least 0, not the number -1'],
    [3, 'spec.maxWorkers: differs from maxActiveRunners: remove one of the two spellings [GR-INPUT-06]'],
  ],
  priorityTiers: [
    [tiers(['a', 0]), 'spec.priorityTiers[0].threshold: must be at least 1, not the number 0 [GR-INPUT-05]'],
    [
      tiers(['system-node-critical', 10]),
      "spec.priorityTiers[0].priorityClassName: is a class of Kubernetes' own parts: a runner with it could push them off their node [GR-INPUT-06]",
    ],
    [tiers(['A_b', 4]), `spec.priorityTiers[0].priorityClassName: ${CLASS_RULE}; got the string "A_b" [GR-INPUT-05]`],
    [
      tiers(['a', 2], ['b', 2]),
      'spec.priorityTiers[1].threshold: is 2, but must be greater than 2, the threshold of the tier before it [GR-INPUT-06]',
    ],
    [
      tiers(['a', 1], ['b', 9]),
      'spec.maxActiveRunners: is 10, but must be the last threshold of priorityTiers, which is 9: correct one, or remove maxActiveRunners [GR-INPUT-06]',
    ],
    [
      [{ priorityClassName: 'a', treshold: 4 }],
      'spec.priorityTiers[0].treshold: unknown field; did you mean "threshold"? [GR-INPUT-04]',
    ],
    [tiers(...Array.from({ length: 11 }, (_, nth) => ['a', nth + 1] as const)), 'must have at most 10 entries'],
  ],
  minIdleRunners: [
    [-1, 'must be at least 0, not the number -1'],
    [1.5, 'must be a whole number, not the number 1.5'],
    [501, 'must be at most 500, not the number 501'],
    [
      11,
      'spec.minIdleRunners: is 11, but must be at most the cap, which is 10: idle runners count under it [GR-INPUT-06]',
    ],
  ],
  idleSchedule: [
    [
      [{ runners: 11, from: '07:00', to: '19:00' }],
      'spec.idleSchedule[0].runners: is 11, but must be at most the cap, which is 10: idle runners count under it [GR-INPUT-06]',
    ],
    [
      [{ runners: 1, from: '7:00', to: '19:00' }],
      'spec.idleSchedule[0].from: must have at least 5 characters [GR-INPUT-05]',
    ],
    [
      [{ runners: 1, from: '07:00', to: '24:00' }],
      'spec.idleSchedule[0].to: must be a time of the day, e.g. 07:00; got the string "24:00" [GR-INPUT-05]',
    ],
    [
      [{ runners: 1, from: '07:00', to: '19:00', timeZone: 'Europe/Atlantis' }],
      'spec.idleSchedule[0].timeZone: must be the IANA name of a time zone, e.g. Europe/Berlin: this one is not known; got the string "Europe/Atlantis" [GR-INPUT-05]',
    ],
    [
      [{ runners: 1, from: '07:00', to: '19:00', days: ['Mo'] }],
      'spec.idleSchedule[0].days[0]: must be one of Mon, Tue, Wed, Thu, Fri, Sat, Sun, not the string "Mo"; did you mean "Mon"? [GR-INPUT-05]',
    ],
  ],
  idleDemand: [
    [
      { most: 11 },
      'spec.idleDemand.most: is 11, but must be at most the cap, which is 10: idle runners count under it [GR-INPUT-06]',
    ],
    [{ most: 2, minutes: 0 }, 'spec.idleDemand.minutes: must be at least 1, not the number 0 [GR-INPUT-05]'],
    [{}, 'spec.idleDemand.most: is required: a whole number [GR-INPUT-05]'],
  ],
  sizes: [
    [[{ weight: 2 }], 'spec.sizes[0].name: is required: a string [GR-INPUT-05]'],
    [[{ name: 'large size' }], `spec.sizes[0].name: ${SIZE_RULE}; got the string "large size" [GR-INPUT-05]`],
    [[{ name: 'large', weight: 0 }], 'spec.sizes[0].weight: must be at least 1, not the number 0 [GR-INPUT-05]'],
    [
      [{ name: 'large', weight: 11 }],
      'spec.sizes[0].weight: is 11, more than the cap, which is 10: such a job would wait for ever [GR-INPUT-06]',
    ],
    [
      [{ name: 'a' }, { name: 'a' }],
      'spec.sizes[1].name: is the name of a size before it: choose another one [GR-INPUT-06]',
    ],
    [
      [{ name: 'ubuntu-latest' }],
      'spec.sizes[0].name: is a label of the group already, so all its runners have it: choose another name [GR-INPUT-06]',
    ],
    [
      [{ name: 'large', resources: { requests: { cpu: '4' }, limits: { cpu: '2' } } }],
      'spec.sizes[0].resources.requests.cpu: is 4, more than its limit 2 [GR-INPUT-06]',
    ],
  ],
  limits: [
    [[{ name: 'gpus' }], 'spec.limits[0].max: is required: a whole number [GR-INPUT-05]'],
    [[{ name: 'gpus', max: 0 }], 'spec.limits[0].max: must be at least 1, not the number 0 [GR-INPUT-05]'],
    [
      [{ max: 2, per: 'branch' }],
      'spec.limits[0].per: must be one of repository, organization, not the string "branch" [GR-INPUT-05]',
    ],
    [
      [{ max: 2 }],
      'spec.limits[0]: needs name, per or branches: the cap of the group is maxActiveRunners [GR-INPUT-06]',
    ],
    ...['a*b*c', 'a b', '!main', 'a?', '[ab]', 'c++', 'main\n', '***'].map((branch): readonly [unknown, string] => [
      [{ max: 2, branches: [branch] }],
      `spec.limits[0].branches[0]: ${BRANCH}; got the string ${JSON.stringify(branch)} [GR-INPUT-05]`,
    ]),
    [[{ max: 2, branches: [''] }], 'spec.limits[0].branches[0]: must not be empty [GR-INPUT-05]'],
    [[{ max: 2, branches: [] }], 'spec.limits[0].branches: must have at least 1 entries [GR-INPUT-05]'],
    [
      [{ max: 2, branches: Array.from({ length: 11 }, () => 'main') }],
      'spec.limits[0].branches: must have at most 10 entries [GR-INPUT-05]',
    ],
    [
      [{ max: 2, branches: ['a'.repeat(256)] }],
      'spec.limits[0].branches[0]: must have at most 255 characters [GR-INPUT-05]',
    ],
    [
      [
        { name: 'a', max: 2 },
        { name: 'a', max: 3 },
      ],
      'spec.limits[1]: is in this list already: remove one of them [GR-INPUT-06]',
    ],
  ],
  groupLabel: [['yes', 'must be true or false, not the string "yes"']],
  registrationToken: [
    [
      undefined,
      'is required: a mapping, e.g. "registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}"',
    ],
    [{}, `spec.registrationToken: ${SECRET_RULE} [GR-INPUT-06]`],
    [{ name: 'a' }, 'spec.registrationToken: needs key beside name [GR-INPUT-06]'],
    [{ key: 'a' }, 'spec.registrationToken: needs name beside key [GR-INPUT-06]'],
    [
      { secretRef: { name: 'a', key: 'k' }, name: 'b' },
      'spec.registrationToken: name and key differ from secretRef: remove one of the two spellings [GR-INPUT-06]',
    ],
    [
      'plain-token',
      'must be a mapping, not a string, e.g. "registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}"',
    ],
  ],
  authToken: [
    [
      { secretRef: { name: '../x', key: 'k' } },
      'spec.authToken.secretRef.name: must be the name of a Secret: lower-case letters, digits, dashes and dots, with a letter or digit at both ends [GR-INPUT-05]',
    ],
    [{ name: 's', key: '..' }, 'spec.authToken.key: must not be "." and must not start with ".." [GR-INPUT-05]'],
    [
      { name: 's', key: 'a/b' },
      'spec.authToken.key: must be a key of a Secret: letters, digits, dots, dashes and underscores [GR-INPUT-05]',
    ],
    [
      { secretRef: { name: 's' } },
      'spec.authToken.secretRef.key: is required: a string, e.g. "key: token" [GR-INPUT-05]',
    ],
  ],
  suspend: [['yes', 'must be true or false, not the string "yes"']],
  tracing: [[{ endpoint: 'x' }, 'must be true or false, not a mapping']],
  acceptUnlabelledJobs: [[1, 'must be true or false, not the number 1']],
  fairness: [['fair', 'must be one of oldest, per-repository, not the string "fair"']],
  image: [
    ['a b', `${NO_IMAGE}; got the string "a b"`],
    ['a@sha256:00', `${NO_IMAGE}; got the string "a@sha256:00"`],
    ['a@sha256:', `${NO_IMAGE}; got the string "a@sha256:"`],
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
    [[], 'must be a mapping, not a list'],
    [null, 'must be a mapping, not empty'],
  ],
  securityProfile: [
    ['strict', 'must be one of privileged, baseline, restricted, not the string "strict"'],
    [null, 'must be one of privileged, baseline, restricted, not empty'],
  ],
  resources: [
    [{ limits: { cpu: 0.5 } }, 'spec.resources.limits.cpu: must be a whole number or quoted: "0.5" [GR-INPUT-05]'],
    [{ limits: { cpu: 'two' } }, `spec.resources.limits.cpu: ${QUANTITY}; got the string "two" [GR-INPUT-05]`],
    [{ limits: { cpu: '-1' } }, `spec.resources.limits.cpu: ${QUANTITY}; got the string "-1" [GR-INPUT-05]`],
    [{ limits: { cpu: true } }, `spec.resources.limits.cpu: ${QUANTITY}, not the boolean true [GR-INPUT-05]`],
    [
      { limits: { cpus: 1 } },
      'spec.resources.limits.cpus: is no resource of a container; did you mean "cpu"? [GR-INPUT-06]',
    ],
    [
      { requests: { cpu: 2 }, limits: { cpu: '1500m' } },
      'spec.resources.requests.cpu: is 2, more than its limit 1500m [GR-INPUT-06]',
    ],
    [
      { requests: { 'example.com/gpu': 1 } },
      'spec.resources.requests["example.com/gpu"]: must have an equal limit: Kubernetes does not overcommit this resource [GR-INPUT-06]',
    ],
    [{ claims: [] }, 'spec.resources.claims: unknown field; known here: requests, limits [GR-INPUT-04]'],
  ],
  proxy: REFUSED_PROXIES,
  caBundle: REFUSED_CA_BUNDLES,
  runnerConfig: [
    ['log: info', 'must be a mapping, not the string "log: info"'],
    [{ log: null }, 'spec.runnerConfig.log: must be a mapping, not empty [GR-INPUT-05]'],
  ],
  cache: [
    [
      { url: 'http://c' },
      'spec.cache.secretRef: is required: a mapping, e.g. "secretRef: {name: runner-cache, key: secret}" [GR-INPUT-05]',
    ],
    [
      { url: 'c:8088', secretRef: { name: 'c', key: 'secret' } },
      `spec.cache.url: ${URL_RULE.replace('https://gitea.example.com', 'http://gitea-runner-cache.runners.svc:8088')} [GR-INPUT-05]`,
    ],
    ['http://c', 'must be a mapping, not a string'],
  ],
  notify: [
    [{ slack: { channel: '#ci' } }, 'must be a list, not a mapping'],
    [[{}], 'spec.notify[0]: needs either slack or webhook: write one entry for each [GR-INPUT-05]'],
    [
      [{ slack: { channel: '#ci' }, webhook: { url: 'https://h' } }],
      'spec.notify[0]: needs either slack or webhook: write one entry for each [GR-INPUT-05]',
    ],
    [
      [{ slack: { channel: 'a b' } }],
      'spec.notify[0].slack.channel: must be a channel: "#ci" or its id; got the string "a b" [GR-INPUT-05]',
    ],
    [
      [{ webhook: { url: 'https://user:pw@h' } }],
      'spec.notify[0].webhook.url: must hold no login: it stands in git; got the string "https://…@h" [GR-INPUT-05]',
    ],
    [
      [{ webhook: { url: 'file:///etc/passwd' } }],
      'spec.notify[0].webhook.url: must be a URL with https or http; got the string "file:///etc/passwd" [GR-INPUT-05]',
    ],
    [
      [{ slack: { channel: '#ci' }, on: 'never' }],
      'spec.notify[0].on: must be one of failure, success, always, not the string "never" [GR-INPUT-05]',
    ],
    [
      [{ slack: { channel: '#ci' }, true: 'always' }],
      'spec.notify[0].true: is what YAML makes of on without quotes: write "on": …; got the string "always" [GR-INPUT-05]',
    ],
    [Array.from({ length: 11 }, () => ({ slack: { channel: '#ci' } })), 'must have at most 10 entries'],
  ],
  setupCommand: [
    ['npm ci', 'must be a list, not the string "npm ci"; write "setupCommand: [npm, ci]"'],
    [['a\u0000b'], 'spec.setupCommand[0]: must not have a NUL character; got the string "a\\u{0}b" [GR-INPUT-05]'],
    [Array.from({ length: 101 }, () => 'a'), 'must have at most 100 entries'],
    [['sh', '-c', 'x'.repeat(16_381)], 'has 16385 characters, more than 16384: put a script into the image'],
  ],
  commitStatusAfterSeconds: [
    [-1, 'must be at least 0, not the number -1'],
    [86_401, 'must be at most 86400, not the number 86401'],
  ],
  keepFailedSeconds: [
    [-1, 'must be at least 0, not the number -1'],
    [86_401, 'must be at most 86400, not the number 86401'],
  ],
  spawnTimeoutSeconds: [[29, 'must be at least 30, not the number 29']],
  pendingDeadlineSeconds: [
    [29, 'must be at least 30, not the number 29'],
    [299, 'spec.pendingDeadlineSeconds: is 299, but must be at least spawnTimeoutSeconds, which is 300 [GR-INPUT-06]'],
  ],
  activeDeadlineSeconds: [[0, 'must be at least 1, not the number 0']],
  ttlSecondsAfterFinished: [[-1, 'must be at least 0, not the number -1']],
  maxEvictionRetries: [
    [-1, 'must be at least 0, not the number -1'],
    [11, 'must be at most 10, not the number 11'],
  ],
  evictionRetryDelaySeconds: [[0, 'must be at least 1, not the number 0']],
  gracefulStopSeconds: [['5m', 'must be a whole number, not the string "5m"']],
};

/** `[field, value, message]` for the tables below. */
const refused = Object.entries(REFUSED).flatMap(([field, values]) =>
  values.map(([value, message]) => [field, value, message] as const),
);

test.each(refused)('%s refuses %j', async (field, value, message) => {
  const scope = { user: { scope: 'user', org: undefined }, repo: { scope: 'repo' } }[field];

  const whole = message.endsWith(']') ? message : `spec.${field}: ${message} [GR-INPUT-05]`;
  expect(await complaintsOf({ ...scope, [field]: value })).toEqual([whole]);
});

test.each([
  ['org', 'a-b_c.d', { scope: { kind: 'org', org: 'a-b_c.d' } }],
  ['giteaURL', undefined, { giteaUrl: 'https://gitea.example.com' }],
  ['gitea', { url: 'http://G.example.com:3000/git//' }, { giteaUrl: 'http://g.example.com:3000/git' }],
  ['maxActiveRunners', 0, { maxActiveRunners: 0 }],
  ['maxWorkers', 10, { maxActiveRunners: 10 }],
  ['priorityTiers', tiers(['a', 2], ['b', 10]), { maxActiveRunners: 10, priorityTiers: tiers(['a', 2], ['b', 10]) }],
  ['pendingDeadlineSeconds', 300, { pendingDeadlineSeconds: 300 }],
  ['spawnTimeoutSeconds', 1000, { spawnTimeoutSeconds: 1000, pendingDeadlineSeconds: 1000 }],
  ['registrationToken', { name: 'a.b', key: '.dot' }, { registrationToken: { name: 'a.b', key: '.dot' } }],
  ['authToken', { name: 'a', key: 'K_1' }, { authToken: { name: 'a', key: 'K_1' } }],
  ['suspend', true, { suspend: true }],
  ['tracing', false, { tracing: false }],
  ['acceptUnlabelledJobs', true, { acceptUnlabelledJobs: true }],
  ['fairness', 'per-repository', { fairness: 'per-repository' }],
  ['image', 'reg.example.com:5000/a/b:1', { image: 'reg.example.com:5000/a/b:1' }],
  ['image', PINNED, { image: PINNED }],
  [
    'labels',
    [`a:docker://${PINNED}`],
    { labels: expect.arrayContaining([{ name: 'a', text: `a:docker://${PINNED}` }]) },
  ],
  ['containerMode', 'dind', { containerMode: 'dind', image: 'gitea/runner:1.0.8' }],
  [
    'resources',
    { requests: { cpu: '500m', 'hugepages-2Mi': '4Mi' }, limits: { cpu: 1, memory: '1.5Gi', 'example.com/gpu': 2 } },
    {
      resources: {
        requests: { cpu: '500m', 'hugepages-2Mi': '4Mi' },
        limits: { cpu: '1', memory: '1.5Gi', 'example.com/gpu': '2' },
      },
    },
  ],
  [
    'runnerConfig',
    { log: { level: 'debug' }, runner: { envs: { A: 'b' } } },
    { runnerConfig: { log: { level: 'debug' }, runner: { envs: { A: 'b' } } } },
  ],
  [
    'cache',
    { url: 'http://c:8088/', secretRef: { name: 'c', key: 'secret' } },
    { cache: { url: 'http://c:8088/', secretRef: { name: 'c', key: 'secret' } } },
  ],
  ['notify', [{ slack: { channel: '#ci' } }], { notify: [{ slack: { channel: '#ci' }, on: 'failure' }] }],
  [
    'notify',
    [{ webhook: { url: 'https://h/ci?x=1' }, on: 'always' }],
    { notify: [{ webhook: { url: 'https://h/ci?x=1' }, on: 'always' }] },
  ],
  ['setupCommand', ['sh', '-c', 'date > now'], { setupCommand: ['sh', '-c', 'date > now'] }],
  ['keepFailedSeconds', 1200, { keepFailedSeconds: 1200 }],
  ['spawnTimeoutSeconds', 60, { spawnTimeoutSeconds: 60 }],
  ['activeDeadlineSeconds', 10_801, { activeDeadlineSeconds: 10_801, gracefulStopSeconds: 10_800 }],
  ['activeDeadlineSeconds', 10_800, { activeDeadlineSeconds: 10_800, gracefulStopSeconds: 10_799 }],
  ['ttlSecondsAfterFinished', 0, { ttlSecondsAfterFinished: 0 }],
  ['maxEvictionRetries', 10, { maxEvictionRetries: 10 }],
  ['evictionRetryDelaySeconds', 1, { evictionRetryDelaySeconds: 1 }],
  ['gracefulStopSeconds', 0, { gracefulStopSeconds: 0 }],
])('%s accepts %j', async (field, value, expected) => {
  expect(await groupOf({ [field]: value })).toMatchObject(expected);
});

test('a label that YAML reads as a mapping is told as it should be written', async () => {
  const spec = { labels: [{ 'ubuntu-latest': 'docker://node:20' }, { a: 'host', b: 'host' }] };

  expect(await complaintsOf(spec)).toEqual([
    'spec.labels[0]: must be a string, not a mapping: quote it, without a space: "ubuntu-latest:docker://node:20" [GR-INPUT-05]',
    'spec.labels[1]: must be a string, not a mapping [GR-INPUT-05]',
  ]);
});

test.each([
  [
    { activeDeadlineSeconds: 540, gracefulStopSeconds: 540 },
    ['spec.activeDeadlineSeconds: is 540, but must be greater than gracefulStopSeconds, which is 540 [GR-INPUT-06]'],
  ],
  [{ scope: 'org', org: undefined }, ['spec: scope org needs org: add "org: …" [GR-INPUT-06]']],
  [{ scope: 'user', org: undefined }, ['spec: scope user needs user: add "user: …" [GR-INPUT-06]']],
  [{ scope: 'repo' }, ['spec: scope repo needs repo: add "repo: …" [GR-INPUT-06]']],
  [
    { scope: 'org', user: 'ann' },
    ['spec.user: does not go with scope org: remove it, or set "scope: user" [GR-INPUT-06]'],
  ],
  [
    { scope: 'global', repo: 'a/b' },
    [
      'spec.org: does not go with scope global: remove it, or set "scope: org" [GR-INPUT-06]',
      'spec.repo: does not go with scope global: remove it, or set "scope: repo" [GR-INPUT-06]',
    ],
  ],
  [
    { scope: 'user', user: 'ann' },
    ['spec.org: does not go with scope user: remove it, or set "scope: org" [GR-INPUT-06]'],
  ],
  [
    { scope: 'repo', org: undefined, repo: 'web' },
    ['spec.repo: needs its owner: write "repo: OWNER/web", or add org or user [GR-INPUT-06]'],
  ],
  [
    { scope: 'repo', user: 'ann', repo: 'web' },
    ['spec.user: a repository has one owner: set org or user, not both [GR-INPUT-06]'],
  ],
  [
    { scope: 'repo', repo: 'other/web' },
    ['spec.org: "acme" is not the owner in "repo: other/web": remove it or correct one of them [GR-INPUT-06]'],
  ],
  [
    { scope: 'repo', org: '..', repo: 'web' },
    ['spec.org: must not be "." and must not contain ".."; got the string ".." [GR-INPUT-05]'],
  ],
])('scope rules: %j', async (spec, complaints) => {
  expect(await complaintsOf(spec)).toEqual(complaints);
});

test.each([
  [
    { name: 'CI' },
    'metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "CI"; write "name: ci"',
  ],
  [{ name: 'x'.repeat(64) }, 'metadata.name: must have at most 63 characters'],
  [
    { name: 'a.b' },
    'metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "a.b"; write "name: a-b"',
  ],
  [{ name: undefined }, 'metadata.name: is required: a string, e.g. "name: ci"'],
  [
    { namespace: '../x' },
    'metadata.namespace: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "../x"',
  ],
  [
    { labels: { a: true } },
    'metadata.labels.a: must be a string, but YAML reads true as the boolean true: quote it: "true"',
  ],
  [{ labels: { 'a b': 'c' } }, 'metadata.labels["a b"]: must have a key such as "team" or "example.com/team"'],
  [
    { labels: { a: 'b c' } },
    'metadata.labels.a: must be at most 63 letters, digits, dots, dashes and underscores, with a letter or digit at both ends; got the string "b c"',
  ],
  [
    { annotations: { a: 1 } },
    'metadata.annotations.a: must be a string, but YAML reads 1 as the number 1: quote it: "1"',
  ],
  [
    { annotations: { 'a b': 'c' } },
    'metadata.annotations["a b"]: must have a key such as "note" or "example.com/note"',
  ],
])('metadata refuses %j', async (metadata, complaint) => {
  expect(await complaintsOf({}, metadata)).toEqual([`${complaint} [GR-INPUT-05]`]);
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
  const bad = ['argocd.argoproj.io/sync-wave', 'argocd.argoproj.io/hook-delete-policy', 'helm.sh/hook-weight'];
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

test('metadata of every kind that a server adds is left alone', async () => {
  const extra = Object.keys(Metadata.shape).filter(
    (name) => !['name', 'namespace', 'labels', 'annotations', 'finalizers', 'ownerReferences'].includes(name),
  );

  expect(await complaintsOf({}, Object.fromEntries(extra.map((name) => [name, ['anything']])))).toEqual([]);
});

test.each(['maxQuotaRetries', 'quotaRetryDelaySeconds'])('%s, which nothing obeys, is unknown', async (field) => {
  const [complaint, ...more] = await complaintsOf({ [field]: 1 });

  expect(more).toEqual([]);
  expect(complaint).toContain(`spec.${field}: unknown field; `);
});

test.each<[Readonly<Record<string, unknown>>, number]>([
  [{ maxActiveRunners: undefined, maxWorkers: 7 }, 7],
  [{ maxActiveRunners: undefined, priorityTiers: tiers(['a', 2], ['b', 5]) }, 5],
  [{ maxActiveRunners: 5, maxWorkers: 5, priorityTiers: tiers(['a', 5]) }, 5],
])('%j is a cap of %d', async (spec, cap) => {
  expect(await groupOf(spec)).toMatchObject({ maxActiveRunners: cap });
});

test('an env_file of the runner does not go with a proxy or a CA, which need one', async () => {
  const runnerConfig = { runner: { env_file: '/env' } };
  const caBundle = { configMapRef: { name: 'ca', key: 'ca.crt' } };

  expect(await complaintsOf({ runnerConfig })).toEqual([]);
  expect(await complaintsOf({ runnerConfig, caBundle })).toEqual([
    'spec.runnerConfig.runner.env_file: does not go with spec.proxy and spec.caBundle, which need a file of their own there: use runner.envs [GR-INPUT-06]',
  ]);
});

test('a priority class of a podTemplate does not go with tiers', async () => {
  const podTemplate = { spec: { priorityClassName: 'b' } };

  expect(await complaintsOf({ maxActiveRunners: 10, priorityTiers: tiers(['a', 10]), podTemplate })).toEqual([
    'spec.podTemplate.spec.priorityClassName: does not go with priorityTiers, which set it for each runner: remove one of them [GR-INPUT-06]',
  ]);
});

test.each(['info', 'error'])(
  'keepFailedSeconds does not go with log level %s, which hides how a CI job ended',
  async (level) => {
    const rule =
      'spec.runnerConfig.log.level: does not go with keepFailedSeconds, for which it is debug: remove one of them';

    expect(await complaintsOf({ keepFailedSeconds: 60, runnerConfig: { log: { level } } })).toEqual([
      `${rule} [GR-INPUT-06]`,
    ]);
    expect(await complaintsOf({ keepFailedSeconds: 60, runnerConfig: { log: { level: 'trace' } } })).toEqual([]);
    expect(await complaintsOf({ keepFailedSeconds: 0, runnerConfig: { log: { level } } })).toEqual([]);
  },
);
