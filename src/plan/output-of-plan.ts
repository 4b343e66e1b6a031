/** Makes the output of a plan, for `generate` and `cdk8s synth` alike. */
import { type BrokenGroup, standIn } from '../config/runnergroup/broken.ts';
import { groupManifest, type ObjectManifest, type Output } from '../manifests/output.ts';
import { inQueue, type RunnerParts, sortedByKey } from '../manifests/stamp.ts';
import { manifestPieces } from '../manifests/text.ts';
import type { EmittedRunner } from '../planner/decisions.ts';
import { liveJobsOf } from '../planner/evidence.ts';
import { POOL_LIFE_MS, parseRunnerName, poolIndexOf } from '../planner/names.ts';
import { groupBy, keyText } from '../shared/keys.ts';
import * as marks from '../shared/marks.ts';
import type { PlanOfNow } from './look-and-plan.ts';

/** Further output: documents of other kinds, and Argo CD's data about the cluster. */
interface Printing {
  readonly others: readonly { readonly text: string }[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

type Planned = Pick<PlanOfNow, 'plan' | 'app' | 'seen' | 'shard' | 'broken'>;

/** The whole output of `generate` in pieces, to be joined. */
export function piecesOf(planned: Planned, printing: Printing): readonly string[] {
  const { groupCharts, added } = planned.app ?? { groupCharts: [], added: [] };
  const output = outputOf(planned, printing);
  const first = isFirst(planned) ? added : [];
  return manifestPieces(groupCharts, { ...output, kept: [...first, ...output.kept] });
}

/** True for the first shard, which prints the common objects of all shards. */
function isFirst({ shard }: Pick<Planned, 'shard'>): boolean {
  return (shard?.index ?? 0) === 0;
}

/** Makes the output. Charts of broken groups are replaced by their objects and kept Jobs. */
export function outputOf({ plan, seen, shard, broken }: Omit<Planned, 'app'>, { others, env }: Printing): Output {
  const isOurs = (decision: EmittedRunner): boolean => !shard || decision.shard === shard.index;
  const emitted = plan.runners.filter((decision) => decision.emit && isOurs(decision)) as readonly EmittedRunner[];
  const runners = groupBy(emitted, ({ group }) => keyText(group));
  const specs = new Map(liveJobsOf(seen?.evidence).map((job) => [keyText(job), job.spec]));
  const decisionsOf = (group: { namespace: string; name: string }) => runners.get(keyText(group)) ?? [];
  const liveSpecOf = ({ group, runner }: EmittedRunner) => specs.get(keyText({ ...group, name: runner }));
  const emitGroups = isFirst({ shard }) && knowsRunnerGroups(env);
  const shards = shard?.of;
  const leftOut = new Set(broken.map(keyText));
  const inOutputOrder = broken.toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1));
  return {
    runnersOf: (group) =>
      decisionsOf(group)
        .filter(({ size }) => size === group.size?.name)
        .map((decision) => partsOf(decision, liveSpecOf(decision))),
    emitGroups,
    shards,
    isLeftOut: (group) => leftOut.size > 0 && leftOut.has(keyText(group)),
    kept: inOutputOrder.flatMap((group) => [
      ...(emitGroups
        ? [group.group ? groupManifest(group.group, shards) : standIn({ ...group, ...sayShards(group, shards) })]
        : []),
      ...decisionsOf(group).map((runner) => keptJob(runner, liveSpecOf(runner))),
    ]),
    others: isFirst({ shard }) ? others.map(({ text }) => text) : [],
  };
}

function sayShards({ annotations }: BrokenGroup, shards: number | undefined) {
  return shards === undefined ? {} : { annotations: { ...annotations, [marks.SHARDS]: String(shards) } };
}

/** True if the cluster has the RunnerGroup CRD. `KUBE_API_VERSIONS` lists it (measured on 3.5.3). */
export function knowsRunnerGroups(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env['KUBE_API_VERSIONS'] ?? '')
    .split(',')
    .some((kind) => kind.trim() === 'gitea.bpg.pw/v1alpha1/RunnerGroup');
}

/**
 * Makes the Job of a group whose spec cannot be used (docs/adr/0036), so that its template is unknown. Argo CD keeps the
 * existing Job, and neither changes nor creates it (`Skip`, docs/adr/0020). If its spec was not seen, its pod does not
 * matter: it is valid and suspended, in case somebody applies it by hand.
 */
function keptJob(decision: EmittedRunner, liveSpec?: object): ObjectManifest {
  const { group, runner: name } = decision;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      annotations: sortedByKey(marks.present(jobAnnotations(decision))),
      labels: sortedByKey(marks.groupLabels(group.name), runnerLabels(name, decision), inQueue(decision.queue)),
      name,
      namespace: group.namespace,
    },
    spec: liveSpec ?? {
      suspend: true,
      template: { spec: { containers: [{ image: 'kept', name: 'runner' }], restartPolicy: 'Never' } },
    },
  } as ObjectManifest;
}

/** Returns the parts that make a group's template the Job of this runner. */
export function partsOf(decision: EmittedRunner, spec?: object): RunnerParts {
  const { runner: name, priorityClass, queue } = decision;
  const parts = parseRunnerName(name);
  const warmSeconds = poolIndexOf(parts?.madeFor) === undefined ? undefined : POOL_LIFE_MS / 1000;
  const annotations = jobAnnotations(decision);
  return { name, labels: runnerLabels(name, decision), annotations, queue, priorityClass, warmSeconds, spec };
}

/** Most characters of an annotation: more than any page of Gitea has, and far less than Kubernetes' 256 KiB for all. */
const TEXT_LIMIT = 2048;
/** Control and format characters, line and paragraph separators, lone surrogates: they steer terminals or break readers. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Fits nearly every repository. It is tried first: the tables of Unicode for `UNPRINTABLE` cost a start 1 ms. */
const ASCII = /^[\x20-\x7e]*$/;

/** Returns the label of the shard, and labels that follow from the runner's name: none for a warm-pool runner. */
function runnerLabels(name: string, { shard }: Pick<EmittedRunner, 'shard'>): marks.Texts {
  const ofShard = shard === undefined ? {} : { [marks.SHARD]: String(shard) };
  const madeFor = parseRunnerName(name)?.madeFor;
  if (!madeFor || 'poolIndex' in madeFor) return ofShard;
  return { [marks.JOB_ID]: String(madeFor.id), [marks.RUN_ATTEMPT]: String(madeFor.attempt), ...ofShard };
}

/** Data for a Job's annotations: how Argo CD treats it, its CI job, how long it waits for people, and its slots. */
type Treatment = Pick<EmittedRunner, 'pinned'> & Partial<EmittedRunner>;

/**
 * Returns annotations of the Job object, never of its pod template: they may change while the Job lives. Unprintable
 * characters of a repository become `?`. An address that is not a plain http(s) URL, or is too long, is left out: half
 * a link is worse than none.
 */
export function jobAnnotations(treatment: Treatment): marks.Texts {
  const { pinned, skip, job, keep, size = '', weight, limits = [], scope = '', triedBefore } = treatment;
  const url = plainUrl(job?.url ?? '');
  return {
    [marks.COMPARE_OPTIONS]: pinned ? marks.IGNORE_EXTRANEOUS : '',
    [marks.HOOK]: skip ? marks.SKIP : '',
    [marks.IGNORE_HEALTH]: 'true',
    [marks.SYNC_OPTIONS]: pinned ? marks.NO_PRUNE : '',
    [marks.JOB_URL]: url,
    [marks.LIMITS]: limits.join(','),
    [marks.REGISTERED_AT]: treatment.registeredAt ?? '',
    [marks.REPOSITORY]: printable(job?.repository ?? '').slice(0, TEXT_LIMIT),
    [marks.SCOPE]: scope,
    [marks.SIZE]: size,
    [marks.TRIED_BEFORE]: String(triedBefore ?? ''),
    [marks.WEIGHT]: String(weight ?? ''),
    [marks.ENDED_AT]: keep ? marks.timeText(keep.endedAtMs) : '',
    [marks.KEEP_UNTIL]: keep ? marks.timeText(keep.untilMs) : '',
    [marks.EXTERNAL_LINK]: url,
  };
}

function printable(text: string): string {
  return ASCII.test(text) ? text : text.replace(UNPRINTABLE, '?');
}

function plainUrl(url: string): string {
  return url.length <= TEXT_LIMIT && /^https?:\/\/[\x21-\x7e]+$/.test(url) ? url : '';
}
