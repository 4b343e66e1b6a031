/** RunnerGroups that the CRD's own rules (packaging/admission.ts) refuse, and all valid ones of this repository. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { isMapping } from '../../src/config/runnergroup/paths.ts';

export type SpecValues = Readonly<Record<string, unknown>>;

/** A good spec. */
export const GOOD: SpecValues = {
  scope: 'org',
  org: 'acme',
  gitea: { url: 'https://gitea.example.com' },
  maxActiveRunners: 5,
  registrationToken: { secretRef: { name: 'gitea-runner', key: 'token' } },
  authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
};

const URL = 'https://gitea.example.com';
const repo = (change: SpecValues): SpecValues => ({ scope: 'repo', org: undefined, ...change });
const secret = (value: SpecValues): SpecValues => ({ authToken: value });
const registration = (value: SpecValues): SpecValues => ({ registrationToken: value });
const BY_SERVE: SpecValues = { registration: { by: 'serve' }, registrationToken: undefined };
const BOUND: SpecValues = { ...BY_SERVE, registration: { by: 'serve', for: 'repository' } };

/** Changes of the good spec (`undefined` removes the field), each with the rule that the API server names. */
export const BAD: readonly (readonly [change: SpecValues, message: string])[] = [
  [{ notify: [{ on: 'always' }] }, 'needs either slack or webhook: write one entry for each'],
  [{ org: undefined }, 'scope org needs org'],
  [{ scope: 'user', org: undefined }, 'scope user needs user'],
  [{ scope: 'repo', org: undefined }, 'scope repo needs repo'],
  [{ scope: 'global' }, 'org does not go with this scope: remove it'],
  [{ scope: 'user', user: 'mia' }, 'org does not go with this scope: remove it'],
  [{ user: 'mia' }, 'user does not go with this scope: remove it'],
  [{ repo: 'web' }, 'repo does not go with this scope: remove it'],
  [{ scope: 'global', org: undefined, repo: 'a/b' }, 'repo does not go with this scope: remove it'],
  [repo({ org: 'acme', user: 'mia', repo: 'web' }), 'a repository has one owner: set org or user, not both'],
  [repo({ repo: 'web' }), 'repo needs its owner: write owner/name, or add org or user'],
  [repo({ repo: 'acme/web', org: 'other' }), 'org or user is not the owner in repo: remove it or correct one of them'],
  [repo({ repo: 'acme/web', user: 'mia' }), 'org or user is not the owner in repo: remove it or correct one of them'],
  [{ gitea: undefined }, 'gitea.url is required'],
  [{ giteaURL: 'https://gitea.example.org' }, 'giteaURL differs from gitea.url: remove one of the two spellings'],
  [{ giteaURL: `${URL}/sub` }, 'giteaURL differs from gitea.url: remove one of the two spellings'],
  [{ giteaURL: 'http://gitea.example.com' }, 'giteaURL differs from gitea.url: remove one of the two spellings'],
  [{ giteaURL: `${URL}:8443` }, 'giteaURL differs from gitea.url: remove one of the two spellings'],
  [secret({}), 'must name a Secret and its key: secretRef'],
  [registration({ name: 'a' }), 'must name a Secret and its key: secretRef'],
  [secret({ key: 'a' }), 'must name a Secret and its key: secretRef'],
  [
    secret({ secretRef: { name: 'a', key: 'k' }, name: 'b' }),
    'name and key differ from secretRef: remove one of the two spellings',
  ],
  [
    registration({ secretRef: { name: 'a', key: 'k' }, key: 'l' }),
    'name and key differ from secretRef: remove one of the two spellings',
  ],
  [secret({ secretRef: { name: 'a', key: '..' } }), 'must not be "." and must not start with ".."'],
  [registration({ name: 'a', key: '..data' }), 'must not be "." and must not start with ".."'],
  [{ minIdleRunners: 6 }, 'minIdleRunners must be at most the cap: idle runners count under it'],
  [
    { maxActiveRunners: undefined, maxWorkers: 2, minIdleRunners: 3 },
    'minIdleRunners must be at most the cap: idle runners count under it',
  ],
  [{ sizes: [{ name: 'a' }, { name: 'b', weight: 6 }] }, 'the weight of a size must be at most the cap'],
  [
    { maxActiveRunners: undefined, maxWorkers: 2, sizes: [{ name: 'a', weight: 3 }] },
    'the weight of a size must be at most the cap: its jobs would wait for ever',
  ],
  [
    {
      sizes: [{ name: 'a', weight: 3 }],
      limits: [
        { name: 'web', max: 4 },
        { per: 'repository', max: 2 },
      ],
    },
    'the weight of a size must be at most each limit: its jobs would wait for ever',
  ],
  [{ org: 'a..b' }, 'must not be "." and must not contain ".."'],
  [{ scope: 'user', org: undefined, user: '.' }, 'must not be "." and must not contain ".."'],
  [repo({ repo: 'acme/..' }), 'must not be "." and must not contain ".."'],
  [repo({ repo: './web' }), 'must not be "." and must not contain ".."'],
  [
    { containerMode: 'host', labels: ['a:docker://b'] },
    'a label needs docker, which this containerMode does not have: write name:host, or choose another containerMode',
  ],
  [
    { labels: ['a:vm'] },
    'a label is neither name:host nor name:docker://image, and the default runner takes no other: correct it or set image',
  ],
  [{ labels: ['a:host', 'a'] }, 'the names of labels must differ: remove one'],
  [{ labels: ['a:docker://b', 'b', 'a:docker://c'] }, 'the names of labels must differ: remove one'],
  ...['$a', '-a', ...[...' ,\t\'"`\\*?[]\u00a0\u0007\u2028'].map((odd) => `a${odd}b`)].map(
    (label) => [{ labels: [label] }, 'must not contain spaces, commas, quotes'] as const,
  ),
  ...[':host', 'a:host:b', 'a:docker', 'a:docker:', 'a:docker://'].map(
    (label) => [{ image: 'x', labels: [label] }, 'must be name, name:host or name:docker://image'] as const,
  ),
  [
    { acceptUnlabelledJobs: true, containerMode: 'host', labels: ['a'] },
    'acceptUnlabelledJobs does not go with a containerMode without docker: a job without labels runs in docker',
  ],
  ...[
    { gracefulStopSeconds: 600, activeDeadlineSeconds: 600 },
    { gracefulStopSeconds: 21_600 },
    { gracefulStopSeconds: 2, activeDeadlineSeconds: 1 },
  ].map((change) => [change, 'activeDeadlineSeconds must be greater than gracefulStopSeconds'] as const),
  [
    { keepFailedSeconds: 60, runnerConfig: { log: { level: 'info' } } },
    'runnerConfig.log.level does not go with keepFailedSeconds, for which it is debug: remove one of them',
  ],
  [{ resources: { limits: { gpu: 1 } } }, 'must be cpu, memory, ephemeral-storage or a name with a domain'],
  [{ resources: { requests: { Memory: '1Gi' } } }, 'must be cpu, memory, ephemeral-storage or a name with a domain'],
  ...[{ registration: undefined }, { registration: {} }, { registration: { by: 'pod' } }].map(
    (change) =>
      [{ ...change, registrationToken: undefined }, 'registrationToken is required: the pods register'] as const,
  ),
  ...[{ for: 'repository' }, { by: 'pod', for: 'repository' }].map(
    (value) => [{ registration: value }, 'registration for repository needs by: serve'] as const,
  ),
  ...['repositories', 'order'].flatMap((field) =>
    [{}, BY_SERVE].map(
      (change) => [{ ...change, [field]: ['web'] }, `${field} needs registration for repository, by serve`] as const,
    ),
  ),
  ...[
    { minIdleRunners: 1 },
    { idleDemand: { minutes: 10, most: 2 } },
    { idleSchedule: [{ runners: 1, from: '07:00', to: '19:00' }] },
  ].map((idle) => [{ ...BOUND, ...idle }, 'registration for repository does not go with idle runners'] as const),
  // Types and patterns, without CEL.
  [{ resources: { limits: { cpu: '1 core' } } }, 'spec.resources.limits.cpu'],
  [{ resources: { limits: { cpu: -1 } } }, 'spec.resources.limits.cpu'],
  [{ resources: { requests: { memory: `1${'0'.repeat(64)}` } } }, 'spec.resources.requests.memory'],
  [{ limits: [{ max: 1, branches: ['a*b*c'] }] }, 'spec.limits[0].branches[0]'],
  [{ maxActiveRunners: -1 }, 'spec.maxActiveRunners'],
  [{ scope: 'orgs' }, 'spec.scope'],
  [{ gitea: { url: 'ftp://gitea.example.com' } }, 'spec.gitea.url'],
];

/** Specs whose second spelling is the same in another form, and other edges that must not be refused. */
export const EDGES: readonly SpecValues[] = [
  BY_SERVE,
  BOUND,
  { ...BOUND, registrationToken: GOOD['registrationToken'], minIdleRunners: 0, idleSchedule: [] },
  { ...BOUND, repositories: ['web', 'team-*', 'acme/*'], order: ['infra', '*'] },
  { ...BY_SERVE, registration: { by: 'serve', for: 'scope' }, minIdleRunners: 1 },
  { registration: {} },
  { registration: { by: 'pod', for: 'scope' } },
  { giteaURL: 'https://Gitea.example.com:443/' },
  { gitea: { url: 'https://gitea.example.com/a/../b/' }, giteaURL: 'https://gitea.example.com/b' },
  { gitea: { url: 'https://gitea.example.com/%41' }, giteaURL: 'https://gitea.example.com/A' },
  { gitea: { url: 'https://bücher.example' }, giteaURL: 'https://xn--bcher-kva.example' },
  { gitea: { url: 'http://127.0.0.1:3000' }, giteaURL: 'http://127.1:3000' },
  { gitea: { url: 'https://gitea:8443' }, giteaURL: 'https://gitea:08443' },
  { gitea: undefined, giteaURL: URL },
  repo({ repo: 'Acme/web', org: 'aCME' }),
  repo({ repo: 'acme/web' }),
  repo({ repo: 'a.b', user: 'c.d' }),
  secret({ name: 'a', key: 'k' }),
  secret({ secretRef: { name: 'a', key: '.k' }, name: 'a', key: '.k' }),
  { labels: ['a:b', 'a:c', 'a'], image: 'x' },
  { labels: ['a', 'a.b', 'b:docker:c:d', 'ä:host'] },
  { labels: [], containerMode: 'dind' },
  { gracefulStopSeconds: 0, activeDeadlineSeconds: 1 },
  { activeDeadlineSeconds: 1 },
  { keepFailedSeconds: 60, runnerConfig: { log: { level: 'trace' }, metrics: { enabled: true } } },
  { keepFailedSeconds: 60, runnerConfig: { log: {} } },
  { keepFailedSeconds: 0, runnerConfig: { log: { level: 'info' } } },
  { acceptUnlabelledJobs: false, containerMode: 'host', labels: ['a'] },
  { resources: { requests: { cpu: 1, memory: '.5Gi' }, limits: { 'hugepages-2Mi': '4Mi', 'example.com/gpu': 1 } } },
  { sizes: [{ name: 'a' }, { name: 'b', weight: 5 }], limits: [{ name: 'web', max: 5 }] },
  { maxActiveRunners: 0, sizes: [{ name: 'a', weight: 5 }] },
  { limits: [{ max: 1, branches: ['main', 'release/*', '@a/b#1_x.y-**'] }] },
  // The longest lists: what a rule may cost has a limit.
  {
    sizes: Array.from({ length: 20 }, (_, n) => ({ name: `size-${n}`, weight: 5 })),
    limits: Array.from({ length: 20 }, (_, n) => ({ name: `limit-${n}`, max: 5 })),
  },
  { labels: Array.from({ length: 100 }, (_, n) => `${'x'.repeat(500)}${n}:host`) },
  { labels: Array.from({ length: 30 }, (_, n) => `${'x'.repeat(500)}${n}:host`) },
];

/** The specs of all RunnerGroups in files below these folders. */
export function writtenSpecs(folders: readonly string[]): readonly (readonly [file: string, spec: unknown])[] {
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:ya?ml|json)$/.test(file))
      .map((file) => join(folder, file)),
  );
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(file, 'utf8')).flatMap((document) => {
      const value: unknown = document.errors.length > 0 ? undefined : document.toJS();
      return isMapping(value) && value['kind'] === 'RunnerGroup' ? [[file, value['spec']] as const] : [];
    }),
  );
}
