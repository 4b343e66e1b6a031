/** How often `serve` asks Gitea for the same registration token. */

/** Also how long a token that was replaced in Gitea stays in the Secret. */
const WELL_MS = 300_000;
const FIRST_MS = 15_000;
const LONGEST_MS = 600_000;

/** Time until the next question, ms, after so many failures in a row: 5 minutes after none; else 15 s, 30 s … 10 minutes. */
export function againMs(failures: number): number {
  return failures === 0 ? WELL_MS : Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
}
