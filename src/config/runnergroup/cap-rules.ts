/** Rules about the cap, its other spellings, and the deadline after which a place under it is given to another job. */
import { PENDING_DEADLINE_SECONDS } from './defaults.ts';
import { exampleOf } from './field-examples.ts';
import { type Draft, ok, problemAt, type Ruled, UNCLEAR, wrong } from './rule.ts';
import type { WrittenSpec } from './schema.ts';

/** Kubernetes lets nobody make a PriorityClass with this prefix (docs, "Pod Priority and Preemption"). */
const OF_KUBERNETES = 'system-';

/** `maxActiveRunners`, else `maxWorkers`, else the last threshold of the tiers. Those that are written must be the same number. */
export function ruleCap({ spec, unclear }: Draft): Ruled<number> {
  const { maxActiveRunners, maxWorkers, priorityTiers = [], podTemplate, minIdleRunners = 0 } = spec;
  if (unclear('maxActiveRunners') || unclear('maxWorkers') || unclear('priorityTiers')) return UNCLEAR;
  const last = priorityTiers.at(-1)?.threshold;
  const cap = maxActiveRunners ?? maxWorkers ?? last;
  if (cap === undefined) {
    const path = ['spec', 'maxActiveRunners'];
    return {
      problems: [
        { path, message: `is required: a whole number${exampleOf(path)}`, code: 'GR-INPUT-05', missing: true },
      ],
    };
  }
  const problems = priorityTiers.flatMap(({ threshold }, nth) => {
    const before = priorityTiers[nth - 1]?.threshold ?? 0;
    if (threshold > before) return [];
    const message = `is ${threshold}, but must be greater than ${before}, the threshold of the tier before it`;
    return [problemAt(['priorityTiers', nth, 'threshold'], message)];
  });
  for (const [nth, { priorityClassName }] of priorityTiers.entries()) {
    if (!priorityClassName.startsWith(OF_KUBERNETES)) continue;
    const message = "is a class of Kubernetes' own parts: a runner with it could push them off their node";
    problems.push(problemAt(['priorityTiers', nth, 'priorityClassName'], message));
  }
  if (last !== undefined && hasPriorityClass(podTemplate)) {
    const message = 'does not go with priorityTiers, which set it for each runner: remove one of them';
    problems.push(problemAt(['podTemplate', 'spec', 'priorityClassName'], message));
  }
  if (maxActiveRunners !== undefined && maxWorkers !== undefined && maxActiveRunners !== maxWorkers) {
    problems.push(problemAt(['maxWorkers'], 'differs from maxActiveRunners: remove one of the two spellings'));
  } else if (last !== undefined && last !== cap && problems.length === 0) {
    const field = maxActiveRunners === undefined ? 'maxWorkers' : 'maxActiveRunners';
    const message = `is ${cap}, but must be the last threshold of priorityTiers, which is ${last}: correct one, or remove ${field}`;
    problems.push(problemAt([field], message));
  }
  if (minIdleRunners > cap && problems.length === 0) {
    const message = `is ${minIdleRunners}, but must be at most the cap, which is ${cap}: idle runners count under it`;
    problems.push(problemAt(['minIdleRunners'], message));
  }
  return problems.length > 0 ? { problems } : ok(cap);
}

function hasPriorityClass(podTemplate: WrittenSpec['podTemplate']): boolean {
  const pod = podTemplate?.['spec'];
  return typeof pod === 'object' && pod !== null && 'priorityClassName' in pod;
}

/** A pod is not late before its spawn timeout. */
export function rulePendingDeadline({ spec, unclear }: Draft): Ruled<number> {
  const { spawnTimeoutSeconds: spawn, pendingDeadlineSeconds: given } = spec;
  if (spawn === undefined || unclear('pendingDeadlineSeconds')) return UNCLEAR;
  const deadline = given ?? Math.max(PENDING_DEADLINE_SECONDS, spawn);
  if (deadline >= spawn) return ok(deadline);
  const message = `is ${deadline}, but must be at least spawnTimeoutSeconds, which is ${spawn}`;
  return wrong(['pendingDeadlineSeconds'], message);
}
