import * as fc from 'fast-check';

/**
 * Seed of the properties. In CI every property runs with one known seed: a red run is caused by the change, and can be
 * repeated. At night the workflow gives each run a new seed. Elsewhere each run has other cases. A failure prints its
 * seed, and `PROPERTY_SEED=… npm test` repeats it.
 */
const seed = process.env['PROPERTY_SEED'] || (process.env['CI'] ? '20261121' : undefined);
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
