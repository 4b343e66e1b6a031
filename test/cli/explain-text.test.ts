import { describe, expect, it } from 'vitest';
import { duration, explainText } from '../../src/cli/explain-text.ts';
import { explanationOf } from '../../src/cli/explanation.ts';
import { done, group, job, live, NOW, named, planScene, row, running, type Scene } from '../plan/scenario.ts';
import { runnerGroup } from '../runner-group.ts';

function textOf(scene: Scene, terminal = false): string {
  const groups = (scene.groups ?? [group()]).map(({ name, namespace, suspend, labels }) =>
    runnerGroup({ name, namespace, suspend, labels: labels.map((label) => ({ name: label, text: label })) }),
  );
  return explainText(explanationOf(groups, planScene(scene), NOW), { terminal });
}

describe('explain', () => {
  it('says of every job and every left-over runner what happens, why, and what to do', () => {
    const two = group({ maxActiveRunners: 2 });
    const text = textOf({
      groups: [two, group({ name: 'big', labels: ['gpu', 'linux'], suspend: true })],
      jobs: [
        running(1, named(two, 2)),
        done(10, named(two, 10), { createdAtMs: NOW - 60_000, startedAtMs: NOW - 50_000, completedAtMs: NOW - 30_000 }),
        job(2),
        job(3),
        job(4, { labels: ['gpu'] }),
        job(5, { labels: ['linux', 'arm'] }),
        job(6, { labels: [] }),
        job(7, { status: 'blocked' }),
        running(8, 'build-host'),
      ],
      runners: [row(named(two, 9), { disabled: true })],
    });

    expect(
      text,
    ).toBe(`GROUP        SCOPE                               LABELS     RUNNERS              BUSY  WAITING  HELD
runners/big  https://gitea.example.com org acme  gpu,linux  0 of 10 (suspended)  0     0        1
runners/ci   https://gitea.example.com org acme  linux      2 of 2               1     1        1

JOB  NAME            RUNS-ON    AGE  WHAT HAPPENS
1    acme/web job 1  linux      19s  runs on ${named(two, 2)}
2    acme/web job 2  linux      19s  ${named(two, 1)} (owned by group runners/ci; takes over the runner of another job)
3    acme/web job 3  linux      19s  held back by the cap of group runners/ci
4    acme/web job 4  gpu        19s  held back: group runners/big is suspended
5    acme/web job 5  linux,arm  19s  labels not covered: arm (nearest group: runners/ci)
6    acme/web job 6  <none>     19s  no labels: no runner is started for it (the call of a reusable workflow needs none)
7    acme/web job 7  linux      19s  blocked: waits for jobs it needs, for its concurrency group or for approval
8    acme/web job 8  linux      19s  runs on build-host (not a runner of these groups)

RUNNER           GROUP       WHAT HAPPENS
${named(two, 9)}  runners/ci  goes: is disabled in Gitea

Runners that have done their job: 1.

Next: raise spec.maxActiveRunners in ci.yaml, or wait for a busy runner to finish
Next: remove spec.suspend in ci.yaml
Next: add arm to spec.labels of a group whose scope has the job, or correct its runs-on
Next: if a job without labels is to run, give it a runs-on, or set spec.acceptUnlabelledJobs

Plan: 2 runners (1 busy, 1 for queued jobs), 4 jobs held back, 1 blocked.
`);
  });

  it('says so when there is nothing to do', () => {
    expect(textOf({})).toContain('No jobs are queued or running.\n');
    expect(explainText(explanationOf([], planScene({ groups: [] }), NOW), { terminal: false })).toBe(
      'No RunnerGroups found.\n\nNo jobs are queued or running.\n\nPlan: 0 runners (0 busy, 0 for queued jobs), 0 jobs held back, 0 blocked.\n',
    );
  });

  it('says when a runner that failed to start is tried again', () => {
    const liveJobs = [live(named(group(), 1, 1), 'failed', { finishedAtMs: NOW - 3_000 })];

    expect(textOf({ jobs: [job(1)], liveJobs })).toContain(
      'held back: the Job of its last runner ended without a CI job; group runners/ci tries again in 7s',
    );
  });

  it('says of a job whose runner was lost that Gitea has not noticed yet', () => {
    const name = named(group(), 1);
    const text = textOf({ jobs: [running(1, name)], liveJobs: [live(name, 'failed', { finishedAtMs: NOW })] });

    expect(text).toContain(`its runner ${name} is lost: Gitea fails it after 10 to 15 minutes`);
    expect(text).toContain(
      `${name}  runners/ci  stays as a record: its pod is lost while Gitea still shows a CI job on it, it holds no slot`,
    );
  });

  it('lets no name steer the terminal', () => {
    const text = textOf(
      { jobs: [job(1, { name: 'x\u001b[2J\u0007\u202egnp\nFAKE LINE', labels: ['\u001b]0;t'] })] },
      true,
    );

    const plain = text.replaceAll('\u001b[1m', '').replaceAll('\u001b[22m', '').replaceAll('\n', '');
    expect(plain).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text.split('\n').filter((line) => line.startsWith('FAKE'))).toEqual([]);
  });

  it('uses colour only on a terminal', () => {
    expect(textOf({ jobs: [job(1)] })).not.toContain('\u001b');
  });

  it.each([
    [-5_000, '0s'],
    [59_999, '59s'],
    [192_000, '3m12s'],
    [7_500_000, '2h05m'],
    [356_400_000, '4d03h'],
  ])('prints %d ms as %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});
