/** Describes a broken law: seed, the shrunk history, its events, and the command that replays it. */
import type { History } from './history.ts';
import type { Kind } from './kinds.ts';
import { POLICIES, type PolicyName } from './policies/index.ts';
import { type Breach, runHistory } from './run.ts';
import { shrink } from './shrink.ts';

/** Kind and seed of a history. */
interface MadeFrom {
  readonly kind: Kind;
  readonly seed: number;
}

/** Describes a breach. @param breach the one that was found when `history` was run */
export function describeBreach(history: History, policy: PolicyName, breach: Breach, from?: MadeFrom): string {
  const breaks = (candidate: History): boolean =>
    runHistory(candidate, POLICIES[policy]).breaches.some(({ law }) => law === breach.law);
  const small = shrink(history, breaks);
  const { story, breaches } = runHistory(small, POLICIES[policy], true);
  const found = breaches.find(({ law }) => law === breach.law) ?? breach;
  const until = story.findIndex((line) => Number.parseFloat(line) > found.atS);
  return [
    `${found.law} under "${policy}"${from ? `, ${from.kind} history, seed ${from.seed}` : ''}: ${found.words}, at ${found.atS.toFixed(1)} s`,
    `The smallest history found that shows it (${small.pushes.length} pushes, ${small.acts.length} acts):`,
    `  ${JSON.stringify({ gitea: small.gitea, groups: small.groups.map(({ name, labels, cap }) => ({ name, labels, cap })) })}`,
    ...(until < 0 ? story : story.slice(0, until)).map((line) => `  ${line}`),
    ...(from ? [`Replay: SIM_KIND=${from.kind} SIM_SEED=${from.seed} npx vitest run test/simulation`] : []),
  ].join('\n');
}
