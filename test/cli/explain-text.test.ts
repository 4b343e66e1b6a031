import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { nextSteps } from '../../src/answers/answer.ts';
import { explanationOf } from '../../src/answers/explanation.ts';
import { explainText } from '../../src/cli/explain/explain-text.ts';
import { runnerGroupFromObject } from '../../src/config/runnergroup/from-object.ts';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { duration } from '../../src/shared/printable.ts';
import { groupYaml } from '../support/run-cli.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { evidenceOfScene, group, job, live, NOW, named, planScene, running, type Scene } from '../support/scenario.ts';

/** Explains a scene with a cluster. */
function explanationIn(scene: Scene) {
  const planned = scene.groups ?? [group()];
  const groups = planned.map(({ name, namespace, suspend, labels }) =>
    runnerGroup({ name, namespace, suspend, labels: labels.map((label) => ({ name: label, text: label })) }),
  );
  return explanationOf(groups, planScene(scene), NOW, {
    groups: planned,
    evidence: evidenceOfScene(scene),
    suspended: new Map(),
  });
}

const EXPRESSION = `\${{ inputs.os }}`;

/** Reads a RunnerGroup as `validate` does. */
function runnerGroupOf(label: string): { readonly group?: RunnerGroup; readonly problem?: string } {
  const spec = parse(groupYaml('https://gitea.example.com')).spec;
  return runnerGroupFromObject({ namespace: 'runners', name: 'ci', spec: { ...spec, labels: [label] } });
}

it('explain tells of a job how its own last runner ended, and nothing of a runner whose name only has its id somewhere', () => {
  const of = group({ name: 'team-7-ci' });
  const failed = (name: string, reason: string) =>
    live(name, 'failed', { finishedAtMs: NOW - 1_000, end: { reason }, trouble: { reason } });
  const twice = (id: number, reason: string) => [0, 1].map((nth) => failed(named(of, id, nth), reason));
  const { jobs } = explanationIn({
    groups: [of],
    jobs: [1, 7, 4711].map((id) => job(id)),
    liveJobs: [...twice(1, 'Evicted'), ...twice(4711, 'OOMKilled')],
  });
  const ended = Object.fromEntries(jobs.map((each) => [each.job.id, each.ended?.reason]));

  expect(ended).toEqual({ 1: 'Evicted', 7: undefined, 4711: 'OOMKilled' });
});

it('explain names the way out of a CI job that Gitea leaves in progress', () => {
  const stale = running(1, named(group(), 1), { startedAtMs: NOW - 86_400_000 });
  const explanation = explanationIn({ jobs: [stale], liveJobs: [] });
  const [of] = explanation.jobs;

  expect(of && nextSteps(explanation)(of)).toEqual([
    'force-cancel its run in Gitea',
    'if that does not end it, on the host of Gitea: gitea doctor check --run fix-actions-unfinished-run-status --fix',
  ]);
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
      'the labels of a runner of GitHub',
      ['self-hosted', 'Linux', 'X64'],
      'labels not covered: self-hosted, Linux, X64 (did you mean only linux (runners/a-gpu)?)',
      "Next: runs-on self-hosted, Linux, X64: did you mean only linux (runners/a-gpu)? Correct it in the workflow (self-hosted and x64 are GitHub's own labels), or add self-hosted, Linux, X64 to spec.labels of a group whose scope has the job\n",
    ],
    [
      'one label of GitHub beside that of a group',
      ['ubuntu-latest', 'x64'],
      'labels not covered: x64 (did you mean only ubuntu-latest (runners/ci)?)',
      'Next: runs-on x64: did you mean only ubuntu-latest (runners/ci)? Correct it in the workflow (self',
    ],
    [
      'labels of GitHub alone, with which no label of a group is left',
      ['self-hosted', 'X64'],
      'labels not covered: X64, self-hosted (nearest group: runners/a-gpu)',
      'Next: add X64, self-hosted to spec.labels of a group',
    ],
    [
      'a misspelt label beside one that is like none',
      ['Linux', 'zzz'],
      'labels not covered: Linux, zzz (did you mean linux (runners/ci)?)',
      'Next: correct Linux to linux (runners/ci), and add zzz to spec.labels of a group',
    ],
    [
      'a misspelt label beside another machine',
      ['lunix', 'Windows'],
      'labels not covered: Windows, lunix (did you mean linux (runners/ci)?)',
      'Next: correct lunix to linux (runners/ci), and Windows asks for Windows',
    ],
  ])('explain advises about %s', (_, labels, verdict, advice) => {
    const text = explainText(explanationIn({ groups: [gpu, ci], jobs: [job(1, { labels })] }), { colour: false });

    expect(text).toContain(`${verdict}\n`);
    expect(text).toContain(advice);
  });

  it('explain tells a cause once, and not for each label', () => {
    const labels = ['legacy-1', 'lunix', 'legacy-2', 'Linux', 'windows-2022', 'windows-11'];
    const jobs = labels.map((label, at) => job(at + 1, { labels: [label] }));

    const text = explainText(explanationIn({ groups: [ci], jobs }), { colour: false });

    const next = text.split('\n').filter((line) => line.startsWith('Next: '));
    expect(next.map((line) => line.replace(/(?: to spec|: did| asks).*/, ''))).toEqual([
      'Next: add legacy-1, legacy-2',
      'Next: runs-on lunix, Linux',
      'Next: windows-2022, windows-11',
    ]);
  });

  const listed = 'Gitea makes the one name Array of a list from fromJSON. Write the list in runs-on, or one name';
  const empty = 'one name is empty: an expression without a value. Gitea knows no outputs of other jobs there';
  const WHEN = `a name for each case: \${{ … && 'large' || 'linux' }}`;
  // Labels that Gitea 1.27.3 makes from expressions, lists and slips (modules/actions/jobparser).
  it.each<[readonly string[], string, string]>([
    [[''], '""', empty],
    [['gpu', '', 'linux'], 'gpu,"",linux', empty],
    [['Array'], 'Array', listed],
    [['Object'], 'Object', listed.replace('Array', 'Object')],
    [[EXPRESSION], `"${EXPRESSION}"`, `Gitea has not evaluated "${EXPRESSION}"`],
    [
      ['["self-hosted","linux"]'],
      JSON.stringify('["self-hosted","linux"]'),
      'is no label that a group can have. Write runs-on: [self-hosted, linux]',
    ],
    [
      ['self-hosted, linux'],
      '"self-hosted, linux"',
      '"self-hosted, linux" is no label that a group can have. Write runs-on: [self-hosted, linux]',
    ],
    [
      ['org/larger runners'],
      '"org/larger runners"',
      '"org/larger runners" is no label that a group can have: it must not contain spaces',
    ],
    [['-runner'], '-runner', 'a part of -runner is empty: probably an expression without a value'],
    [['linux-'], 'linux-', 'a part of linux- is empty'],
    [['ubuntu--x64'], 'ubuntu--x64', 'a part of ubuntu--x64 is empty'],
    [['true'], 'true', `true is what an expression says, and no name. Write ${WHEN}`],
    [['linux', 'false'], 'false', `false is what an expression says, and no name. Write ${WHEN}`],
    [['NaN'], 'NaN', 'NaN is what an expression says, and no name'],
    [['{{ matrix.os }}'], '"{{ matrix.os }}"', `is no expression of Gitea. Write \${{ matrix.os }}`],
    [['$RUNNER'], '$RUNNER', `$RUNNER is a placeholder that nothing fills in. Write \${{ vars.RUNNER }}, or a name`],
    [['$(RUNNER)'], '$(RUNNER)', `Write \${{ vars.RUNNER }}, or a name`],
    [['%RUNNER%'], '%RUNNER%', '%RUNNER% is a placeholder'],
    [['<runner>'], '<runner>', '<runner> is a placeholder that nothing fills in. Write a name'],
    [['"ubuntu-latest"'], JSON.stringify('"ubuntu-latest"'), 'the quotes are part of the name. Write ubuntu-latest'],
    [['linux x64'], '"linux x64"', 'it must not contain spaces. Of several names write runs-on: [linux, x64]'],
    [['mainframe '], '"mainframe "', '"mainframe " begins or ends with a blank'],
    [['mac$1'], 'mac$1', 'mac$1 is no label that a group can have'],
    [['x'.repeat(600)], 'xxx', 'x is no label that a group can have'],
    [
      ['ubuntu-latest:docker://node:20'],
      'ubuntu-latest:docker://node:20',
      'write ubuntu-latest. The rest belongs in the label of a group',
    ],
    [['docker://node:20'], 'docker://node:20', 'an image is no label. Write the label of a group'],
  ])('explain advises to correct %j, which is no name that a group should have', (labels, shown, advice) => {
    const text = explainText(explanationIn({ groups: [ci], jobs: [job(1, { labels })] }), {
      colour: false,
      whole: true,
    });

    expect(text).toContain(shown);
    expect(text).not.toMatch(/<none>|\badd\b|did you mean/);
    expect(text).toContain(`Next: correct runs-on in the workflow: `);
    expect(text.split('Next: ')[1]).toContain(advice);
  });

  it.each([
    [
      ' ubuntu-latest',
      'runs-on " ubuntu-latest": did you mean ubuntu-latest (runners/ci)? Correct it in the workflow\n',
    ],
    ['ubuntu-24.04-arm', 'ubuntu-24.04-arm asks for other machines'],
    ['ubuntu-s390x', 'ubuntu-s390x asks for other machines'],
  ])('explain advises what can be done about %j', (label, advice) => {
    const known = group({ labels: ['ubuntu-latest', 'ubuntu-24.04'] });
    const text = explainText(explanationIn({ groups: [known], jobs: [job(1, { labels: [label] })] }), {
      colour: false,
    });

    expect(text.split('Next: ')[1]).toContain(advice);
  });

  it('the advice of explain is only what validate takes', () => {
    const written = [
      'linx',
      'a b',
      'x,y',
      '*',
      'größe',
      'a:b',
      'a:host',
      '',
      'ok-1',
      '-x',
      ' y',
      'Array',
      '\u200b',
      '`id`',
    ];
    for (const label of written) {
      const text = explainText(explanationIn({ jobs: [job(1, { labels: [label] })] }), { colour: false });
      const isOffered = /\badd (?!"?\$)/.test(text.split('Next: ')[1] ?? '');

      const { group: read, problem = '' } = runnerGroupOf(label);
      expect([label, isOffered, read?.labels.map(({ name }) => name) ?? problem]).toEqual(
        isOffered ? [label, true, [label]] : [label, false, expect.anything()],
      );
    }
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
});

it('explain lets no name steer the terminal', () => {
  const hostile = job(1, { name: 'x\u001b[2J\u0007\u202egnp\nFAKE LINE', labels: ['\u001b]0;t'] });
  const text = explainText(explanationIn({ jobs: [hostile] }), { colour: true });

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
])('explain prints %d ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it('explain shows a suspended group before a label that no group has, and wraps the next step', () => {
  const big = group({ name: 'big', labels: ['gpu'], suspend: true });
  const explanation = explanationIn({
    groups: [group(), big],
    jobs: [job(1, { labels: ['nobody-has-this'] }), job(2, { labels: ['gpu'] })],
  });
  expect(explanation.jobs.map(({ job: { id } }) => id)).toEqual([2, 1]);

  const next = explainText(explanation, { colour: false, columns: 80 })
    .split('\n\n')
    .find((part) => part.startsWith('Next:'));
  expect(next).toContain('nobody-has-this');
  expect(Math.max(...(next ?? '').split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
});

const shard = (id: number) => job(id, { name: `build (node 22, shard ${id})`, runId: 9 });

it('the table tells 30 jobs of one matrix in 25 lines of 80 columns', () => {
  const jobs = Array.from({ length: 30 }, (_, index) => shard(index + 1));
  const text = explainText(explanationIn({ groups: [group({ maxActiveRunners: 5 })], jobs, liveJobs: [] }), {
    colour: false,
    columns: 80,
  });

  expect(text).toContain('build ×5');
  expect(text).toContain('build ×25');
  expect(text.split('\n').length).toBeLessThanOrEqual(25);
});

it('the table keeps jobs of other runs, and other causes, apart', () => {
  const other = job(3, { name: 'build (node 22, shard 3)', runId: 10 });
  const text = explainText(explanationIn({ jobs: [shard(1), shard(2), other] }), { colour: false });

  expect(text.match(/build ×2/g)).toHaveLength(1);
  expect(text).toContain('build (node 22, shard 3)');
});

it('explain names the jobs of a full group that run far longer than usual, before it advises a higher cap', () => {
  const old = (id: number) =>
    job(id, {
      name: 'e2e',
      status: 'completed',
      startedAtMs: NOW - 90_000_000,
      completedAtMs: NOW - 90_000_000 + 240_000,
    });
  const hung = running(101, named(group(), 101), { name: 'e2e', startedAtMs: NOW - 18_900_000 });
  const explanation = explanationIn({
    groups: [group({ maxActiveRunners: 1 })],
    jobs: [old(1), old(2), old(3), hung, job(102)],
    liveJobs: [live(named(group(), 101), 'running', { runningSinceMs: NOW - 18_900_000 })],
  });
  const held = explanation.jobs.find((each) => each.job.id === 102);

  const text = explainText(explanation, { colour: false, whole: true });
  expect(text).toContain('slots are held: job 101 has run 5h15m, usually 4m00s; held back by the cap');
  expect(held && nextSteps(explanation)(held)[0]).toBe('look at 101 in Gitea, and cancel what hangs');
});

it('explain says until when deleted pods may hold the slots of a group', () => {
  const explanation = explanationIn({
    groups: [group({ maxActiveRunners: 1 })],
    jobs: [running(101, named(group(), 101), { startedAtMs: NOW - 600_000 }), job(102)],
    liveJobs: [live(named(group(), 101), 'deleting', { endsByMs: NOW + 3_600_000, pinned: true })],
  });
  const text = explainText(explanation, { colour: false, whole: true });

  expect(text).toMatch(/slots are held: job 101 is on a pod that is being deleted, and may finish until 2/);
  expect(text).toContain('Next: wait for 101, until ');
});
