/**
 * Tests how the real Argo CD judges a RunnerGroup with the scripts of install/argocd-cm.yaml, and the effect of its
 * actions. No cluster is needed.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';

const folder = mkdtempSync(join(tmpdir(), 'health-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Group {
  readonly status?: object | undefined;
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Returns the output of `argocd admin settings resource-overrides`. */
function ask(command: string, { status, spec = {}, annotations }: Group, ...more: readonly string[]): string {
  const file = join(folder, 'group.yaml');
  const metadata = { name: 'ci', namespace: 'runners', ...(annotations && { annotations }) };
  const group = { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup', metadata, spec, ...(status && { status }) };
  writeFileSync(file, stringify(group));
  const settings = ['--argocd-cm-path', 'install/argocd-cm.yaml'];
  return execFileSync(
    join(inject('clusterBuilds').argocd, 'argocd'),
    ['admin', 'settings', 'resource-overrides', command, file, ...more, ...settings],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { HOME: folder, PATH: process.env['PATH'], TZ: 'Asia/Tokyo' },
    },
  );
}

/** `<status> <message>` of the health script. */
function healthOf(status: object | undefined, spec: object = {}, annotations?: Group['annotations']): string {
  const out = ask('health', { status, spec, annotations: annotations ?? {} });
  return `${/^STATUS: (.*)$/m.exec(out)?.[1]} ${/^MESSAGE: (.*)$/m.exec(out)?.[1] ?? ''}`.trim();
}

function checked(secondsAgo: number): string {
  return new Date(Date.now() - secondsAgo * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}

function ready(
  status: string,
  secondsAgo: number,
): { readonly lastCheckTime: string; readonly conditions: readonly object[] } {
  const other = { type: 'GiteaReachable', status: 'False', reason: 'Other', message: 'not this one' };
  const own = { type: 'Ready', status, reason: 'Serving', message: 'Jobs get runners.' };
  return { lastCheckTime: checked(secondsAgo), conditions: [other, own] };
}

describe('Argo CD says of a RunnerGroup', () => {
  const suspended = { 'gitea.bpg.pw/suspended': 'since noon' };

  const CASES: readonly (readonly [expected: string, why: string, ...group: Parameters<typeof healthOf>])[] = [
    ['Healthy Jobs get runners.', 'somebody looks', ready('True', 0)],
    ['Healthy Jobs get runners.', 'somebody has looked', ready('True', 240)],
    ['Healthy Jobs get runners.', 'a clock is ahead', ready('True', -3_600)],
    ['Degraded Serving: Jobs get runners.', 'that is the reason of Ready', ready('False', 0)],
    ['Degraded Serving: Jobs get runners.', 'that is the reason of Ready, however old', ready('False', 3_600)],
    ['Degraded Serving: Jobs get runners.', 'a suspended group is in trouble', ready('False', 0), { suspend: true }],
    ['Progressing Waiting for gitea-runners serve', 'there is no status', undefined],
    ['Progressing Waiting for gitea-runners serve', 'there is no condition', { activeRunners: 1 }, { suspend: false }],
    ['Progressing Jobs get runners.', 'nobody knows yet', ready('Unknown', 0)],
    [
      'Progressing Not yet.',
      'nobody has looked',
      { conditions: [{ type: 'Ready', status: 'Unknown', message: 'Not yet.' }] },
    ],
    ['Suspended No new runners: spec.suspend is true', 'there is no status', undefined, { suspend: true }],
    ['Suspended No new runners: spec.suspend is true', 'Ready is True', ready('True', 0), { suspend: true }],
    ['Suspended No new runners: suspended in the cluster: since noon', 'noted', ready('True', 0), {}, suspended],
  ];

  it.each(CASES.map(([expected, why, ...group]) => ({ expected, why, group })))(
    '$expected, when $why',
    ({ expected, group }) => {
      expect(healthOf(...group)).toBe(expected);
    },
  );

  it('Degraded when nobody has looked for more than five minutes, although Ready is still True', () => {
    const status = ready('True', 310);

    expect(healthOf(status)).toBe(
      `Degraded NotChecked: nobody has looked at Gitea since ${status.lastCheckTime}: is gitea-runners serve running?`,
    );
    expect(healthOf(ready('Unknown', 310))).toContain('Degraded NotChecked');
  });
});

describe('Argo CD has actions on a RunnerGroup', () => {
  const suspended = { 'gitea.bpg.pw/suspended': 'since noon', other: 'stays' };
  /** Lines that the action adds or takes away. */
  const changed = (action: string, group: Group): readonly string[] =>
    ask('run-action', group, action).match(/^[<>].*$/gm) ?? [];
  const offered = (group: Group): readonly string[] => ask('list-actions', group).match(/^\S+(?= +false$)/gm) ?? [];

  it('the actions of a RunnerGroup in Argo CD fit what it is', () => {
    expect(offered({})).toEqual(['look-now', 'suspend']);
    expect(offered({ annotations: suspended })).toEqual(['look-now', 'resume']);
    expect(offered({ spec: { suspend: true } })).toEqual(['look-now']);
    expect(offered({ spec: { suspend: true }, annotations: suspended })).toEqual(['look-now', 'resume']);
  });

  it('each action of a RunnerGroup in Argo CD changes one annotation', () => {
    const annotations = { other: 'stays' };
    const time = '20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ';

    expect(changed('suspend', { annotations })).toEqual([
      expect.stringMatching(`^> +gitea\\.bpg\\.pw/suspended: since ${time}, by an action in Argo CD$`),
    ]);
    expect(changed('resume', { annotations: suspended })).toEqual(['<     gitea.bpg.pw/suspended: since noon']);
    expect(changed('resume', {})).toEqual([]);
    expect(changed('look-now', { annotations })).toEqual([
      expect.stringMatching(`^> +gitea\\.bpg\\.pw/look-now: "${time}"$`),
    ]);
  });
});
