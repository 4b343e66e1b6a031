/** Reads Gitea's version and says what follows from it. Source of each difference: the version the fact was read in. */

/** What this program needs to know about a Gitea. */
export interface VersionFacts {
  /** `major.minor.patch`, digits only, so safe to show. */
  readonly text: string;
  /** 1.27+: jobs are ordered by id and `sort=id&order=desc` works (routers/api/v1/utils/sort.go). Before: ignored, database order. */
  readonly sortsJobs: boolean;
  /** Up to 1.26 `run_attempt` grows at the claim (CreateTaskForRunner); from 1.27 it is fixed when the row is made. */
  readonly attemptGrowsAtClaim: boolean;
}

/** 1.25.0 is the first Gitea that lists jobs through its API. */
export const OLDEST_GITEA = '1.25.0';

export type VersionVerdict =
  | { readonly kind: 'fine'; readonly version: VersionFacts }
  | { readonly kind: 'too-old'; readonly found: string }
  /** Forgejo answers the same path with its own number and `+gitea-1.22.0`; its job API is another one. */
  | { readonly kind: 'forgejo' }
  | { readonly kind: 'unreadable' };

/**
 * Judges the text of `GET /api/v1/version`. Builds between releases (`1.27.0+dev-123-gabc`, `1.28.0-rc0`) count as the release they
 * lead to. Anything that is not three numbers and a suffix is unreadable: guessing would pick the wrong meaning of `run_attempt`.
 */
export function judgeVersion(text: string): VersionVerdict {
  const match = /^v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})([-+~][\w.+~-]{0,100})?$/.exec(text);
  if (match === null) return { kind: 'unreadable' };
  if (/\+gitea-/.test(match[4] ?? '')) return { kind: 'forgejo' };
  const major = Number(match[1]);
  const minor = Number(match[2]);
  const found = `${major}.${minor}.${Number(match[3])}`;
  const atLeast = (wanted: number) => major > 1 || (major === 1 && minor >= wanted);
  if (!atLeast(25)) return { kind: 'too-old', found };
  return { kind: 'fine', version: { text: found, sortsJobs: atLeast(27), attemptGrowsAtClaim: !atLeast(27) } };
}
