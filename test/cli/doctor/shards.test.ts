/** `doctor` on Applications that print one folder together. Real program, real HTTPS server. */
import { expect, it } from 'vitest';
import { APPLICATIONS, at, examine, put, type World } from './world.ts';

/** Changes an Application, by its name. Undefined: there is none. */
type Change = (application: World) => World | undefined;

const env = (value: string) => put(['spec', 'source', 'plugin', 'env'], [{ name: 'GITEA_RUNNERS_SHARD', value }]);
const at2 = (change: Change) => ({ 'runners-2': change });

/** Returns the findings about three shards with these changes. */
async function toldOf(changes: Readonly<Record<string, Change>>, beside: readonly string[] = []) {
  const { run } = await examine((world) => {
    const [one = {}] = at(world[APPLICATIONS], 'items') as unknown as readonly World[];
    const called = (name: string): World => put(['metadata', 'name'], name)(one);
    const shards = [0, 1, 2].flatMap((shard) => {
      const name = `runners-${shard}`;
      const made = env(`${shard}/3`)(called(name));
      return (changes[name] ?? ((same: World) => same))(made) ?? [];
    });
    return put([APPLICATIONS], { items: [...shards, ...beside.map(called)] })(world);
  });
  const { code, stdout } = await run();
  const lines = stdout.split('\n');
  const told = lines.flatMap((line, nth) =>
    line.includes('shards of one folder') ? [line + (lines[nth + 1] ?? '')] : [],
  );
  return { code, told };
}

it('doctor says nothing of shards where there are none', async () => {
  expect(
    (
      await toldOf({ 'runners-0': () => undefined, 'runners-1': () => undefined, 'runners-2': () => undefined }, [
        'runners',
      ])
    ).told,
  ).toEqual([]);
});

it('doctor finds a set of shards good', async () => {
  const { code, told } = await toldOf({});

  expect(code).toBe(0);
  expect(told).toMatchObject([
    expect.stringContaining('✓ shards of one folder: runners-0, runners-1, runners-2: all are there'),
  ]);
});

it.each<[what: string, Readonly<Record<string, Change>>, beside: readonly string[], told: string]>([
  [
    'a shard that is missing',
    at2(() => undefined),
    [],
    'of 3 shards runners-2 is missing: CI jobs that fall to it wait for a spawn timeout',
  ],
  [
    'shard 0 that is missing',
    { 'runners-0': () => undefined },
    [],
    'of 3 shards runners-0 is missing: nobody prints RunnerGroups',
  ],
  ['another count', at2(env('2/4')), [], 'of 3 shards runners-2 is told 2/4: each must be told its number'],
  ['the number of another one', at2(env('1/3')), [], 'of 3 shards runners-2 is told 1/3'],
  [
    'another folder',
    at2(put(['spec', 'source', 'path'], 'more')),
    [],
    'the same folder: runners-0 has ., runners-1 has ., runners-2 has more',
  ],
  [
    'another revision',
    at2(put(['spec', 'source', 'targetRevision'], 'v1')),
    [],
    'the same revision: runners-0 has HEAD',
  ],
  [
    'a shard with a finalizer',
    at2(put(['metadata', 'finalizers'], ['resources-finalizer.argocd.argoproj.io'])),
    [],
    'runners-2 with a finalizer: with fewer shards Argo CD deletes Jobs at work',
  ],
  [
    'the Application of before',
    {},
    ['runners'],
    'runners prints the folder of runners-0, runners-1, runners-2 once more',
  ],
])('doctor finds %s bad, and says what to do', async (_, changes, beside, text) => {
  const { code, told } = await toldOf(changes, beside);

  expect(code).toBe(1);
  expect(told).toHaveLength(1);
  expect(told[0]).toMatch(
    /^✗ shards of one folder: .* {4}(?:Let one ApplicationSet make all of them|Set spec.syncPolicy.preserveResourcesOnDeletion: true|Remove it without its resources: argocd app delete runners --cascade=false)/,
  );
  expect(told[0]).toContain(text);
});
