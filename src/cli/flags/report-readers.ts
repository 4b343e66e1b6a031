/** Readers of values that flags about answers and reports have. As readers.ts. */
import { Failure } from '../../shared/failure.ts';
import { JOB_STATES, type JobState } from '../explain/job-state.ts';
import type { Source } from './flag.ts';
import { readList } from './readers.ts';

export function readRepository(text: string, { name }: Source): string {
  if (/^[\w.-]+\/[\w.-]+$/.test(text)) return text;
  throw new Failure('GR-FLAG-17', 2, `read ${name}: it must be a repository, written OWNER/NAME.`);
}

/** States of jobs between commas. */
export function readStates(text: string, { name }: Source): readonly JobState[] {
  // `stuck`: the word before, to go after 0.2.
  const words = readList(text).map((word) => (word === 'stuck' ? 'unserved' : word));
  const states = JOB_STATES.filter((state) => words.includes(state));
  if (words.length > 0 && states.length === new Set(words).size) return states;
  throw new Failure(
    'GR-FLAG-18',
    2,
    `read ${name}: it must be one or more of ${JOB_STATES.join(', ')}, with commas between.`,
  );
}
