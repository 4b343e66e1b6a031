import { describe, expect, it } from 'vitest';
import { standIn } from '../../../src/config/runnergroup/broken.ts';
import { runnerGroupFromObject } from '../../../src/config/runnergroup/from-object.ts';
import { templateHash } from '../../../src/manifests/app.ts';
import { document, readFiles } from '../../support/group-files.ts';

it('a RunnerGroup that stands in a cluster makes the same runners as its file', async () => {
  const { groups } = await readFiles({ 'ci.yaml': document({}, { namespace: 'runners' }) });
  const [written] = groups;
  const spec = written?.manifest['spec'];
  const read = runnerGroupFromObject({ namespace: 'runners', name: written?.name ?? '', spec });

  expect(written).toBeDefined();
  expect(read).toHaveProperty('group');
  if (!('group' in read) || !written) return;
  const { place: _, manifest: __, ...group } = read.group;
  expect(written).toMatchObject(group);
  expect(templateHash(read.group)).toBe(templateHash(written));
});

it.each([
  ['no spec', undefined],
  ['a spec that is a list', []],
  ['an org scope without an org', { scope: 'org' }],
  ['unknown fields', { nonsense: true }],
])('a RunnerGroup in a cluster with %s has a problem', (_, spec) => {
  const read = runnerGroupFromObject({ namespace: 'runners', name: 'ci', spec });

  expect(read).toHaveProperty('problem', expect.stringMatching(/./));
});

// Kubernetes takes 10,000 levels below podTemplate.
it.each([300, 3_000, 9_990])('nested %i levels deep has a problem, and throws nothing', (levels) => {
  const podTemplate = JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as unknown;
  const read = runnerGroupFromObject({ namespace: 'runners', name: 'ci', spec: { podTemplate } });

  expect(read).toHaveProperty('problem', expect.stringMatching(/deep/));
});

describe('the stand-in of a group that is not valid', () => {
  const place = { file: 'ci.yaml', line: 3, column: 1 };
  const problem = { place, path: 'spec.sucpend', message: 'unknown field', code: 'GR-INPUT-04' } as const;
  const labels = { team: 'web' };
  const broken = { namespace: 'runners', name: 'ci', place, labels, annotations: undefined, problems: [problem] };
  const { spec, metadata } = standIn(broken);

  it('the stand-in of a group that is not valid has a spec that is valid by itself, so the API server takes it', () => {
    expect(runnerGroupFromObject({ namespace: 'runners', name: 'ci', spec })).toHaveProperty('group');
  });

  it('the stand-in of a group that is not valid is read as its problem', () => {
    expect(
      runnerGroupFromObject({ namespace: 'runners', name: 'ci', spec, annotations: metadata.annotations }),
    ).toEqual({ isDenied: false, problem: 'ci.yaml:3:1: spec.sucpend: unknown field [GR-INPUT-04]' });
    expect(metadata).toMatchObject({ namespace: 'runners', name: 'ci', labels });
  });
});
