/**
 * Tests how sizes and limits are read, and law V95 (docs/spec.md): `validate` reports before a merge what could never
 * be served.
 */
import { describe, expect, it } from 'vitest';
import { warningsOf } from '../../../src/cli/reading/warnings.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { baseOf, imageInTemplate, withSizes, writtenPath } from '../../../src/config/runnergroup/sizes.ts';
import { complaintsOf, groupOf, type Spec } from '../../support/group-files.ts';
import { specRows } from '../../support/rows.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const HOST = { containerMode: 'host', labels: ['linux'] };

const TOGETHER = specRows(`
a weight as large as the cap
  sizes: [{name: large, weight: 10}]
a cap of 0, which starts nothing of any size
  {maxActiveRunners: 0, sizes: [{name: large, weight: 4}]}
a weight as large as a limit
  {sizes: [{name: large, weight: 4}], limits: [{name: web, max: 4}, {per: repository, max: 4}]}
the cap in its other spelling
  {maxActiveRunners: ~, maxWorkers: 4, sizes: [{name: a, weight: 4}]}
tiers without sizes
  priorityTiers: [{threshold: 10, priorityClassName: low}]
one limit of each kind
  limits: [{name: web, max: 4}, {per: repository, max: 1}, {per: organization, max: 2}]
two named limits per repository
  limits: [{name: a, per: repository, max: 4}, {name: b, per: repository, max: 1}]
limits for branches beside one per repository
  limits: [{per: repository, max: 4}, {per: repository, max: 1, branches: [main, release/*]}, {branches: [main, release/*], max: 2}, {branches: ["@a/b#1_x.y-**"], max: 2}]
a named limit and warm runners
  {minIdleRunners: 2, limits: [{name: web, max: 4}]}
a named limit and turns
  {fairness: per-repository, limits: [{name: web, max: 4}]}
`);

/** What is told of sizes and limits that no job could get. */
const NEVER_SERVED = specRows(`
spec.sizes[1].weight: is 11, more than the cap, which is 10: such a job would wait for ever [GR-INPUT-06]
  sizes: [{name: a}, {name: large, weight: 11}]
spec.sizes[0].weight: is 4, more than the cap, which is 3: such a job would wait for ever [GR-INPUT-06]
  {maxActiveRunners: ~, maxWorkers: 3, sizes: [{name: large, weight: 4}]}
spec.sizes[0].weight: is 4, more than the limit web, which is 3: such a job would wait for ever [GR-INPUT-06]
  {maxActiveRunners: 0, sizes: [{name: large, weight: 4}], limits: [{name: web, max: 3}]}
spec.sizes[0].weight: is 4, more than the limit per repository, which is 3: such a job would wait for ever [GR-INPUT-06]
  {sizes: [{name: large, weight: 4}], limits: [{name: web, max: 9}, {per: repository, max: 3}]}
spec.limits[0].branches: does not go with name: Jobs do not say their branch to other groups. Remove one [GR-INPUT-06]
  limits: [{name: web, max: 1, branches: [main]}]
spec.limits[1]: is in this list already: remove one of them [GR-INPUT-06]
  limits: [{branches: [main], max: 1}, {branches: [main], max: 2}]
spec.limits[0].branches: does not go with fairness per-repository, whose turns Gitea does not know: remove one of them [GR-INPUT-06]
  {fairness: per-repository, limits: [{branches: [main], max: 1}]}
spec.sizes[0].name: is a label of the group already, so all its runners have it: choose another name [GR-INPUT-06]
  sizes: [{name: ubuntu-22.04}]
spec.sizes[0].name: is a label of the group already, so all its runners have it: choose another name [GR-INPUT-06]
  {groupLabel: true, sizes: [{name: ci}]}
spec.sizes: does not go with priorityTiers, which count runners and not slots: remove one of them [GR-INPUT-06]
  {sizes: [{name: large}], priorityTiers: [{threshold: 10, priorityClassName: low}]}
spec.limits[2]: is in this list already: remove one of them [GR-INPUT-06]
  limits: [{per: repository, max: 1}, {per: organization, max: 2}, {per: repository, max: 2}]
spec.limits[1]: is in this list already: remove one of them [GR-INPUT-06]
  limits: [{name: web, max: 1}, {name: web, max: 2, per: repository}]
spec.limits[1].per: does not go with fairness per-repository, whose turns Gitea does not know: remove one of them [GR-INPUT-06]
  {fairness: per-repository, limits: [{name: web, max: 4}, {per: repository, max: 1}]}
spec.limits[0].per: does not go with minIdleRunners: Gitea gives an idle runner to any job [GR-INPUT-06]
  {minIdleRunners: 2, limits: [{per: repository, max: 1}]}
spec.limits[0].branches: does not go with minIdleRunners: Gitea gives an idle runner to any job [GR-INPUT-06]
  {minIdleRunners: 2, limits: [{branches: [main], max: 1}]}
spec.limits[0].per: does not go with idleSchedule: Gitea gives an idle runner to any job [GR-INPUT-06]
  {idleSchedule: [{runners: 2, from: 08:00, to: 18:00, timeZone: Europe/Berlin}], limits: [{per: repository, max: 1}]}
spec.limits[0].branches: does not go with idleSchedule: Gitea gives an idle runner to any job [GR-INPUT-06]
  idleSchedule: [{runners: 2, from: 08:00, to: 18:00, timeZone: Europe/Berlin}]
  limits: [{branches: [main], max: 1}]
spec.limits[0].per: does not go with idleDemand: Gitea gives an idle runner to any job [GR-INPUT-06]
  {idleDemand: {most: 2}, limits: [{per: repository, max: 1}]}
spec.limits[0].branches: does not go with idleDemand: Gitea gives an idle runner to any job [GR-INPUT-06]
  {idleDemand: {most: 2}, limits: [{branches: [main], max: 1}]}
`);

it.each(TOGETHER)('sizes and limits that go together: %s', async (_, spec) => {
  expect(await complaintsOf(spec)).toEqual([]);
});

/** YAML can have this key. */
const HIDDEN = { ...JSON.parse('{"a": {"__proto__": 1}}') };

describe('sizes and limits that no job could get', () => {
  it.each(NEVER_SERVED)('%s', async (complaint, spec) => {
    expect(await complaintsOf(spec)).toEqual([complaint]);
  });

  it('a weight above two limits for branches is told for each', async () => {
    const [whole, perRepository] = [
      { branches: ['main', 'fix/*'], max: 3 },
      { per: 'repository', max: 2, branches: ['main'] },
    ];

    expect(await complaintsOf({ sizes: [{ name: 'large', weight: 4 }], limits: [whole, perRepository] })).toEqual(
      ['of branches main, fix/*, which is 3', 'per repository of branches main, which is 2'].map(
        (limit) =>
          `spec.sizes[0].weight: is 4, more than the limit ${limit}: such a job would wait for ever [GR-INPUT-06]`,
      ),
    );
  });

  it.each<[string, Spec]>([
    [
      'sizes of which one has a fault of its own',
      {
        sizes: [
          { name: 'large size', weight: 99 },
          { name: 'b', weight: 99 },
        ],
      },
    ],
    ['limits of which one has a fault of its own', { limits: [{ name: 'a', max: 0 }, { max: 2 }] }],
    ['a weight below a limit that has a fault', { sizes: [{ name: 'a', weight: 9 }], limits: [{ name: 'a', max: 0 }] }],
    ['labels with a fault', { labels: ['a:docker:'], sizes: [{ name: 'a' }] }],
    ['a size that hides a key', { sizes: [{ name: 'a', weight: 99, podTemplate: HIDDEN }] }],
    ['a cap with a fault', { maxActiveRunners: -1, sizes: [{ name: 'a', weight: 9 }] }],
  ])('validate tells one cause once: %s', async (_, spec) => {
    expect(await complaintsOf(spec)).toHaveLength(1);
  });
});

describe('a limit that groups share', () => {
  const group = (name: string, max: number, weights: readonly number[] = [], of = 'web'): RunnerGroup =>
    runnerGroup({
      name,
      labels: [{ name, text: `${name}:host` }],
      resources: { requests: { cpu: '1' }, limits: {} },
      place: { file: `${name}.yaml`, line: 3, column: 1 },
      limits: [
        { name: 'other', max: 99 },
        { name: of, max },
      ],
      sizes: weights.map((weight, index) => ({ name: `size-${index}`, weight })),
    });
  const told = async (...groups: readonly RunnerGroup[]) =>
    (await warningsOf(groups, false)).map(({ code, path, message }) => `${code} ${path.join('.')} ${message}`);

  it('warns of a size that weighs more than the lowest number of all groups, wherever they stand', async () => {
    const [heavy, low, lower] = [group('a', 9, [2, 4]), group('b', 3), group('c', 2)];
    const warning =
      'GR-WARN-10 spec.sizes.1.weight is 4, more than the limit web, which is 2 in runners/c (c.yaml:3): such a job would wait for ever if one Application has both. Write weight 2 at most, or raise that max';

    expect(await told(heavy, low, lower)).toEqual([warning]);
    expect(await told(lower, low, heavy)).toEqual([warning]);
  });

  it('a limit that groups share says nothing of a weight that fits, of another limit, and of limits without a name', async () => {
    const unnamed = (name: string, max: number): RunnerGroup => ({
      ...group(name, 9, [4]),
      limits: [{ per: 'repository', max }],
      registration: { by: 'serve', for: 'repository' },
    });

    expect(await told(group('a', 9, [4]), group('b', 4))).toEqual([]);
    expect(await told(group('a', 9, [4]), group('b', 2, [], 'api'))).toEqual([]);
    expect(await told(unnamed('a', 9), unnamed('b', 2))).toEqual([]);
  });
});

describe('a size as a group', () => {
  const podTemplate = { spec: { containers: [{ name: 'runner', image: 'own:1' }] } };
  const group = runnerGroup({
    minIdleRunners: 2,
    idleSchedule: [{ runners: 1 }] as never,
    idleDemand: { most: 2, minutes: 5 },
    acceptUnlabelledJobs: true,
    resources: { requests: { cpu: '1' }, limits: {} },
    podTemplate: { spec: { nodeSelector: { a: 'b' } } },
    sizes: [
      { name: 'plain', weight: 1 },
      { name: 'large', weight: 4, resources: { requests: { cpu: '4' }, limits: {} }, podTemplate },
    ],
  });
  const [base, plain, large] = withSizes(group);

  it('a size as a group has what it says in place of what the group says, a label more, and no idle runners', () => {
    const none = { minIdleRunners: 0, idleSchedule: [], idleDemand: undefined, acceptUnlabelledJobs: false };

    expect(base).toBe(group);
    expect(plain).toMatchObject({
      ...none,
      size: { name: 'plain', weight: 1, index: 0, group },
      image: group.image,
      resources: group.resources,
      podTemplate: group.podTemplate,
    });
    expect(large).toMatchObject({
      ...none,
      size: { name: 'large', weight: 4, index: 1, group },
      labels: [{ name: 'linux' }, { name: 'large' }],
      image: 'own:1',
      resources: { requests: { cpu: '4' } },
      podTemplate,
    });
    expect(large?.podTemplate).toBe(podTemplate);
  });

  it('a size as a group is always the same object, and has no sizes of its own', () => {
    expect(withSizes(group)[1]).toBe(plain);
    expect(withSizes(group)[2]).toBe(large);
    expect(large && withSizes(large)).toEqual([large]);
    expect(withSizes(runnerGroup())).toHaveLength(1);
  });

  it('a size as a group is told at its RunnerGroup: what is its own at the size, the rest at the group', () => {
    const path = ['spec', 'podTemplate', 'spec'];

    expect(large && baseOf(large)).toBe(group);
    expect(baseOf(group)).toBe(group);
    expect(large && writtenPath(large, path)).toEqual(['spec', 'sizes', 1, 'podTemplate', 'spec']);
    expect(plain && writtenPath(plain, path)).toEqual(path);
    expect(writtenPath(group, path)).toEqual(path);
    expect(large && writtenPath(large, ['spec', 'image'])).toEqual(['spec', 'image']);
  });

  it('a size as a group is read with what it says only', async () => {
    const read = await groupOf({
      ...HOST,
      sizes: [{ name: 'a' }, { name: 'b', weight: 2, resources: { limits: { cpu: 2 } }, podTemplate: { spec: {} } }],
    });

    expect(read.sizes).toEqual([
      { name: 'a', weight: 1 },
      { name: 'b', weight: 2, resources: { requests: {}, limits: { cpu: '2' } }, podTemplate: { spec: {} } },
    ]);
  });
});

describe('the image that a podTemplate names', () => {
  const of = (containers: unknown) => imageInTemplate({ spec: { containers } });

  it.each([
    [
      'of container runner',
      [
        { name: 'db', image: 'x' },
        { name: 'runner', image: 'own:1' },
      ],
      1,
    ],
    ['beside what is no container', [null, { name: 'runner', image: 'own:1' }], 1],
  ])('the image that a podTemplate names is that %s', (_, containers, index) => {
    expect(of(containers)).toEqual({ image: 'own:1', path: ['podTemplate', 'spec', 'containers', index, 'image'] });
  });

  it.each([
    ['other containers', [{ name: 'db', image: 'x' }]],
    ['no image', [{ name: 'runner' }]],
    ['an empty image', [{ name: 'runner', image: '' }]],
    ['an image that is no string', [{ name: 'runner', image: 1 }]],
    ['no list', { name: 'runner', image: 'x' }],
    ['nothing', undefined],
  ])('the image that a podTemplate names is none with %s', (_, containers) => {
    expect(of(containers)).toBeUndefined();
    expect(imageInTemplate(undefined)).toBeUndefined();
  });
});
