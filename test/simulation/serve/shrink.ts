/** Makes a history that breaks a law as small as it stays broken: fewer faults, then fewer acts, then one Application. */
import type { Act, Fault, History } from './history.ts';
import type { Law } from './laws.ts';
import { type RunOptions, runHistory } from './run.ts';

/** @param most histories that are tried. */
export async function shrink(history: History, law: Law, options: RunOptions = {}, most = 60): Promise<History> {
  let smallest = history;
  let left = most;
  for (let shrunk = true; shrunk; ) {
    shrunk = false;
    for (const smaller of smallerOnes(smallest)) {
      if (left === 0) return smallest;
      left -= 1;
      const { breaches } = await runHistory(smaller, options);
      if (!breaches.some((breach) => breach.law === law)) continue;
      smallest = smaller;
      shrunk = true;
      break;
    }
  }
  return smallest;
}

function smallerOnes(history: History): readonly History[] {
  const { acts, apps, faults, replicas } = history;
  return [
    ...without(faults).map((left): History => ({ ...history, faults: left })),
    ...(apps.length > 1 ? [withoutLastApp(history)] : []),
    ...halves(acts).map((left): History => ({ ...history, acts: left })),
    ...(replicas > 1 ? [{ ...history, replicas: 1 }] : []),
  ];
}

function withoutLastApp(history: History): History {
  const { acts, apps } = history;
  const orgs = new Set(apps.at(-1)?.groups.map(({ org }) => org));
  const isOfIt = (act: Act): boolean =>
    'org' in act ? orgs.has(act.org.replace(/-b$/, '')) : 'app' in act && act.app === apps.length - 1;
  return { ...history, apps: apps.slice(0, -1), acts: acts.filter((act) => !isOfIt(act)) };
}

function without(faults: readonly Fault[]): readonly (readonly Fault[])[] {
  return faults.map((_, gone) => faults.filter((_each, index) => index !== gone));
}

/** Returns the acts without the second half, the first half, the quarters … and each single one. */
function halves(acts: readonly Act[]): readonly (readonly Act[])[] {
  const found: (readonly Act[])[] = [];
  for (let size = Math.ceil(acts.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = acts.length - size; from >= 0; from -= size)
      found.push(acts.filter((_, i) => i < from || i >= from + size));
  }
  return found;
}
