/**
 * Runners of a group that has moved to another Gitea or scope. They are registered at the old place, where nobody looks any more. One that
 * was at work at the last sync is left to finish (docs/adr/0036). Idle ones go.
 */
import type { Group, LiveJob } from './evidence.ts';

/**
 * True when the Job was made for another place than that of its group now. Either its pod has the address of another Gitea, or it was
 * printed for a repository that the scope does not cover. What the Job does not tell proves nothing.
 */
export function isOfOtherPlace({ giteaUrl, repository }: LiveJob, { origin, covers }: Group): boolean {
  if (giteaUrl !== undefined && giteaUrl !== origin) return true;
  if (repository === undefined || covers === undefined) return false;
  // Gitea ignores case.
  const name = repository.toLowerCase();
  return name !== covers && !name.startsWith(`${covers}/`);
}
