/** `gitea-runners generate`: prints the Jobs of the plan, as Argo CD's plugin. */
import { HELD } from '../../answers/reasons.ts';
import { runnerCounts } from '../../answers/runner-counts.ts';
import type { Plan } from '../../planner/decisions.ts';
import { Failure } from '../../shared/failure.ts';
import type { ExitCode, Io } from '../../shared/io.ts';
import { groupBy, keyText } from '../../shared/keys.ts';
import { printable, unreadText } from '../../shared/printable.ts';
import type { EndTrace } from '../../telemetry/tracing/run-trace.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';
import { tracingFrom } from '../reading/command-settings.ts';
import { readAndPlan } from '../reading/read-and-plan.ts';

/** Prints all manifests at once. To Argo CD an empty stdout with exit 0 means "delete everything". @throws Failure */
export async function generate(args: readonly string[], flags: FlagsOf<'generate'>, io: Io): Promise<ExitCode> {
  // Argo CD calls when something has changed, so Gitea's other lists are probably needed, too.
  const ahead = Boolean(io.env['ARGOCD_APP_NAME']);
  const [looks, shard] = [flagValue('looks', flags, io), flagValue('shard', flags, io)];
  const options = { includeBlocked: false, ahead, looks, isolate: true, shard };
  const endTrace = await openTrace(flags, io);
  const planned = await readAndPlan(args, flags, io, options);
  const { read, others, plan } = planned;
  const { piecesOf } = await import('../../plan/output-of-plan.ts');
  const pieces = piecesOf(planned, { others, env: io.env });
  refuseLargeOutput(pieces);
  // From here on, only the writing itself can fail.
  for (let position = 0; position < pieces.length; position += PIECES_AT_ONCE) {
    await io.out(pieces.slice(position, position + PIECES_AT_ONCE).join(''));
  }
  io.err(`${countsLine(plan)}\n`);
  if (endTrace) {
    const untraced = new Set(read.groups.filter(({ tracing }) => !tracing).map(keyText));
    await endTrace(plan, (group) => !untraced.has(keyText(group)));
  }
  return 0;
}

/** Most manifests in one write. One string of all would need as much memory again. */
const PIECES_AT_ONCE = 100;

/** Most characters of all manifests. 10,000 plain Jobs have 63 million, and Argo CD takes 100 MiB from a plugin. */
const MOST_OUTPUT = 67_108_864;

/** @throws Failure exit 1: the manifests are too long together. Each Job repeats the podTemplate of its group. */
function refuseLargeOutput(pieces: readonly string[]): void {
  const length = pieces.reduce((sum, { length: more }) => sum + more, 0);
  if (length <= MOST_OUTPUT) return;
  const why = `they have ${length} characters, more than ${MOST_OUTPUT}, and every Job repeats the podTemplate of its RunnerGroup`;
  const todo =
    'Shorten podTemplate, setupCommand and runnerConfig, lower the caps, or spread the RunnerGroups over several Applications';
  throw new Failure('GR-OUTPUT-02', 1, `print manifests: ${why}. ${todo}.`);
}

/** Opens the trace. Undefined: there is no endpoint, or its settings are wrong. Then a warning is printed, and runners still start. */
async function openTrace(flags: FlagsOf<'generate'>, io: Io): Promise<EndTrace | undefined> {
  try {
    const settings = tracingFrom(flags, io);
    if (!settings) return undefined;
    const { openRunTrace } = await import('../../telemetry/tracing/run-trace.ts');
    return openRunTrace(settings, io.env['TRACEPARENT'], io.now);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    io.err(`warning: ${error.code} ${printable(error.message)} Nothing is traced.\n`);
    return undefined;
  }
}

/** Returns the line with the counts of the plan, held jobs too: else nobody sees that a cap was reached. */
function countsLine(plan: Plan): string {
  const causes = groupBy(plan.jobs, (decision) => {
    if (decision.verdict !== 'held') return undefined;
    const { short } = HELD[decision.because];
    return short && `${short}${decision.group ? ` of ${keyText(decision.group)}` : ''}`;
  });
  const heldCounts = [...causes].map(([cause, jobs]) => `; ${jobs.length} ${cause}`).join('');
  const { runners, uses } = runnerCounts(plan.groups);
  const unread = Math.max(0, ...plan.groups.map(({ unreadJobs = 0 }) => unreadJobs));
  return `${runners}: ${uses}${heldCounts}${unread > 0 ? `; ${unreadText(unread)}` : ''}`;
}
