/** Reads how a group did lately, from Gitea's newest history. It does so when an owner asks, for each scope once an hour at most. */
import { LRUCache } from 'lru-cache';
import { trendsOf, type UsageEvidence } from '../answers/usage.ts';
import { type GiteaAccess, GiteaApi } from '../clients/gitea/api.ts';
import { Shelf } from '../clients/gitea/bounds.ts';
import { readScopeHistory } from '../clients/gitea/history.ts';
import type { GiteaTarget } from '../clients/gitea/observe-gitea.ts';
import { memo } from '../planner/collections.ts';
import { type Giteas, LONGEST_TURN_MS } from '../serve/looks/giteas.ts';
import type { FeatureContext } from '../serve/task.ts';
import { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';

/** A group of this Gitea, and with which token its scope is asked; or why it is not. */
export type OwnGroup = Readonly<{ group: UsageEvidence['groups'][number]; target: GiteaTarget | Failure }>;

/** Today and the days before it. */
const TREND_DAYS = 30;
/** Pages of fifty CI jobs. */
export const MOST_TREND_PAGES = 40;
/** Bytes of rows that one reading keeps. Rows beyond are left out, and the trends are not whole. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Most scopes whose readings are kept. The least recently used one is read again. */
const MOST_SCOPES = 10;
/** How long a reading is used, ms: each scope is read once an hour at most. */
const FRESH_MS = 3_600_000;
/** A reading that has failed is tried again after this time. */
const AGAIN_MS = 60_000;
const DAY_MS = 86_400_000;

/** `isWhole` is false if there are more CI jobs than are read. */
export type Trends = ReturnType<typeof trendsOf> &
  Readonly<Record<'group' | 'from' | 'to', string> & { isWhole: boolean }>;
type Reading = Failure | ((group: string) => Trends);

/** Returns the trends of a group. Undefined: the group does not exist. */
export type TrendsOf = (group: string) => Trends | Failure | 'asked' | undefined;

/** Returns a function that answers trends, and reads them when nobody has asked for an hour. */
export function startTrends(context: FeatureContext, giteas: Giteas, ownGroups: () => readonly OwnGroup[]): TrendsOf {
  const { clock, instance, queue, timeoutMs } = context;
  const perf = { now: () => clock.steadyMs() };
  const readings = new LRUCache<string, Reading>({ max: MOST_SCOPES, ttl: FRESH_MS, ttlResolution: 0, perf });
  const line = queue.open('page-trends', {
    width: 1,
    deadlineMs: LONGEST_TURN_MS + timeoutMs,
    // The next try comes when a person asks again.
    mostTries: 1,
    onFailure: (key, failure) => void readings.set(key, failure, { ttl: AGAIN_MS }),
    run: async (key, { signal }) => {
      const target = ownGroups().find((each) => !(each.target instanceof Failure) && each.target.key === key)?.target;
      if (!target || target instanceof Failure) return undefined;
      const toMs = clock.now();
      const period = { fromMs: Math.floor(toMs / DAY_MS) * DAY_MS - (TREND_DAYS - 1) * DAY_MS, toMs };
      const historyQuery = { ...period, workflows: false, mostPages: MOST_TREND_PAGES, endsOnly: true } as const;
      const { labels, scope, url } = target;
      const read = (access: GiteaAccess) =>
        readScopeHistory(new GiteaApi({ ...access, shelf: new Shelf(MOST_BYTES, labels) }), scope, historyQuery);
      const history = await giteas.ask(target, timeoutMs, read, signal);
      const groups = ownGroups().map(({ group }) => group);
      const histories = [{ ...history, url, scope }];
      const evidence: UsageEvidence = { instance, groups, histories, runners: undefined, period };
      const [from = '', to = ''] = [period.fromMs, toMs].map((ms) => new Date(ms).toISOString());
      // Trends of 2,000 jobs take some ms, so they are calculated once for each group and reading.
      const { isWhole } = history;
      const trendsIn = memo((group: string) => ({ ...trendsOf(evidence, group), group, from, to, isWhole }));
      readings.set(key, trendsIn);
      return undefined;
    },
  });
  return (key) => {
    const target = ownGroups().find(({ group }) => keyText(group) === key)?.target;
    if (!target || target instanceof Failure) return target;
    const reading = readings.get(target.key);
    if (!reading) line.add(target.key);
    return typeof reading === 'function' ? reading(key) : (reading ?? 'asked');
  };
}
