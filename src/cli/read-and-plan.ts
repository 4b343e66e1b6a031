import { type LookOptions, lookAndPlan, type PlanOfNow } from '../look/look-and-plan.ts';
import { refuseForeignNamespaces } from '../policy/namespaces.ts';
import { PASS_WORKLOADS, refuseWorkloads } from '../policy/workloads.ts';
import { type ReadResult, readRunnerGroups } from '../runnergroup/read.ts';
import type { Io } from './io.ts';
import { refuseDenied } from './policy.ts';
import { defaultNamespace, isOn, type LookFlags, type PathFlags, pathsFrom, settingsFrom } from './settings.ts';

/** What `generate`, `explain` and `cdk8s synth` have in common, so that they cannot disagree: flags, files, look, plan. */
export async function readAndPlan(
  args: readonly string[],
  flags: LookFlags & PathFlags,
  io: Io,
  options: LookOptions,
): Promise<{ readonly read: ReadResult } & PlanOfNow> {
  const settings = await settingsFrom(flags, io);
  const read = await readRunnerGroups({
    ...pathsFrom(args, flags, io),
    cwd: io.cwd,
    defaultNamespace: defaultNamespace(io),
  });
  if (settings.policy) await refuseDenied(settings.policy, read.groups, io);
  else refuseForeignNamespaces(read.groups, io.env['ARGOCD_APP_NAMESPACE']);
  if (read.others.length > 0 && !isOn(io.env[PASS_WORKLOADS] || undefined, PASS_WORKLOADS))
    refuseWorkloads(read.others);
  return { read, ...(await lookAndPlan(read.groups, settings, options)) };
}
