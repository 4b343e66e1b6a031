import { inspect } from 'node:util';
import { Failure } from '../../src/shared/failure.ts';

/** The Failure that `work` must end in. Throws when it does not. */
export async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const outcome = await work.catch((error: unknown) => error);
  if (outcome instanceof Failure) return outcome;
  throw new Error(`no Failure but ${inspect(outcome)}`);
}
