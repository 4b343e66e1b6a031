/** Tests which runner gets which CI job, and the rows of the runner list. */
import { describe, expect, it } from 'vitest';
import { addRunner, jobs, startAcme, VERSIONS } from './acme.ts';

const SECOND = 1000;
const RUNNERS = '/orgs/acme/actions/runners';

describe('who gets which job', () => {
  it('the simulator gives the oldest job to whoever asks first, whatever the names are', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(2) });
    addRunner(gitea, { name: 'ci-1' });
    const second = addRunner(gitea, { name: 'ci-2' });

    const job = gitea.poll(second);

    const { body } = await get('/orgs/acme/actions/jobs?status=in_progress');
    expect(job?.id).toBe(1);
    expect(body.jobs).toMatchObject([{ id: 1, runner_id: second, runner_name: 'ci-2' }]);
  });

  it('orders by the time a job became ready, not by id', async () => {
    const { clock, gitea } = await startAcme();
    gitea.push('acme/web', { jobs: [{ key: 'build' }, { key: 'test', needs: ['build'] }] });
    const builder = addRunner(gitea);
    gitea.poll(builder);
    clock.now += SECOND;
    gitea.push('acme/web', { jobs: [{ key: 'later' }] });
    clock.now += SECOND;
    gitea.finish(builder);

    expect(gitea.poll(addRunner(gitea))?.name).toBe('later');
  });

  it.each([
    [['ubuntu-latest'], ['ubuntu-latest', 'gpu'], true],
    [['gpu', 'linux'], ['linux', 'gpu', 'x'], true],
    [['gpu', 'linux'], ['gpu'], false],
    [['GPU'], ['gpu'], false],
    [[], ['gpu'], true],
  ])('runs-on %j, runner %j: %s', async (runsOn, labels, taken) => {
    const { gitea } = await startAcme();
    gitea.push('acme/web', { jobs: [{ key: 'job', runsOn }] });

    expect(gitea.poll(addRunner(gitea, { labels })) !== undefined).toBe(taken);
  });

  it('the simulator keeps runners to their scope', async () => {
    const { gitea } = await startAcme();
    gitea.push('tom/toys', { jobs: jobs(1) });
    const scopes = [
      { kind: 'owner', owner: 'acme' },
      { kind: 'repo', repo: 'acme/web' },
      { kind: 'owner', owner: 'tom' },
    ] as const;

    const taken = scopes.map((scope) => gitea.poll(addRunner(gitea, { scope }))?.id);

    expect(taken).toEqual([undefined, undefined, 1]);
  });

  it.each([
    ['1.26.0', [1, undefined, undefined]],
    ['1.27.3', [1, 2, 3]],
  ] as const)('%s: runners that poll together get %j', async (version, expected) => {
    const { gitea } = await startAcme({ version });
    gitea.push('acme/web', { jobs: jobs(3) });

    const together = gitea.pollTogether([1, 2, 3].map(() => addRunner(gitea)));

    expect(together.map((job) => job?.id)).toEqual(expected);
  });

  it('1.26: a runner that lost the race sleeps until the queue changes (#38200)', async () => {
    const { gitea } = await startAcme({ version: '1.26.0' });
    gitea.push('acme/web', { jobs: jobs(2) });
    const loser = addRunner(gitea);
    gitea.pollTogether([addRunner(gitea), loser]);

    const asleep = gitea.poll(loser);
    gitea.push('acme/web', { jobs: jobs(1) });
    const awake = gitea.poll(loser);

    expect([asleep, awake?.id]).toEqual([undefined, 2]);
  });

  it('1.27: a lost claim puts the job back at the tail, with its id and attempt', async () => {
    const { clock, gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(2) });
    gitea.poll(addRunner(gitea));
    clock.now += SECOND;
    gitea.releaseClaim(1);

    const { body } = await get('/orgs/acme/actions/jobs?status=queued');

    expect(body.jobs).toMatchObject([1, 2].map((id) => ({ id, run_attempt: 1 })));
    expect(gitea.poll(addRunner(gitea))?.id).toBe(2);
  });

  it('the simulator gives a disabled runner nothing', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(1) });
    const id = addRunner(gitea);

    const { status } = await get(`${RUNNERS}/${id}`, 'olga-all', { method: 'PATCH', body: '{"disabled":true}' });

    expect([status, gitea.poll(id)]).toEqual([200, undefined]);
  });
});

describe('rows of the runner list', () => {
  it('allows the same name twice, and has the newest contact first', async () => {
    const { clock, gitea, get } = await startAcme();
    addRunner(gitea, { name: 'twin' });
    addRunner(gitea, { name: 'twin' });
    clock.now += SECOND;
    addRunner(gitea, { name: 'new' });

    const { body } = await get(RUNNERS);

    expect(body.runners.map((runner) => runner.name)).toEqual(['new', 'twin', 'twin']);
  });

  it('disappear when the job of an ephemeral runner ends; others stay, and take one job after the other', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(3) });
    const [once, again] = [addRunner(gitea, { name: 'once' }), addRunner(gitea, { name: 'again', ephemeral: false })];
    for (const id of [once, again]) gitea.poll(id);
    for (const id of [once, again]) gitea.finish(id);

    const { body } = await get(RUNNERS);

    expect(body.runners.map((runner) => runner.name)).toEqual(['again']);
    expect(() => gitea.poll(once)).toThrow('unregistered runner');
    expect(gitea.poll(again)?.id).toBe(3);
  });

  it.each(VERSIONS)(
    '%s: a runner that never took a job stays, offline a minute after its last poll',
    async (version) => {
      const { clock, gitea, get } = await startAcme({ version });
      addRunner(gitea);
      clock.now += 60 * SECOND;
      const before = await get(RUNNERS);
      clock.now += SECOND;
      gitea.cleanUp();
      gitea.expire();

      const after = await get(RUNNERS);

      expect([before.body.runners[0]?.status, after.body.runners[0]?.status]).toEqual(['online', 'offline']);
    },
  );

  it('rows of the runner list are busy for ten seconds after a report, not while they have a job', async () => {
    const { clock, gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(1) });
    const id = addRunner(gitea);
    const seen: (boolean | undefined)[] = [];
    const look = async () => seen.push((await get(RUNNERS)).body.runners[0]?.busy);

    gitea.poll(id);
    await look();
    gitea.report(id);
    await look();
    clock.now += 11 * SECOND;
    await look();

    expect(seen).toEqual([false, true, false]);
  });

  it('rows of the runner list are deleted without a look at what they do; the job then shows in_progress until the zombie check', async () => {
    const { clock, gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(1) });
    const id = addRunner(gitea, { name: 'gone' });
    gitea.poll(id);

    const { status } = await get(`${RUNNERS}/${id}`, 'olga-all', { method: 'DELETE' });

    const orphan = await get('/orgs/acme/actions/jobs');
    clock.now += 11 * 60 * SECOND;
    gitea.expire();
    const dead = await get('/orgs/acme/actions/jobs');
    expect(status).toBe(204);
    expect(() => gitea.report(id)).toThrow('unregistered runner');
    expect(orphan.body.jobs).toMatchObject([{ status: 'in_progress', runner_name: 'gone' }]);
    expect(dead.body.jobs).toMatchObject([{ status: 'completed', conclusion: 'failure' }]);
  });

  it('rows of the runner list are not deleted through another scope', async () => {
    const { gitea, get } = await startAcme();
    const id = addRunner(gitea);

    const { status } = await get(`/user/actions/runners/${id}`, 'olga-all', { method: 'DELETE' });

    expect([status, gitea.runners().length]).toEqual([404, 1]);
  });
});
