/** Tells how long CI jobs have waited. */
import { WaitingTimes } from './planning/waiting-times.ts';
import type { StartTask } from './task.ts';

export const tellWaits: StartTask = ({ clock, tell }) => {
  const times = new WaitingTimes();
  return (event) => {
    if (event.is !== 'round-done') return;
    const plans = event.verdicts.flatMap(({ planning }) => (planning.is === 'planned' ? planning.plan.jobs : []));
    for (const wait of times.take(plans, clock.now())) tell({ is: 'job-started', wait });
  };
};
