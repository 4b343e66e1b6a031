/**
 * Law T18: with any values of a group, a size and their podTemplates, Kubernetes accepts the rendered pods
 * (`ValidateContainerResourceRequirements`), or the group is refused. Amounts are whole numbers, so they can be
 * compared as they are.
 */
import { expect, it } from 'vitest';
import { runnerGroupFromObject } from '../../src/config/runnergroup/from-object.ts';
import { podProblem } from '../../src/plan/own-pod.ts';
import { document } from '../support/group-files.ts';
import { fc, RUNS } from '../support/property.ts';

const NAMES = ['cpu', 'memory', 'hugepages-2Mi', 'example.com/gpu', 'example.kubernetes.io/native'];
/** Huge pages are given whole. */
const PAGE = 2 * 1024 ** 2;
type Amounts = Readonly<Record<string, number | null>>;
type Asked = Readonly<Record<'requests' | 'limits', Amounts>>;

const asked = (amount: fc.Arbitrary<number | null>): fc.Arbitrary<Asked> => {
  const pages = (name: string, number: number | null) => (number && name === 'hugepages-2Mi' ? number * PAGE : number);
  const amounts = fc
    .dictionary(fc.constantFrom(...NAMES), amount, { maxKeys: 2, noNullPrototype: true })
    .map((each) => Object.fromEntries(Object.entries(each).map(([name, number]) => [name, pages(name, number)])));
  return fc.record({ requests: amounts, limits: amounts });
};
const amount = fc.integer({ min: 1, max: 2 });
const written = asked(amount);
/** A null takes away. */
const template = fc.option(asked(fc.option(amount)), { nil: undefined });

const anyGroup = fc.record({
  resources: written,
  template,
  size: fc.option(fc.record({ resources: fc.option(written, { nil: undefined }), template }), { nil: undefined }),
  hasSetup: fc.boolean(),
});

function isTaken({ requests, limits }: Asked): boolean {
  const names = [requests, limits].flatMap((amounts) => NAMES.filter((name) => typeof amounts[name] === 'number'));
  // Kubernetes: "HugePages require cpu or memory".
  if (names.includes('hugepages-2Mi') && !names.includes('cpu') && !names.includes('memory')) return false;
  return Object.entries(requests).every(([name, request]) => {
    const limit = limits[name] ?? undefined;
    const isShared = !['hugepages-2Mi', 'example.com/gpu'].includes(name);
    return request === null || (isShared ? limit === undefined || request <= limit : request === limit);
  });
}

const merged = (under: Asked, over: Asked | undefined): Asked => ({
  requests: { ...under.requests, ...over?.requests },
  limits: { ...under.limits, ...over?.limits },
});

const withTemplate = (resources: Asked | undefined): object =>
  resources ? { podTemplate: { spec: { containers: [{ name: 'runner', resources }] } } } : {};

it('a container whose resources Kubernetes refuses is never rendered, and no other is refused (law T18)', () => {
  const seen = { good: 0, bad: 0 };
  fc.assert(
    fc.property(anyGroup, ({ resources, template: own, size, hasSetup }) => {
      const { metadata, spec } = JSON.parse(
        document({
          resources,
          ...withTemplate(own),
          ...(hasSetup && { setupCommand: ['true'] }),
          ...(size && { sizes: [{ name: 'large', resources: size.resources, ...withTemplate(size.template) }] }),
        }),
      );
      const pods = [
        { under: resources, over: own },
        ...(size ? [{ under: size.resources ?? resources, over: size.template ?? own }] : []),
      ];
      // Containers before the runner have the group's requests, and nothing of the template.
      const all = pods.flatMap(({ under, over }) => [merged(under, over), ...(hasSetup ? [under] : [])]);
      const isGood = all.every(isTaken);
      seen[isGood ? 'good' : 'bad'] += 1;

      const read = runnerGroupFromObject({ ...metadata, namespace: 'runners', spec });
      const problem = 'problem' in read ? read.problem : podProblem(read.group);

      expect(problem).toEqual(isGood ? undefined : expect.stringMatching(/resources\.(?:requests|limits)/));
    }),
    { numRuns: RUNS * 5 },
  );
  expect(Math.min(seen.good, seen.bad)).toBeGreaterThan(RUNS / 4);
});
