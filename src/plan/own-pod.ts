/** RunnerGroups of a cluster, as `serve`, `explain` and `doctor` read them: the same checks and the same final pod as in `generate`. */
import type { RunnerGroupObject } from '../clients/kubernetes/resources.ts';
import { PROFILE_REASON } from '../config/policy/denial.ts';
import { PROBLEM, PROBLEM_REASON } from '../config/runnergroup/broken.ts';
import { runnerGroupFromObject } from '../config/runnergroup/from-object.ts';
import { pathText } from '../config/runnergroup/paths.ts';
import { hasOwnPod, type RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { tokenSecrets } from '../config/runnergroup/secrets.ts';
import { withSizes, writtenPath } from '../config/runnergroup/sizes.ts';
import { type GroupDefaults, type InstallationPods, withImages } from '../config/runnergroup/to-runner-group.ts';
import { podTemplate, RunnersApp, templateHash } from '../manifests/app.ts';
import type { FinishPod, PodTemplate } from '../manifests/job-manifest.ts';
import { type FinalPod, finalPod, type PodFault } from './final-pods.ts';

const SHOWN = 10;

/** Annotations that say how an object is read. */
export const READ_ANNOTATIONS: readonly string[] = [PROFILE_REASON, PROBLEM, PROBLEM_REASON];

/** Returns the group with the images of the installation, or all faults of the group and its pod in one string. */
export function groupOfObject(
  { metadata, spec }: RunnerGroupObject,
  images: InstallationPods = {},
  defaults?: GroupDefaults,
): ReturnType<typeof runnerGroupFromObject> {
  const { name, namespace, labels } = metadata;
  const annotationEntries = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    READ_ANNOTATIONS.includes(key),
  );
  const annotations = Object.fromEntries(annotationEntries);
  const texts = { ...(labels && { labels }), ...(annotationEntries.length > 0 && { annotations }) };
  const read = runnerGroupFromObject({ namespace, name, spec, ...texts }, defaults);
  if ('problem' in read) return read;
  const group = withImages(read.group, images);
  const problem = podProblem(group);
  return problem === undefined ? { group } : { problem };
}

/** Finishes the pod of a group that `groupOfObject` accepted. */
export const finishOwn: FinishPod = (group, ours) => {
  if (!hasOwnPod(group)) return ours;
  const final = finalOf(group, ours);
  return 'pod' in final ? final.pod : ours;
};

export function faultsOfPods(group: RunnerGroup): readonly PodFault[] {
  return withSizes(group).flatMap((each) => {
    const final = finalOf(each, podTemplate(each).spec.template);
    return 'pod' in final ? [] : final.faults.map((fault) => ({ ...fault, path: writtenPath(each, fault.path) }));
  });
}

export function podProblem({ platform, ...group }: RunnerGroup): string | undefined {
  const ofPods = hasOwnPod(group) ? faultsOfPods(group) : [];
  const faults = ofPods.map(({ path, message }) => `${pathText(path)} ${message}`);
  // A platform's app changes the final pod.
  if (faults.length === 0 && platform) faults.push(...new RunnersApp([{ ...group, platform }], finishOwn).problems);
  if (faults.length === 0) return undefined;
  const shown = [...new Set(faults)].slice(0, SHOWN);
  const hiddenCount = faults.length - shown.length;
  return [...shown, ...(hiddenCount > 0 ? [`and ${hiddenCount} more`] : [])].join('; ');
}

/** The pod template of a group that `groupOfObject` found good. */
export function ownTemplate(group: RunnerGroup): PodTemplate {
  return podTemplate(group, finishOwn).spec.template;
}

export function ownTemplateHash(group: RunnerGroup): string {
  return templateHash(group, finishOwn);
}

/** Secrets of the other groups are left to `generate`, which knows them all. */
function finalOf(group: RunnerGroup, ours: Parameters<FinishPod>[1]): FinalPod {
  return finalPod(group, ours, tokenSecrets(group));
}
