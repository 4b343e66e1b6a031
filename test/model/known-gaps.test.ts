/**
 * What the planner does not do yet, found by the histories. `it.fails` is green as long as the gap is there and turns red
 * when it is closed: then the scene moves to the laws, and what works around it in checked.ts goes.
 */
import { describe, expect, it } from 'vitest';
import { group, job, NOW, named, planScene, row, verdicts } from '../plan/scenario.ts';

describe('P9 nothing waits for ever, but', () => {
  const ci = group();
  // Gitea up to 1.26 lets a runner sleep that lost the race for a job, until anything new is ready (#38200).
  // With live Jobs its age is known, and it is replaced; without them it may have registered a moment ago.
  it.fails('an idle runner that has let its job wait for more than a spawn timeout does not hold it, Gitea alone', () => {
    const waits = job(1, { createdAtMs: NOW - 3_600_000 });
    const planned = planScene({ groups: [ci], jobs: [waits], runners: [row(named(ci, 1))] });

    expect(verdicts(planned)[1]).not.toBe(`own-runner ${named(ci, 1)}`);
  });
});
