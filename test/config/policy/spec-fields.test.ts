/**
 * Tests that every field of a RunnerGroup's spec has a judge, or a reason to have none (law F128). The compiler asks
 * for the row; this test checks that the row is true.
 */
import { describe, expect, it } from 'vitest';
import { podFieldsAtTop } from '../../../src/config/policy/policy-rules.ts';
import { PolicySpec } from '../../../src/config/policy/policy-schema.ts';
import { runnerGroupFromObject } from '../../../src/config/runnergroup/from-object.ts';
import { Spec } from '../../../src/config/runnergroup/group-schema.ts';
import { JUDGES, type Judges } from '../../../src/config/runnergroup/runner-group.ts';
import { type AnyGroup, denialsOf } from './support.ts';

/** Allows nothing that a rule can forbid. */
const STRICTEST = {
  namespaces: [{ name: '*', scopes: [], secrets: [] }],
  giteas: [],
  images: [],
  registries: [],
  securityProfile: { highest: 'restricted' },
  podTemplateFields: [],
  priorityClasses: [],
  serviceAccounts: [],
  maxActiveRunners: 0,
  maxResources: { cpu: 0 },
  queues: [],
};

const SECRET = { secretRef: { name: 'a', key: 'b' } };
const PLAIN = {
  scope: 'org',
  org: 'acme',
  gitea: { url: 'https://gitea.example.com' },
  maxActiveRunners: 0,
  containerMode: 'host',
  labels: ['a:host'],
  registrationToken: SECRET,
  authToken: { secretRef: { name: 'a', key: 'api' } },
};

/** The denials of a group with these fields, and its other fields as plain as can be. */
function denialsWith(spec: Readonly<Record<string, unknown>>): readonly string[] {
  const read = runnerGroupFromObject({ namespace: 'runners', name: 'ci', spec: { ...PLAIN, ...spec } });
  if ('problem' in read) throw new Error(read.problem);
  return denialsOf(STRICTEST, read.group as AnyGroup);
}

/**
 * For each judged field: a denied value, and the place of the denial. Undefined: the denial is about another field, or
 * about the token.
 */
const DENIED: Readonly<Record<string, readonly [spec: Readonly<Record<string, unknown>>, denial: string] | undefined>> =
  {
    image: [{ image: 'x:1' }, 'images spec.image'],
    resources: [{ resources: { requests: { cpu: '1' } } }, 'maxResources spec.resources'],
    sizes: [
      { maxActiveRunners: 2, sizes: [{ name: 'l', weight: 2, resources: { limits: { cpu: '9' } } }] },
      'maxResources spec.sizes[0].resources',
    ],
    cache: [
      { cache: { url: 'http://c:1', secretRef: { name: 'c', key: 'd' } } },
      'namespaces.secrets spec.cache.secretRef.name',
    ],
    proxy: [
      { proxy: { http: 'http://p:1', secretRef: { name: 'x' } } },
      'namespaces.secrets spec.proxy.secretRef.name',
    ],
    authToken: [{}, 'namespaces.secrets spec.authToken'],
    registrationToken: [{}, 'namespaces.secrets spec.registrationToken'],
    scope: [{ scope: 'global', org: undefined }, 'namespaces.scopes spec.scope'],
    org: [{ org: 'b' }, 'namespaces.scopes spec.scope'],
    user: [{ scope: 'user', org: undefined, user: 'u' }, 'namespaces.scopes spec.scope'],
    repo: [{ scope: 'repo', org: undefined, repo: 'a/b' }, 'namespaces.scopes spec.scope'],
    gitea: [{ gitea: { url: 'https://other.example.com' } }, 'giteas spec.gitea.url'],
    giteaURL: [{ gitea: undefined, giteaURL: 'https://other.example.com' }, 'giteas spec.gitea.url'],
    maxActiveRunners: [{ maxActiveRunners: 1 }, 'maxActiveRunners spec.maxActiveRunners'],
    maxWorkers: [{ maxActiveRunners: undefined, maxWorkers: 1 }, 'maxActiveRunners spec.maxActiveRunners'],
    podTemplate: [{ podTemplate: { spec: { nodeSelector: { a: 'b' } } } }, 'podTemplateFields spec.podTemplate.spec'],
    priorityTiers: [
      { maxActiveRunners: 1, priorityTiers: [{ priorityClassName: 'a', threshold: 1 }] },
      'priorityClasses spec.priorityTiers[0].priorityClassName',
    ],
    queue: [{ queue: 'a' }, 'queues spec.queue'],
    containerMode: [{ containerMode: 'dind' }, 'securityProfile spec.securityProfile'],
    securityProfile: [{ securityProfile: 'baseline' }, 'securityProfile spec.securityProfile'],
  };

/** For each field that no rule judges: a value that is not the default. */
const FREE: Readonly<Record<string, unknown>> = {
  registration: { by: 'pod', for: 'scope' },
  runnerConfig: { log: { level: 'debug' } },
  setupCommand: ['true'],
  gracefulStopSeconds: 9,
  keepFailedSeconds: 9,
  labels: ['x:host'],
  defaultLabels: ['y:host'],
  acceptUnlabelledJobs: false,
  groupLabel: true,
  fairness: 'oldest',
  limits: [{ max: 1, name: 'a' }],
  order: ['web'],
  repositories: ['web'],
  suspend: true,
  idleDemand: undefined,
  idleSchedule: [],
  minIdleRunners: 0,
  pendingDeadlineSeconds: 999,
  spawnTimeoutSeconds: 99,
  activeDeadlineSeconds: 99,
  ttlSecondsAfterFinished: 9,
  commitStatusAfterSeconds: 9,
  evictionRetryDelaySeconds: 9,
  maxEvictionRetries: 9,
  tracing: false,
  caBundle: { configMapRef: { name: 'a', key: 'b' } },
  notify: [{ slack: { channel: 'C1234567890' } }],
};

const ROWS = JUDGES.flatMap(([judge, fields]) => fields.map((field) => [field, judge] as const));
const isFree = (judge: string): boolean => judge.startsWith('free: ');

it('each field of the spec has exactly one judge', () => {
  expect(ROWS.map(([field]) => field).sort()).toEqual(Object.keys(Spec.shape).sort());
});

it('a judge is a rule of the policy, a field of the pod, or nobody', () => {
  const rules = [...Object.keys(PolicySpec.shape), 'namespaces.scopes', 'namespaces.secrets'];
  const others = ROWS.map(([, judge]) => judge).filter((judge) => !isFree(judge) && !judge.startsWith('spec.'));

  expect(others.filter((judge) => !rules.includes(judge))).toEqual([]);
});

describe.each(ROWS.filter(([, judge]) => !isFree(judge)))('%s, which %s judges', (field, judge) => {
  it('a field is denied by that rule', () => {
    const example = DENIED[field];
    expect(Object.keys(DENIED)).toContain(field);
    if (!example) return;
    expect(example[1].startsWith(judge)).toBe(true);
    expect(denialsWith(example[0]).join('\n')).toContain(example[1]);
  });
});

it.each(ROWS.filter(([, judge]) => isFree(judge)))('%s changes no denial (%s)', (field) => {
  expect(Object.keys(FREE)).toContain(field);
  const bound = { registration: { by: 'serve', for: 'repository' } };
  const needed = field === 'order' || field === 'repositories' ? bound : {};
  expect(denialsWith({ ...needed, [field]: FREE[field] })).toEqual(denialsWith(needed));
});

// `dnsPolicy` is not a field of the spec: its row represents a field that somebody adds.
const judges = Object.entries({ 'spec.runtimeClassName': ['tracing'], 'free: x': ['order'] } satisfies Judges);

it('a field of the pod at the top of the spec is judged as the same field of a podTemplate', () => {
  expect(podFieldsAtTop({ tracing: true, order: [] }, judges)).toEqual([
    { path: 'spec.tracing', value: 'spec.runtimeClassName' },
  ]);
});

it('a field of the pod at the top of the spec is not there when nobody has written it', () => {
  expect(podFieldsAtTop({ order: [] }, judges)).toEqual([]);
});
