/** Tests for whom a rule holds (F129), whether it denies or warns (F130), and who is excepted for a time (F131). */
import { describe, expect, it } from 'vitest';
import { judge, tokenBounds } from '../../../src/config/policy/check.ts';
import type { Asker } from '../../../src/config/policy/denial.ts';
import { readPolicy } from '../../../src/config/policy/policy-schema.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { fc, test as property } from '../../support/property.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { type AnyGroup, BY_HAND, denialsOf, policyOf } from './support.ts';

const group = (over: AnyGroup = {}): RunnerGroup => ({ ...runnerGroup(), ...over }) as RunnerGroup;
const TEMPLATE = { podTemplate: { spec: { nodeSelector: { a: 'b' } } } };

/** `denied images`, `warned images`, in that order. */
function judged(spec: unknown, groups: readonly RunnerGroup[] = [group()], asker: Asker = BY_HAND): readonly string[] {
  const { denials, warnings } = judge(policyOf(spec), groups, asker);
  const text = (word: string) => (each: (typeof denials)[number]) =>
    `${word} ${each.rule}${each.group ? ` ${each.group.name}` : ''}`;
  return [...denials.map(text('denied')), ...warnings.map(text('warned'))];
}

/** For each rule: a policy that allows the group, one that denies it, and the group. */
const RULES: readonly (readonly [rule: string, open: object, closed: object, AnyGroup])[] = [
  ['giteas', { giteas: ['https://gitea.example.com/'] }, { giteas: ['https://other.example.com'] }, {}],
  ['images', { images: ['docker.io/gitea/*'] }, { images: [] }, {}],
  ['registries', { registries: ['docker.io'] }, { registries: [] }, {}],
  [
    'securityProfile',
    { securityProfile: { highest: 'privileged' } },
    { securityProfile: { highest: 'restricted' } },
    { containerMode: 'dind' },
  ],
  ['podTemplateFields', { podTemplateFields: ['spec.nodeSelector'] }, { podTemplateFields: [] }, TEMPLATE],
  [
    'priorityClasses',
    { priorityClasses: ['high'] },
    { priorityClasses: [] },
    { priorityTiers: [{ priorityClassName: 'high' }] },
  ],
  [
    'serviceAccounts',
    { serviceAccounts: ['ci'] },
    { serviceAccounts: [] },
    { podTemplate: { spec: { serviceAccountName: 'ci' } } },
  ],
  ['queues', { queues: ['team-*'] }, { queues: [] }, { queue: 'team-a' }],
  ['queues', { queues: ['team-a'] }, { queues: ['team-b'] }, { queue: 'team-a' }],
  ['queues', { queues: [] }, { queues: ['team-a'] }, {}],
  [
    'maxResources',
    { maxResources: { cpu: 8 } },
    { maxResources: { cpu: 1 } },
    { resources: { requests: { cpu: '2' }, limits: {} } },
  ],
];

describe.each(RULES)('%s', (rule, open, closed, over) => {
  it('a rule of a namespace takes the place of that of the policy, both ways', () => {
    expect(denialsOf({ ...open, namespaces: [{ name: 'runners', ...closed }] }, over).join()).toContain(rule);
    expect(denialsOf({ ...closed, namespaces: [{ name: 'runners', ...open }] }, over)).toEqual([]);
    expect(denialsOf({ ...closed, namespaces: [{ name: 'x', ...open }, { name: '*' }] }, over).join()).toContain(rule);
  });

  it('a rule of some groups takes the place of that of their namespace, both ways', () => {
    const match = { namespace: 'runners', name: 'ci' };
    const inNamespace = (rules: object) => ({ namespaces: [{ name: '*', ...rules }] });

    expect(denialsOf({ ...inNamespace(open), groups: [{ match, ...closed }] }, over).join()).toContain(rule);
    expect(denialsOf({ ...inNamespace(closed), groups: [{ match, ...open }] }, over)).toEqual([]);
  });
});

describe('which groups an entry means', () => {
  const STRICT = { images: [] };

  it.each<[string, object, boolean]>([
    ['all of them without a word', {}, true],
    ['its namespace', { namespace: 'run*' }, true],
    ['another namespace', { namespace: 'team-*' }, false],
    ['its name', { name: 'c*' }, true],
    ['another name', { name: 'cd' }, false],
    ['its scope', { scope: 'org:acme' }, true],
    ['another scope', { scope: 'org:beta' }, false],
    ['its label', { labels: { tier: 'gold' } }, true],
    ['another value of its label', { labels: { tier: 'silver' } }, false],
    ['one of two labels', { labels: { tier: 'gold', team: 'a' } }, false],
    ['its name in another namespace', { namespace: 'team-*', name: 'ci' }, false],
  ])('%s', (_, match, isMeant) => {
    const manifest = { metadata: { labels: { tier: 'gold' } }, spec: {} };
    const denials = denialsOf({ groups: [{ match, ...STRICT }] }, { manifest });

    expect(denials).toEqual(isMeant ? ['images spec.image'] : []);
  });

  it('the first that fits counts, also when it says nothing of a rule', () => {
    expect(denialsOf({ groups: [{ match: {} }, { match: {}, ...STRICT }] })).toEqual([]);
    expect(denialsOf({ groups: [{ match: { name: 'x' } }, { match: {}, ...STRICT }] })).toEqual(['images spec.image']);
  });

  it('a repository by its owner', () => {
    const scope = { kind: 'repo', owner: 'acme', repo: 'web' } as const;
    expect(denialsOf({ groups: [{ match: { scope: 'org:acme' }, ...STRICT }] }, { scope })).toHaveLength(1);
  });

  it.each(['ACME', 'acme'])('an entry means the scope of a group as Gitea reads it, in any case: %s', (org) => {
    const entry = { match: { scope: 'org:Acme' }, ...STRICT };

    expect(denialsOf({ groups: [entry] }, { scope: { kind: 'org', org } })).toHaveLength(1);
    expect(denialsOf({ groups: [entry] }, { scope: { kind: 'repo', owner: org, repo: 'web' } })).toHaveLength(1);
    expect(denialsOf({ namespaces: [{ name: '*', scopes: ['org:Acme'] }] }, { scope: { kind: 'org', org } })).toEqual(
      [],
    );
  });

  it('scopes, Secrets and destinations, too', () => {
    const asker = { isArgoCd: true, destination: 'elsewhere' };
    const entry = { match: {}, scopes: [], secrets: [], destinations: ['elsewhere'] };

    expect(denialsOf({ groups: [entry] }, {}, asker)).toEqual([
      'namespaces.scopes spec.scope',
      'namespaces.secrets spec.registrationToken',
      'namespaces.secrets spec.authToken',
    ]);
  });
});

describe('projects and repositories of an entry', () => {
  const asker: Asker = {
    isArgoCd: true,
    destination: 'runners',
    project: 'ci',
    repository: 'https://g.example.com/a/b',
  };

  it('deny its groups only', () => {
    const spec = { groups: [{ match: { name: 'a' }, projects: ['ops'], repositories: [] }] };

    expect(judged(spec, [group({ name: 'a' }), group({ name: 'b' })], asker)).toEqual([
      'denied projects a',
      'denied repositories a',
    ]);
  });

  it('hold besides those of the whole Application', () => {
    expect(judged({ projects: ['ops'], groups: [{ match: {}, projects: ['ci'] }] }, [group()], asker)).toEqual([
      'denied projects',
    ]);
  });
});

describe('maxActiveRunners of an entry', () => {
  const [a, b, c] = [
    group({ name: 'a', maxActiveRunners: 6 }),
    group({ name: 'b', maxActiveRunners: 6 }),
    group({ name: 'c', maxActiveRunners: 6, namespace: 'team-c' }),
  ];
  const groups = [a, b, c] as RunnerGroup[];

  it('maxActiveRunners of an entry is for each namespace, and denies its groups only', () => {
    expect(judged({ namespaces: [{ name: '*', maxActiveRunners: 11 }] }, groups)).toEqual([
      'denied maxActiveRunners a',
      'denied maxActiveRunners b',
    ]);
    expect(judged({ namespaces: [{ name: '*', maxActiveRunners: 12 }] }, groups)).toEqual([]);
  });

  it('maxActiveRunners of an entry holds besides that of the policy', () => {
    const entries = { namespaces: [{ name: '*', maxActiveRunners: 12 }] };
    expect(judged({ maxActiveRunners: 17, ...entries }, groups)).toEqual(['denied maxActiveRunners']);
    expect(judged({ maxActiveRunners: 18, ...entries }, groups)).toEqual([]);
  });

  it('maxActiveRunners of an entry counts no group that is denied, and says how much it is', () => {
    const spec = { namespaces: [{ name: 'runners', maxActiveRunners: 11, registries: ['docker.io'] }, { name: '*' }] };
    const other = group({ ...b, image: 'x.example.com/y' } as AnyGroup);

    expect(judged(spec, [a as RunnerGroup, other])).toEqual(['denied registries b']);
    const [denial] = judge(policyOf(spec), [a, b] as RunnerGroup[], BY_HAND).denials;
    expect(denial?.message).toBe(
      'is 12 over all 2 RunnerGroups of namespace runners; the policy allows 11. Lower it in some of them',
    );
  });

  it('a maxActiveRunners of an entry that one group breaks alone denies that one alone', () => {
    expect(judged({ groups: [{ match: { name: 'a' }, maxActiveRunners: 5 }] }, groups)).toEqual([
      'denied maxActiveRunners a',
    ]);
  });
});

describe('enforcement', () => {
  const BAD = { images: [], registries: [] };
  const ENTRY = { name: 'runners' };

  it.each<[string, object, readonly string[]]>([
    ['deny is the default', BAD, ['denied images ci', 'denied registries ci']],
    ['a policy may warn', { ...BAD, enforcement: 'warn' }, ['warned images ci', 'warned registries ci']],
    [
      'a policy may warn of one rule',
      { ...BAD, enforcementOf: { images: 'warn' } },
      ['denied registries ci', 'warned images ci'],
    ],
    [
      'a policy that warns may deny by one rule',
      { ...BAD, enforcement: 'warn', enforcementOf: { images: 'deny' } },
      ['denied images ci', 'warned registries ci'],
    ],
    [
      'the enforcement of the namespace comes before that of the policy',
      { ...BAD, enforcementOf: { images: 'deny' }, namespaces: [{ ...ENTRY, enforcement: 'warn' }] },
      ['warned images ci', 'warned registries ci'],
    ],
    [
      'the enforcement of another namespace does not count',
      { ...BAD, namespaces: [{ name: 'x', enforcement: 'warn' }, ENTRY] },
      ['denied images ci', 'denied registries ci'],
    ],
    [
      'the enforcement of some groups comes before that of their namespace',
      { ...BAD, groups: [{ match: {}, enforcement: 'deny' }], namespaces: [{ ...ENTRY, enforcement: 'warn' }] },
      ['denied images ci', 'denied registries ci'],
    ],
  ])('%s', (_, spec, outcome) => {
    expect(judged(spec)).toEqual(outcome);
  });

  it('warns of the Application as a whole, too', () => {
    const asker: Asker = { isArgoCd: true, destination: 'runners', project: 'x', repository: 'y' };
    expect(judged({ projects: [], repositories: [], enforcement: 'warn' }, [group()], asker)).toEqual([
      'warned projects',
      'warned repositories',
    ]);
  });

  it.each<[string, AnyGroup, Partial<Asker>]>([
    ['a service account', { podTemplate: { spec: { serviceAccountName: 'admin' } } }, {}],
    ['a priority class of a template', { podTemplate: { spec: { priorityClassName: 'high' } } }, {}],
    ['a privileged template', { securityProfile: 'privileged', podTemplate: {} }, {}],
    ['another namespace', { namespace: 'team-b' }, { isArgoCd: true, destination: 'runners' }],
    ['a podTemplate that cannot be read', { podTemplate: 'x' }, {}],
  ])('warn does not open %s, which is closed without a policy file', (_, over, asker) => {
    const told = { isArgoCd: false, ...asker };
    const lists = { serviceAccounts: ['ci'], priorityClasses: ['ci'], securityProfile: { highest: 'baseline' } };

    for (const spec of [{}, lists])
      expect(judged({ ...spec, enforcement: 'warn' }, [group(over)], told).join()).toMatch(/^denied /);
  });

  it('a cap that is only warned of denies no others', () => {
    const groups = [
      group({ name: 'a', maxActiveRunners: 6 }),
      group({ name: 'b', maxActiveRunners: 6, namespace: 'new' }),
    ];
    const warn = { namespaces: [{ name: 'new', enforcement: 'warn' }, { name: '*' }] };

    expect(judged({ maxActiveRunners: 11, ...warn }, groups)).toEqual(['warned maxActiveRunners b']);
    expect(judged({ maxActiveRunners: 5, ...warn }, groups)).toEqual([
      'denied maxActiveRunners a',
      'warned maxActiveRunners b',
    ]);
    expect(judged({ maxActiveRunners: 12, ...warn }, groups)).toEqual([]);
    expect(judged({ maxActiveRunners: 11, enforcement: 'warn' }, groups)).toEqual(['warned maxActiveRunners']);
    const third = group({ name: 'c', maxActiveRunners: 6 });
    expect(judged({ maxActiveRunners: 11, ...warn }, [...groups, third])).toEqual([
      'denied maxActiveRunners a',
      'denied maxActiveRunners c',
    ]);
  });

  it('a scope that is only warned of does not bind the token', () => {
    const reach = (more: object) =>
      tokenBounds(policyOf({ namespaces: [{ name: 'a', scopes: ['org:x'] }], ...more })).reachOf('a');

    expect(reach({})?.covers('x', 'y')).toBe(true);
    expect(reach({})?.covers('z', 'y')).toBe(false);
    expect(reach({ enforcement: 'warn' })).toBeUndefined();
    expect(reach({ enforcementOf: { 'namespaces.scopes': 'warn' } })).toBeUndefined();
  });

  it('the scopes of an entry of groups bind the token besides', () => {
    const entry = { match: { namespace: 'a*' }, scopes: ['org:y'] };
    const { reachOf } = tokenBounds(
      policyOf({ namespaces: [{ name: 'a', scopes: ['org:x', 'org:y'] }], groups: [entry] }),
    );

    expect(reachOf('a')?.covers('x', 'r')).toBe(false);
    expect(reachOf('a')?.covers('y', 'r')).toBe(true);
    expect(reachOf('a')?.id).toBe('org:x org:y; org:y');
    expect(reachOf('b')).toBeUndefined();
    expect(reachOf('ab')?.covers('x', 'r')).toBe(false);
  });
});

describe('an exception', () => {
  const UNTIL = { groups: ['runners/*'], rules: ['images'], until: '2027-03-31', reason: 'new registry' };
  const at = (text: string): Asker => ({ isArgoCd: false, nowMs: Date.parse(text) });
  const spec = { images: [], exceptions: [UNTIL] };

  it.each<[string, string, readonly string[]]>([
    ['long before its end says nothing', '2027-03-17T23:59:59.999Z', []],
    ['is told for 14 days', '2027-03-18T00:00:00Z', ['warned images ci']],
    ['holds to the end of its last day', '2027-03-31T23:59:59.999Z', ['warned images ci']],
    ['denies after it', '2027-04-01T00:00:00Z', ['denied images ci']],
  ])('%s', (_, now, outcome) => {
    expect(judged(spec, [group()], at(now))).toEqual(outcome);
  });

  it('an exception has ended for those who tell no time', () => {
    expect(judged(spec)).toEqual(['denied images ci']);
  });

  it('an exception says its last day and its reason', () => {
    const messages = (now: string) => {
      const { denials, warnings } = judge(policyOf(spec), [group()], at(now));
      return [...denials, ...warnings].map(({ message }) => message);
    };
    expect(messages('2027-03-31')[0]).toMatch(/\(an exception allows it until 2027-03-31: new registry\)$/);
    expect(messages('2027-04-01')[0]).toMatch(/\(its exception ended on 2027-03-31: new registry\)$/);
  });

  it.each<[string, object]>([
    ['other rules', { rules: ['registries'] }],
    ['other groups', { groups: ['team-a/*', 'runners/cd'] }],
  ])('an exception is not for %s', (_, other) => {
    expect(judged({ images: [], exceptions: [{ ...UNTIL, ...other }] }, [group()], at('2027-01-01'))).toEqual([
      'denied images ci',
    ]);
  });

  it('the longer one of two exceptions counts, in any order', () => {
    const short = { ...UNTIL, until: '2027-01-02' };
    for (const exceptions of [
      [UNTIL, short],
      [short, UNTIL],
    ])
      expect(judged({ images: [], exceptions }, [group()], at('2027-02-01'))).toEqual([]);
  });

  it('an exception opens no podTemplate that cannot be read, and opens a service account', () => {
    const exceptions = [{ ...UNTIL, rules: ['podTemplateFields', 'serviceAccounts'] }];
    const account = group({ podTemplate: { spec: { serviceAccountName: 'ci' } } });

    expect(judged({ exceptions }, [group({ podTemplate: 'x' })], at('2027-01-01'))).toEqual([
      'denied podTemplateFields ci',
    ]);
    expect(judged({ exceptions }, [account], at('2027-01-01'))).toEqual([]);
  });

  it('an exception takes a group out of the sum of caps', () => {
    const groups = [group({ name: 'a', maxActiveRunners: 6 }), group({ name: 'b', maxActiveRunners: 6 })];
    const exceptions = [{ ...UNTIL, groups: ['runners/b'], rules: ['maxActiveRunners'] }];

    expect(judged({ maxActiveRunners: 11, exceptions }, groups, at('2027-01-01'))).toEqual([]);
    expect(judged({ maxActiveRunners: 11, exceptions }, groups, at('2028-01-01'))).toEqual(['denied maxActiveRunners']);
  });

  it.each<[string, object, RegExp]>([
    ['a day that is none', { until: '2027-02-30' }, /exceptions\[0\]\.until: must be a day, e\.g\. 2027-03-31/],
    ['a time', { until: '2027-02-03T00:00' }, /must be a day/],
    ['no end', { until: undefined }, /until: is required/],
    ['no reason', { reason: '' }, /reason/],
    ['no group', { groups: [] }, /groups/],
    ['a name without a namespace', { groups: ['ci'] }, /must be NAMESPACE\/NAME/],
    ['an unknown rule', { rules: ['image'] }, /rules\[0\]: must be one of/],
    ['an unknown field', { note: 'x' }, /unknown field/],
  ])('an exception with %s makes the policy unusable', (_, wrong, problem) => {
    const text = JSON.stringify({
      apiVersion: 'gitea.bpg.pw/v1alpha1',
      kind: 'RunnerPolicy',
      spec: { exceptions: [{ ...UNTIL, ...wrong }] },
    });
    const read = readPolicy('p', text);
    expect('problems' in read && read.problems.join()).toMatch(problem);
  });
});

describe("a tenant's own reason", () => {
  const manifest = { metadata: { annotations: { 'gitea.bpg.pw/profile-reason': 'builds images' } } };
  const spec = { securityProfile: { highest: 'restricted', withReason: 'privileged' } };

  it("a tenant's own reason counts in this release, with a warning", () => {
    expect(judged(spec, [group({ containerMode: 'dind', manifest })])).toEqual(['warned securityProfile ci']);
  });

  it("a tenant's own reason is not warned of when it is not needed", () => {
    expect(judged(spec, [group({ manifest })])).toEqual([]);
  });
});

const anyGroup = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  namespace: fc.constantFrom('runners', 'team-a'),
  image: fc.constantFrom('gitea/runner:1', 'evil.example.com/x:1'),
  maxActiveRunners: fc.integer({ min: 1, max: 9 }),
  containerMode: fc.constantFrom('host', 'dind'),
});
const anyRules = fc.record(
  {
    registries: fc.constantFrom([], ['docker.io']),
    securityProfile: fc.constant({ highest: 'restricted' }),
    enforcement: fc.constantFrom('deny', 'warn'),
    enforcementOf: fc.constantFrom({ registries: 'warn' }, { securityProfile: 'deny' }),
  },
  { requiredKeys: [] },
);
const anyPolicy = fc.record({
  top: anyRules,
  namespaces: fc.array(fc.tuple(fc.constantFrom('runners', '*'), anyRules), { maxLength: 2 }),
  groups: fc.array(fc.tuple(fc.constantFrom('a', 'b', '*'), anyRules), { maxLength: 2 }),
});

property(
  'what is denied of one group changes nothing for the others',
  [fc.array(anyGroup, { maxLength: 4 }), anyPolicy],
  (written, { top, namespaces, groups }) => {
    const policy = policyOf({
      ...top,
      namespaces: [...namespaces.map(([name, rules]) => ({ name, ...rules })), { name: '*' }],
      groups: groups.map(([name, rules]) => ({ match: { name }, ...rules })),
    });
    const all = written.map((each) => group(each as AnyGroup));
    const ofOne = (some: readonly RunnerGroup[], one: RunnerGroup) => {
      const { denials, warnings } = judge(policy, some, BY_HAND);
      return [denials, warnings].map((list) => list.filter((each) => each.group === one));
    };
    for (const one of all) expect(ofOne(all, one)).toEqual(ofOne([one], one));
  },
);
