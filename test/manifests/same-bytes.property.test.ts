import { ApiObject } from 'cdk8s';
/** `generate` writes text and `cdk8s synth` objects: the same bytes and the same meaning, for any groups and runners. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { RUNS } from '../support/property.ts';
import { anyOutput } from './any-output.ts';
import { appOf, generated, group, runner, synthesized } from './fixtures.ts';

describe('the output', () => {
  test('is the same to the byte, for any groups and runners', () => {
    fc.assert(
      fc.property(anyOutput, fc.boolean(), (groups, emitGroups) => {
        expect(generated(groups, { emitGroups })).toBe(synthesized(groups, { emitGroups }));
      }),
      { numRuns: RUNS },
    );
  });

  test('means the objects of the tree, for any groups and runners', () => {
    fc.assert(
      fc.property(anyOutput, fc.boolean(), (groups, emitGroups) => {
        const objects = appOf(groups, { emitGroups })
          .node.findAll()
          .flatMap((construct) => (ApiObject.isApiObject(construct) ? [construct.toJson()] : []));
        // A lone surrogate cannot be written in UTF-8.
        const expected = JSON.parse(JSON.stringify(objects), (_, value) =>
          typeof value === 'string' ? value.replace(/\p{Cs}/gu, '\ufffd') : value,
        );

        const documents = parseAllDocuments(generated(groups, { emitGroups }), { version: '1.1' });

        expect([...documents].map((each) => each.toJS())).toEqual(expected);
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });

  test('is the same when some runners live with a spec that is not the template', () => {
    const spec = fc.dictionary(fc.string({ unit: 'binary', maxLength: 20 }), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(anyOutput, fc.array(fc.option(spec, { nil: undefined })), (groups, specs) => {
        const liveSpecOf = ({ runner: name }: { readonly runner: string }) => specs[name.length % (specs.length + 1)];
        expect(generated(groups, { liveSpecOf })).toBe(synthesized(groups, { liveSpecOf }));
      }),
      { numRuns: RUNS },
    );
  });

  test('is the same for thousands of runners of one group', () => {
    const runners = Array.from({ length: 3000 }, (_, index) => runner({ runner: `ci-${index}-1-9c31e0aa` }));
    const groups = [{ group: group(), runners }];

    expect(generated(groups)).toBe(synthesized(groups));
  });

  test('is the same for a runner whose name has not our form', () => {
    const groups = [{ group: group(), runners: [runner({ runner: 'a "strange": name\n' })] }];

    expect(generated(groups)).toBe(synthesized(groups));
  });

  test.each([
    ['one of the marks', ['zzzmarkzzz']],
    ['all marks', ['zzzmarkzzz', 'qqqmarkqqq', 'xxxmarkxxx']],
  ])('is the same when a label is %s that texts are cut at', (_name, marks) => {
    const labels = marks.map((mark) => ({ name: mark, text: mark }));
    const groups = [{ group: group({ labels }), runners: [runner(), runner({ runner: 'ci-0-1-9c31e0aa' })] }];

    expect(generated(groups)).toBe(synthesized(groups));
  });

  test('passes other documents through in the same place', () => {
    const others = ['{"kind": "A"}', 'kind: B\n'];
    const groups = [{ group: group(), runners: [runner()] }];

    expect(generated(groups, { emitGroups: true, others })).toBe(synthesized(groups, { emitGroups: true, others }));
  });
});
