/** Law V99 (docs/spec.md): an organization gets another name in Gitea while `serve` runs. */
import { expect, it } from 'vitest';
import { TOKEN } from '../support/start-acme.ts';
import { delivery, payload } from './deliveries.ts';
import { type Rig, startRig, until } from './rig.ts';

const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };
const ACME = { kind: 'owner', owner: 'acme' } as const;
const namesIn = ({ cluster }: Rig): readonly string[] => cluster.all('jobs').map(({ metadata }) => metadata.name);
const messageOf = ({ cluster }: Rig, type: string): string | undefined => {
  const { conditions = [] } = (cluster.all('runnergroups')[0]?.['status'] ?? {}) as {
    conditions?: { type: string; message: string }[];
  };
  return conditions.find((each) => each.type === type)?.message;
};

it('a renamed scope keeps its starting and busy runners, wakes Argo CD for nothing, and its status says what to do', async () => {
  const rig = await startRig();
  const { gitea } = rig.simulator;
  const replica = await rig.start({ pollMs: 20 });
  gitea.push('acme/web', linux);
  await until('a Job', () => namesIn(rig).length === 1);
  const { id } = gitea.register({ name: namesIn(rig)[0] ?? '', scope: ACME, labels: ['linux'] });
  gitea.poll(id);
  gitea.push('acme/web', linux);
  await until('another Job', () => namesIn(rig).length === 2);
  await until('the pin', () => JSON.stringify(rig.cluster.all('jobs')).includes('Prune=false'));
  const [before, syncs] = [namesIn(rig), rig.syncs()];
  await until('content', () => rig.conditions()['Ready'] === 'True Serving');

  gitea.renameOwner('acme', 'acme-inc');
  await until('the condition', () => rig.conditions()['Ready'] === 'True RenamedInGitea');
  const looks = await replica.metric('gitea_runners_looks_total');
  await until('20 more looks', async () => (await replica.metric('gitea_runners_looks_total')) >= looks + 20);

  expect(messageOf(rig, 'Ready')).toBe('Jobs get runners. Renamed to acme-inc in Gitea: change the spec.');
  expect([namesIn(rig), rig.syncs()]).toEqual([before, syncs]);

  gitea.push('acme-inc/web', linux);
  await until('a Job for a job of the new name', () => namesIn(rig).length === 3);
  expect(namesIn(rig)).toEqual(expect.arrayContaining([...before]));
  expect(JSON.stringify(replica.log)).not.toContain(TOKEN);
});

it("serve takes webhooks of a scope's new name and of its old one", async () => {
  const rig = await startRig();
  const replica = await rig.start({ pollMs: 3_600_000 });
  const looks = () => replica.metric('gitea_runners_looks_total');
  await until('a look', async () => (await looks()) > 0);
  const send = async (full_name: string, id: number) => {
    const before = await looks();
    const { headers, body } = delivery(payload({ id }, { repository: { full_name } }));
    await fetch(`http://127.0.0.1:${replica.webhooks}/webhook`, { method: 'POST', headers, body });
    return before;
  };
  rig.simulator.gitea.renameOwner('acme', 'acme-inc');

  const first = await send('acme/web', 1);
  await until('a look after a webhook of the old name', async () => (await looks()) > first);
  await until('the condition', () => rig.conditions()['Ready'] === 'True RenamedInGitea');
  const second = await send('acme-inc/web', 2);
  await until('a look after a webhook of the new name', async () => (await looks()) > second);
});
