import type { SeenOrNot } from '../read-object.ts';

export interface DoctorFinding {
  /** What was checked, e.g. `serve`. */
  readonly check: string;
  /** `unknown`: it may not be read, or it is not there yet and need not be. */
  readonly is: 'good' | 'bad' | 'unknown';
  readonly text: string;
  /** What to do. Always there when it is bad. */
  readonly fix?: string;
}

export type Findings = DoctorFinding | readonly DoctorFinding[];

export const good = (check: string, text: string): DoctorFinding => ({ check, is: 'good', text });
export const bad = (check: string, text: string, fix: string): DoctorFinding => ({ check, is: 'bad', text, fix });
export const unknown = (check: string, text: string, fix?: string): DoctorFinding => ({
  check,
  is: 'unknown',
  text,
  ...(fix !== undefined && { fix }),
});

/** Judges what was read. What cannot be read is bad only if it is not there. */
export function judged<T>(check: string, read: SeenOrNot<T>, fix: string, judge: (value: T) => Findings): Findings {
  if ('value' in read) return judge(read.value);
  return read.isMissing ? bad(check, read.unread, fix) : unknown(check, read.unread);
}
