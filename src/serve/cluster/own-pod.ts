/** RunnerGroups of a cluster whose pods are more than ours: the same checks and the same final pod as in `generate`. */
import type { FinishPod } from '../../charts/finish-pod.ts';
import { podTemplate } from '../../charts/pod-template.ts';
import { type FinalPod, finalPod } from '../../look/final-pods.ts';
import { pathText } from '../../runnergroup/paths.ts';
import { hasOwnPod, type RunnerGroup } from '../../runnergroup/runner-group.ts';

/** Faults that a status shows; the others are counted. */
const SHOWN = 10;

/** For templates of groups that `podProblem` found good. */
export const finishOwn: FinishPod = (group, ours) => {
  if (!hasOwnPod(group)) return ours;
  const final = finalOf(group, ours);
  return 'pod' in final ? final.pod : ours;
};

/** What is wrong with the pod of a group, in one text. */
export function podProblem(group: RunnerGroup): string | undefined {
  if (!hasOwnPod(group)) return undefined;
  const final = finalOf(group, podTemplate(group).spec.template);
  if ('pod' in final) return undefined;
  const { faults } = final;
  const shown = faults.slice(0, SHOWN).map(({ path, message }) => `${pathText(path)} ${message}`);
  return [...shown, ...(faults.length > SHOWN ? [`and ${faults.length - SHOWN} more`] : [])].join('; ');
}

/** Secrets of the other groups are left to `generate`, which knows them all. */
function finalOf(group: RunnerGroup, ours: Parameters<FinishPod>[1]): FinalPod {
  return finalPod(group, ours, [group.registrationToken.name, group.authToken.name]);
}
