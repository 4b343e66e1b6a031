// Mutants that do what the source does, by address, and why.
/** @type {Readonly<Record<string, string>>} */
export const EQUIVALENT = {};
