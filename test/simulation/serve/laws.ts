/**
 * The laws of `serve`, checked each second of a history against what really is. Times begin at the end of the last obstacle, as the manual
 * gives it for each kind (faults.ts).
 *
 *   silence ....... what a sync would change is followed by a wake within 10 s, and the time that it may wait for others. After a wake that
 *                   took longer: within that time more, a minute at most. An Application that is slow to compare is slow to
 *                   apply. The trouble of one is no excuse for another one, but while a wake that hangs keeps its place (law V12). A name
 *                   that Argo CD has printed unasked is found within a minute: that often it is read. What was made
 *                   when nobody wanted it any more is found with the longest poll
 *   kept error .... an error that Argo CD has met by itself ends within two minutes: it is asked once a minute
 *   one wake ...... a leader asks an Application for one thing at a time; who leads no more asks nothing
 *   wakes ......... at most three for each change
 *   served ........ the oldest CI job that a group covers begins within 90 s while the group has a free place
 *   status ........ counts are true within 10 s
 *   credentials ... a pod has its Secret within 15 s, or, if somebody has deleted that, within a minute. While a runner of its name lives
 *                   that a Job before it has left, it waits
 *   left .......... a row that `serve` made goes within five minutes after its Job
 *   two ........... none gets credentials while another runner of its name lives, and none has credentials without a row. A runner that
 *                   registers itself asks nobody
 *   leader ........ somebody leads within 25 s, if a process lives that long
 *   once .......... a notification comes once; a lost CI job is re-run once
 *   re-run ........ a lost CI job is re-run, whoever leads
 *   ended ......... a run is ended once for each loss at most, and only when no runner of it lives
 *   rows .......... the queues hold no more than what lives
 *   mistake ....... nothing is rejected that nobody handles, and nothing runs again and again without a pause
 */

import type { Planning } from '../../../src/plan/plan-seen.ts';
import { hasEnded, type Job } from '../../../src/planner/evidence.ts';
import { hangsAfterMs } from '../../../src/serve/applications.ts';
import type { ServeEvent } from '../../../src/serve/planning/events.ts';
import { countsOf } from '../../../src/serve/planning/group-counts.ts';
import type { QueueRow } from '../../../src/serve/queue/work-queue.ts';
import { type Difference, differenceOf, mayWaitMs, NO_DIFFERENCE } from '../../../src/serve/seen/difference.ts';
import type { LiveRunner } from '../../../src/serve/seen/live.ts';
import { keyText } from '../../../src/shared/keys.ts';
import { TRACKING_ID } from '../../../src/shared/marks.ts';
import type { Application } from './application.ts';
import type { Stage } from './faults.ts';
import { LONGEST_POLL_MS } from './gitea.ts';
import { liveRunners, planOf, runnerGroupOf } from './groups.ts';
import { NAMESPACE, ZOMBIE_MS } from './pods.ts';
import type { ServeProcess } from './process.ts';
import { EVERYBODY } from './world.ts';

export type Law =
  | 'silence'
  | 'kept error'
  | 'one wake'
  | 'wakes'
  | 'served'
  | 'status'
  | 'leader'
  | 'once'
  | 're-run'
  | 'ended'
  | 'rows'
  | 'credentials'
  | 'left'
  | 'two'
  | 'mistake';

export interface Breach {
  readonly law: Law;
  readonly atS: number;
  readonly words: string;
}

const WAKE_WITHIN_MS = 10_000;
/** A wake that takes longer hangs, or Argo CD is slow. */
const HANGS_MS = 5_000;
/** Longest pause between two wakes for the same need, ms. */
const LONGEST_PAUSE_MS = 60_000;
const KEPT_ERROR_MS = 120_000;
/** `serve` reads what Argo CD has printed by itself once a minute. */
const READ_EVERY_MS = 60_000;
const TRUE_WITHIN_MS = 10_000;
const CREDENTIALS_WITHIN_MS = 60_000;
/** Two observations of the sweep 75 s apart, a pass each minute, and a runner that is online for a minute after its end. */
const LEFT_MS = 300_000;
const LEADER_WITHIN_MS = 25_000;
const RERUN_WITHIN_MS = 90_000;
/** Time until `serve` knows of an eviction, and a look that was under way has ended, ms. */
const LOSS_SEEN_MS = 5_000;
const WAKES_PER_CHANGE = 3;
/** A wake, the longest pause after one in vain, a slow start of a pod. */
const SERVED_WITHIN_MS = 90_000;
/** Rows of the queues: reconciles, sweeps, Events and notifications; and wakes, questions, looks, statuses and ends of CI jobs of each. */
const FIXED_ROWS = 12;
const ROWS_EACH = 4;
const KINDS = ['missing', 'unpinned', 'surplus', 'untidy'] as const;

interface Seen {
  readonly words: string;
  readonly sinceMs: number;
}

export class Laws {
  readonly breaches: Breach[] = [];
  /** The longest time without a wake that was due. */
  longestSilenceMs = 0;
  readonly wakes = new Map<string, number>();
  readonly #stage: Stage;
  readonly #processes: () => readonly ServeProcess[];
  /** Since when each difference has existed, by Application and key. */
  readonly #differs = new Map<string, ReadonlyMap<string, number>>();
  readonly #truths = new Map<string, Seen>();
  /** Since when the oldest CI job of an organization could have begun: its id, and the time. */
  readonly #open = new Map<string, { readonly id: number; readonly sinceMs: number }>();
  /** Duration of the last wake, by Application. */
  readonly #tookMs = new Map<string, number>();
  /** Runs that a look has shown at work when their runners had gone. */
  readonly #shown = new Set<number>();
  /** Runs whose losses may stay unseen. */
  readonly #excused = new Set<number>();
  /** Durations of the last wakes until their syncs, under the current leader. */
  #refreshMs: readonly number[] = [];
  #leaderMs = 0;
  /** Since when rows have had no Job, by id. */
  #leftMs: ReadonlyMap<number, number> = new Map();

  constructor(stage: Stage, processes: () => readonly ServeProcess[]) {
    this.#stage = stage;
    this.#processes = processes;
  }

  heard(event: ServeEvent): void {
    if (event.is === 'looked' && !event.failure) this.#noteShown(event.look?.jobs ?? []);
    if (event.is === 'leading') this.#refreshMs = [];
    if (event.is !== 'woken') return;
    const { application, ms, outcome, steps } = event;
    // Only a wake with a refresh tells how fast Argo CD is. A sync may wait for another operation.
    const sync = steps.find(({ step }) => step === 'sync');
    const refreshMs = sync ? sync.beganMs - (steps[0] ?? sync).beganMs : ms;
    if (outcome.is !== 'failed') this.#refreshMs = [...this.#refreshMs, refreshMs].slice(-8);
    this.#stage.world.tell(`woken ${application}: ${JSON.stringify(outcome)}, ${Math.round(event.ms)} ms`);
    // Argo CD that is away was not woken.
    if (outcome.is === 'failed' && outcome.away) return;
    const [, name = ''] = application.split('/');
    this.#tookMs.set(name, Math.min(ms, 60_000));
    this.wakes.set(name, (this.wakes.get(name) ?? 0) + 1);
  }

  /** Notes which losses a look has shown, seconds after the runner had gone. */
  #noteShown(jobs: readonly Job[]): void {
    const { pods, world } = this.#stage;
    for (const { runId, status } of jobs) {
      const atMs = pods.losses.get(runId)?.atMs ?? Number.POSITIVE_INFINITY;
      if (status === 'in_progress' && world.nowMs - atMs > LOSS_SEEN_MS) this.#shown.add(runId);
    }
  }

  mistake(error: unknown): void {
    this.#break('mistake', error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  /** Everything as it is now. */
  check(): void {
    const { apps, kubernetes, server, world } = this.#stage;
    this.#checkLeader();
    const runners = liveRunners(kubernetes);
    const nowMs = world.clock.now();
    for (const app of apps) {
      const planning = planOf(app.groups, (org) => server.look(org), runners, nowMs);
      const own = runners.filter(({ annotations }) => annotations[TRACKING_ID]?.startsWith(`${app.name}:`));
      this.#checkSilence(app, planning, own);
      if (!app.isBusy) this.#checkStatus(app, planning, own);
      this.#checkServed(app);
      if (app.fault !== undefined) this.#break('one wake', `${app.name}: ${app.fault}`);
    }
    this.#checkRegistrations();
    this.#excuseLosses();
    this.#checkOnce();
    this.#checkEnds();
    this.#checkRows();
  }

  /** Checks the laws at the end. @param changes number of actions and faults, by Application */
  conclude(changes: (app: Application) => number): void {
    for (const app of this.#stage.apps) {
      const wakes = this.wakes.get(app.name) ?? 0;
      const most = WAKES_PER_CHANGE * changes(app);
      if (wakes > most) this.#break('wakes', `${app.name}: ${wakes} wakes for ${changes(app)} changes`);
    }
    const { pods, server, world } = this.#stage;
    for (const [run, { atMs }] of pods.losses) {
      const sinceMs = Math.max(atMs, world.obstacleEndMs(EVERYBODY));
      const isKnown = this.#shown.has(run) || server.ends.includes(run);
      if (!isKnown || this.#excused.has(run) || server.reruns.includes(run)) continue;
      if (world.nowMs - sinceMs < RERUN_WITHIN_MS) continue;
      this.#break('re-run', `run ${run} lost its runner at ${atMs / 1000} s, and was not re-run`);
    }
  }

  #checkSilence(app: Application, planning: Planning, own: readonly LiveRunner[]): void {
    const { kubernetes, world } = this.#stage;
    if (app.isBusy) world.obstacle('an operation', 0, app.name);
    if (this.#waitsForPlace(app)) world.obstacle('no place for another wake', 2_000, app.name);
    const pause = this.#wakeRow(app, 'waiting');
    // Wakes are in vain as long as a watch is silent. The pause after them may outlast it (law V2).
    if (kubernetes.isSilent && pause)
      world.obstacle('a pause after wakes in vain', Math.min(pause.ms, LONGEST_PAUSE_MS), app.name);
    const { nowMs } = world;
    const before = this.#differs.get(app.name);
    const difference =
      planning.is === 'planned'
        ? differenceOf(planning.plan.runners, own, world.clock.now(), app.printed)
        : NO_DIFFERENCE;
    const due = dueTimes(difference);
    const error = app.error === undefined ? [] : [['an error of Argo CD', KEPT_ERROR_MS] as const];
    const since = new Map([...due, ...error].map(([key]) => [key, before?.get(key) ?? nowMs]));
    this.#differs.set(app.name, since);
    if (app.isAsked) return;
    for (const [key, waitMs] of [...due, ...error]) {
      // A difference that is seen again after an obstacle may wait for others from then on.
      const seenMs = Math.max(since.get(key) ?? nowMs, world.obstacleEndMs(app.name));
      const fromMs = Math.max(
        seenMs + waitMs + unknownMs(app, key),
        app.lastAskedMs + (this.#tookMs.get(app.name) ?? 0),
      );
      const silentMs = nowMs - fromMs;
      this.longestSilenceMs = Math.max(this.longestSilenceMs, silentMs);
      if (silentMs <= WAKE_WITHIN_MS) continue;
      const law = key === 'an error of Argo CD' ? 'kept error' : 'silence';
      this.#break(law, `${app.name}: ${key} for ${(nowMs - (since.get(key) ?? nowMs)) / 1000} s`);
    }
  }

  /** A wake that hangs keeps its place for 4 × as long as those before it took, a minute at most (law V12). */
  #waitsForPlace(app: Application): boolean {
    const { apps, places } = this.#stage;
    const keepsMs = hangsAfterMs(this.#refreshMs);
    const hangs = (other: Application): boolean => {
      const ms = this.#wakeRow(other, 'running')?.ms ?? 0;
      return ms > HANGS_MS && ms <= keepsMs && !other.hasSaidBusy;
    };
    return apps.filter((other) => other !== app && hangs(other)).length >= places;
  }

  #wakeRow({ name }: Application, state: QueueRow['is']): QueueRow | undefined {
    const rows = this.#processes().flatMap((process) => process.rows());
    return rows.find(({ is, key, of }) => of === 'wake' && is === state && key === `argocd/${name}`);
  }

  #checkStatus(app: Application, planning: Planning, own: readonly LiveRunner[]): void {
    if (planning.is !== 'planned') return;
    const { kubernetes, world } = this.#stage;
    for (const group of app.groups) {
      const counts = countsOf(planning.plan, runnerGroupOf(group));
      const active = own.filter(({ groupName, job }) => groupName === group.name && !hasEnded(job.state)).length;
      const truth = `${active} active, ${counts.queued} queued, ${counts.held.cap} held`;
      const status = kubernetes.objects.get('runnergroups', NAMESPACE, group.name)?.status as
        | Record<string, unknown>
        | undefined;
      const told = `${status?.['activeRunners']} active, ${status?.['queuedJobs']} queued, ${status?.['heldJobs']} held`;
      const key = keyText({ namespace: NAMESPACE, name: group.name });
      const seen = this.#truths.get(key);
      // Since when the status has been untrue in this way.
      const words = told === truth ? '' : truth;
      const sinceMs = seen?.words === words ? seen.sinceMs : world.nowMs;
      this.#truths.set(key, { words, sinceMs });
      if (told === truth || world.nowMs - Math.max(sinceMs, world.obstacleEndMs(app.name)) <= TRUE_WITHIN_MS) continue;
      this.#break('status', `${group.name} says ${told}, but there are ${truth}`);
    }
  }

  /** Checks that jobs are served. It needs no plan: Gitea's rows and the number in git are enough. */
  #checkServed(app: Application): void {
    const { server, world } = this.#stage;
    for (const { maxActiveRunners, name, org } of app.groups) {
      const rows = server.jobsOf(org);
      const running = rows.filter(({ status }) => status === 'in_progress').length;
      const oldest = rows.find(({ status }) => status === 'queued');
      const before = this.#open.get(org);
      if (!oldest || running >= maxActiveRunners) this.#open.delete(org);
      else if (before?.id !== oldest.id) this.#open.set(org, { id: oldest.id, sinceMs: world.nowMs });
      const sinceMs = Math.max(this.#open.get(org)?.sinceMs ?? world.nowMs, world.obstacleEndMs(app.name));
      if (world.nowMs - sinceMs <= SERVED_WITHIN_MS) continue;
      this.#break('served', `CI job ${oldest?.id} waits, and ${name} has ${running} of ${maxActiveRunners} at work`);
    }
  }

  /**
   * Excuses losses that nobody could see. A loss can be reported only while Gitea shows the CI job at work: by a look
   * of an existing group, by a process that has seen the end of the runner. Gitea gives the job up after ten minutes. A
   * changed clock is not an excuse.
   */
  #excuseLosses(): void {
    const { apps, pods, server, world } = this.#stage;
    const orgs = new Set(apps.flatMap(({ groups }) => groups.map(({ org }) => org)));
    for (const [run, { atMs }] of pods.losses) {
      if (world.nowMs - atMs > ZOMBIE_MS) continue;
      if (world.hiddenUntilMs > world.nowMs || !orgs.has(server.orgOf(run))) this.#excused.add(run);
    }
  }

  #checkRegistrations(): void {
    const { apps, kubernetes, pods, server, world } = this.#stage;
    const endMs = Math.max(...apps.map(({ name }) => world.obstacleEndMs(name)), world.obstacleEndMs(EVERYBODY));
    for (const [name, sinceMs] of pods.waiting())
      if (world.nowMs - Math.max(sinceMs, endMs) > CREDENTIALS_WITHIN_MS)
        this.#break('credentials', `${name} has waited for its Secret since ${sinceMs / 1000} s`);
    const [stranger] = pods.strangers;
    if (stranger !== undefined) this.#break('two', `${stranger} has credentials of a row that is gone`);
    const [twin] = pods.twins;
    if (twin !== undefined) this.#break('two', `two runners are called ${twin}`);
    const rows = server.gitea.runners().filter(({ deleted }) => !deleted);
    const jobs = new Set(kubernetes.objects.all('jobs').map(({ metadata }) => metadata.name));
    const before = this.#leftMs;
    const left = rows.filter(({ name }) => !jobs.has(name));
    this.#leftMs = new Map(left.map(({ id }) => [id, before.get(id) ?? world.nowMs]));
    for (const { id, name } of left)
      if (world.nowMs - Math.max(before.get(id) ?? world.nowMs, endMs) > LEFT_MS)
        this.#break('left', `the row of ${name} is still there`);
  }

  #checkLeader(): void {
    const { world } = this.#stage;
    const leaders = this.#processes().filter(({ leader }) => leader !== undefined);
    if (leaders.length > 0) this.#leaderMs = world.nowMs;
    else world.obstacle('no leader', 6_000);
    if (leaders.length > 1) this.#break('leader', 'two processes lead');
    if (this.#stage.kubernetes.isAway || this.#stage.kubernetes.leaseIsAway) this.#leaderMs = world.nowMs;
    // A Lease is taken over by a process that has seen no renewal for 15 s. A new process has seen nothing.
    const watchedMs = Math.min(...this.#processes().map(({ beganMs }) => beganMs));
    const nobodyMs = world.nowMs - Math.max(this.#leaderMs, watchedMs);
    if (nobodyMs > LEADER_WITHIN_MS) this.#break('leader', 'nobody leads');
  }

  #checkOnce(): void {
    const { server } = this.#stage;
    const [twice] = server.notified.filter((each, index) => server.notified.indexOf(each) < index);
    if (twice !== undefined) this.#break('once', `CI job ${twice} was told twice`);
    this.#checkTimes('once', server.reruns, 're-run');
  }

  #checkEnds(): void {
    const { server } = this.#stage;
    const [living] = server.livingEnds;
    if (living !== undefined) this.#break('ended', `run ${living} was ended while a runner worked at it`);
    this.#checkTimes('ended', server.ends, 'ended');
  }

  /** Checks that each loss has at most one. */
  #checkTimes(law: Law, runs: readonly number[], what: string): void {
    for (const run of new Set(runs)) {
      const times = runs.filter((each) => each === run).length;
      const losses = this.#stage.pods.losses.get(run)?.times ?? 0;
      if (times > losses) this.#break(law, `run ${run} was ${what} ${times} times`);
    }
  }

  #checkRows(): void {
    const { apps } = this.#stage;
    const groups = apps.reduce((sum, app) => sum + app.groups.length, 0);
    const jobs = this.#stage.kubernetes.objects.all('jobs');
    const most = FIXED_ROWS + ROWS_EACH * (apps.length + groups) + this.#stage.pods.losses.size + jobs.length;
    for (const process of this.#processes()) {
      const { length } = process.rows();
      if (length > most) this.#break('rows', `${length} rows in the queues of ${process.name}, more than ${most}`);
    }
  }

  /** The first breach of each law is enough. */
  #break(law: Law, words: string): void {
    if (this.breaches.some((each) => each.law === law)) return;
    const { world } = this.#stage;
    this.breaches.push({ law, atS: world.nowMs / 1000, words });
    world.tell(`BROKEN: ${law}: ${words}`);
  }
}

/**
 * Returns how long `serve` may not know of an untidy Job, ms. No webhook reports that the runner of an unwanted Job has
 * registered.
 */
function unknownMs({ hasPrintedUnasked, madeLate }: Application, key: string): number {
  const [kind, name = ''] = key.split(' ');
  if (kind !== 'untidy') return 0;
  if (madeLate.has(name)) return LONGEST_POLL_MS;
  return hasPrintedUnasked ? READ_EVERY_MS : 0;
}

/** Returns how long each key may wait for others, ms. */
function dueTimes(difference: Difference): ReadonlyMap<string, number> {
  return new Map(
    KINDS.flatMap((kind) =>
      difference[kind].map((key) => [`${kind} ${key}`, mayWaitMs({ ...NO_DIFFERENCE, [kind]: [key] }) ?? 0] as const),
    ),
  );
}
