/** `gitea-runners extend` as people call it: the real program against an API server of the test's. */
import { json } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { timeText } from '../../src/shared/marks.ts';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { send, status, TOKEN } from '../support/api-server.ts';
import { type Outcome, runHere } from '../support/run-cli.ts';

const NAME = 'ci-7-1-9c31e0aa';
const POD = `${NAME}-x2x4z`;
const OURS = { 'gitea.bpg.pw/managed-by': 'argocd-gitea-runners' };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const Patch = z.object({
  metadata: z.object({ resourceVersion: z.string(), annotations: z.record(z.string(), z.string()) }),
});

interface World {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly status?: object;
  /** Status of the first answers to a patch. */
  readonly refusals?: number[];
  /** Status of all reads. */
  readonly read?: number;
  /** The server's clock is so much ahead. */
  readonly aheadMs?: number;
}

/** A runner whose CI job failed `ago` ms ago, and that stays for `keep` ms since. */
function kept(agoMs = 60_000, keepMs = 20 * 60_000): Readonly<Record<string, string>> {
  const endedAtMs = Date.now() - agoMs;
  return { 'gitea.bpg.pw/ended-at': timeText(endedAtMs), 'gitea.bpg.pw/keep-until': timeText(endedAtMs + keepMs) };
}

/** An API server with one pod and its Job, in namespace `runners`. */
async function startWorld(world: World) {
  const {
    labels = OURS,
    annotations = kept(),
    status: ofJob = { active: 1 },
    refusals = [],
    read,
    aheadMs = 0,
  } = world;
  const asked: string[] = [];
  const patches: z.infer<typeof Patch>[] = [];
  const meta = (name: string) => ({
    name,
    namespace: 'runners',
    uid: `uid-${name}`,
    creationTimestamp: '2026-11-21T03:00:00Z',
    labels,
  });
  const objects: Readonly<Record<string, object>> = {
    [`/apis/batch/v1/namespaces/runners/jobs/${NAME}`]: {
      metadata: { ...meta(NAME), annotations, resourceVersion: '41' },
      status: ofJob,
    },
    [`/api/v1/namespaces/runners/pods/${POD}`]: {
      metadata: { ...meta(POD), ownerReferences: [{ kind: 'Job', name: NAME, uid: `uid-${NAME}` }] },
    },
    '/api/v1/namespaces/runners/pods/web-0': { metadata: meta('web-0') },
  };
  const server = await startCluster({
    override: ({ pathname }, response, request) => {
      const isPatch = request.method === 'PATCH';
      const found = objects[pathname];
      const refusal = isPatch ? refusals.shift() : read;
      asked.push(`${request.method} ${pathname}`);
      response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString());
      if (refusal !== undefined || !found) status(response, refusal ?? 404, 'Refused');
      else if (!isPatch) send(response, 200, found);
      else
        void json(request).then((body) => {
          patches.push(Patch.parse(body));
          send(response, 200, found);
        });
      return true;
    },
  });
  const kubeconfig = kubeconfigFor(server);
  const extend = (...words: readonly string[]): Promise<Outcome> =>
    runHere(['extend', '--kubeconfig', kubeconfig, '-n', 'runners', ...words]);
  return { extend, asked, patches, kubeconfig };
}

/** The time that a patch writes. */
function writtenIn(patches: readonly z.infer<typeof Patch>[]): number {
  expect(patches).toHaveLength(1);
  expect(patches[0]?.metadata.resourceVersion).toBe('41');
  return Date.parse(patches[0]?.metadata.annotations['gitea.bpg.pw/extend-until'] ?? '');
}

it.each([POD, `pod/${POD}`, NAME, `job/${NAME}`])(
  'extend writes the new time on the Job of %s, and says it',
  async (name) => {
    const { extend, patches, asked } = await startWorld({});
    const before = Date.now();

    const { code, stdout, stderr } = await extend(name, '--for', '2h30m');

    const until = writtenIn(patches);
    expect(until).toBeGreaterThan(before + 2.5 * HOUR - 3_000);
    expect(until).toBeLessThan(Date.now() + 2.5 * HOUR + 3_000);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^job/${NAME} stays until ${timeText(until)} \\(2h(?:29|30)m\\)\\.\\n$`));
    expect(asked.filter((line) => line.startsWith('PATCH'))).toEqual([
      `PATCH /apis/batch/v1/namespaces/runners/jobs/${NAME}`,
    ]);
  },
);

it('extend takes the cluster that kubectl would take', async () => {
  const { patches, kubeconfig } = await startWorld({});

  const { code, stderr } = await runHere(['extend', POD, '-n', 'runners'], { KUBECONFIG: kubeconfig });

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(patches).toHaveLength(1);
});

it('extend goes by the clock of the cluster', async () => {
  const { extend, patches } = await startWorld({ aheadMs: 6 * HOUR, annotations: kept(-6 * HOUR) });

  await extend(POD);

  expect(writtenIn(patches)).toBeGreaterThan(Date.now() + 7 * HOUR - 10_000);
});

it('extend stops at 24 hours after the failure, and says so', async () => {
  const { extend, patches } = await startWorld({ annotations: kept(20 * HOUR, 21 * HOUR) });

  const { code, stdout } = await extend(POD, '--for', '12h');

  expect(code).toBe(0);
  expect(writtenIn(patches)).toBeLessThan(Date.now() + 4 * HOUR);
  expect(stdout).toContain('It is the longest stay: 24 hours after the failure.');
});

it('extend shortens nothing', async () => {
  const { extend, patches } = await startWorld({ annotations: kept(60_000, DAY / 2) });

  const { code, stdout } = await extend(POD, '--for', '1h');

  expect([code, patches]).toEqual([0, []]);
  expect(stdout).toContain(`job/${NAME} already stays until `);
});

it('extend reads the Job again when somebody has changed it meanwhile', async () => {
  const { extend, patches } = await startWorld({ refusals: [409, 409] });

  expect((await extend(POD)).code).toBe(0);
  expect(patches).toHaveLength(1);
});

it.each<[string, World, string, number, string]>([
  ['what no Job has made', {}, 'web-0', 2, 'GR-EXTEND-01'],
  ['a Job that is not ours', { labels: {} }, POD, 2, 'GR-EXTEND-01'],
  ['a runner that does not stay', { annotations: {} }, POD, 2, 'GR-EXTEND-02'],
  ['a runner whose CI job was cancelled', { annotations: kept(60_000, 0) }, POD, 2, 'GR-EXTEND-02'],
  [
    'a runner that has ended',
    { status: { conditions: [{ type: 'Complete', status: 'True' }] } },
    POD,
    2,
    'GR-EXTEND-02',
  ],
  ['a name that is not there', {}, 'ci-8-1-00000000', 1, 'GR-EXTEND-03'],
  ['who is not known', { read: 401 }, POD, 1, 'GR-CLUSTER-05'],
  ['who may not read', { read: 403 }, POD, 1, 'GR-EXTEND-04'],
  ['who may not write', { refusals: [403] }, POD, 1, 'GR-EXTEND-04'],
  ['a Job that changes all the time', { refusals: Array<number>(9).fill(409) }, POD, 1, 'GR-EXTEND-04'],
  ['a path', {}, '../secrets/x', 2, 'GR-EXTEND-06'],
])('extend refuses %s', async (_, world, name, exit, errorCode) => {
  const { extend, patches } = await startWorld(world);

  const { code, stdout, stderr } = await extend(name);

  expect([code, stdout, patches], stderr).toEqual([exit, '', []]);
  expect(stderr).toContain(errorCode);
  expect(stderr).not.toContain(TOKEN);
});

it('extend refuses to guess a cluster when kubectl has none either', async () => {
  const { code, stderr } = await runHere(['extend', POD]);

  expect(code).toBe(2);
  expect(stderr).toContain('GR-EXTEND-05');
});
