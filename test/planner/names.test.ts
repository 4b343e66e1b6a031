import { expect, it } from 'vitest';
import { groupHash, namePrefix, parseRunnerName, runnerName } from '../../src/planner/names.ts';
import { fc, test } from '../support/property.ts';
import { group } from '../support/scenario.ts';

it('a runner name is the same for the same inputs, and known by heart', () => {
  expect(runnerName('test', group(), { id: 4711, attempt: 1 }, 0)).toBe(EXPECTED);
});

it.each([
  ['instance', runnerName('other', group(), { id: 4711, attempt: 1 }, 0)],
  ['namespace', runnerName('test', group({ namespace: 'other' }), { id: 4711, attempt: 1 }, 0)],
  ['Gitea', runnerName('test', group({ origin: 'https://other.example.com' }), { id: 4711, attempt: 1 }, 0)],
  ['job id', runnerName('test', group(), { id: 4712, attempt: 1 }, 0)],
  ['attempt', runnerName('test', group(), { id: 4711, attempt: 2 }, 0)],
  ['ordinal', runnerName('test', group(), { id: 4711, attempt: 1 }, 1)],
  ['pod template', runnerName('test', group({ templateHash: 't2' }), { id: 4711, attempt: 1 }, 0)],
])('a runner name is another one for another %s', (_, name) => {
  expect(name).not.toBe(EXPECTED);
});

it('a runner name has one group hash for all runners of a group, and another one for a group of the same name elsewhere', () => {
  const first = parseRunnerName(runnerName('test', group(), { id: 1, attempt: 0 }, 0));
  const second = parseRunnerName(runnerName('test', group(), { id: 2, attempt: 7 }, 3));

  expect(first?.groupHash).toBe(second?.groupHash);
  expect(first?.groupHash).toBe(groupHash('test', group()));
  expect(groupHash('test', group({ namespace: 'elsewhere' }))).not.toBe(first?.groupHash);
});

it('a runner name keeps two long group names apart that share their beginning', () => {
  const long = 'a'.repeat(40);

  expect(namePrefix(`${long}-one`)).not.toBe(namePrefix(`${long}-two`));
  expect(namePrefix(`${long}-one`)).toHaveLength(31);
});

it('a runner name does not end its prefix in a dash before the hash', () => {
  expect(namePrefix(`${'a'.repeat(20)}---${'b'.repeat(20)}`)).toMatch(/^a{20}-[0-9a-f]{8}$/);
});

it.each([
  '',
  'ci',
  'ci-1-1',
  'ci-1-1-9c31e0a',
  'ci-1-1-9c31e0aaa',
  'ci-01-1-9c31e0aa',
  'ci-1-1-9C31E0AA',
  '-1-1-9c31e0aa',
  'Ci-1-1-9c31e0aa',
  'ci-1-1-9c31e0aa\n',
  'ci-99999999999999999-1-9c31e0aa',
  `${'a'.repeat(60)}-1-1-9c31e0aa`,
])('a runner name is not read from %j', (text) => {
  expect(parseRunnerName(text)).toBeUndefined();
});

it('a runner name is read back also when it is as long as it can be, and the group’s whole name fits', () => {
  const name = 'a'.repeat(31);
  const longest = runnerName('test', group({ name }), { id: Number.MAX_SAFE_INTEGER, attempt: 99_999 }, 0);

  expect(longest).toHaveLength(63);
  expect(parseRunnerName(longest)).toMatchObject({
    prefix: name,
    madeFor: { id: Number.MAX_SAFE_INTEGER, attempt: 99_999 },
  });
});

const dnsLabel = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
test(
  'a runner name is a DNS label and reads back, whatever the group is called',
  [dnsLabel, fc.maxSafeNat(), fc.nat(99_999), fc.nat(50)],
  (name, id, attempt, ordinal) => {
    const made = runnerName('test', group({ name }), { id, attempt }, ordinal);

    expect(made).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
    expect(parseRunnerName(made)).toMatchObject({
      prefix: namePrefix(name),
      madeFor: id === 0 ? { poolIndex: attempt } : { id, attempt },
    });
  },
);

const EXPECTED = 'ci-4711-1-49db25cc';
