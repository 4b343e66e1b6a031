import { describe, expect, it } from 'vitest';
import { templateHash } from '../../src/charts/pod-template.ts';
import { runnerGroupFromObject } from '../../src/runnergroup/from-object.ts';
import { document, readFiles } from '../support/group-files.ts';

describe('a RunnerGroup that stands in a cluster', () => {
  it('makes the same runners as its file', async () => {
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
  ])('with %s has a problem', (_, spec) => {
    const read = runnerGroupFromObject({ namespace: 'runners', name: 'ci', spec });

    expect(read).toHaveProperty('problem', expect.stringMatching(/./));
  });
});
