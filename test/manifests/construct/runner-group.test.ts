/** Tests the construct for users of cdk8s. Its package in a project: test/package/packed.test.ts. */
import { App, Chart, JsonPatch, Testing } from 'cdk8s';
import { expect, it } from 'vitest';
import { RunnerGroup, type RunnerGroupProps } from '../../../src/manifests/construct/index.ts';
import { complaintsOf } from '../../support/group-files.ts';

const SPEC: RunnerGroupProps['spec'] = {
  scope: 'org',
  org: 'acme',
  gitea: { url: 'https://gitea.example.com' },
  maxActiveRunners: 3,
  registrationToken: { secretRef: { name: 'gitea-runner', key: 'registration-token' } },
  authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
};

function chart(namespace?: string): Chart {
  return new Chart(new App(), 'runners', {
    disableResourceNameHashes: true,
    ...(namespace !== undefined && { namespace }),
  });
}

it('the construct RunnerGroup is a RunnerGroup of its chart, with nothing added to what was written', () => {
  const of = chart('runners');

  new RunnerGroup(of, 'ci', { metadata: { name: 'ci' }, spec: SPEC });

  expect(Testing.synth(of)).toEqual([
    {
      apiVersion: 'gitea.bpg.pw/v1alpha1',
      kind: 'RunnerGroup',
      metadata: { name: 'ci', namespace: 'runners' },
      spec: SPEC,
    },
  ]);
});

it('the construct RunnerGroup needs no namespace: Argo CD knows it', () => {
  expect(() => new RunnerGroup(chart(), 'ci', { spec: SPEC })).not.toThrow();
});

it.each([
  ['a missing field', { org: undefined }],
  ['a value out of range', { maxActiveRunners: -1 }],
  ['an unknown field', { labls: ['gpu'] }],
  ['fields that do not go together', { containerMode: 'host', labels: ['a:docker://x'] }],
  ['three mistakes at once', { maxActiveRunners: -1, labls: ['gpu'], labels: ['a b'] }],
])('the construct with %s throws the problems that validate tells of the same document', async (_, wrong) => {
  const spec = JSON.parse(JSON.stringify({ ...SPEC, ...wrong })) as RunnerGroupProps['spec'];
  const told = await complaintsOf({ ...SPEC, ...wrong }, { namespace: 'runners' });
  let message = '';

  try {
    new RunnerGroup(chart('runners'), 'ci', { metadata: { name: 'ci' }, spec });
  } catch (error) {
    message = String(error);
  }

  const [head, ...lines] = message.split('\n');
  expect(head).toBe('Failure: RunnerGroup runners/ci is not valid:');
  expect(told.length).toBeGreaterThan(0);
  expect(lines.sort()).toEqual(told.map((complaint) => `  ${complaint}`).sort());
});

it('the construct RunnerGroup is refused with its place in the app, and with no other line of a stack', () => {
  let stack: string | undefined;

  try {
    new RunnerGroup(chart(), 'ci', { spec: { ...SPEC, maxActiveRunners: -1 } });
  } catch (error) {
    stack = (error as Error).stack;
  }

  const places = stack?.split('\n').filter((line) => line.startsWith('    at '));
  expect(stack).toContain('spec.maxActiveRunners: must be at least 0, not the number -1 [GR-INPUT-05]\n    at ');
  expect(places).toEqual([expect.stringContaining('runner-group.test.ts')]);
});

it('the construct RunnerGroup is checked again when the app is synthesised', () => {
  const of = chart('runners');
  const group = new RunnerGroup(of, 'ci', { metadata: { name: 'ci' }, spec: SPEC });

  group.addJsonPatch(JsonPatch.replace('/spec/maxActiveRunners', -1));

  expect(() => App.of(of).synth()).toThrow(
    'spec.maxActiveRunners: must be at least 0, not the number -1 [GR-INPUT-05]',
  );
});
