/**
 * Tests each way in which a stock Argo CD tracks the objects of an Application (docs/adr/0082): CI jobs come, run on
 * pinned runners, and leave nothing behind. One Argo CD, whose argocd-cm changes; a commit makes it apply the marks of
 * the new way.
 */
import { beforeAll, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { closeAfterTests } from './close-after-tests.ts';
import { APPLICATION, CAP, Rig, say } from './scenarios-rig.ts';

const ID = 'argocd.argoproj.io/tracking-id';
const INSTALLATION = 'argocd.argoproj.io/installation-id';
const LABEL = 'app.kubernetes.io/instance';
const OWN_LABEL = 'example.com/app';
const CM = 'configmap/argocd-cm';

const texts = z.record(z.string(), z.string()).default({});
const Marks = z.object({ annotations: texts, labels: texts });

let rig: Rig;

beforeAll(async () => {
  rig = await Rig.open(inject('clusterBuilds'), say, { GITEA_RUNNERS_SWEEP: 'true' });
});

closeAfterTests(() => rig);

async function marksOf(...object: readonly string[]) {
  const { annotations, labels } = Marks.parse(JSON.parse(await rig.field('{.metadata}', '-n', 'runners', ...object)));
  return [ID, INSTALLATION, LABEL, OWN_LABEL].filter((key) => (annotations[key] ?? labels[key]) !== undefined);
}

async function tellBoth(settings: Readonly<Record<string, string>>): Promise<void> {
  const data = JSON.stringify({ data: settings });
  await rig.kubectl('patch', '-n', 'argocd', 'configmap/gitea-runners-settings', '--type=merge', '-p', data);
  for (const name of ['gitea-runners', 'argocd-repo-server']) {
    await rig.kubectl('rollout', 'restart', '-n', 'argocd', `deployment/${name}`);
    await rig.kubectl('rollout', 'status', '-n', 'argocd', `deployment/${name}`, '--timeout=5m');
  }
}

interface Way {
  readonly method: string | null;
  readonly labelKey?: string;
  readonly installationId?: string;
  readonly marks: readonly string[];
}

it.each<readonly [string, Way]>([
  ['annotation', { method: null, marks: [ID] }],
  ['annotation, with an installation id', { method: null, installationId: 'here', marks: [ID, INSTALLATION] }],
  ['annotation+label', { method: 'annotation+label', marks: [ID, LABEL] }],
  ['label', { method: 'label', marks: [LABEL] }],
  ['a label of its own', { method: 'label', labelKey: OWN_LABEL, marks: [OWN_LABEL] }],
])('works while Argo CD tracks by %s', async (name, { method, labelKey, installationId, marks }) => {
  say(name);
  rig.begin();
  if (labelKey !== undefined) await tellBoth({ GITEA_RUNNERS_TRACKING_LABEL: labelKey });
  const data = {
    'application.resourceTrackingMethod': method,
    'application.instanceLabelKey': labelKey ?? null,
    installationID: installationId ?? null,
  };
  await rig.kubectl('patch', '-n', 'argocd', CM, '--type=merge', '-p', JSON.stringify({ data }));
  // Argo CD writes its marks with what changes.
  await rig.commitGroup({ maxActiveRunners: CAP + 1 });
  await rig.commitGroup({ maxActiveRunners: CAP });
  await rig.until('the RunnerGroup has the marks', async () => {
    return JSON.stringify(await marksOf('runnergroup', 'ci')) === JSON.stringify(marks);
  });

  await rig.dispatch('busy.yml');
  const runner = await rig.busyRunner();
  await rig.until('its Job is pinned', async () => {
    const options = ".metadata.annotations['argocd\\.argoproj\\.io/sync-options']";
    return (await rig.field(`{${options}}`, '-n', 'runners', 'job', runner)) === 'Prune=false';
  });
  expect(await marksOf('job', runner)).toEqual(marks);
  const explain = ['exec', '-n', 'argocd', 'deploy/gitea-runners', '--', 'gitea-runners', 'explain', '-n', 'runners'];
  expect(await rig.kubectl(...explain)).toContain(`Application argocd/${APPLICATION}: `);

  await rig.dispatch('busy.yml');
  const jobs = await rig.calm(2);
  expect(jobs.map(({ conclusion }) => conclusion)).toEqual(['success', 'success']);
  expect(new Set(rig.world.made()).size).toBe(2);
  expect([...rig.world.errors]).toEqual([]);
});
