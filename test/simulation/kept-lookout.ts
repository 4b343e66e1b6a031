/**
 * `generate` with looks that `serve` has kept (laws V178, P61, P62): a look at Gitea every second, of which `generate`
 * gets the oldest allowed one. That is harsher than reality. No webhook announces anything here, so only the end of a
 * Job makes a look outdated early.
 */
import { MOST_AGE_MS } from '../../src/clients/gitea/kept-look.ts';
import type { Look } from '../../src/planner/evidence.ts';
import type { Cluster } from './cluster.ts';
import { type LookAt, lookout } from './look.ts';

const EVERY_MS = 1_000;
const LOOK_MS = 200;
/** Delay until a watch has reported a change of a Job, ms. */
const WATCH_MS = 500;

interface Kept {
  readonly beganMs: number;
  readonly looks: ReadonlyMap<string, Look>;
}

export function keptLookout(...parts: Parameters<typeof lookout>): LookAt {
  const [stage, cluster] = parts;
  const look = lookout(...parts);
  const kept: Kept[] = [];
  let alive: ReadonlySet<string> = new Set();
  let heardMs = 0;
  const lookForEver = (): void => {
    const beganMs = stage.nowMs;
    look(LOOK_MS, ({ looks }) => kept.push({ beganMs, looks }));
    while (kept[0] && stage.nowMs - kept[0].beganMs > MOST_AGE_MS) kept.shift();
    stage.timeline.after(EVERY_MS, lookForEver);
  };
  const watchForEver = (): void => {
    const now = namesAlive(cluster);
    if ([...alive].some((name) => !now.has(name))) heardMs = stage.nowMs;
    alive = now;
    stage.timeline.after(WATCH_MS, watchForEver);
  };
  stage.timeline.after(0, lookForEver);
  stage.timeline.after(0, watchForEver);
  return (lookMs, done) => {
    const oldest = kept.find(({ beganMs }) => beganMs >= Math.max(heardMs, stage.nowMs - MOST_AGE_MS));
    look(lookMs, (sight) => {
      // No look is kept of a scope that is new in git.
      const all = oldest && { ...oldest, looks: new Map([...sight.looks, ...oldest.looks]) };
      done({ ...sight, ...(all && { kept: all }) });
    });
  };
}

function namesAlive({ jobs }: Cluster): ReadonlySet<string> {
  return new Set([...jobs.values()].flatMap(({ deleting, finished, name }) => (finished || deleting ? [] : [name])));
}
