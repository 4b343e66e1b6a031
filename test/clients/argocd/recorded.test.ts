/**
 * Replays answers of a real Argo CD to the client. Each file of `recorded/` is `{recordedFrom, request, status, contentType,
 * body}` of one request to Argo CD 3.5.3 with a plugin of a few lines, a RunnerGroup `runners/ci` and an account `serve` that may get and
 * sync in its projects; addresses are replaced. Moments: two Jobs live and one more wanted (out-of-sync, then sync-started and sync-busy at
 * once); the plugin failed (comparison-error); another refresh was under way (refresh-pending).
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { ArgoCd } from '../../../src/clients/argocd/argocd.ts';
import { Deadline } from '../../../src/clients/http/request.ts';
import { afterRefresh } from '../../../src/serve/waking/wake.ts';
import { client, fakeArgoCd } from '../../support/fake-argocd.ts';

const GROUP = { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' };
const Recorded = z.object({
  request: z.object({ method: z.string(), path: z.string(), body: z.unknown().optional() }),
  status: z.number(),
  contentType: z.string(),
  body: z.unknown(),
});

/** A client of a server that gives the recorded answer, and the request that it was the answer to. */
async function replay(name: string): Promise<{
  readonly argocd: ArgoCd;
  readonly lines: () => readonly string[];
  readonly asked: () => readonly unknown[];
}> {
  const { status, contentType, body } = Recorded.parse(read(name));
  const asked: unknown[] = [];
  const server = await fakeArgoCd((seen, response) => {
    const [method, path] = seen.line.split(' ');
    asked.push({ method, path, body: seen.body === '' ? undefined : JSON.parse(seen.body) });
    response.writeHead(status, { 'content-type': contentType });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
    return true;
  });
  return { argocd: client(server.origin), lines: server.lines, asked: () => asked };
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(`test/clients/argocd/recorded/${name}.json`, 'utf8'));
}

const APP = { name: 'runners' };
const deadline = () => new Deadline(10_000);

it('a recorded Application in sync is left alone', async () => {
  const { argocd } = await replay('synced');

  const state = await argocd.refresh(APP, deadline());

  expect(state).toMatchObject({ namespace: 'argocd', sync: 'Synced', health: 'Healthy', errors: [] });
  expect(state.operation).toMatchObject({ phase: 'Succeeded', message: 'successfully synced (all tasks run)' });
  expect(afterRefresh(state, [GROUP])).toMatchObject({ is: 'in-sync' });
});

it('a recorded Application out of sync is synced, and its RunnerGroup and Jobs are known', async () => {
  const { argocd } = await replay('out-of-sync');

  const state = await argocd.refresh(APP, deadline());

  expect(afterRefresh(state, [GROUP])).toBe('sync');
  expect(state.manages({ group: 'batch', kind: 'Job', namespace: 'runners', name: 'ci-2-1-4567abcd' })).toBe(true);
  expect(state.manages({ ...GROUP, name: 'forged' })).toBe(false);
});

it('a recorded Application whose plugin failed is not synced, keeps its resources, and shows what it said', async () => {
  const { argocd } = await replay('comparison-error');

  const verdict = afterRefresh(await argocd.refresh(APP, deadline()), [GROUP]);

  expect(verdict).toMatchObject({ is: 'error', app: { sync: 'Unknown' }, errors: [{ type: 'ComparisonError' }] });
  expect(verdict !== 'sync' && verdict.app.manages(GROUP)).toBe(true);
  expect(verdict !== 'sync' && verdict.is === 'error' && verdict.errors[0]?.message).toMatch(
    /^GR-GITEA-01.*put a valid one into the Secret of authToken\.$/,
  );
});

it('a recorded Application with a refresh under way says that its refresh is pending', async () => {
  const { argocd } = await replay('refresh-pending');

  expect(await argocd.read(APP, deadline())).toMatchObject({ refreshPending: true });
});

it('outside the namespace of Argo CD is found there', async () => {
  const { argocd, lines } = await replay('team-a');

  const state = await argocd.read({ namespace: 'team-a', name: 'mine' }, deadline());

  expect(state.namespace).toBe('team-a');
  expect(lines()).toEqual([`GET ${Recorded.parse(read('team-a')).request.path}`]);
});

describe('a recorded sync', () => {
  it.each([
    ['sync-started', 'started'],
    ['sync-busy', 'busy'],
  ])('%s is understood', async (name, start) => {
    const { argocd } = await replay(name);

    expect(await argocd.sync(APP, deadline())).toBe(start);
  });

  it('a recorded sync is asked for as it was recorded, and not to be repeated (real: test/cluster/scenarios-apart.ts)', async () => {
    const { argocd, asked } = await replay('sync-started');

    await argocd.sync(APP, deadline());

    const { body, ...request } = Recorded.parse(read('sync-started')).request;
    expect(asked()).toEqual([{ ...request, body: { ...(body as object), retryStrategy: { limit: 0 } } }]);
  });
});

it.each([
  ['no-token', 'GR-ARGOCD-03'],
  ['bad-token', 'GR-ARGOCD-03'],
  ['forbidden', 'GR-ARGOCD-04'],
  ['missing', 'GR-ARGOCD-04'],
  ['namespace-not-enabled', 'GR-ARGOCD-04'],
  ['project-missing', 'GR-ARGOCD-13'],
  ['sync-forbidden', 'GR-ARGOCD-04'],
  ['sync-window', 'GR-ARGOCD-05'],
  ['sync-deleting', 'GR-ARGOCD-12'],
])('a recorded refusal: %s is %s', async (name, code) => {
  const { argocd } = await replay(name);
  const work = name.startsWith('sync-') ? argocd.sync(APP, deadline()) : argocd.read(APP, deadline());

  await expect(work).rejects.toMatchObject({ code, exit: 1 });
});
