/** Describes a broken law for the person who has to repair it. */
import type { History } from './history.ts';
import type { Breach } from './laws.ts';
import type { Outcome } from './run.ts';

/** The command that repeats a history, and its story. */
export function describeBreach(
  history: History,
  breach: Breach,
  { story }: Outcome,
  kinds?: readonly string[],
): string {
  const only = kinds === undefined ? '' : ` KINDS=${kinds.join()}`;
  return [
    `Law "${breach.law}" is broken after ${breach.atS} s of history ${history.seed}: ${breach.words}`,
    `Repeat: SEED=${history.seed}${only} npx vitest run test/simulation/serve`,
    `Faults: ${JSON.stringify(history.faults)}`,
    `Acts: ${JSON.stringify(history.acts)}`,
    ...story,
  ].join('\n');
}
