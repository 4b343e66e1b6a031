/**
 * Chooses the dead registrations in Gitea. Pure. A row is dead when all of this held at two observations, `SIGHTINGS_APART_MS` or more apart:
 *
 *   1. ours         its name and its list are those of a given group; or, if all groups are known, of a vanished one of a given
 *                   namespace. Then the observations are an hour apart (`VANISHED_APART_MS`)
 *   2. ephemeral    like every runner of ours; anything else was registered by somebody else under our name
 *   3. offline      and so is every other row of that name (names are not unique in Gitea)
 *   4. not working  no job in progress names it: a runner without network is offline after 60 s and may come back
 *   5. no Job       Kubernetes shows no unfinished Job of that name: such a runner starts, has lost its network or waits for docker
 *   6. right place  no runner of its group is online without a Job in that cluster: then it is the wrong cluster, or another one
 *                   uses the same GITEA_RUNNERS_INSTANCE, and rule 5 proves nothing
 *
 * Gitea's API shows neither when a row was made nor when it was last seen (modules/structs/repo_actions.go, 1.25 to 1.27). A Job is older than
 * its row, so Jobs listed after the first observation include that of a living runner. Any doubt keeps the row: it costs a line in a list.
 */
import { compareText, memo } from '../../planner/collections.ts';
import { type Group, hasEnded, type LiveJob, type Look, type RegisteredRunner } from '../../planner/evidence.ts';
import { groupHash, namePrefix, parseRunnerName, type RunnerName } from '../../planner/names.ts';
import { groupBy, keyText } from '../../shared/keys.ts';

/** Time between the two observations: more than the 60 s for which Gitea shows a dead runner online (`RunnerOfflineTime`). */
export const SIGHTINGS_APART_MS = 75_000;

/** Time between the two observations if no group is known: it may be in another cluster with the same GITEA_RUNNERS_INSTANCE. */
export const VANISHED_APART_MS = 3_600_000;

/** A group whose registrations may be swept; it need not exist any more. */
export interface ChosenGroup extends Pick<Group, 'namespace' | 'name' | 'look'> {
  readonly giteaUrl: string;
  /** True if the row belongs to none of the given groups. */
  readonly vanished?: true;
  /** `serve` registers its runners, and deletes their rows whether or not it sweeps. */
  readonly byServe?: boolean;
}

/** Deletions per minute. Gitea answers each in some milliseconds. Other clients must notice nothing. */
export const DEFAULT_BUDGET = 60;
export const LARGEST_BUDGET = 600;

export interface SweepEvidence {
  /** `GITEA_RUNNERS_INSTANCE`. */
  readonly instance: string;
  readonly groups: readonly ChosenGroup[];
  /** True if no RunnerGroup exists beside `groups`: other groups of their namespaces are gone. Default: not known. */
  readonly areAll?: boolean;
  /** Looks that succeeded, with their runner lists. Of a group without a look nothing is chosen. */
  readonly looks: ReadonlyMap<string, Look>;
  /** Listed after the looks. Undefined when Kubernetes was not looked at. */
  readonly liveJobs: readonly LiveJob[] | undefined;
  /** Time by a clock that never jumps. */
  readonly nowMs: number;
}

/** The first rule, in the order above, that keeps a row. */
export type StaysBecause =
  | 'not-ephemeral'
  | 'online'
  | 'job-in-progress'
  | 'cluster-unseen'
  | 'job-alive'
  | 'group-elsewhere'
  | 'seen-too-briefly';

type Verdict =
  | { readonly is: 'dead' }
  /** `witness`: the runner that lives elsewhere, for `group-elsewhere`. */
  | { readonly is: 'kept'; readonly because: StaysBecause; readonly witness?: string };

/** Observations of earlier looks, by Gitea and id. A row that no longer matches is forgotten. */
export type RowObservations = ReadonlyMap<string, RowObservation>;

/** How a row has looked since `sinceMs`. `dead`: rules 1 to 5 hold. `stray`: it is online, but without a Job. */
type RowObservation = Readonly<{ name: string; seems: 'dead' | 'stray'; sinceMs: number }>;

export type Choice = Readonly<ReturnType<typeof deadRegistrations>>;
export type JudgedRegistration = Choice['registrations'][number];

type OwnRow = Readonly<{ key: string; group: ChosenGroup; row: RegisteredRunner }>;

/** Judges every row of this program. @param earlier `observations` of the last call, empty at first */
export function deadRegistrations(evidence: SweepEvidence, earlier: RowObservations) {
  const { own, foreign } = findOwn(evidence);
  const facts = gatherFacts(evidence);
  const observations = new Map<string, RowObservation>();
  /** Notes the observation of a row, and returns for how long it has been the same, ms. */
  const seenMs = (key: string, name: string, seems: RowObservation['seems']): number => {
    const earlierRow = earlier.get(key);
    const sinceMs = earlierRow?.name === name && earlierRow.seems === seems ? earlierRow.sinceMs : evidence.nowMs;
    observations.set(key, { name, seems, sinceMs });
    return evidence.nowMs - sinceMs;
  };

  const witnesses = new Map<string, string>();
  for (const { key, group, row } of own) {
    if (!row.online || facts.jobs === undefined || facts.jobs.has(row.name)) continue;
    if (seenMs(key, row.name, 'stray') >= SIGHTINGS_APART_MS) witnesses.set(groupKey(group), row.name);
  }

  const judge = ({ key, group, row }: OwnRow): Verdict => {
    const keeper = keptBy(group, row, facts);
    if (keeper) return { is: 'kept', because: keeper };
    const deadMs = seenMs(key, row.name, 'dead');
    const witness = witnesses.get(groupKey(group));
    if (witness !== undefined) return { is: 'kept', because: 'group-elsewhere', witness };
    const isOldEnough = deadMs >= (group.vanished ? VANISHED_APART_MS : SIGHTINGS_APART_MS);
    return isOldEnough ? { is: 'dead' } : { is: 'kept', because: 'seen-too-briefly' };
  };
  const registrations = own.map((each) => {
    const { group, row } = each;
    return { group, id: row.id, name: row.name, verdict: judge(each) };
  });
  return {
    /** Sorted by Gitea and id, so that the order is always the same. */
    registrations,
    /** Observations for the next call. */
    observations: observations as RowObservations,
    /** Number of rows of other runners in the same lists. They are never touched. */
    foreign,
  };
}

/** Finds the rows of our own runners (rule 1), and counts the others. */
function findOwn({ instance, groups, looks, areAll = false }: SweepEvidence) {
  const places = new Map(
    groups.map((group) => [`${group.look} ${namePrefix(group.name)} ${groupHash(instance, group)}`, group]),
  );
  const vanished = areAll ? vanishedFinder(instance, groups) : () => undefined;
  const ownRows = new Map<string, OwnRow>();
  const all = new Set<string>();
  for (const { look, giteaUrl } of lastOfLooks(groups)) {
    for (const row of looks.get(look)?.runners ?? []) {
      const key = `${giteaUrl} ${row.id}`;
      all.add(key);
      const made = parseRunnerName(row.name);
      const group = made && (places.get(`${look} ${made.prefix} ${made.groupHash}`) ?? vanished(look, giteaUrl, made));
      if (group) ownRows.set(key, { key, group, row });
    }
  }
  const byGitea = (a: OwnRow, b: OwnRow) => compareText(a.group.giteaUrl, b.group.giteaUrl) || a.row.id - b.row.id;
  return { own: [...ownRows.values()].sort(byGitea), foreign: all.size - ownRows.size };
}

/** Returns the last group of each look: many groups may share one, and its lists may be long. */
function lastOfLooks(groups: readonly ChosenGroup[]): readonly ChosenGroup[] {
  const last = new Map(groups.map((group) => [group.look, group]));
  return groups.filter((group) => last.get(group.look) === group);
}

/** Finds the group behind a row that is of none of the given ones. The hash in the name proves group, namespace and instance. */
function vanishedFinder(instance: string, groups: readonly ChosenGroup[]) {
  const existing = new Set(groups.map(keyText));
  const byLook = groupBy(groups, ({ look }) => look);
  const namespacesOf = memo((look: string) => [...new Set(byLook.get(look)?.map(({ namespace }) => namespace))]);
  return (look: string, giteaUrl: string, { prefix: name, groupHash: hash }: RunnerName): ChosenGroup | undefined => {
    const made = namespacesOf(look)
      .map((namespace) => ({ namespace, name }))
      .find((one) => !existing.has(keyText(one)) && groupHash(instance, one) === hash);
    return made && { ...made, giteaUrl, look, vanished: true };
  };
}

/** Gathers the facts about names over all looks: a wider scope may also list a runner of a narrower one. */
function gatherFacts({ groups, looks, liveJobs }: SweepEvidence) {
  /** `<Gitea> <name>` of rows that are online or busy, and of runners that jobs in progress name. */
  const online = new Set<string>();
  const working = new Set<string>();
  for (const { look, giteaUrl } of lastOfLooks(groups)) {
    const { runners, jobs } = looks.get(look) ?? { runners: [], jobs: [] };
    for (const row of runners) if (row.online || row.busy) online.add(`${giteaUrl} ${row.name}`);
    for (const { status, runner } of jobs) if (status === 'in_progress' && runner) working.add(`${giteaUrl} ${runner}`);
  }
  return {
    online,
    working,
    // This is undefined if Kubernetes was not looked at.
    jobs: liveJobs && new Set(liveJobs.map(({ name }) => name)),
    // Names in all namespaces. A name too many keeps a row. A name too few would delete one.
    unfinished: new Set(liveJobs?.filter(({ state }) => !hasEnded(state)).map(({ name }) => name)),
  };
}

/** Returns the first of rules 2 to 5 that keeps a row. Undefined: none does. */
function keptBy({ giteaUrl }: ChosenGroup, row: RegisteredRunner, facts: ReturnType<typeof gatherFacts>) {
  if (!row.ephemeral) return 'not-ephemeral';
  if (facts.online.has(`${giteaUrl} ${row.name}`)) return 'online';
  if (facts.working.has(`${giteaUrl} ${row.name}`)) return 'job-in-progress';
  if (facts.jobs === undefined) return 'cluster-unseen';
  return facts.unfinished.has(row.name) ? 'job-alive' : undefined;
}

function groupKey(group: ChosenGroup): string {
  return `${group.giteaUrl} ${keyText(group)}`;
}
