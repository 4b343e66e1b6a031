/** Rows that stand for others, so that a list can be counted. They are in no look. */
import type { Job, RegisteredRunner } from '../../planner/evidence.ts';

/** Name of a row for which a look has no room. */
export const NO_ROOM = '(no room)\n';

export function unreadableJob(id: number): Job {
  return { id, attempt: 0, runId: 0, repository: '', name: '', url: '', labels: [], status: 'blocked', createdAtMs: 0 };
}

export function unreadableRunner(id: number): RegisteredRunner {
  return { id, name: '', online: false, busy: false, disabled: false, ephemeral: false, labels: [] };
}

/** False: the row stands for one that could not be read, or not be kept. */
export function isReadable({ id, name }: { readonly id: number; readonly name: string }): boolean {
  return id > 0 && name !== NO_ROOM;
}
