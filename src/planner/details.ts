/** What the decision about a runner says besides its fate: its PriorityClass, and what keeps its pod from starting. */
import { type EmittedRunner, type RunnerDecision, type RunnerTrouble, takesPlace } from './decisions.ts';
import { type Group, type LiveJob, NO_POD } from './evidence.ts';
import { compareText } from './join.ts';
import type { GroupRunners } from './runners.ts';

/** Kubernetes creates the pod of a Job within so long, unless a quota or an admission rule refuses it, ms. */
const POD_WITHIN_MS = 30_000;

/**
 * The decisions with their details, by name.
 * @param decisions about runners of this group; those that jobs were given come first, in the order of their jobs
 */
export function withDetails(
  decisions: readonly RunnerDecision[],
  { group, runners }: GroupRunners,
  nowMs: number,
): readonly RunnerDecision[] {
  const liveOf = new Map(runners.map(({ name, live }) => [name, live]));
  const classes = priorityClasses(decisions, group, liveOf);
  const details = (decision: RunnerDecision): RunnerDecision => {
    if (!decision.emit) return decision;
    const priorityClass = classes.get(decision.runner);
    const isTold = takesPlace(decision) || decision.because === 'back-off-record';
    const trouble = isTold ? troubleOf(liveOf.get(decision.runner), group, nowMs) : undefined;
    return { ...decision, ...(priorityClass !== undefined && { priorityClass }), ...(trouble && { trouble }) };
  };
  return decisions.map(details).sort((a, b) => compareText(a.runner, b.runner));
}

/**
 * The PriorityClasses by runner. A Job that exists keeps its class, because its pod template cannot be changed. The others get the lowest
 * tiers with a place. First come runners at work (nobody sees their Jobs), then new ones in the order of their jobs.
 */
function priorityClasses(
  decisions: readonly RunnerDecision[],
  { priorityTiers }: Group,
  liveOf: ReadonlyMap<string, LiveJob | undefined>,
): ReadonlyMap<string, string | undefined> {
  const classes = new Map<string, string | undefined>();
  const tiers = priorityTiers.map(({ priorityClassName, threshold }, nth) => {
    return { priorityClassName, free: threshold - (priorityTiers[nth - 1]?.threshold ?? 0) };
  });
  /** Takes a place of the first tier that has one and fits. Undefined: there is none, as when more runners work than the cap allows. */
  const take = (fits: (name: string) => boolean): string | undefined => {
    const tier = tiers.find(({ priorityClassName, free }) => free > 0 && fits(priorityClassName));
    if (tier) tier.free -= 1;
    return tier?.priorityClassName;
  };
  const unseen: EmittedRunner[] = [];
  for (const decision of decisions) {
    if (!decision.emit) continue;
    const live = liveOf.get(decision.runner);
    if (live) classes.set(decision.runner, live.priorityClass);
    // A class that no tier has, or that is full after a commit lowered it, takes no place.
    if (live && takesPlace(decision)) take((name) => name === live.priorityClass);
    if (!live && takesPlace(decision)) unseen.push(decision);
  }
  const atWork = unseen.filter(isBusy).sort((a, b) => compareText(a.runner, b.runner));
  for (const { runner } of [...atWork, ...unseen.filter((decision) => !isBusy(decision))]) {
    classes.set(
      runner,
      take(() => true),
    );
  }
  return classes;
}

function isBusy({ because }: EmittedRunner): boolean {
  return because === 'busy' || because === 'finishing';
}

function troubleOf(live: LiveJob | undefined, group: Group, nowMs: number): RunnerTrouble | undefined {
  if (!live?.trouble) return undefined;
  const ageMs = nowMs - live.createdAtMs;
  if (live.trouble.reason === NO_POD && ageMs < POD_WITHIN_MS) return undefined;
  const isLate = live.state !== 'starting' || ageMs >= group.spawnTimeoutMs;
  return { ...live.trouble, isLate };
}
