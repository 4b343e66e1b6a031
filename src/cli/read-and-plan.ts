import {
  PASS_WORKLOADS,
  refuseByDefault,
  refuseForeignNamespaces,
  refuseWorkloads,
} from '../config/policy/without-policy.ts';
import type { ReadResult } from '../config/runnergroup/read.ts';
import { withImages } from '../config/runnergroup/to-runner-group.ts';
import { type LookOptions, lookAndPlan, type PlanOfNow } from '../observe/look-and-plan.ts';
import { podsOf } from '../observe/pods.ts';
import { refuseAll, refuseUnseen, troubleLines } from '../observe/troubles.ts';
import type { Io } from '../shared/io.ts';
import { isOn } from './flags/flag.ts';
import type { GivenFlags } from './flags/flags.ts';
import { readGroups } from './read-groups.ts';
import {
  type CommandSettings,
  type ImageFlags,
  imagesFrom,
  type LookFlags,
  pathsFrom,
  refuseDenied,
  settingsFrom,
} from './settings.ts';

interface PlanOptions extends Omit<LookOptions, 'isolate' | 'pods'> {
  /** For manifests: one group's trouble is its own where live Jobs are seen; elsewhere fields that need them are refused (docs/adr/0036). */
  readonly isolate?: boolean;
  /** Default: those of the flags. */
  readonly settings?: CommandSettings;
}

/** What `generate`, `explain` and `cdk8s synth` have in common, so that they cannot disagree: flags, files, look, plan. */
export async function readAndPlan(
  args: readonly string[],
  flags: LookFlags & ImageFlags & GivenFlags<'recursive'>,
  io: Io,
  { isolate = false, settings: given, ...options }: PlanOptions,
): Promise<{ readonly read: ReadResult } & PlanOfNow> {
  const settings = given ?? (await settingsFrom(flags, io));
  const images = imagesFrom(flags, io);
  const written = await readGroups({ ...pathsFrom(args, flags, io), isolate }, io);
  const read = { ...written, groups: written.groups.map((group) => withImages(group, images)) };
  // Only groups in a namespace of a good one are told apart: a namespace that was not judged is not looked at.
  const namespaces = new Set(read.groups.map(({ namespace }) => namespace));
  if (read.broken.some(({ namespace }) => !namespaces.has(namespace))) refuseAll(read.broken);
  if (settings.policy) await refuseDenied(settings.policy, read.groups, io);
  else {
    refuseForeignNamespaces(read.groups, io.env['ARGOCD_APP_NAMESPACE']);
    await refuseByDefault(read.groups);
  }
  if (read.others.length > 0 && !isOn(io.env[PASS_WORKLOADS] || undefined, PASS_WORKLOADS))
    refuseWorkloads(read.others);
  const pods = await podsOf(read);
  const planned = await lookAndPlan(read.groups, settings, {
    ...options,
    pods,
    ...((isolate || options.isOnlyRead) && { isolate: read.broken }),
  });
  for (const line of troubleLines(planned.troubles)) settings.onWarning?.(line);
  if (isolate && planned.seen?.evidence.cluster.is !== 'seen') refuseUnseen(read.groups);
  return { read, ...planned };
}
