/**
 * Reads and deletes registrations of runners, and reads the token with which they register. Gitea deletes a runner at
 * work, too, and its job is lost (`DeleteRunner`, 1.25 to 1.27). So read row and running jobs just before.
 */
import * as z from 'zod';
import type { Look } from '../../planner/evidence.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import type { Scope } from '../../shared/scope.ts';
import { change, type GiteaAccess, GiteaApi } from './api.ts';
import type { Level } from './endpoints.ts';
import type { Rights } from './failures.ts';
import { type JobsById, readJobsIn, readRunners } from './lists.ts';
import { readRunnerPage, readShape } from './shapes.ts';
import { ownLevel } from './user-repos.ts';

/** Reads all runners of a level, then its running jobs: a runner that takes one in between is seen. @throws Failure */
export async function readRegistrations(access: GiteaAccess, level: Level): Promise<Look> {
  const api = new GiteaApi(access);
  const runners = await readRunners(api, level);
  return { runners, jobs: await readRunning(api, level) };
}

/** Reads the current row of a runner after the running jobs. `row` is undefined if the row is gone. */
export async function readRegistration(access: GiteaAccess, level: Level, id: number) {
  const api = new GiteaApi(access);
  // The row is read last. A living runner has then updated it, even if it has taken a job since the jobs were read.
  const jobs = await readRunning(api, level);
  const { runners } = level;
  const question = { ...runners, what: `read runner ${id} of ${level.name}`, path: `${runners.path}/${id}` };
  const read = (json: unknown) => readRunnerPage({ runners: [json], total_count: 1 }).rows;
  const rows = await orFailure(api.get(question, read));
  if (!(rows instanceof Failure)) return { row: rows[0], jobs };
  if (rows.kind !== 'not-found') throw rows;
  return { row: undefined, jobs };
}

/** Returns a scope's registration token; Gitea makes a missing one. Undefined: another user's. @throws Failure */
export async function readRegistrationToken(access: GiteaAccess, scope: Scope) {
  const api = new GiteaApi(access);
  const level = await ownLevel(api, scope);
  if (!level) return undefined;
  const question = registrationTokenQuestion(level, `ask for the registration token of ${level.name}`);
  return { token: await api.get(question, readToken), now: api.renamedTo(scope) };
}

/** The question for it, which needs the right to write. */
export function registrationTokenQuestion(level: Level, action: string) {
  const path = `${level.runners.path}/registration-token`;
  return { ...level.runners, what: action, method: 'POST', path, rights: writeRights(level) } as const;
}

/** A token that fits into an environment variable. Gitea's tokens have 40 characters. */
const TokenAnswer = z.object({ token: z.string().regex(/^[\x21-\x7e]{1,255}$/) });

export function readToken(json: unknown): string {
  return readShape(TokenAnswer, json, 'it').token;
}

/** Deletes one row; `gone` when it was not there any more. @throws Failure */
export async function deleteRegistration(access: GiteaAccess, level: Level, id: number): Promise<'deleted' | 'gone'> {
  const action = `delete runner ${id} of ${level.name}`;
  const question = { ...level.runners, what: action, path: `${level.runners.path}/${id}`, rights: writeRights(level) };
  const { status } = await change(access, { ...question, method: 'DELETE' }, [204, 404]);
  return status === 204 ? 'deleted' : 'gone';
}

/** Returns the rights for changes: the user as for lists, and the scope to write (`tokenRequiresScopes`). */
function writeRights({ runners: { rights } }: Level): Rights {
  return { ...rights, scope: rights.scope.replace('scope read:', 'scope write:') };
}

async function readRunning(api: GiteaApi, level: Level): Promise<Look['jobs']> {
  const jobs: JobsById = new Map();
  await readJobsIn(api, level, 'in_progress', jobs);
  return [...jobs.values()];
}
