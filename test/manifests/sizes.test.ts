/** Law V92 (docs/spec.md): the pods of a group with sizes. */
import { expect, test } from 'vitest';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { withSizes } from '../../src/config/runnergroup/sizes.ts';
import { RunnersApp, templateHash } from '../../src/manifests/app.ts';
import { problemsOfPods } from '../../src/plan/group-pods.ts';
import { podProblem } from '../../src/plan/own-pod.ts';
import { complaintsOf, document, groupOf, readFiles } from '../support/group-files.ts';
import { runnerGroup } from '../support/runner-group.ts';

const sizes = [
  { name: 'large', weight: 4, resources: { requests: { cpu: '4' }, limits: {} } },
  { name: 'pool', weight: 1, podTemplate: { spec: { nodeSelector: { pool: 'large' } } } },
];
const group = runnerGroup({ resources: { requests: { cpu: '1' }, limits: {} } });

test('runners without a size keep their template when the group gets sizes', () => {
  expect(templateHash({ ...group, sizes })).toBe(templateHash(group));
});

test('each size has the resources that it says, else those of the group, and a label more', () => {
  const charts = new RunnersApp([{ ...group, sizes }]).groupCharts;

  const asked = charts.map(({ template }) => {
    const [runner] = template.spec.template.spec.containers;
    const labels = runner?.env?.find(({ name }) => name === 'GITEA_RUNNER_LABELS')?.value;
    return [labels, (runner as { resources?: unknown }).resources];
  });

  expect(asked).toEqual([
    ['linux:host', { requests: { cpu: '1' } }],
    ['linux:host,large:host', { requests: { cpu: '4' } }],
    ['linux:host,pool:host', { requests: { cpu: '1' } }],
  ]);
  expect(new Set(charts.map((chart) => chart.templateHash)).size).toBe(3);
});

test('a size of a group with docker runs its jobs on the image of the first docker label', async () => {
  const read = await groupOf({
    labels: ['a:docker://one', 'b:docker://two'],
    defaultLabels: false,
    sizes: [{ name: 'large' }],
  });

  expect(withSizes(read).map(({ labels }) => labels.at(-1)?.text)).toEqual(['b:docker://two', 'large:docker://one']);
});

test('the podTemplate of a size reaches no more than that of a group, and the fault is told there', async () => {
  const spec = { volumes: [{ name: 'v', secret: { secretName: 'gitea-runner' } }] };
  const privileged = { containers: [{ name: 'runner', securityContext: { privileged: true } }] };
  const sizesWith = (podTemplate: unknown) => [{ name: 'large', weight: 1, podTemplate }] as RunnerGroup['sizes'];
  const { groups, sources } = await readFiles({ 'ci.yaml': document({ sizes: sizesWith({ spec }) }) });

  const problems = await problemsOfPods(groups, sources);

  const [place, fault] = ['spec.sizes[0].podTemplate.spec.volumes[0].secret.secretName', 'is reserved'];
  expect(problems).toMatchObject([{ path: place, message: expect.stringContaining(fault) }]);
  expect(podProblem(runnerGroup({ sizes: sizesWith({ spec }) }))).toContain(`${place} ${fault}`);
  expect(podProblem(runnerGroup({ sizes: sizesWith({ spec: privileged }) }))).toContain(
    'spec.sizes[0].podTemplate.spec.containers[0].securityContext.privileged',
  );
  expect(await complaintsOf({ sizes: [{ name: 'large', podTemplate: 'x' }] })).toEqual([
    expect.stringContaining('spec.sizes[0].podTemplate: must be a mapping'),
  ]);
});
