/** The real planner. */

import { scopeKey } from '../../../simulator/gitea/runners.ts';
import { asOf, prunesLivingJob } from '../../../src/plan/kept-looks.ts';
import type { Plan } from '../../../src/planner/decisions.ts';
import type { Evidence, Group } from '../../../src/planner/evidence.ts';
import { parseRunnerName } from '../../../src/planner/names.ts';
import { boundTo } from '../../../src/shared/marks.ts';
import { plan } from '../../support/plan.ts';
import { type GroupSpec, isInTrouble } from '../history.ts';
import { keptLookout } from '../kept-lookout.ts';
import { coversOf, lookKey } from '../look.ts';
import { type Commit, specIn } from '../stage.ts';
import type { Generator } from './policy.ts';

/** Our planner, with Gitea alone as evidence. */
export const OURS_ALONE: Generator = ours(false);
/** Our planner, with live Jobs as further evidence. */
export const OURS_LIVE: Generator = ours(true);
/** Our planner, with looks that `serve` has made up to five seconds before. */
export const OURS_KEPT: Generator = { ...ours(true), lookout: keptLookout };

function ours(seesJobs: boolean): Generator {
  return {
    kind: 'generator',
    seesPods: seesJobs,
    keepsPools: true,
    ...(seesJobs && { knowsShards: true }),
    decide: (stage, _cluster, { groups: ofApp, commit, kept, looks, liveJobs, pods, liveSinceMs }, ofShards) => {
      const keyOf = (name: string, size = ''): string => `${name} ${size}`;
      const specs = new Map(ofApp.map((group) => [keyOf(specIn(commit, group).name, group.size), group]));
      const groups = [...specs.values()].map((group) => toPlanned(specIn(commit, group), commit));
      const isTroubled = ({ name }: Group): boolean =>
        isInTrouble(stage.history, specs.get(keyOf(name))?.name ?? name, stage.nowS);
      const troubled = seesJobs ? groups.filter(isTroubled) : [];
      const { nowMs } = stage;
      const application = ofShards?.application ?? ofApp[0]?.application ?? '';
      const of = { instance: 'test', application, ...(ofShards && { shards: ofShards.of() }) };
      const planOf = (seen: typeof looks, jobs: typeof liveJobs) => {
        const cluster: Evidence['cluster'] = seesJobs
          ? { is: 'seen', jobs, pods, listedAtMs: liveSinceMs }
          : { is: 'unseen' };
        return plan(
          groups.filter((group) => !troubled.includes(group)),
          { ...of, looks: seen, cluster, nowMs, troubled },
        );
      };
      const then = kept && asOf(kept.beganMs + stage.history.clockSkewS * 1000, liveJobs);
      const first = then && planOf(kept.looks, then);
      // As in `lookAndPlan`.
      const planned = first && !prunesLivingJob(first, then) ? first : planOf(looks, liveJobs);
      stage.tell(() => describePlan(planned));
      return planned.runners.flatMap((decision) => {
        if (!decision.emit || decision.shard !== ofShards?.index) return [];
        const group = specs.get(keyOf(decision.group.name, decision.size));
        if (!group) return [];
        const madeFor = parseRunnerName(decision.runner)?.madeFor;
        const { runner, pinned, skip, job, priorityClass, keep: stay, triedBefore, registeredAt, shard } = decision;
        return [
          {
            name: runner,
            group,
            pinned,
            skip,
            madeFor,
            printedFor: job?.id,
            repository: job?.repository,
            priorityClass,
            boundTo: boundTo(registeredAt),
            stay,
            triedBefore,
            shard,
          },
        ];
      });
    },
  };
}

/** A history's group as the planner is given it. */
export function toPlanned(spec: GroupSpec, { template }: Commit): Group {
  const { scope } = spec;
  const covers = coversOf(scope);
  return {
    namespace: 'runners',
    name: spec.name,
    origin: 'https://gitea.example.com',
    look: lookKey(scope),
    scope: scope.kind,
    labels: spec.labels,
    maxActiveRunners: spec.cap,
    ...(spec.size !== undefined && { size: spec.size }),
    ...(spec.weight !== undefined && { weight: spec.weight }),
    ...(spec.limits && { limits: spec.limits }),
    minIdleRunners: spec.minIdle ?? 0,
    suspend: spec.suspend ?? false,
    acceptUnlabelledJobs: false,
    fairness: spec.fairness ?? 'oldest',
    ...(spec.isBound && { isBound: true, registeredAt: scopeKey(scope) }),
    ...(spec.repositories && { repositories: spec.repositories }),
    ...(spec.order && { order: spec.order }),
    spawnTimeoutMs: spec.spawnTimeoutS * 1000,
    pendingDeadlineMs: spec.pendingDeadlineS * 1000,
    longestRunMs: (spec.activeDeadlineS + spec.gracefulStopS) * 1000,
    priorityTiers: spec.priorityTiers,
    ...(spec.keepFailedS !== undefined && { keepFailedMs: spec.keepFailedS * 1000 }),
    ...(covers !== undefined && { covers }),
    templateHash: `${template}${spec.size ?? ''}`,
  };
}

/** Describes in one line which runners the planner keeps and drops. */
function describePlan({ runners, groups }: Plan): string {
  const kept = runners.filter(({ emit }) => emit).map(({ runner, because }) => `${runner} (${because})`);
  const dropped = runners
    .filter(({ because }) => because === 'surplus' || because === 'never-came')
    .map(({ runner, because }) => `${runner} (${because})`);
  const counts = groups.map(({ group, busy, held }) => `${group.name}: ${busy} busy, ${held} jobs held`);
  return `plan: ${[...counts, `keep ${kept.join(', ') || 'none'}`, ...(dropped.length > 0 ? [`drop ${dropped.join(', ')}`] : [])].join('; ')}`;
}
