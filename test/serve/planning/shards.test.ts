/** Laws V173 and V175 (docs/spec.md): the Applications of a folder's shards, judged together. Without a network, a clock or a cluster. */
import { describe, expect, it } from 'vitest';
import type { GiteaTarget } from '../../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import { runnerName } from '../../../src/planner/names.ts';
import { shardOfName } from '../../../src/planner/shards.ts';
import {
  judgeApplication,
  type ReconcileInput,
  seenGroups,
  type WakeFacts,
} from '../../../src/serve/planning/reconcile.ts';
import { type LiveGroup, type LiveRunner, snapshot } from '../../../src/serve/seen/live.ts';
import { NEVER_WOKEN } from '../../../src/serve/waking/wake-state.ts';
import { SHARDS, TRACKING_ID } from '../../../src/shared/marks.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { job, live, NOW, namesAtWork, ORIGIN, podsOf } from '../../support/scenario.ts';

const group = runnerGroup({ name: 'ci', maxActiveRunners: 100 });
const JOBS = Array.from({ length: 40 }, (_, nth) => job(nth + 1));

function ciOf(application: string, shards?: string): LiveGroup {
  const tracked = `${application}:gitea.bpg.pw/RunnerGroup:runners/ci`;
  const annotations = { [TRACKING_ID]: tracked, ...(shards !== undefined && { [SHARDS]: shards }) };
  return {
    key: 'runners/ci',
    object: { metadata: { namespace: 'runners', name: 'ci', uid: 'u', annotations } },
    group,
  };
}

function runnerOf(name: string, shard: number, application = `runners-${shard}`): LiveRunner {
  const annotations = { [TRACKING_ID]: `${application}:batch/Job:runners/${name}` };
  return { job: { ...live(name, 'running'), shard, application }, annotations, groupName: 'ci' };
}

function judge(
  of: LiveGroup,
  runners: readonly LiveRunner[] = [],
  wakes: Readonly<Record<string, WakeFacts>> = {},
  jobs = JOBS,
) {
  const key = of.key;
  const target: GiteaTarget = {
    key,
    url: ORIGIN,
    scope: { kind: 'org', org: 'acme' },
    token: new Token('secret', ORIGIN),
  };
  const look = { jobs, runners: [] };
  const input: ReconcileInput = {
    ...{ nowMs: NOW, steadyMs: NOW, instance: '', lostJobs: () => [], unregistered: () => undefined },
    snapshot: snapshot({ groups: [of], runners, controlPlaneNamespace: 'argocd', steadyMs: NOW }),
    pods: podsOf(namesAtWork([look])),
    targetOf: new Map([[group, target]]),
    observations: new Map([[key, { beganMs: NOW, beganSteadyMs: NOW, endedMs: NOW, look }]]),
    clocks: { kubernetes: 'https://kubernetes', of: () => undefined },
    wakes: new Map(Object.entries(wakes)),
  };
  const [application = ''] = input.snapshot.byApp.keys();
  return judgeApplication(input, application, [of], undefined);
}

const shardIn = (key: string, of: number) => shardOfName(key.split('/')[1] ?? '', of);

describe('of three shards', () => {
  const sharded = ciOf('runners-0', '3');

  it('each of three shards differs by its own part, and all together by the whole', () => {
    const { difference, siblings } = judge(sharded);
    const parts = [difference, ...siblings.values()].map(({ missing }) => missing);

    expect([...siblings.keys()]).toEqual(['argocd/runners-1', 'argocd/runners-2']);
    expect(parts.map((part) => new Set(part.map((key) => shardIn(key, 3))))).toEqual(
      [0, 1, 2].map((shard) => new Set([shard])),
    );
    expect(parts.flat().sort()).toEqual(judge(ciOf('runners')).difference.missing);
  });

  it('a shard whose part the cluster shows differs by nothing', () => {
    const whole = judge(sharded);
    const [key = ''] = whole.siblings.keys();
    const made = (whole.siblings.get(key)?.missing ?? []).map((of) => runnerOf(of.split('/')[1] ?? '', 1));
    const missing = judge(sharded, made).siblings.get(key)?.missing;

    expect(made.length).toBeGreaterThan(5);
    expect(missing).toEqual([]);
    expect(judge(sharded, made).difference.missing).toEqual(whole.difference.missing);
  });

  it('what a shard no longer needs is a surplus of that shard', () => {
    const [{ group: named, templateHash } = { group, templateHash: '' }] = seenGroups(
      group,
      undefined,
      () => undefined,
    );
    const name = runnerName('', { ...named, origin: ORIGIN, templateHash, covers: 'acme' }, { id: 99, attempt: 1 }, 0);
    const old = { ...runnerOf(name, 2), job: { ...runnerOf(name, 2).job, createdAtMs: NOW - 3_600_000 } };
    const { difference, siblings } = judge(sharded, [old], {}, []);

    expect([difference, ...siblings.values()].map(({ surplus }) => surplus)).toEqual([[], [], [`runners/${name}`]]);
  });

  it('the status tells the Application that is in trouble', () => {
    const facts = judge(sharded, [], {
      'argocd/runners-2': {
        printed: new Set(),
        state: { ...NEVER_WOKEN, last: { is: 'error', message: 'no plugin' } },
      },
    }).groups[0]?.facts;

    expect(facts?.argocd).toMatchObject({ last: { is: 'error', message: 'Application argocd/runners-2: no plugin' } });
  });

  it.each([
    ['the Application is not called so', ciOf('runners', '3')],
    ['it is no number', ciOf('runners-0', 'many')],
    ['there is one', ciOf('runners-0', '1')],
    ['there are too many', ciOf('runners-0', '101')],
    ['nobody says it', ciOf('runners-0')],
  ])('there are no shards when %s', (_, of) => {
    const { difference, siblings } = judge(of);
    expect([difference.missing.length, siblings.size]).toEqual([40, 0]);
  });
});

it('shards of an Application in another namespace, and of one of several Argo CDs, are found', () => {
  const keys = (application: string) => [...judge(ciOf(application, '2')).siblings.keys()];

  expect(keys('teams_runners-0')).toEqual(['teams/runners-1']);
});
