/** The worst first: the order of the table of `explain`. */
export const JOB_STATES = ['unserved', 'held', 'starting', 'blocked', 'running'] as const;

/**
 * What a job does, in one word to sort and filter by:
 * - `unserved`: it gets no runner until somebody acts, e.g. no group has its labels, or pods of runners cannot start.
 * - `held`: it waits for a slot or a limit, or it has no labels.
 * - `starting`: it has a runner that has not taken it yet.
 * - `blocked`: Gitea holds it back.
 * - `running`: a runner works on it.
 */
export type JobState = (typeof JOB_STATES)[number];
