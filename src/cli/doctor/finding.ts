import type { Unread } from '../read-object.ts';

/** What `doctor` says about one thing. */
export interface DoctorFinding {
  /** What was checked, e.g. `serve`. */
  readonly check: string;
  /** `unknown`: it may not be read, or it is not there yet and need not be. */
  readonly is: 'good' | 'bad' | 'unknown';
  /** What was seen. */
  readonly text: string;
  /** What to do. Always there when it is bad. */
  readonly fix?: string;
}

export const good = (check: string, text: string): DoctorFinding => ({ check, is: 'good', text });
export const bad = (check: string, text: string, fix: string): DoctorFinding => ({ check, is: 'bad', text, fix });
export const unknown = (check: string, text: string, fix?: string): DoctorFinding => ({
  check,
  is: 'unknown',
  text,
  ...(fix !== undefined && { fix }),
});

/** What cannot be read is bad only if it is not there. */
export function unread(check: string, read: Unread, fix: string): DoctorFinding {
  return read.isMissing ? bad(check, read.unread, fix) : unknown(check, read.unread);
}
