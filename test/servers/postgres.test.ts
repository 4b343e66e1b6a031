/** Looks at a Gitea on PostgreSQL. Up to 1.26 the order of its lists is the database's: a row that is written again stands elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { observe } from '../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import type { Job } from '../../src/planner/evidence.ts';
import { OPTIONS, targetOf } from '../support/looking.ts';
import { GITEA_VERSIONS } from './build.ts';
import { inPostgres, sql, startPostgres } from './postgres.ts';
import { freePort, Playground, waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

/** Three pages. */
const JOBS = 130;
const LOOKS = 12;
/** Gitea's numbers of states (models/actions/status.go). */
const SUCCESS = 1;
const WAITING = 5;
const RUNNING = 6;

const port = await freePort();
const databaseOf = (version: string): string => `gitea${version.replaceAll('.', '')}`;

let playground: Playground | undefined;
beforeAll(async () => {
  playground = new Playground('postgres');
  await startPostgres(playground, port);
  for (const version of GITEA_VERSIONS) await sql(port, 'postgres', `CREATE DATABASE ${databaseOf(version)}`);
});
afterAll(() => playground?.close());

describe.each(GITEA_VERSIONS)('Gitea %s on PostgreSQL', (version) => {
  const database = databaseOf(version);
  const run = (text: string) => sql(port, database, text);
  const idsIn = async (...states: readonly number[]): Promise<readonly number[]> =>
    (await run(`SELECT id FROM action_run_job WHERE status IN (${states.join()}) ORDER BY id`)).map(Number);
  const files = { 'many.yml': workflow({ leg: { runsOn: 'any', matrix: JOBS } }) };
  const site = useSite(
    'postgres',
    { version, repositories: { web: files }, config: inPostgres(port, database) },
    async ({ admin }) => {
      await admin.dispatch('acme/web', 'many.yml');
      await waitUntil('all jobs are queued', async () => (await idsIn(WAITING)).length === JOBS);
    },
  );
  const look = async (): Promise<readonly Job[]> => {
    const target = { ...targetOf(site.url), token: new Token(site.admin.token, site.url) };
    return (await observe([target], OPTIONS)).get('look')?.jobs ?? [];
  };
  const inState = (jobs: readonly Job[], status: Job['status']): readonly number[] =>
    jobs.flatMap((job) => (job.status === status ? [job.id] : [])).sort((a, b) => a - b);

  it('a look at Gitea on PostgreSQL finds each queued job when rows stand in another order than their ids', async () => {
    await run(`UPDATE action_run_job SET name = name || '!' WHERE id % 3 = 0`);
    await run(`UPDATE action_run_job SET name = name || '!' WHERE id % 7 = 1`);
    const heap = await run('SELECT id FROM action_run_job');
    expect(heap.map(Number)).not.toEqual(await idsIn(WAITING));

    expect(inState(await look(), 'queued')).toEqual(await idsIn(WAITING));
  });

  it('misses no job that runs, while others begin and their rows move', async () => {
    await run(`UPDATE action_run_job SET status = ${RUNNING} WHERE id IN (SELECT id FROM action_run_job LIMIT 60)`);
    for (let count = 0; count < LOOKS; count += 1) {
      const before = await idsIn(RUNNING);
      const moving = run(
        `UPDATE action_run_job SET name = name || '!' WHERE status = ${RUNNING} AND id % 5 = ${count % 5};
         UPDATE action_run_job SET status = ${RUNNING} WHERE id IN (SELECT id FROM action_run_job WHERE status = ${WAITING} LIMIT 4)`,
      );
      const [jobs] = await Promise.all([look(), moving]);
      expect(inState(jobs, 'in_progress')).toEqual(expect.arrayContaining([...before]));
    }

    const all = await look();
    expect([inState(all, 'queued'), inState(all, 'in_progress')]).toEqual([await idsIn(WAITING), await idsIn(RUNNING)]);
  });

  it('a look at Gitea on PostgreSQL finds the jobs that ended last', async () => {
    const ended = (await idsIn(RUNNING)).slice(0, 60);
    await run(
      `UPDATE action_run_job SET status = ${SUCCESS}, stopped = ${Math.floor(Date.now() / 1000)} WHERE id IN (${ended.join()})`,
    );

    expect(inState(await look(), 'completed')).toEqual(ended);
  });
});
