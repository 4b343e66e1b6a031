/**
 * What the program needs of a policy file, in one part: lib/policy.cjs is loaded only when a policy is named (scripts/build.mjs). It
 * answers with data and throws nothing: a `Failure` of that part would be none to the rest of the program.
 */
export { skippedRules } from './application-rules.ts';
export { check } from './check.ts';
export { readPolicyFile } from './read.ts';
export { boundTo } from './token-binding.ts';
