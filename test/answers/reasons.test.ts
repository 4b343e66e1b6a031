/** Laws V124 and V125 (docs/spec.md): one row for each reason, and one meaning of "held back". */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verdictText } from '../../src/answers/causes.ts';
import { explanationOf } from '../../src/answers/explanation.ts';
import { HELD, RUNNERS } from '../../src/answers/reasons.ts';
import { explainText } from '../../src/cli/explain/explain-text.ts';
import { countsOf } from '../../src/serve/planning/group-counts.ts';
import { statusOf } from '../../src/serve/planning/group-status.ts';
import { keyText } from '../../src/shared/keys.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { evidenceOfScene, group, job, live, NOW, named, planScene } from '../support/scenario.ts';

const [full, off, failing, limited] = [
  group({ name: 'full', labels: ['full'], maxActiveRunners: 1 }),
  group({ name: 'off', labels: ['off'], suspend: true }),
  group({ name: 'failing', labels: ['failing'] }),
  group({ name: 'limited', labels: ['limited'], limits: [{ key: 'limit gpus', name: 'gpus', most: 1 }] }),
];
const groups = [full, off, failing, limited];
const failed = [0, 1].map((nth) =>
  live(named(failing, 7, nth), 'failed', { finishedAtMs: NOW - 1_000, trouble: { reason: 'Error' } }),
);
const scene = {
  groups,
  jobs: [
    ...[1, 2, 3].map((id) => job(id, { labels: ['full'] })),
    ...[4, 5].map((id) => job(id, { labels: ['off'] })),
    job(7, { labels: ['failing'] }),
    ...[8, 9].map((id) => job(id, { labels: ['limited'] })),
    job(10, { labels: [] }),
    job(11, { labels: ['nobody'] }),
    job(12, { labels: ['full'], status: 'blocked' }),
  ],
  liveJobs: failed,
};
const plan = planScene(scene);
const written = groups.map(({ name, namespace, suspend, maxActiveRunners }) =>
  runnerGroup({ name, namespace, suspend, maxActiveRunners }),
);
const explanation = explanationOf(written, plan, NOW, {
  groups,
  evidence: evidenceOfScene(scene),
  suspended: new Map(),
});

it('the scene has a job for each reason for which a group holds jobs back', () => {
  const seen = plan.jobs.map((each) => (each.verdict === 'held' ? each.because : each.verdict));

  for (const [because, { heldBack }] of Object.entries(HELD)) if (heldBack !== 'no') expect(seen).toContain(because);
});

it('a row begins with "held back" exactly when its job counts as held back', () => {
  const rows = explanation.jobs.flatMap((each) =>
    verdictText(each, NOW, new Map()).startsWith('held back') ? each.job.id : [],
  );

  expect(rows.sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 7, 9, 10]);
});

it('HELD of each group, heldJobs of its status and the metric are the number of its rows', () => {
  const inTable = Object.fromEntries(explanation.groups.map((each) => [keyText(each), each.held]));
  const counted = written.map((each) => [keyText(each), countsOf(plan, each)] as const);
  const inStatus = counted.map(([key, counts]) => {
    const facts = { generation: 1, suspended: false, activeRunners: 0, counts, argocd: { is: 'unmanaged' } } as const;
    return [key, statusOf(facts, undefined, NOW).heldJobs];
  });
  const inMetric = counted.map(([key, { held }]) => [key, Object.values(held).reduce((sum, jobs) => sum + jobs)]);

  expect(inTable).toEqual({ 'runners/full': 2, 'runners/off': 2, 'runners/failing': 1, 'runners/limited': 1 });
  expect(Object.fromEntries(inStatus)).toEqual(inTable);
  expect(Object.fromEntries(inMetric)).toEqual(inTable);
});

it('the last line counts the same rows, those that are unserved too', () => {
  const line = explainText(explanation, { colour: false }).trimEnd().split('\n').at(-1);

  expect(line).toMatch(/, 4 jobs unserved \(3 held back\), 4 more held back, 1 blocked\.$/);
});

it('a reason has its words in its own row only', () => {
  const words = [...Object.values(HELD).map(({ short }) => short), ...Object.values(RUNNERS).map(({ text }) => text)];
  const sentences = words.filter((each) => typeof each === 'string');
  const elsewhere = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith(join('answers', 'reasons.ts')))
    .filter((file) => {
      const text = readFileSync(join('src', file), 'utf8');
      return sentences.some((sentence) => text.includes(`'${sentence}'`));
    });

  expect(sentences.length).toBeGreaterThan(20);
  expect(elsewhere).toEqual([]);
});
