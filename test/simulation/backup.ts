/**
 * Data that a Gitea loses: a deleted repository, and everything since its last backup. Only the simulation does this,
 * so it is here.
 */
import type { Gitea } from '../../simulator/gitea/gitea.ts';
import { isDone, type State } from '../../simulator/gitea/model.ts';

/**
 * Deletes a repository as Gitea does (services/repository/delete.go): its runs, CI jobs, tasks and own runners go. A runner of the
 * organization that works for it keeps its row, and goes on.
 */
export function deleteRepo({ state }: Gitea, fullName: string): void {
  const repo = state.repos.get(fullName);
  if (!repo) return;
  const isOfRepo = (row: { readonly repoId: number }): boolean => row.repoId === repo.id;
  state.repos.delete(fullName);
  dropRows(state.runs, isOfRepo);
  dropRows(state.jobs, isOfRepo);
  dropRows(state.tasks, ({ jobId }) => !state.jobs.has(jobId));
  dropRows(state.runners, ({ scope }) => scope.kind === 'repo' && scope.repo === fullName);
  index(state);
}

/**
 * Saves the tables of a Gitea. Returns a function that restores them: later rows are gone, and their ids come again.
 */
export function backUp({ state }: Gitea): () => void {
  const { runs, jobs, tasks, runners, repos, orgs, users, tokens, ownerRedirects, repoRedirects } = state;
  const restores = [
    ...[saveRows(runs), saveRows(jobs), saveRows(tasks), saveRows(runners), saveRows(repos), saveRows(orgs)],
    ...[saveRows(users), saveRows(tokens), saveRows(ownerRedirects), saveRows(repoRedirects)],
  ];
  const [lastIds, registrationTokens] = [new Map(state.lastIds), new Map(state.registrationTokens)];
  return () => {
    for (const restore of restores) restore();
    // A token that was made since stays: the Secret of a group has it.
    const saved = new Set(registrationTokens.values());
    for (const [scope, token] of state.registrationTokens) if (saved.has(token)) state.registrationTokens.delete(scope);
    for (const [scope, token] of registrationTokens) state.registrationTokens.set(scope, token);
    for (const table of state.lastIds.keys()) state.lastIds.set(table, lastIds.get(table) ?? 0);
    // Versions of the queue are columns of a table, too. Runners that have seen a later one ask again, because it differs.
    for (const [scope, version] of state.tasksVersions) state.tasksVersions.set(scope, version + 1);
    index(state);
  };
}

function dropRows<K, V>(table: Map<K, V>, goes: (row: V) => boolean): void {
  for (const [key, row] of table) if (goes(row)) table.delete(key);
}

/** Rows that are still there stay the same objects. */
function saveRows<K, V extends object>(table: Map<K, V>): () => void {
  const saved = new Map([...table].map(([key, row]) => [key, { row, copy: { ...row } }]));
  return () => {
    table.clear();
    for (const [key, { row, copy }] of saved) table.set(key, Object.assign(row, copy));
  };
}

function index(state: State): void {
  state.openJobs.clear();
  for (const job of state.jobs.values()) if (!isDone(job.status)) state.openJobs.set(job.id, job);
  state.openTasks.clear();
  for (const task of state.tasks.values()) if (!isDone(task.status)) state.openTasks.set(task.id, task);
}
