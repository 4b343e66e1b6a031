/** `generate` loads no cdk8s, and prints what cdk8s would: to the byte, for any groups and runners. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildApp } from '../../src/charts/app.ts';
import { constructedTemplate, makeSkeletons } from '../../src/charts/job-construct.ts';
import { podTemplate } from '../../src/charts/pod-template.ts';
import { renderManifests } from '../../src/charts/render.ts';
import { blanksOf } from '../../src/charts/skeleton.ts';
import { manifestPieces } from '../../src/charts/text.ts';
import { anyGroup, anyOutput } from './any-output.ts';
import { group, runner } from './fixtures.ts';

/** Cases per property; more by `PROPERTY_RUNS=20000`. */
const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 2000);

describe('the template of a group', () => {
  test('is the one that cdk8s makes, to the byte, for any group', () => {
    fc.assert(
      fc.property(anyGroup, (any) => {
        expect(JSON.stringify(podTemplate(any))).toBe(JSON.stringify(constructedTemplate(any)));
      }),
      { numRuns },
    );
  });

  test('is filled into forms that are up to date (else: npm run generated)', () => {
    expect(JSON.parse(readFileSync('src/charts/skeletons.json', 'utf8'))).toEqual(makeSkeletons());
  });

  test('has every blank in at least one form', () => {
    const forms = readFileSync('src/charts/skeletons.json', 'utf8');

    expect(Object.keys(blanksOf(group())).filter((name) => !forms.includes(`"$blank": "${name}"`))).toEqual([]);
  });
});

describe('the output', () => {
  const quick = (...args: Parameters<typeof manifestPieces>) => manifestPieces(...args).join('');

  test('is the one that cdk8s makes, to the byte, for any groups and runners', () => {
    fc.assert(
      fc.property(anyOutput, fc.boolean(), (groups, emitGroups) => {
        expect(quick(groups, { emitGroups, passThrough: [] })).toBe(renderManifests(buildApp({ groups, emitGroups })));
      }),
      { numRuns },
    );
  });

  test('is the same for thousands of runners of one group', () => {
    const runners = Array.from({ length: 3000 }, (_, index) => runner({ runner: `ci-${index}-1-9c31e0aa` }));
    const groups = [{ group: group(), runners }];

    expect(quick(groups, { emitGroups: false, passThrough: [] })).toBe(
      renderManifests(buildApp({ groups, emitGroups: false })),
    );
  });

  test('is the same for a runner whose name has not our form', () => {
    const groups = [{ group: group(), runners: [runner({ runner: 'a "strange": name\n' })] }];

    expect(quick(groups, { emitGroups: false, passThrough: [] })).toBe(
      renderManifests(buildApp({ groups, emitGroups: false })),
    );
  });

  test.each([
    ['one of the marks', ['zzzmarkzzz']],
    ['all marks', ['zzzmarkzzz', 'qqqmarkqqq', 'xxxmarkxxx']],
  ])('is the same when a label is %s that texts are cut at', (_name, marks) => {
    const labels = marks.map((mark) => ({ name: mark, text: mark }));
    const groups = [{ group: group({ labels }), runners: [runner(), runner({ runner: 'ci-0-1-9c31e0aa' })] }];

    expect(quick(groups, { emitGroups: false, passThrough: [] })).toBe(
      renderManifests(buildApp({ groups, emitGroups: false })),
    );
  });

  test('passes other documents through in the same place', () => {
    const passThrough = ['{"kind": "A"}', 'kind: B\n'];
    const groups = [{ group: group(), runners: [runner()] }];

    expect(quick(groups, { emitGroups: true, passThrough })).toBe(
      renderManifests(buildApp({ groups, emitGroups: true }), passThrough),
    );
  });
});
