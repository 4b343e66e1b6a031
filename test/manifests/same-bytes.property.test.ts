import { ApiObject } from 'cdk8s';
/** `generate` writes text and `cdk8s synth` objects: the same bytes and the same meaning, for any groups and runners. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { RUNS } from '../support/property.ts';
import { anyOutput } from './any-output.ts';
import { appOf, generated, group, runner, synthesized } from './fixtures.ts';

test('the output is the same to the byte, for any groups and runners', () => {
  fc.assert(
    fc.property(anyOutput, fc.boolean(), (groups, emitGroups) => {
      expect(generated(groups, { emitGroups })).toBe(synthesized(groups, { emitGroups }));
    }),
    { numRuns: RUNS },
  );
});

test('the output means the objects of the tree to readers of YAML 1.1 and 1.2, for any groups and runners', () => {
  fc.assert(
    fc.property(anyOutput, fc.boolean(), (groups, emitGroups) => {
      const objects = appOf(groups, { emitGroups })
        .node.findAll()
        .flatMap((construct) => (ApiObject.isApiObject(construct) ? [construct.toJson()] : []));
      // A lone surrogate cannot be written in UTF-8.
      const expected = JSON.parse(JSON.stringify(objects), (_, value) =>
        typeof value === 'string' ? value.replace(/\p{Cs}/gu, '\ufffd') : value,
      );

      const text = generated(groups, { emitGroups });

      for (const version of ['1.1', '1.2'] as const) {
        const documents = parseAllDocuments(text, { version });
        expect([...documents].flatMap(({ errors }) => errors)).toEqual([]);
        expect([...documents].map((each) => each.toJS())).toEqual(expected);
      }
    }),
    { numRuns: Math.ceil(RUNS / 5) },
  );
});

test('the output is the same when some runners live with a spec that is not the template', () => {
  const spec = fc.dictionary(fc.string({ unit: 'binary', maxLength: 20 }), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(
    fc.property(anyOutput, fc.array(fc.option(spec, { nil: undefined })), (groups, specs) => {
      const liveSpecOf = ({ runner: name }: { readonly runner: string }) => specs[name.length % (specs.length + 1)];
      expect(generated(groups, { liveSpecOf })).toBe(synthesized(groups, { liveSpecOf }));
    }),
    { numRuns: RUNS },
  );
});

const labelled = (...marks: readonly string[]) => group({ labels: marks.map((text) => ({ name: text, text })) });
test.each([
  ['the name of a runner has not our form', group(), 'a "strange": name\n'],
  ['a label is one of the marks that texts are cut at', labelled('zzzmarkzzz'), 'ci-0-1-9c31e0aa'],
  ['labels are all of the marks', labelled('zzzmarkzzz', 'qqqmarkqqq', 'xxxmarkxxx'), 'ci-0-1-9c31e0aa'],
])('the output is the same when %s, and with other documents', (_, of, name) => {
  const groups = [{ group: of, runners: [runner(), runner({ runner: name })] }];
  const more = { emitGroups: true, others: ['{"kind": "A"}', 'kind: B\n'] };

  expect(generated(groups, more)).toBe(synthesized(groups, more));
});
