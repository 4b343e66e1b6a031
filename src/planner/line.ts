/** The order in which ready jobs are given slots, for people who ask how long a job will wait. */
import type { Evidence, Group } from './evidence.ts';
import { establishFacts } from './facts.ts';
import type { ListedJob } from './listed-jobs.ts';
import { queueReadyJobs } from './queue.ts';
import { replayPast } from './replay/replay.ts';

/** All ready jobs in the order in which `plan` gives slots. The same groups and evidence as for `plan`. */
export function waitingLine(groups: readonly Group[], evidence: Evidence): readonly ListedJob[] {
  const facts = establishFacts(groups, evidence);
  return queueReadyJobs(facts, replayPast(facts)).map(({ listed }) => listed);
}
