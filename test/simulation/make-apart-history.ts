/**
 * Makes a history of three groups from a seed: the afternoon of `makeHistory`, and each now and then cannot be looked at while the others
 * can (docs/adr/0036). Same seed, same history.
 */
import type { GroupSpec, History, Push, Trouble } from './history.ts';
import { makeHistory } from './make-history.ts';
import { Random } from './random.ts';

export function makeApartHistory(seed: number): History {
  const random = new Random(seed, 'apart');
  const base = makeHistory(seed);
  const groups = makeGroups(base, random);
  return {
    ...base,
    groups,
    pushes: base.pushes.map((push) => relabelled(push, random)),
    troubles: [...base.troubles, ...makeGroupOutages(groups, random, base.patienceS - 14_400)],
  };
}

/** What they cover overlaps: one takes over jobs of another one, but not all. */
function makeGroups({ groups }: History, random: Random): readonly GroupSpec[] {
  const [org] = groups;
  if (!org) throw new Error('no group');
  return [
    org,
    {
      ...org,
      name: 'gpu',
      scope: { kind: 'repo', repo: 'acme/api' },
      labels: ['linux', 'gpu'],
      cap: random.whole(1, 3),
    },
    { ...org, name: 'all', scope: { kind: 'global' }, labels: ['linux', 'arm'], cap: random.whole(1, 4) },
  ];
}

/** Each job that asks for a label asks for one that a group has. */
function relabelled(push: Push, random: Random): Push {
  const jobs = push.run.jobs.map((job) => {
    if (!job.runsOn || job.runsOn.length === 0) return job;
    const special = push.repo === 'acme/api' ? 'gpu' : 'arm';
    return { ...job, runsOn: [random.chance(0.25) ? special : 'linux'] };
  });
  return { ...push, run: { ...push.run, jobs } };
}

export function makeGroupOutages(groups: readonly GroupSpec[], random: Random, arrivalsS: number): readonly Trouble[] {
  return Array.from({ length: random.whole(1, 3) }, (): Trouble => {
    const atS = random.seconds(0, arrivalsS);
    const { name } = random.pick(groups) as GroupSpec;
    return { kind: 'group-outage', group: name, atS, untilS: atS + random.whole(20, 900) };
  });
}
