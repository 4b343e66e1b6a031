/** Effects of each fault, and for how long `serve` cannot be blamed: the times are those of the manual. */

import type { Application, Around } from './application.ts';
import type { Fault } from './history.ts';

export interface Stage extends Around {
  readonly apps: readonly Application[];
  /** Wakes at the same time. */
  readonly places: number;
  readonly stopLeader: (how: 'killed' | 'stopped', backAfterMs: number) => void;
  readonly setClock: (byMs: number) => void;
}

/** Time after which a silent watch is started again, and has read its list, ms: 150 s and a little more. */
const SILENT_WATCH_MS = 153_000;
/** A watch that broke or expired begins with a list, after half a second to a few seconds. */
const RELIST_MS = 12_000;
/** A list that is not answered is given up after half a minute, and comes again after half a second to half a minute. */
const LIST_AGAIN_MS = 62_000;
/**
 * Time until an absent Argo CD is read again, ms: every 4 s. Requests from before it went end a minute later at most.
 */
const ARGOCD_AGAIN_MS = 5_000;
/** A Lease that is not renewed for 15 s is taken over; then everything is looked at. */
const LEASE_MS = 10_000;
/** Time until a failed registration is tried again, ms: 10 s at most. */
const REGISTERED_AGAIN_MS = 12_000;
/** A wake that was under way ends, and the next one comes. */
const AGAIN_MS = 10_000;
/** The pause after syncs that fail doubles, to a minute. */
const FAILED_SYNC_MS = 60_000;

/** Begins a fault; its end is set. */
export function beginFault(fault: Fault, stage: Stage): void {
  const { kubernetes, pods, server, world } = stage;
  const forMs = 'forS' in fault ? fault.forS * 1000 : 0;
  const app = 'app' in fault ? stage.apps[fault.app % stage.apps.length] : undefined;
  const during = (restMs: number, set: (isOn: boolean) => void): void => {
    set(true);
    world.obstacle(fault.is, forMs + restMs, app?.name);
    world.later(forMs, () => {
      set(false);
      world.tell(`end of ${fault.is}`);
    });
  };
  /** Turns a switch on, of the Application or of all. */
  const turnOn = <Key extends string>(restMs: number, key: Key, ...of: Record<NoInfer<Key>, boolean>[]): void =>
    during(restMs, (isOn) => {
      for (const each of of) each[key] = isOn;
    });
  const argocd = (app ? [app] : stage.apps).map(({ faults }) => faults);
  world.tell(`fault: ${JSON.stringify(fault)}`);
  switch (fault.is) {
    case 'watch-cut':
      kubernetes.spoil(fault.kind, fault.how);
      world.obstacle(fault.is, RELIST_MS);
      return;
    case 'watch-silent':
      kubernetes.spoil(fault.kind, 'silent');
      world.obstacle(fault.is, SILENT_WATCH_MS);
      return;
    case 'events-late':
      turnOn(5_000, 'eventsAreLate', kubernetes);
      return;
    case 'events-repeated':
      turnOn(0, 'eventsAreRepeated', kubernetes);
      return;
    case 'kubernetes-away':
      during(LIST_AGAIN_MS, (isOn) => kubernetes.setAway(isOn));
      return;
    case 'old-lists':
      // A list meanwhile comes from a watch that ended.
      kubernetes.spoil('jobs', 'expired');
      kubernetes.spoil('pods', 'expired');
      turnOn(5_000, 'listsAreOld', kubernetes);
      return;
    case 'status-conflicts':
      turnOn(10_000, 'statusConflicts', kubernetes);
      return;
    case 'namespace-refused':
      during(0, (isOn) => kubernetes.refuse(isOn ? EMPTY_NAMESPACE : undefined));
      return;
    case 'eviction':
      pods.evict();
      return;
    case 'node-silent':
      pods.silence(forMs);
      return;
    case 'refresh-lost':
      turnOn(AGAIN_MS, 'refreshLost', ...argocd);
      return;
    case 'refresh-overlooked':
      if (app) app.faults.overlooks = true;
      return;
    case 'refresh-hangs':
      if (app) app.faults.hangsUntilMs = world.nowMs + forMs;
      world.obstacle(fault.is, forMs + 10_000, app?.name);
      return;
    case 'read-lost':
      if (app) app.faults.readLost = 1;
      return;
    case 'sync-lost':
      if (app) app.faults.syncLost = 1;
      return;
    case 'answers-late':
      turnOn(AGAIN_MS, 'answersLate', ...argocd);
      return;
    case 'comparison-slow':
      during(AGAIN_MS, (isOn) => {
        if (app) app.faults.slow = isOn ? 8 : 1;
      });
      return;
    case 'kept-error':
      app?.keepError();
      return;
    case 'operation':
      app?.hold(forMs);
      return;
    case 'old-sync':
      app?.syncOld();
      return;
    case 'argocd-away':
      turnOn(ARGOCD_AGAIN_MS, 'isAway', ...argocd);
      return;
    case 'apply-fails':
      turnOn(FAILED_SYNC_MS, 'appliesFail', ...argocd);
      return;
    case 'others-out-of-sync':
      turnOn(0, 'othersDiffer', ...argocd);
      return;
    case 'gitea-away':
      turnOn(pausesAfter(server.troubledMs(world.nowMs, forMs)), 'isAway', server);
      return;
    case 'looks-fail':
      during(pausesAfter(server.troubledMs(world.nowMs, forMs)), (isOn) => {
        server.looksFail = isOn ? 0.3 : 0;
      });
      return;
    case 'webhooks-lost':
    case 'webhooks-late':
    case 'webhooks-twice': {
      const kind = fault.is.slice('webhooks-'.length) as 'lost' | 'late' | 'twice';
      server.webhooks = kind;
      world.later(forMs, () => {
        server.webhooks = 'good';
      });
      return;
    }
    case 'registrations-refused':
    case 'registrations-lost': {
      const kind = fault.is === 'registrations-lost' ? 'lost' : 'refused';
      during(REGISTERED_AGAIN_MS, (isOn) => {
        server.registrations = isOn ? kind : 'good';
      });
      return;
    }
    case 'secrets-lost':
      turnOn(REGISTERED_AGAIN_MS, 'secretsLost', kubernetes);
      return;
    case 'killed':
    case 'stopped':
      stage.stopLeader(fault.is, fault.backAfterS * 1000);
      return;
    case 'lease-away':
      turnOn(LEASE_MS, 'leaseIsAway', kubernetes);
      return;
    case 'clock-set':
      stage.setClock(fault.byS * 1000);
      world.obstacle(fault.is, 10_000);
      return;
    default:
      fault satisfies never;
  }
}

/** The pause between looks that fail doubles, to five minutes at most. Chance makes some shorter, so one may be longer than all before together. */
function pausesAfter(forMs: number): number {
  return Math.min(forMs * 2, 300_000) + 20_000;
}

/** A namespace that may be named, in which nothing lives. */
export const EMPTY_NAMESPACE = 'empty';
