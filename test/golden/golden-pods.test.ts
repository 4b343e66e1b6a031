import { expect, it } from 'vitest';
import { securityViolations } from '../../src/config/pods/pod-security.ts';
import type { Mapping } from '../../src/config/pods/value.ts';
import { goldenPods } from './golden-pods.ts';

it('pods of golden cases meet the level that their profile names (test/cluster/manifests.test.ts asks an API server)', async () => {
  const pods = [...(await goldenPods())].flatMap(([level, all]) => all.map((pod) => ({ level, pod: pod as Mapping })));

  const broken = pods.map(({ level, pod }) =>
    securityViolations(pod, level === 'restricted' ? level : 'baseline').map(({ rule }) => rule),
  );

  expect(pods.length).toBeGreaterThan(50);
  // Beside dockerd one container is privileged, and nothing else is wrong.
  expect(broken).toEqual(pods.map(({ level }) => (level === 'restricted' ? [] : ['privileged'])));
});
