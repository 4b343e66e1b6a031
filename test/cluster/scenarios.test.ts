/**
 * The whole product on real servers, one scenario after the other. Each leaves the group empty again. All of them take three quarters of
 * an hour; with CLUSTER_SCENARIOS=short, as in .ci/run, there are the four that touch every part.
 */
import { createHash } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { SERVE_SELECTOR } from '../../src/shared/installed/installed-names.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { apartScenarios } from './scenarios-apart.ts';
import { editScenarios } from './scenarios-edit.ts';
import { faultScenarios } from './scenarios-faults.ts';
import { lifetimeScenarios } from './scenarios-lifetime.ts';
import { loadScenarios } from './scenarios-load.ts';
import { poolScenarios } from './scenarios-pool.ts';
import { renamedScenarios } from './scenarios-renamed.ts';
import { Rig, type Scenario, say } from './scenarios-rig.ts';
import { stuckScenarios } from './scenarios-stuck.ts';

let rig: Rig | undefined;
/**
 * CLUSTER_LEADER_DIES=SEED: in each scenario the leading `serve` is killed, at a moment that follows from the seed and the scenario's
 * name. Nothing that a scenario expects may depend on who leads.
 */
const SEED = process.env['CLUSTER_LEADER_DIES'];
const LATEST_MS = 25_000;
let dies: NodeJS.Timeout | undefined;
let dead: Promise<void> = Promise.resolve();

function leaderDiesIn(scenario: string): void {
  const digest = createHash('sha256').update(`${SEED} ${scenario}`).digest();
  const afterMs = 1_000 + (digest.readUInt32BE(0) / 2 ** 32) * LATEST_MS;
  say(`its leader dies after ${(afterMs / 1000).toFixed(1)} s (CLUSTER_LEADER_DIES=${SEED})`);
  dies = setTimeout(() => {
    dead = theRig()
      .killLeader(scenario)
      .catch((error: unknown) => say(`the leader was not killed: ${error}`));
  }, afterMs);
}
function theRig(): Rig {
  if (!rig) throw new Error('the stack did not start');
  return rig;
}

describe('a cluster with the product in it', () => {
  beforeAll(async () => {
    // Nobody gave serve rights in this namespace, as after its deletion (law V62).
    const namespaces = { GITEA_RUNNERS_NAMESPACES: 'runners,was-deleted' };
    rig = await Rig.open(inject('clusterBuilds'), say, { GITEA_RUNNERS_SWEEP: 'true', ...namespaces });
  });

  beforeEach(({ task }) => {
    say(task.name);
    theRig().begin();
    if (SEED !== undefined) leaderDiesIn(task.name);
  });

  afterEach(async ({ task }) => {
    clearTimeout(dies);
    await dead;
    await theRig().saveServeLogs(task.name);
    // A failure must not affect the next scenario: a runner that stays would take a job of it.
    await theRig().restoreGroup();
    if (task.result?.state === 'fail') await theRig().calm(0).catch(String);
  });

  closeAfterTests(() => rig);

  it('a cluster with the product in it has set the namespace aside that refuses', async () => {
    const logs = await theRig().stack.podLogs('argocd', SERVE_SELECTOR);

    expect(logs).toMatch(/GR-CLUSTER-06[^\n]* of namespace was-deleted/);
  });

  const scenario: Scenario = (name, run) => it(name, () => run(theRig(), theRig().world));
  const short = process.env['CLUSTER_SCENARIOS'] === 'short';
  loadScenarios(scenario, short);
  editScenarios(scenario);
  if (!short) renamedScenarios(scenario);
  if (!short) stuckScenarios(scenario);
  if (!short) poolScenarios(scenario);
  if (!short) lifetimeScenarios(scenario);
  faultScenarios(scenario, short);
  if (!short) apartScenarios(scenario);
});
