/** Finds the groups in trouble whose objects in the cluster must stay (docs/adr/0081). */
import type { ClusterConfig } from '../clients/kubernetes/config.ts';
import type { BrokenGroup } from '../config/runnergroup/broken.ts';
import type { Problem } from '../config/runnergroup/problems.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { siblingOf } from '../planner/evidence.ts';
import { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';
import { TRACKING_ID } from '../shared/marks.ts';
import { requestOptions, type Settings } from './settings.ts';
import { refuseAll } from './troubles.ts';

/**
 * Returns the groups in trouble whose objects must stay: all in the namespace of a good group, and elsewhere those whose
 * object belongs to this Application, because objects of others must not be touched. If files hide groups (`hidden`),
 * objects of the Application that no file names stay, too.
 * @throws Failure if an object's owner is not known
 */
export async function livingGroups(
  groups: readonly RunnerGroup[],
  isolated: readonly BrokenGroup[],
  hidden: readonly Problem[],
  config: ClusterConfig,
  settings: Settings,
): Promise<readonly BrokenGroup[]> {
  const judgedNamespaces = new Set(groups.map(({ namespace }) => namespace));
  const groupByKey = new Map([...groups, ...isolated].map((group) => [keyText(group), group]));
  const isolatedElsewhere = isolated.filter(({ namespace }) => !judgedNamespaces.has(namespace));
  const namespaces = new Set([
    ...isolatedElsewhere.map(({ namespace }) => namespace),
    ...(hidden.length > 0 ? judgedNamespaces : []),
  ]);
  if (namespaces.size === 0) return isolated;
  const ownApplication = settings.env['ARGOCD_APP_NAME'];
  // The objects of all shards belong to shard 0.
  const application = ownApplication && settings.shard ? siblingOf(ownApplication, 0) : ownApplication;
  if (!application) refuseAll([{ problems: hidden }, ...isolatedElsewhere]);
  const { runnerGroupsIn } = await import('../clients/kubernetes/observe-cluster.ts');
  const list = (namespace: string) =>
    runnerGroupsIn([namespace], config, requestOptions(settings)).catch((error: unknown) => {
      // This program has never made a runner where it may not look.
      if (error instanceof Failure && error.kind === 'cluster-forbidden' && !judgedNamespaces.has(namespace)) return [];
      throw error;
    });
  const listed = (await Promise.all([...namespaces].map(list))).flat();
  const [first] = hidden;
  const living = listed.flatMap(({ metadata: { namespace, name, annotations } }) => {
    const named = groupByKey.get(keyText({ namespace, name }));
    const unnamed = first &&
      judgedNamespaces.has(namespace) && { namespace, name, place: first.place, problems: hidden };
    const group = named ? isolatedElsewhere.find((each) => each === named) : unnamed;
    if (!group) return [];
    const tracked = annotations?.[TRACKING_ID];
    if (tracked === undefined) refuseAll([group]);
    return tracked === `${application}:gitea.bpg.pw/RunnerGroup:${namespace}/${name}` ? group : [];
  });
  return [...isolated.filter((group) => !isolatedElsewhere.includes(group)), ...living];
}
