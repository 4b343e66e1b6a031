import { describe, expect, it } from 'vitest';
import { refusalsByDefault } from '../../../src/config/policy/without-policy.ts';
import { folderWith, groupYaml, runHere } from '../../support/run-cli.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { startAcme } from '../../support/start-acme.ts';

/** `generate` or `explain` for a group of namespace `runners`, as Argo CD starts it for an Application with this destination. */
async function run(command: string, destination?: string) {
  const { simulator, env } = await startAcme();
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url) });
  const argocd = destination === undefined ? {} : { ARGOCD_APP_NAME: 'runners', ARGOCD_APP_NAMESPACE: destination };
  return runHere([command, '--cluster', 'off'], { ...env, ...argocd }, folder);
}

it.each(['generate', 'explain'])(
  'a RunnerGroup of namespace runners is refused by %s for an Application of another namespace',
  async (command) => {
    const outcome = await run(command, 'team-a');

    expect(outcome).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('error: GR-POLICY-01 ') });
    expect(outcome.stderr).toContain('RunnerGroup runners/ci (ci.yaml:1)');
    expect(outcome.stderr).toContain('destination namespace of the Application is team-a');
  },
);

it.each(['runners-2', 'Runners', 'runner', ' runners', 'runners ', '*', '..'])(
  'a RunnerGroup of namespace runners is refused for the namespace %j, which only looks alike',
  async (destination) => {
    expect((await refusalsByDefault([runnerGroup()], destination)).whole).toMatchObject({
      code: 'GR-POLICY-01',
      exit: 3,
    });
  },
);

it.each([['runners'], [undefined], ['']])(
  'a RunnerGroup of namespace runners is served for the namespace %j',
  async (destination) => {
    expect(await run('generate', destination)).toMatchObject({ code: 0 });
  },
);

it('the message names five groups and counts the others', async () => {
  const groups = Array.from({ length: 7 }, (_, index) => runnerGroup({ namespace: 'team-b', name: `ci-${index}` }));

  const { byGroup: of, whole: all } = await refusalsByDefault([runnerGroup(), ...groups], 'runners');

  expect([...of.keys()]).toEqual(groups);
  expect(all?.message).toMatch(
    /^serve RunnerGroup team-b\/ci-0 \(ci\.yaml:1\): [\s\S]*team-b\/ci-4 \(ci\.yaml:1\): .*\n… and 2 more$/,
  );
});

describe('without a policy', () => {
  const refusalOf = async (over: Parameters<typeof runnerGroup>[0]) =>
    (await refusalsByDefault([runnerGroup(over)], 'runners')).whole?.message;
  const template = (spec: object) => ({ podTemplate: { spec } }) as Parameters<typeof runnerGroup>[0];

  it.each<[string, Parameters<typeof runnerGroup>[0]]>([
    ['a privileged group without podTemplate', { securityProfile: 'privileged' }],
    ['an image in a podTemplate', template({ containers: [{ name: 'runner', image: 'x.example.com/y:1' }] })],
    ['a podTemplate with a profile that is not privileged', { securityProfile: 'baseline', ...template({}) }],
  ])('%s is served', async (_, over) => {
    expect(await refusalOf(over)).toBeUndefined();
  });

  it('all that only a policy can allow is told', async () => {
    const over = { securityProfile: 'privileged', ...template({ serviceAccountName: 'a', priorityClassName: 'b' }) };

    expect(await refusalOf(over as Parameters<typeof runnerGroup>[0])).toBe(
      'start pods with spec.podTemplate.spec.serviceAccountName (runners/ci, ci.yaml:1), spec.podTemplate.spec.priorityClassName (runners/ci, ci.yaml:1), spec.securityProfile: privileged (runners/ci, ci.yaml:1): only a policy can allow that, and there is none. Remove these fields, or ask for a policy that allows them.',
    );
  });
});
