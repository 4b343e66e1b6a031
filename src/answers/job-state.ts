/** The worst first: the order of the table of `explain`. */
export const JOB_STATES = ['unserved', 'held', 'starting', 'blocked', 'running'] as const;

/**
 * One word for what a job does, to sort by and to filter by.
 *
 * - `unserved`: it gets no runner until somebody acts. No group has its labels, its group is suspended or has a cap of 0, its runners fail,
 *   the pod of its runner cannot start or all slots are taken by such pods, Argo CD does not create its runner's Job, or its
 *   repository has Actions switched off.
 * - `held`: it waits for a slot or a limit, or it has no labels.
 * - `starting`: it has a runner that has not taken it yet.
 * - `blocked`: Gitea holds it back.
 * - `running`: a runner works on it.
 */
export type JobState = (typeof JOB_STATES)[number];
