/** `--policy`: the administrator's file, and what it says about the RunnerGroups of a run. */
import { type Asker, type Denial, denied, unusablePolicy } from '../config/policy/denial.ts';
import type { Policy } from '../config/policy/schema.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { Io } from '../shared/io.ts';
import { flagValue, type GivenFlags } from './flags/flags.ts';

export interface InstalledPolicy {
  readonly file: string;
  readonly policy: Policy;
  /** As `TokenSources.boundTo`. */
  readonly boundTo: (namespace: string, secret: string) => string | undefined;
}

/** Undefined: none is named. @throws Failure exit 2 when one is named and cannot be read. */
export async function policyFrom(
  flags: GivenFlags<'policy'>,
  io: Pick<Io, 'env'>,
): Promise<InstalledPolicy | undefined> {
  const file = flagValue('policy', flags, io);
  if (file === undefined) return undefined;
  const { boundTo, readPolicyFile } = await import('../config/policy/check.ts');
  const read = readPolicyFile(file);
  if ('problems' in read) throw unusablePolicy(file, read.problems);
  const { policy } = read;
  return { file, policy, boundTo: (namespace, secret) => boundTo(policy, namespace, secret) };
}

/** All denials, and what was not checked as one line. */
export async function judgeByPolicy(
  { policy }: InstalledPolicy,
  groups: readonly RunnerGroup[],
  asker: Asker,
): Promise<{ readonly denials: readonly Denial[]; readonly note: string | undefined }> {
  const { check, skippedRules } = await import('../config/policy/check.ts');
  const skipped = skippedRules(policy, asker);
  const note =
    skipped.length > 0 ? `not checked, because Argo CD does not ask: the policy's ${skipped.join(', ')}` : undefined;
  return { denials: check(policy, groups, asker), note };
}

/** @throws Failure exit 3 with all denials */
export async function refuseDenied(
  installed: InstalledPolicy,
  groups: readonly RunnerGroup[],
  io: Pick<Io, 'env' | 'err'>,
): Promise<void> {
  const { denials, note } = await judgeByPolicy(installed, groups, askerFrom(io.env));
  if (denials.length > 0) throw denied(installed.file, denials);
  if (note !== undefined) io.err(`${note}\n`);
}

/**
 * Who asks, as Argo CD's build environment says. A repository's author cannot set these variables: theirs begin with ARGOCD_ENV_. One of
 * them is enough to know that it is Argo CD who asks. It never asks `validate`.
 */
export function askerFrom(env: Io['env'], isValidate = false): Asker {
  const told = (name: string) => env[`ARGOCD_APP_${name}`] || undefined;
  const [destination, project, repository] = [told('NAMESPACE'), told('PROJECT_NAME'), told('SOURCE_REPO_URL')];
  return {
    isArgoCd: !isValidate && [told('NAME'), destination, project, repository].some((text) => text !== undefined),
    ...(destination !== undefined && { destination }),
    ...(project !== undefined && { project }),
    ...(repository !== undefined && { repository }),
  };
}
