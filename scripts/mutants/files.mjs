// What is mutated, and the tests that must notice it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutantsOf } from './instrument.mjs';

/** The planner, and the oracles that judge it: a law that cannot fail proves nothing. */
const MUTATED = [/^src\/plan\/.*\.ts$/, /^test\/model\/laws\.ts$/, /^test\/simulation\/tally\.ts$/];

/** Tests of one scene each. */
const CHEAP = [
  /^test\/plan\/.*(?<!\.property)\.test\.ts$/,
  /^test\/model\/laws\.test\.ts$/,
  /^test\/simulation\/tally\.test\.ts$/,
];

/** Cheapest first: a mutant that is caught is not tried again. */
const QUICK = [...CHEAP, /^test\/plan\/.*\.property\.test\.ts$/, /^test\/simulation\/histories\.test\.ts$/];
const TESTS = [...QUICK, /^test\/golden\/golden\.test\.ts$/, /^test\/model\/histories\.property\.test\.ts$/];

/** Files in the order of the patterns. @type {(patterns: readonly RegExp[]) => string[]} */
function filesOf(patterns) {
  const folders = ['src/plan', 'test/plan', 'test/model', 'test/simulation', 'test/golden'];
  const files = folders.flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name)));
  return patterns.flatMap((pattern) => files.filter((file) => pattern.test(file)).sort());
}

/** @type {(isQuick: boolean) => string[]} */
export const testFiles = (isQuick) => filesOf(isQuick ? QUICK : TESTS);

/** True for a file whose tests are cheap. @type {(file: string) => boolean} */
export const isCheap = (file) => CHEAP.some((pattern) => pattern.test(file));

/**
 * All mutants in a fixed order, each with its number; `firstIds` has the number of the first one of each file.
 * @returns {{ mutants: (import('./instrument.mjs').Mutant & { id: number })[], firstIds: Map<string, number> }}
 */
export function allMutants() {
  const mutants = [];
  const firstIds = new Map();
  for (const file of filesOf(MUTATED)) {
    firstIds.set(file, mutants.length);
    for (const mutant of mutantsOf(file, readFileSync(file, 'utf8'))) mutants.push({ ...mutant, id: mutants.length });
  }
  return { mutants, firstIds };
}
