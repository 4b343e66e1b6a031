/**
 * Tests each level of `policy init` against a hundred attacks (law F156): what stops each of them, and which ones are
 * allowed on purpose.
 */
import { describe, expect, it } from 'vitest';
import { type Policy, readPolicyFile } from '../../../src/config/policy/policy-schema.ts';
import { refusalsByDefault } from '../../../src/config/policy/without-policy.ts';
import { runnerGroupFromObject } from '../../../src/config/runnergroup/from-object.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { groupOfObject } from '../../../src/plan/own-pod.ts';
import { type Attack, FATES, LEVELS, type Level, type Stop } from './attacks.ts';
import { denialsBy } from './support.ts';

/** Namespace and organization of the tenant whose policy it is. */
const TENANT = { open: ['runners', 'acme'], shared: ['runners', 'acme'], hostile: ['team-a', 'team-a'] } as const;
/** Profiles of an attack. An attacker writes the one that helps him. */
const PROFILES = [undefined, 'baseline', 'privileged'] as const;

const policies = new Map(
  LEVELS.map((level): readonly [Level, Policy] => {
    const read = readPolicyFile(`examples/policies/${level}.yaml`);
    if ('problems' in read) throw new Error(read.problems.join('\n'));
    return [level, read.policy];
  }),
);

const secret = (name: string) => ({ secretRef: { name, key: 'token' } });

/** Returns an attack with each profile: the group as it was read, and whether its pod is refused. */
function variantsOf({ metadata, spec }: Attack, level: Level) {
  const [namespace, org] = TENANT[level];
  const object = { namespace, name: 'ci', ...metadata };
  const plain = { scope: 'org', org, gitea: { url: 'https://gitea.example.com' }, maxActiveRunners: 1 };
  const tokens = { registrationToken: secret('gitea-runner'), authToken: secret('gitea-api') };
  return PROFILES.map((securityProfile) => {
    const whole = { ...plain, ...tokens, containerMode: 'host', labels: ['linux:host'], securityProfile, ...spec };
    const read = runnerGroupFromObject({ ...object, spec: whole });
    if ('problem' in read) throw new Error(`no attack, but a mistake: ${read.problem}`);
    return { group: read.group, hasFault: 'problem' in groupOfObject({ metadata: object, spec: whole } as never) };
  });
}

function rulesAgainst(group: RunnerGroup, level: Level): readonly string[] {
  const asker = { isArgoCd: true, destination: TENANT[level][0] };
  return denialsBy(policies.get(level) as Policy, [group], asker).map(({ rule }) => rule);
}

function isAllowed(stop: Stop): boolean {
  return stop.startsWith('allowed: ');
}

/** Returns what stops each variant. */
function stopsOf(attack: Attack, level: Level): readonly (readonly string[])[] {
  return variantsOf(attack, level).map(({ group, hasFault }) => [
    ...rulesAgainst(group, level),
    ...(hasFault ? ['pod'] : []),
  ]);
}

const ROWS = FATES.flatMap(({ stops, attacks }) => attacks.map((attack) => [attack.name, attack, stops] as const));

describe.each(LEVELS)('policy init %s', (level) => {
  const rows = ROWS.map(([name, attack, stops]) => [name, stops[level], attack] as const);

  it.each(rows.filter(([, stop]) => isAllowed(stop)))('the attack "%s" is %s', (_, __, attack) => {
    expect(stopsOf(attack, level)).toContainEqual([]);
  });

  it.each(rows.filter(([, stop]) => !isAllowed(stop)))('the attack "%s" is stopped by %s', (_, stop, attack) => {
    const found = stopsOf(attack, level);

    expect(found).not.toContainEqual([]);
    const dependsOnProfile = stop === 'pod' || stop === 'securityProfile';
    expect(found.filter((by) => by.includes(stop)).length).toBeGreaterThanOrEqual(dependsOnProfile ? 1 : found.length);
  });
});

it('the level open stops what is stopped without a policy file, and nothing else', async () => {
  for (const [name, attack] of ROWS) {
    for (const { group } of variantsOf(attack, 'open')) {
      const { whole: all } = await refusalsByDefault([group], 'runners');
      expect(rulesAgainst(group, 'open').length > 0, name).toBe(all !== undefined);
    }
  }
});

it('no level allows what a more open one stops', () => {
  for (const { stops } of FATES) {
    const [open, shared, hostile] = LEVELS.map((level) => isAllowed(stops[level]));
    expect([open || !shared, shared || !hostile]).toEqual([true, true]);
  }
});
