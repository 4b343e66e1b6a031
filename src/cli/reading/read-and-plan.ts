/** Reads the RunnerGroups of files, and plans them. */
import type { Refusals } from '../../config/policy/denial.ts';
import { PASS_WORKLOADS, withoutWorkloads } from '../../config/policy/without-policy.ts';
import { type BrokenGroup, problemText } from '../../config/runnergroup/broken.ts';
import type { ReadResult } from '../../config/runnergroup/read.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { withImages } from '../../config/runnergroup/to-runner-group.ts';
import { podsOf } from '../../plan/group-pods.ts';
import { type LookOptions, lookAndPlan, type PlanOfNow } from '../../plan/look-and-plan.ts';
import type { Settings, Shard } from '../../plan/settings.ts';
import { refuseAll, refuseUnseen, troubleLines } from '../../plan/troubles.ts';
import type { Io } from '../../shared/io.ts';
import { isOn } from '../flags/flag.ts';
import type { GivenFlags } from '../flags/flags.ts';
import {
  type ImageFlags,
  installationFrom,
  type LookFlags,
  pathsFrom,
  refusalsOf,
  settingsFrom,
} from './command-settings.ts';
import { readGroups } from './read-groups.ts';

interface PlanOptions extends Omit<LookOptions, 'isolate' | 'pods'> {
  /** True to print the other groups if one is in trouble. This needs a look at live Jobs (docs/adr/0036). */
  readonly isolate?: boolean;
  /** Settings. Default: those of the flags. */
  readonly settings?: Settings;
  /** Absent: all of the plan is printed. */
  readonly shard?: Shard | undefined;
  /** Default: from a look at Gitea. */
  readonly plan?: typeof lookAndPlan;
}

/** Reads flags and files, looks at Gitea, and plans. `generate`, `explain` and `cdk8s synth` all do it here. */
export async function readAndPlan(
  args: readonly string[],
  flags: LookFlags & ImageFlags & GivenFlags<'recursive'>,
  io: Io,
  { isolate = false, settings: givenSettings, shard, plan = lookAndPlan, ...options }: PlanOptions,
): Promise<{ readonly read: ReadResult; readonly others: readonly { readonly text: string }[] } & PlanOfNow> {
  const settings = givenSettings ?? { ...(await settingsFrom(flags, io)), shard };
  const installation = await installationFrom(flags, io);
  const { defaults } = settings.policy ?? {};
  const groupFiles = await readGroups({ ...pathsFrom(args, flags, io), isolate, defaults }, io);
  const read = { ...groupFiles, groups: groupFiles.groups.map((group) => withImages(group, installation)) };
  const refusals = await refusalsOf(settings.policy, read.groups, io);
  const allowed = read.groups.filter((group) => !refusals.byGroup.has(group));
  if (refusals.whole && allowed.length === 0) throw refusals.whole;
  const broken = [...read.broken, ...deniedOf(refusals.byGroup, allowed)];
  // Unreadable text may hold groups of any namespace that the Application may use.
  const isOpen =
    !io.env['ARGOCD_APP_NAMESPACE'] || settings.policy?.policy.namespaces?.some((each) => each.destinations);
  if (read.hidden.length > 0 && isOpen) refuseAll([{ problems: read.hidden }, ...broken]);
  const passes = read.others.length === 0 || isOn(io.env[PASS_WORKLOADS] || undefined, PASS_WORKLOADS);
  const passedOn = passes ? { printed: read.others } : withoutWorkloads(read.others);
  if (isolate && 'warning' in passedOn) settings.onWarning?.(passedOn.warning);
  const pods = await podsOf({ ...read, groups: allowed });
  const planned = await plan(allowed, settings, {
    ...options,
    pods,
    ...((isolate || options.isOnlyRead) && { isolate: broken, hidden: read.hidden }),
  });
  if (read.hidden.length > 0)
    settings.onWarning?.(`warning: left out, and what may be theirs is kept: ${problemText(read.hidden)}`);
  for (const line of troubleLines(planned.troubles)) settings.onWarning?.(line);
  if (isolate && planned.seen?.evidence.cluster.is !== 'seen') refuseUnseen(read.groups);
  return { read, others: passedOn.printed, ...planned };
}

function deniedOf(refusals: Refusals['byGroup'], allowed: readonly RunnerGroup[]): readonly BrokenGroup[] {
  const namespaces = new Set(allowed.map(({ namespace }) => namespace));
  return [...refusals].map(([group, failure]) => {
    const { namespace, name, place } = group;
    // The group's own spec is printed only in a namespace where the policy allows another group.
    return { namespace, name, place, problems: [], failure, ...(namespaces.has(namespace) && { group }) };
  });
}
