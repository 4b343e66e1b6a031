import * as fc from 'fast-check';
import { it } from 'vitest';

export { fc };

/** Cases per property: 60 in `npm test`, 5000 in `npm run properties`, or as PROPERTY_RUNS says. The seed is printed with a failure. */
export const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 60);
const SEED = process.env['PROPERTY_SEED'];

/** Runs a property as a test. A failure prints the shrunk case and its seed; `PROPERTY_SEED=…` repeats it. */
export function test<T extends [unknown, ...unknown[]]>(
  name: string,
  arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> },
  law: (...values: T) => void,
): void {
  it(name, () => {
    fc.assert(fc.property<T>(...arbitraries, law), {
      numRuns: RUNS,
      ...(SEED !== undefined && { seed: Number(SEED) }),
    });
  });
}
