/** Commit statuses: what Gitea shows beside a commit and its pull request. */
import * as z from 'zod';
import { change, type GiteaAccess, GiteaApi, type Question } from './api.ts';
import { levelOfRepository } from './endpoints.ts';
import { readShape } from './shapes.ts';

const JobRow = z.object({ head_sha: z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/) });

/** Each context has one status. `url`: target of the link; empty: no link. */
type CommitStatus = Readonly<Record<'repository' | 'sha' | 'context' | 'description' | 'url', string>>;

/** The commit that a CI job is for. @throws Failure */
export async function readCommit(access: GiteaAccess, repository: string, jobId: number): Promise<string> {
  const question = questionOf(repository, `read job ${jobId} of ${repository}`, `actions/jobs/${jobId}`);
  const read = (json: unknown) => readShape(JobRow, json, 'the job').head_sha;
  return await new GiteaApi(access).get(question, read);
}

/** Replaces the status of its context. Never `pending`, which would block merges (docs/adr/0069). @throws Failure */
export async function setCommitStatus(access: GiteaAccess, status: CommitStatus): Promise<void> {
  const { repository, sha, url: target_url, ...statusFields } = status;
  const question = questionOf(repository, `set a commit status in ${repository}`, `statuses/${sha}`);
  await change(access, { ...question, method: 'POST' }, [201], { state: 'success', target_url, ...statusFields });
}

function questionOf(repository: string, action: string, below: string): Question {
  const rights = { scope: 'scope write:repository', user: 'one who may write to the code of the repository' };
  const missing = `Check that the token's user may see ${repository}`;
  return { what: action, path: `${levelOfRepository(repository).root}/${below}`, rights, missing };
}
