/** Reads Gitea's version and says what follows from it. Source of each difference: the version the fact was read in. */

export interface VersionFacts {
  /** `major.minor.patch`, digits only, so safe to show. */
  readonly text: string;
  /** 1.27+: jobs are sorted by id, and `sort=id&order=desc` works (v1/utils/sort.go). Before: database order. */
  readonly sortsJobs: boolean;
  /** Up to 1.26 `run_attempt` grows at the claim (CreateTaskForRunner); from 1.27 it is fixed when the row is made. */
  readonly attemptGrowsAtClaim: boolean;
  /** 28.0+ (the release after 1.27): `POST …/runs/{run}/force-cancel` (routers/api/v1/repo/actions_run.go, #38756). */
  readonly endsRuns: boolean;
}

/**
 * Judges the text of `GET /api/v1/version`. A build between two releases counts as the later one. With a `code`: why
 * this Gitea cannot be used. An unreadable version is refused: it decides what `run_attempt` means.
 */
export function judgeVersion(text: string): VersionFacts | Readonly<Record<'code' | 'received' | 'remedy', string>> {
  const match = /^v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})([-+~][\w.+~-]{0,100})?$/.exec(text);
  if (match === null) {
    const remedy = 'Gitea 1.25.0 or newer is needed; without its version its answers cannot be understood';
    return { code: 'GR-GITEA-13', received: 'the version is not of the form 1.27.3', remedy };
  }
  // Forgejo answers the same path with its own number and `+gitea-1.22.0`.
  if (/\+gitea-/.test(match[4] ?? '')) {
    const received = 'this is Forgejo, whose API for jobs is another one';
    return { code: 'GR-GITEA-12', received, remedy: 'Gitea 1.25.0 or newer is needed' };
  }
  const major = Number(match[1]);
  const minor = Number(match[2]);
  const versionText = `${major}.${minor}.${Number(match[3])}`;
  // After 1.27 comes 28.0. Gitea Enterprise has numbers such as 23.8.0, which is 1.23 here.
  const atLeast = (minimum: number) => (major === 1 ? minor : major) >= minimum;
  // The first Gitea that lists jobs through its API.
  if (!atLeast(25)) {
    const received = `this is Gitea ${versionText}, which cannot list jobs`;
    return { code: 'GR-GITEA-11', received, remedy: 'Upgrade it to 1.25.0 or newer' };
  }
  return { text: versionText, sortsJobs: atLeast(27), attemptGrowsAtClaim: !atLeast(27), endsRuns: major >= 28 };
}
