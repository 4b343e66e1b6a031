/** How the real Argo CD judges a RunnerGroup with the scripts of install/argocd-cm.yaml, and what its actions change. No cluster is needed. */
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

/** What `argocd admin settings resource-overrides` prints. */
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

function ready(status: string, secondsAgo: number): object {
  return {
    lastCheckTime: checked(secondsAgo),
    conditions: [{ type: 'Ready', status, reason: 'Serving', message: 'Jobs get runners.' }],
  };
}

describe('Argo CD says of a RunnerGroup', () => {
  it('Healthy while somebody looks', () => {
    expect(healthOf(ready('True', 0))).toBe('Healthy Jobs get runners.');
    expect(healthOf(ready('True', 240))).toBe('Healthy Jobs get runners.');
  });

  it('Degraded when nobody has looked for more than five minutes, although Ready is still True', () => {
    const status = ready('True', 310) as { readonly lastCheckTime: string };

    expect(healthOf(status)).toBe(
      `Degraded NotChecked: nobody has looked at Gitea since ${status.lastCheckTime}: is gitea-runners serve running?`,
    );
    expect(healthOf(ready('Unknown', 310))).toContain('Degraded NotChecked');
  });

  it('Degraded with the reason of Ready, however old it is', () => {
    expect(healthOf(ready('False', 0))).toBe('Degraded Serving: Jobs get runners.');
    expect(healthOf(ready('False', 3_600))).toBe('Degraded Serving: Jobs get runners.');
  });

  it('Healthy when a clock is ahead', () => {
    expect(healthOf(ready('True', -3_600))).toBe('Healthy Jobs get runners.');
  });

  it('Progressing before the first look, and Suspended', () => {
    expect(healthOf(undefined)).toBe('Progressing Waiting for gitea-runners serve');
    expect(healthOf({ conditions: [{ type: 'Ready', status: 'Unknown', message: 'Not yet.' }] })).toBe(
      'Progressing Not yet.',
    );
    expect(healthOf(undefined, { suspend: true })).toBe('Suspended No new runners: spec.suspend is true');
    expect(healthOf(ready('True', 0), {}, { 'gitea.bpg.pw/suspended': 'since noon' })).toBe(
      'Suspended No new runners: suspended in the cluster: since noon',
    );
  });
});

describe('Argo CD has actions on a RunnerGroup', () => {
  const suspended = { 'gitea.bpg.pw/suspended': 'since noon', other: 'stays' };
  /** Lines that the action adds or takes away. */
  const changed = (action: string, group: Group): readonly string[] =>
    ask('run-action', group, action).match(/^[<>].*$/gm) ?? [];
  const offered = (group: Group): readonly string[] => ask('list-actions', group).match(/^\S+(?= +false$)/gm) ?? [];

  it('that fit what it is', () => {
    expect(offered({})).toEqual(['look-now', 'suspend']);
    expect(offered({ annotations: suspended })).toEqual(['look-now', 'resume']);
    expect(offered({ spec: { suspend: true } })).toEqual(['look-now']);
    expect(offered({ spec: { suspend: true }, annotations: suspended })).toEqual(['look-now', 'resume']);
  });

  it('each of which changes one annotation', () => {
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
