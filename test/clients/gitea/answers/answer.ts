/**
 * Building blocks of hostile answers. `../fault.ts` has faults whose whole message is tested; here only the outcome is.
 */
import type { RequestListener } from 'node:http';
import { EPOCH, type JobRow, jobRow, json } from '../../../support/gitea-stand-in.ts';
import { type Answer, bent, JOBS, LEAK, onPath, RUNNERS } from '../fault.ts';

/** Expected result of `generate` for an answer. */
export type Expected =
  /** Exit 1, this code, nothing on stdout. */
  | { readonly code: string }
  /** Exit 0 and so many Jobs, and no other object. */
  | { readonly jobs: number };

export interface HostileAnswer {
  readonly name: string;
  readonly expected: Expected;
  /** A fresh handler. @param other origin of another server, to which nothing may be sent. */
  readonly handler: (other: string) => RequestListener;
  /** Ends by the time limit only: give it a short one. */
  readonly lasts?: true;
}

/** A job that the group of the test serves, in progress or queued now. */
export function job(id: number, fields: Readonly<Record<string, unknown>> = {}, status = 'queued'): JobRow {
  const created_at = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, '');
  return jobRow(id, status, { labels: ['linux'], created_at, started_at: EPOCH, ...fields });
}

const pathOf = { jobs: JOBS, runners: RUNNERS } as const;

/** A Gitea with one queued job whose list of jobs, or of runners, is answered like this. */
export function answers(
  name: string,
  expected: Expected,
  answer: Answer | ((other: string) => Answer),
  list: keyof typeof pathOf = 'jobs',
): HostileAnswer {
  return {
    name,
    expected,
    handler: (other) => {
      const made = answer.length === 1 ? (answer as (other: string) => Answer)(other) : (answer as Answer);
      return bent(onPath(pathOf[list]), made, [job(1)])();
    },
  };
}

/** The whole list of jobs is this JSON. */
export function body(name: string, expected: Expected, text: string): HostileAnswer {
  return answers(name, expected, (_seen, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(text);
  });
}

/** Active jobs are these rows; nothing is completed. */
export function rows(name: string, expected: Expected, found: readonly unknown[], total = found.length): HostileAnswer {
  return answers(name, expected, (seen, response) => {
    const wanted = seen.query.getAll('status');
    const some = found.filter((row) => wanted.includes(statusOf(row)));
    const all = wanted.length > 1 || some.length === found.length;
    json(response, { jobs: all ? found : some, total_count: all ? total : some.length });
  });
}

/** A queued job with these fields. */
export function row(name: string, expected: Expected, fields: Readonly<Record<string, unknown>>): HostileAnswer {
  return rows(name, expected, [job(17, fields)]);
}

export const BAD_SHAPE: Expected = { code: 'GR-GITEA-08' };
export const ONE_JOB: Expected = { jobs: 1 };
export { LEAK };

function statusOf(row: unknown): string {
  return typeof row === 'object' && row !== null && 'status' in row ? String(row.status) : 'queued';
}
