import { expect, it } from 'vitest';
import { queuePage } from '../../../src/serve/listeners.ts';
import type { QueueRow } from '../../../src/serve/queue/work-queue.ts';

it('/debug/queue shows what runs since when, what is due when, and what failed last', () => {
  const rows: readonly QueueRow[] = [
    { of: 'wake', key: 'argocd/runners', is: 'running', ms: 240_000, failures: 0 },
    { of: 'look', key: 'https://gitea.example.com org acme', is: 'waiting', ms: -1_500, failures: 0 },
    {
      of: 'status',
      key: 'ci/small',
      is: 'waiting',
      ms: 3_200,
      failures: 2,
      failed: { code: 'GR-CLUSTER-13', agoMs: 800 },
    },
  ];

  expect(queuePage(rows, true)).toBe(
    [
      'This process leads.',
      '',
      'wake    running for 240.0 s           argocd/runners',
      'look    waits for its turn for 1.5 s  https://gitea.example.com org acme',
      'status  due in 3.2 s                  ci/small  (failed with GR-CLUSTER-13 1 s ago, 2 times in a row)',
    ].join('\n'),
  );
});

it('/debug/queue says when the replica does not lead', () => {
  expect(queuePage([], false)).toBe('This process does not lead: ask the other replicas.');
});

it('/debug/queue shows a thousand rows and counts the others', () => {
  const row = { of: 'look', key: 'x', is: 'waiting', ms: 1, failures: 0 } as const;

  expect(
    queuePage(
      Array.from({ length: 1_002 }, () => row),
      true,
    )
      .split('\n')
      .at(-1),
  ).toBe('… and 2 more rows');
});
