import { Failure } from '../failure.ts';
import { lookAndPlan } from '../look-and-plan.ts';
import type { Plan } from '../plan/decisions.ts';
import { count } from '../runnergroup/problems.ts';
import { readRunnerGroups } from '../runnergroup/read.ts';
import { toAppGroups } from '../to-app-groups.ts';
import type { ExitCode, Io } from './io.ts';
import { defaultNamespace, type LookFlags, type PathFlags, pathsFrom, settingsFrom } from './settings.ts';

/**
 * `gitea-runners generate`: manifests on stdout, one line of counts on stderr. Everything is collected first and written
 * once: Argo CD takes an empty stdout with exit 0 for "delete everything", so no error may leave half an answer.
 */
export async function generate(args: readonly string[], flags: LookFlags & PathFlags, io: Io): Promise<ExitCode> {
  const settings = await settingsFrom(flags, io);
  const read = await readRunnerGroups({
    ...pathsFrom(args, flags, io),
    cwd: io.cwd,
    defaultNamespace: defaultNamespace(io),
  });
  const plan = await lookAndPlan(read.groups, settings, { includeBlocked: false });
  const { buildApp, knowsRunnerGroups, renderManifests } = await import('../charts/index.ts');
  const app = buildApp({ groups: toAppGroups(read.groups, plan), emitGroups: knowsRunnerGroups(io.env) });
  const text = renderManifests(
    app,
    read.others.map((other) => other.text),
  );
  if (text === '' && read.others.length > 0)
    throw new Failure('GR-INTERNAL', 1, 'render manifests: documents were lost.');
  io.out(text);
  io.err(`${countsLine(plan)}\n`);
  return 0;
}

/** One line that says what was decided, also which caps hold jobs back (facts/peers: nobody saw that a cap was hit). */
export function countsLine(plan: Plan): string {
  const busy = sum(plan, 'busy');
  const waiting = sum(plan, 'waiting');
  const capped = new Map<string, number>();
  for (const decision of plan.jobs) {
    if (decision.verdict !== 'held' || decision.because !== 'cap' || !decision.group) continue;
    const key = `${decision.group.namespace}/${decision.group.name}`;
    capped.set(key, (capped.get(key) ?? 0) + 1);
  }
  const held = [...capped].map(([group, count]) => `; ${count} held back by the cap of ${group}`).join('');
  return `${count(busy + waiting, 'runner')}: ${busy} busy, ${waiting} for queued jobs${held}`;
}

function sum(plan: Plan, field: 'busy' | 'waiting'): number {
  return plan.groups.reduce((total, group) => total + group[field], 0);
}
