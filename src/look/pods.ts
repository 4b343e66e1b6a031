/** The final pods of RunnerGroups. Most groups have neither podTemplate nor securityProfile: then nothing is loaded and nothing is done. */
import type { FinishPod } from '../charts/finish-pod.ts';
import { MOST_PROBLEMS } from '../runnergroup/budget.ts';
import { type LateProblem, placed } from '../runnergroup/placed.ts';
import { InputProblems } from '../runnergroup/problems.ts';
import type { ReadResult } from '../runnergroup/read.ts';
import { hasOwnPod, type RunnerGroup } from '../runnergroup/runner-group.ts';

/** What is handed to the cdk8s app, and what is asked when it has made its templates. */
export interface Pods {
  readonly finish: FinishPod;
  /** @throws InputProblems (exit 2): what `finish` found wrong since. Such a group's pod has been left as it was. */
  readonly check: () => Promise<void>;
}

/** Undefined when no group has a podTemplate or a securityProfile. */
export async function podsOf({ groups, sources }: ReadResult): Promise<Pods | undefined> {
  if (!groups.some(hasOwnPod)) return undefined;
  const { finalPod } = await import('./final-pods.ts');
  const secrets = secretsByNamespace(groups);
  const found: LateProblem[] = [];
  return {
    finish: (group, ours) => {
      if (!hasOwnPod(group)) return ours;
      const final = finalPod(group, ours, secrets.get(group.namespace) ?? []);
      if ('pod' in final) return final.pod;
      found.push(...final.faults.slice(0, MOST_PROBLEMS - found.length).map((fault) => ({ group, ...fault })));
      return ours;
    },
    check: async () => {
      if (found.length === 0) return;
      throw new InputProblems(await placed(found, sources));
    },
  };
}

/** Names of the Secrets that hold tokens of Gitea. */
function secretsByNamespace(groups: readonly RunnerGroup[]): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const { namespace, registrationToken, authToken } of groups) {
    const known = names.get(namespace);
    const both = [registrationToken.name, authToken.name];
    if (known) known.push(...both);
    else names.set(namespace, both);
  }
  return names;
}
