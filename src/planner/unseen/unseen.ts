/**
 * Replaces missing sight of Kubernetes: guesses which runners are starting. This is the only door of this folder.
 *
 *     when a job became ready ......... it is guessed what it needed     needs.ts
 *     which runners may be starting ... the past is played again         replay.ts, requests.ts
 *     how long they may take .......... twice as long each time          patience.ts
 */
import type { Facts } from '../facts.ts';
import { readySinceFinder } from '../ready-since.ts';
import { needsFinder } from './needs.ts';
import { missedRunners } from './patience.ts';
import { replayPast } from './replay.ts';

export function withPast(facts: Facts): Facts {
  const readySinceMs = readySinceFinder(facts.jobs, facts.madeFor, needsFinder(facts.jobs));
  const timedFacts = { ...facts, readySinceMs };
  return {
    ...timedFacts,
    past: {
      requests: replayPast(timedFacts),
      missed: (listed, { spawnTimeoutMs }) => missedRunners(readySinceMs(listed), facts.nowMs, spawnTimeoutMs),
    },
  };
}
