import { describe, expect, it } from 'vitest';
import { readApplication } from '../../src/argocd/app-state.ts';
import { afterRefresh, firstStep, wake } from '../../src/argocd/wake.ts';
import { Deadline } from '../../src/http/deadline.ts';
import { application, client, type FakeArgoCd, fakeArgoCd, gatewayError, status } from '../support/fake-argocd.ts';

const APP = { name: 'runners' };
const GROUP = { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' };
const STRANGER = { ...GROUP, name: 'forged' };
const REFRESH = 'GET /api/v1/applications/runners?refresh=hard';
const READ = 'GET /api/v1/applications/runners';
const SYNC = 'POST /api/v1/applications/runners/sync';
const COMPARISON_ERROR = { conditions: [{ type: 'ComparisonError', message: 'GR-GITEA-01 list jobs' }] };

async function wakeUp(server: FakeArgoCd, groups = [GROUP]) {
  return await wake(client(server.origin), APP, groups, new Deadline(10_000));
}

describe('a wake', () => {
  it('refreshes and syncs an Application that is out of sync', async () => {
    const server = await fakeArgoCd();

    const result = await wakeUp(server);

    expect(result).toMatchObject({ is: 'synced', app: { sync: 'OutOfSync', project: 'ci' } });
    expect(server.lines()).toEqual([READ, REFRESH, SYNC]);
  });

  it('does not sync an Application that is in sync', async () => {
    const server = await fakeArgoCd();
    server.application.after = application(status('Synced'));

    expect((await wakeUp(server)).is).toBe('in-sync');
    expect(server.lines()).toEqual([READ, REFRESH]);
  });

  it('does not sync after a failed comparison, which would wipe the error away', async () => {
    const server = await fakeArgoCd();
    server.application.after = application(status('OutOfSync', COMPARISON_ERROR));

    expect(await wakeUp(server)).toMatchObject({
      is: 'error',
      errors: [{ type: 'ComparisonError', message: 'GR-GITEA-01 list jobs' }],
    });
    expect(server.lines()).toEqual([READ, REFRESH]);
  });

  it('gets an Application out of an earlier error', async () => {
    const server = await fakeArgoCd();
    server.application.before = application(status('Unknown', COMPARISON_ERROR));

    expect((await wakeUp(server)).is).toBe('synced');
  });

  it('syncs again after an operation that failed', async () => {
    const server = await fakeArgoCd();
    const operationState = { phase: 'Failed', startedAt: '2026-11-20T09:00:00Z', message: 'Job is invalid' };
    const conditions = [{ type: 'SyncError', message: 'Failed last sync attempt' }];
    server.application.after = application(status('OutOfSync', { operationState, conditions }));

    expect((await wakeUp(server)).is).toBe('synced');
  });

  it('says busy when another operation is under way', async () => {
    const server = await fakeArgoCd();
    server.application.busy = true;

    expect((await wakeUp(server)).is).toBe('busy');
    expect(server.lines()).toEqual([READ, REFRESH, SYNC]);
  });

  it('does not even refresh an Application that manages none of the RunnerGroups', async () => {
    const server = await fakeArgoCd();

    expect((await wakeUp(server, [STRANGER])).is).toBe('foreign');
    expect(server.lines()).toEqual([READ]);
  });

  it('wakes for the RunnerGroup that is really there, whatever others claim', async () => {
    const server = await fakeArgoCd();

    expect((await wakeUp(server, [STRANGER, GROUP])).is).toBe('synced');
  });

  it('does not sync an Application that has just let go of the RunnerGroup', async () => {
    const server = await fakeArgoCd();
    server.application.after = application({ sync: { status: 'OutOfSync' }, resources: [] });

    expect((await wakeUp(server)).is).toBe('foreign');
    expect(server.lines()).toEqual([READ, REFRESH]);
  });

  it('refreshes twice when a refresh was under way, which swallows the first', async () => {
    const server = await fakeArgoCd();
    server.application.before = application(status('Synced'), { 'argocd.argoproj.io/refresh': 'normal' });

    expect((await wakeUp(server)).is).toBe('synced');
    expect(server.lines()).toEqual([READ, REFRESH, REFRESH, SYNC]);
  });

  it('ends with the Failure of a request that is refused', async () => {
    const server = await fakeArgoCd(
      ({ line }, response) => line === SYNC && gatewayError(response, 403, 7, 'permission denied'),
    );

    await expect(wakeUp(server)).rejects.toMatchObject({ code: 'GR-ARGOCD-04' });
  });
});

describe('the decision', () => {
  it('asks for no refresh without a RunnerGroup to wake for', () => {
    expect(firstStep(readApplication(application(status('Synced'))), [])).toBe('foreign');
  });

  it('is an error with a reason of its own when Argo CD gives none for Unknown', () => {
    const verdict = afterRefresh(readApplication(application(status('Unknown'))), [GROUP]);

    expect(verdict).toMatchObject({ is: 'error', errors: [{ type: 'Unknown', stops: true }] });
  });

  it('shows only the errors that stop', () => {
    const conditions = [
      { type: 'SyncError', message: 'earlier' },
      { type: 'InvalidSpecError', message: 'project is gone' },
    ];

    const verdict = afterRefresh(readApplication(application(status('Unknown', { conditions }))), [GROUP]);

    expect(verdict).toMatchObject({ is: 'error', errors: [{ type: 'InvalidSpecError' }] });
    expect(verdict !== 'sync' && verdict.is === 'error' && verdict.errors).toHaveLength(1);
  });
});
