/** The end of the demo: what was promised, and whether it held. */
import { secondsText } from './view.ts';
import type { DemoWorld } from './world.ts';

export interface Summary {
  readonly good: boolean;
  readonly lines: readonly string[];
}

/** Counts up; good only when every CI job succeeded, nothing was killed or left over, and no cap was exceeded. */
export function summarize(world: DemoWorld, generated: number): Summary {
  const jobs = world.jobs();
  const succeeded = jobs.filter((job) => job.status === 'success').length;
  const left = world.cluster.jobs().length;
  const exceeded = world.groups.filter(({ name, cap }) => (world.most.get(name) ?? 0) > cap);
  const most = world.groups.map(({ name, cap }) => `${name} ${world.most.get(name) ?? 0} of ${cap}`).join(', ');
  const waits = [...world.waits]
    .filter(([id]) => !world.uncovered.has(id))
    .map(([, { readyMs, tookMs }]) => (tookMs ?? world.nowMs) - readyMs)
    .sort((a, b) => a - b);
  const median = secondsText(waits[Math.floor(waits.length / 2)] ?? 0);
  const uncovered = [...world.uncovered].map((id) => `#${id}`).join(', ');
  const good = succeeded === jobs.length && world.killed === 0 && left === 0 && exceeded.length === 0 && world.isOver();
  return {
    good,
    lines: [
      good ? 'Everything worked:' : 'Something went wrong:',
      `  CI jobs     ${succeeded} of ${jobs.length} succeeded, ${world.killed} killed`,
      `  cap         ${exceeded.length === 0 ? 'never exceeded' : 'EXCEEDED'}; most at once: ${most}`,
      `  waiting     ready to running: median ${median}, longest ${secondsText(waits.at(-1) ?? 0)}`,
      `              (not counted: ${uncovered || 'none'}, which no group covered at first)`,
      `  runners     ${world.cluster.created()} Jobs created, ${left} left over`,
      `              ${world.crossings} CI jobs ran on a runner that was made for another one`,
      `  generate    ran ${generated} times; it keeps nothing in mind between two runs`,
      '',
      'Next: see in the README how "gitea-runners explain" looks at your own Gitea.',
    ],
  };
}
