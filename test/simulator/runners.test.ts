import { describe, expect, it } from 'vitest';
import { type Acme, jobs, startAcme } from './acme.ts';

const VERSIONS = ['1.25.4', '1.26.0', '1.27.3'] as const;
const SECOND = 1000;

function newRunner({ gitea }: Acme, name = 'r', labels: readonly string[] = ['ubuntu-latest'], ephemeral = true) {
  return gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels, ephemeral });
}

describe('who gets which job', () => {
  it('gives the oldest job to whoever asks first, whatever the names are', async () => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: jobs(2) });
    newRunner(acme, 'ci-1');
    const second = newRunner(acme, 'ci-2');

    const job = acme.gitea.poll(second.id);

    const { body } = await acme.get('/orgs/acme/actions/jobs?status=in_progress');
    expect(job?.id).toBe(1);
    expect(body.jobs).toMatchObject([{ id: 1, runner_id: second.id, runner_name: 'ci-2' }]);
  });

  it('orders by the time a job became ready, not by id', async () => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: [{ key: 'build' }, { key: 'test', needs: ['build'] }] });
    const builder = newRunner(acme);
    acme.gitea.poll(builder.id);
    acme.clock.now += SECOND;
    acme.gitea.push('acme/web', { jobs: [{ key: 'later' }] });
    acme.clock.now += SECOND;
    acme.gitea.finish(builder.id);

    const job = acme.gitea.poll(newRunner(acme).id);

    expect(job?.name).toBe('later');
  });

  it.each([
    [['ubuntu-latest'], ['ubuntu-latest', 'gpu'], true],
    [['gpu', 'linux'], ['linux', 'gpu', 'x'], true],
    [['gpu', 'linux'], ['gpu'], false],
    [['GPU'], ['gpu'], false],
    [[], ['gpu'], true],
  ])('runs-on %j, runner %j: %s', async (runsOn, labels, taken) => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: [{ key: 'job', runsOn }] });

    const job = acme.gitea.poll(newRunner(acme, 'r', labels).id);

    expect(job !== undefined).toBe(taken);
  });

  it('keeps runners to their scope', async () => {
    const acme = await startAcme();
    acme.gitea.push('tom/toys', { jobs: jobs(1) });
    const spec = { name: 'r', labels: ['ubuntu-latest'] };
    const scopes = [
      { kind: 'owner', owner: 'acme' },
      { kind: 'repo', repo: 'acme/web' },
      { kind: 'owner', owner: 'tom' },
    ] as const;

    const taken = scopes.map((scope) => acme.gitea.poll(acme.gitea.register({ ...spec, scope }).id)?.id);

    expect(taken).toEqual([undefined, undefined, 1]);
  });

  it.each([
    ['1.26.0', [1, undefined, undefined]],
    ['1.27.3', [1, 2, 3]],
  ] as const)('%s: runners that poll together get %j', async (version, expected) => {
    const acme = await startAcme({ version });
    acme.gitea.push('acme/web', { jobs: jobs(3) });
    const ids = [1, 2, 3].map(() => newRunner(acme).id);

    const together = acme.gitea.pollTogether(ids);

    expect(together.map((job) => job?.id)).toEqual(expected);
  });

  it('1.26: a runner that lost the race sleeps until the queue changes (#38200)', async () => {
    const acme = await startAcme({ version: '1.26.0' });
    acme.gitea.push('acme/web', { jobs: jobs(2) });
    const ids = [newRunner(acme).id, newRunner(acme).id];
    acme.gitea.pollTogether(ids);

    const asleep = acme.gitea.poll(ids[1] ?? 0);
    acme.gitea.push('acme/web', { jobs: jobs(1) });
    const awake = acme.gitea.poll(ids[1] ?? 0);

    expect([asleep, awake?.id]).toEqual([undefined, 2]);
  });

  it('1.27: a lost claim puts the job back at the tail, with its id and attempt', async () => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: jobs(2) });
    acme.gitea.poll(newRunner(acme).id);
    acme.clock.now += SECOND;
    acme.gitea.releaseClaim(1);

    const { body } = await acme.get('/orgs/acme/actions/jobs?status=queued');
    const next = acme.gitea.poll(newRunner(acme).id);

    expect(body.jobs.map((job) => [job.id, job.run_attempt])).toEqual([
      [1, 1],
      [2, 1],
    ]);
    expect(next?.id).toBe(2);
  });

  it('gives a runner that is not ephemeral one job after the other', async () => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: jobs(2) });
    const runner = newRunner(acme, 'again', undefined, false);

    const ids = [1, 2].map(() => {
      const job = acme.gitea.poll(runner.id);
      acme.gitea.finish(runner.id);
      return job?.id;
    });

    expect(ids).toEqual([1, 2]);
  });

  it('gives a disabled runner nothing', async () => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: jobs(1) });
    const runner = newRunner(acme);
    const path = `/orgs/acme/actions/runners/${runner.id}`;
    const headers = { authorization: 'token olga-all' };

    const { status } = await acme.get(path, '', { method: 'PATCH', headers, body: '{"disabled":true}' });

    expect([status, acme.gitea.poll(runner.id)]).toEqual([200, undefined]);
  });
});

describe('rows of the runner list', () => {
  it('allows the same name twice', async () => {
    const acme = await startAcme();
    newRunner(acme, 'twin');
    newRunner(acme, 'twin');

    const { body } = await acme.get('/orgs/acme/actions/runners');

    expect(body.runners.map((runner) => runner.name)).toEqual(['twin', 'twin']);
  });

  it('disappear when the job of an ephemeral runner ends, and stay for others', async () => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: jobs(2) });
    const runners = [newRunner(acme, 'once', undefined, true), newRunner(acme, 'again', undefined, false)];
    for (const runner of runners) acme.gitea.poll(runner.id);
    for (const runner of runners) acme.gitea.finish(runner.id);

    const { body } = await acme.get('/orgs/acme/actions/runners');

    expect(body.runners.map((runner) => runner.name)).toEqual(['again']);
    expect(() => acme.gitea.poll(runners[0]?.id ?? 0)).toThrow('unregistered runner');
  });

  it.each(VERSIONS)(
    '%s: a runner that never took a job stays, offline a minute after its last poll',
    async (version) => {
      const acme = await startAcme({ version });
      newRunner(acme);
      acme.clock.now += 60 * SECOND;
      const before = await acme.get('/orgs/acme/actions/runners');
      acme.clock.now += SECOND;
      acme.gitea.cleanUp();
      acme.gitea.expire();

      const after = await acme.get('/orgs/acme/actions/runners');

      expect([before.body.runners[0]?.status, after.body.runners[0]?.status]).toEqual(['online', 'offline']);
    },
  );

  it('are busy for ten seconds after a report, not while they have a job', async () => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: jobs(1) });
    const runner = newRunner(acme);
    const seen: (boolean | undefined)[] = [];
    const look = async () => seen.push((await acme.get('/orgs/acme/actions/runners')).body.runners[0]?.busy);

    acme.gitea.poll(runner.id);
    await look();
    acme.gitea.report(runner.id);
    await look();
    acme.clock.now += 11 * SECOND;
    await look();

    expect(seen).toEqual([false, true, false]);
  });

  it('are listed by last contact, newest first', async () => {
    const acme = await startAcme();
    newRunner(acme, 'old');
    acme.clock.now += SECOND;
    newRunner(acme, 'new');

    const { body } = await acme.get('/orgs/acme/actions/runners');

    expect(body.runners.map((runner) => runner.name)).toEqual(['new', 'old']);
  });

  it('are deleted without a look at what they do; the job then shows in_progress until the zombie check', async () => {
    const acme = await startAcme();
    acme.gitea.push('acme/web', { jobs: jobs(1) });
    const runner = newRunner(acme, 'gone');
    acme.gitea.poll(runner.id);
    const headers = { authorization: 'token olga-all' };

    const { status } = await acme.get(`/orgs/acme/actions/runners/${runner.id}`, '', { method: 'DELETE', headers });

    const path = '/orgs/acme/actions/jobs';
    const orphan = await acme.get(path);
    acme.clock.now += 11 * 60 * SECOND;
    acme.gitea.expire();
    const dead = await acme.get(path);
    expect(status).toBe(204);
    expect(() => acme.gitea.report(runner.id)).toThrow('unregistered runner');
    expect(orphan.body.jobs).toMatchObject([{ status: 'in_progress', runner_name: 'gone' }]);
    expect(dead.body.jobs).toMatchObject([{ status: 'completed', conclusion: 'failure' }]);
  });

  it('are not deleted through another scope', async () => {
    const acme = await startAcme();
    const runner = newRunner(acme);
    const headers = { authorization: 'token olga-all' };

    const { status } = await acme.get(`/user/actions/runners/${runner.id}`, '', { method: 'DELETE', headers });

    expect([status, acme.gitea.runners().length]).toEqual([404, 1]);
  });
});
