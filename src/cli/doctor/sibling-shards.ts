/** Judges Applications that print one folder together (docs/scale.md, "Shards"). Pure. */
import { readShards, shardNames } from '../../clients/argocd/application.ts';
import { siblingOf } from '../../planner/evidence.ts';
import { manual, SHARD_SETTING } from '../../shared/installed/installed-names.ts';
import { groupBy } from '../../shared/keys.ts';
import { bad, good, type Judgement, type Judgements } from '../reading/finding.ts';
import type { Application } from '../reading/reads.ts';
import { pluginSources } from './doctor-argocd.ts';
import type { Installation } from './installation.ts';

interface Printing {
  readonly name: string;
  /** The shard that its plugin gets, e.g. `2/7`. Undefined: it prints all of its folder. */
  readonly shard: string | undefined;
  /** Argo CD deletes its Jobs, those at work too, when it is removed. */
  readonly hasFinalizer: boolean;
  readonly place: Readonly<Record<(typeof PLACE)[number], string>>;
}

const PLACE = ['repository', 'folder', 'revision', 'destination namespace'] as const;

/** Names that `generate` refuses are left out: Argo CD shows its error. */
export function shards({ applications }: Installation): Judgements {
  const all = 'value' in applications ? applications.value.flatMap(printingOf) : [];
  const ofSets = all.filter(({ name, shard }) => shard !== undefined && /-\d+$/.test(name));
  const alone = all.filter(({ shard }) => shard === undefined);
  return [...groupBy(ofSets, ({ name }) => siblingOf(name, 0))].flatMap(([first, set]) => {
    const judgements = [...numbersOf(first, set), ...placesOf(set), ...finalizersOf(set), ...besides(set, alone)];
    return judgements.length > 0 ? judgements : good(`${namesOf(set)}: all are there`);
  });
}

function printingOf(app: Application): readonly Printing[] {
  const { metadata, spec } = app;
  return pluginSources(app).flatMap((source) => {
    if (!source) return [];
    const { path, plugin, repoURL, targetRevision } = source;
    const place = {
      repository: repoURL,
      folder: path.replace(/^(?:\.?\/)+|\/+$/g, '') || '.',
      revision: targetRevision || 'HEAD',
      'destination namespace': spec.destination.namespace ?? '',
    };
    const hasFinalizer = metadata.finalizers.some((finalizer) => finalizer.startsWith(DELETING));
    const shard = plugin?.env.find(({ name }) => name === SHARD_SETTING)?.value;
    return { name: metadata.name, shard, hasFinalizer, place };
  });
}

/** `/background` and `/foreground` may follow. */
const DELETING = 'resources-finalizer.argocd.argoproj.io';

const namesOf = (set: readonly Printing[]): string => set.map(({ name }) => name).join(', ');

const ONE_SET = `Let one ApplicationSet make all of them: ${manual('scale.md#shards')}`;

/** Shard 0 says how many there are, as `serve` takes it. */
function numbersOf(first: string, set: readonly Printing[]): readonly Judgement[] {
  const countOf = ({ shard = '' }: Printing) => readShards(shard.replace(/^\d+\//, '')) ?? 0;
  const ofFirst = set.filter(({ name }) => name === first).map(countOf);
  const count = Math.max(...(ofFirst.length > 0 ? ofFirst : set.map(countOf)));
  const names = shardNames(first, count);
  const missing = names.filter((name) => set.every((each) => each.name !== name));
  const misnumbered = set.filter(({ name, shard }) => shard !== `${names.indexOf(name)}/${count}`);
  const lost = missing.includes(first)
    ? 'nobody prints RunnerGroups'
    : 'CI jobs that fall to it wait for a spawn timeout';
  const numberTexts = misnumbered.map(({ name, shard }) => `${name} is told ${shard}`).join(', ');
  const wrong = `of ${count} shards ${numberTexts}: each must be told its number, and the same count`;
  return [
    ...(missing.length > 0 ? [bad(`of ${count} shards ${missing.join(', ')} is missing: ${lost}`, ONE_SET)] : []),
    ...(misnumbered.length > 0 ? [bad(wrong, ONE_SET)] : []),
  ];
}

function placesOf(set: readonly Printing[]): readonly Judgement[] {
  return PLACE.flatMap((part) => {
    const placeTexts = set.map(({ name, place }) => `${name} has ${place[part]}`).join(', ');
    const isOne = new Set(set.map(({ place }) => place[part])).size === 1;
    return isOne ? [] : bad(`shards must have the same ${part}: ${placeTexts}`, ONE_SET);
  });
}

function finalizersOf(set: readonly Printing[]): readonly Judgement[] {
  const having = set.filter(({ hasFinalizer }) => hasFinalizer);
  if (having.length === 0) return [];
  const fix = `Set spec.syncPolicy.preserveResourcesOnDeletion: true in the ApplicationSet: ${manual('scale.md#shards')}`;
  return [bad(`${namesOf(having)} with a finalizer: with fewer shards Argo CD deletes Jobs at work`, fix)];
}

/** Applications that print the same folder again: each CI job would get two runners. */
function besides(set: readonly Printing[], alone: readonly Printing[]): readonly Judgement[] {
  const keyOf = ({ place }: Printing) =>
    JSON.stringify([place.repository, place.folder, place['destination namespace']]);
  const keys = new Set(set.map(keyOf));
  return alone
    .filter((each) => keys.has(keyOf(each)))
    .map(({ name }) => {
      const text = `${name} prints the folder of ${namesOf(set)} once more: CI jobs can get two runners`;
      return bad(text, `Remove it without its resources: argocd app delete ${name} --cascade=false`);
    });
}
