import { describe, expect, it } from 'vitest';
import { explainText } from '../../src/cli/explain-text.ts';
import { explanationOf } from '../../src/observe/explain/explanation.ts';
import { duration } from '../../src/shared/printable.ts';
import { runnerGroup } from '../support/runner-group.ts';
import {
  done,
  evidenceOfScene,
  group,
  job,
  NOW,
  named,
  planScene,
  row,
  running,
  type Scene,
} from '../support/scenario.ts';

/** What `explain` knows of a scene in which Kubernetes was looked at. */
function evidenceOf(scene: Scene) {
  return { groups: scene.groups ?? [group()], evidence: evidenceOfScene(scene) };
}

function textOf(scene: Scene, colour = false): string {
  const groups = (scene.groups ?? [group()]).map(({ name, namespace, suspend, labels }) =>
    runnerGroup({ name, namespace, suspend, labels: labels.map((label) => ({ name: label, text: label })) }),
  );
  return explainText(explanationOf(groups, planScene(scene), NOW, evidenceOf(scene)), { colour });
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
4    acme/web job 4  gpu        19s  held back: group runners/big is suspended
5    acme/web job 5  linux,arm  19s  labels not covered: arm (nearest group: runners/ci)
3    acme/web job 3  linux      19s  held back by the cap of group runners/ci; 1st in line
6    acme/web job 6  <none>     19s  no labels: no runner is started for it (the call of a reusable workflow needs none)
2    acme/web job 2  linux      19s  ${named(two, 1)} (owned by group runners/ci; takes over the runner of another job)
7    acme/web job 7  linux      19s  blocked: it waits for its concurrency group, probably held by the run of job 1 (in progress), job 8 (in progress), or for an approval
1    acme/web job 1  linux      19s  runs on ${named(two, 2)}
8    acme/web job 8  linux      19s  runs on build-host (not a runner of these groups)

RUNNER           GROUP       WHAT HAPPENS
${named(two, 9)}  runners/ci  goes: is disabled in Gitea

Runners that have done their job: 1.

Next: remove spec.suspend in ci.yaml
Next: group runners/ci has no free slot (1 busy, 1 wanted): raise spec.maxActiveRunners in ci.yaml, or wait for a busy runner to finish
Next: if a job without labels is to run, give it a runs-on, or set spec.acceptUnlabelledJobs
Next: add arm to spec.labels of a group whose scope has the job, or correct its runs-on

Plan: 2 runners (1 busy, 1 for queued jobs), 2 jobs unserved, 2 held back, 1 blocked.
`);
  });

  describe('what it advises', () => {
    const ci = group({ labels: ['ubuntu-latest', 'linux'] });
    const gpu = group({ name: 'a-gpu', labels: ['gpu', 'linux'] });

    it.each<[string, readonly string[], string, string]>([
      [
        'a misspelt label, although another group is first',
        ['ubuntu-latets'],
        'labels not covered: ubuntu-latets (did you mean ubuntu-latest (runners/ci)?)',
        'Next: runs-on ubuntu-latets: did you mean ubuntu-latest (runners/ci)? Correct it in the workflow, or add ubuntu-latets to spec.labels of a group whose scope has the job\n',
      ],
      [
        'two misspelt labels',
        ['ubuntu-latst', 'linx'],
        'labels not covered: ubuntu-latst, linx (did you mean ubuntu-latest, linux (runners/ci)?)',
        'did you mean ubuntu-latest, linux (runners/ci)?',
      ],
      [
        'a label that is like none',
        ['arm64'],
        'labels not covered: arm64 (nearest group: runners/a-gpu)',
        'Next: arm64 asks for other machines: write a RunnerGroup for it, with spec.image and spec.podTemplate.spec.nodeSelector, or correct its runs-on\n',
      ],
      [
        'labels that no single group has',
        ['ubuntu-latest', 'gpu'],
        'labels not covered: ubuntu-latest, gpu (no group has all of them: ubuntu-latest is in runners/ci, gpu is in runners/a-gpu)',
        'Next: one runner must have all labels of runs-on: add the others to spec.labels of one group, or ask for fewer in the workflow\n',
      ],
    ])('about %s', (_, labels, verdict, advice) => {
      const text = textOf({ groups: [gpu, ci], jobs: [job(1, { labels })] });

      expect(text).toContain(`${verdict}\n`);
      expect(text).toContain(advice);
    });

    it('names no group that cannot have the job', () => {
      const scene: Scene = { groups: [gpu, ci], jobs: [job(1, { labels: ['ubuntu-latets'] })] };
      const elsewhere = [gpu, ci].map(({ name, labels }) =>
        runnerGroup({
          name,
          scope: { kind: 'org', org: 'other' },
          labels: labels.map((label) => ({ name: label, text: label })),
        }),
      );

      expect(explainText(explanationOf(elsewhere, planScene(scene), NOW), { colour: false })).not.toContain('did you');
    });

    it.each<[string, Scene, string]>([
      [
        'slots that are all starting',
        { groups: [group({ maxActiveRunners: 1 })], jobs: [job(1), job(2)], liveJobs: [] },
        'group runners/ci has no free slot (1 starting): wait, or raise spec.maxActiveRunners in ci.yaml if more jobs are to run at once',
      ],
      [
        'slots that are all busy',
        { groups: [group({ maxActiveRunners: 1 })], jobs: [running(1, named(group(), 1)), job(2)] },
        'group runners/ci has no free slot (1 busy): raise spec.maxActiveRunners in ci.yaml, or wait for a busy runner to finish',
      ],
      [
        'a cap that was lowered',
        {
          groups: [group({ maxActiveRunners: 1 })],
          jobs: [running(1, named(group(), 1)), running(2, named(group(), 2)), job(3)],
        },
        'group runners/ci has more runners at work (2 busy) than its cap of 1: wait, or raise spec.maxActiveRunners in ci.yaml',
      ],
    ])('about %s', (_, scene, advice) => {
      expect(textOf(scene)).toContain(`Next: ${advice}\n`);
    });
  });

  it('lets no name steer the terminal', () => {
    const text = textOf(
      { jobs: [job(1, { name: 'x\u001b[2J\u0007\u202egnp\nFAKE LINE', labels: ['\u001b]0;t'] })] },
      true,
    );

    const ours = ['\u001b[1m', '\u001b[22m', '\u001b[31m', '\u001b[39m'];
    const plain = ours.reduce((rest, style) => rest.replaceAll(style, ''), text).replaceAll('\n', '');
    expect(plain).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text.split('\n').filter((line) => line.startsWith('FAKE'))).toEqual([]);
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

it('shows a group that is suspended before a label that nobody has, and wraps what is next', () => {
  const big = group({ name: 'big', labels: ['gpu'], suspend: true });
  const groups = [group(), big].map(({ name, namespace, suspend, labels }) =>
    runnerGroup({ name, namespace, suspend, labels: labels.map((label) => ({ name: label, text: label })) }),
  );
  const scene = {
    groups: [group(), big],
    jobs: [job(1, { labels: ['nobody-has-this'] }), job(2, { labels: ['gpu'] })],
  };
  const explanation = explanationOf(groups, planScene(scene), NOW, evidenceOf(scene));
  expect(explanation.jobs.map(({ job: { id } }) => id)).toEqual([2, 1]);

  const next = explainText(explanation, { colour: false, columns: 80 })
    .split('\n\n')
    .find((part) => part.startsWith('Next:'));
  expect(next).toContain('nobody-has-this');
  expect(Math.max(...(next ?? '').split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
});
