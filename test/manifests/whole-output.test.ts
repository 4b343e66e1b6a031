import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { generated, group, runner, synthesized } from './fixtures.ts';

// Review these files as what users and Kubernetes get; they are changed by hand.
const cases = {
  'dind-rootless': [group(), runner()],
  dind: [
    group({
      containerMode: 'dind',
      image: 'docker.gitea.com/runner:1.0.8',
      resources: { requests: { cpu: '500m' }, limits: { memory: '2Gi', 'nvidia.com/gpu': '1' } },
    }),
    runner({ because: 'busy', pinned: true }),
  ],
  host: [
    group({
      containerMode: 'host',
      image: 'docker.gitea.com/runner:1.0.8',
      labels: [{ name: 'gpu', text: 'gpu:host' }],
      resources: { requests: { cpu: '2', memory: '1Gi' }, limits: {} },
    }),
    { ...runner({ runner: 'ci-0-3-9c31e0aa' }), job: undefined },
  ],
} as const;

test.each(Object.entries(cases))(
  'renders the Job of containerMode %s as written in expected/',
  (mode, [of, decision]) => {
    const { job, ...rest } = decision;
    const items = [{ group: of, runners: [job ? { ...rest, job } : rest] }];

    const text = synthesized(items, { emitGroups: mode === 'host' });

    expect(generated(items, { emitGroups: mode === 'host' })).toBe(text);
    expect(text).toBe(readFileSync(new URL(`expected/${mode}.yaml`, import.meta.url), 'utf8'));
  },
);
