/** Applications that are woken: each has one RunnerGroup. */
import { onTestFinished } from 'vitest';
import type { AppState } from '../../src/clients/argocd/app-state.ts';
import type { Planning } from '../../src/plan/plan-seen.ts';
import { Applications } from '../../src/serve/applications.ts';
import type { ServeEvent } from '../../src/serve/planning/events.ts';
import { WorkQueue } from '../../src/serve/queue/work-queue.ts';
import type { LiveGroup } from '../../src/serve/seen/live.ts';
import type { WakeTarget } from '../../src/serve/waking/wake.ts';
import type { Clock } from '../../src/shared/clock.ts';
import { Failure } from '../../src/shared/failure.ts';
import { TRACKING_ID } from '../../src/shared/marks.ts';

export const PLANNED: Planning = { is: 'planned', plan: { jobs: [], runners: [], groups: [] }, atMs: 0 };
export const NO_PLAN: Planning = { is: 'failed', failure: new Failure('GR-GITEA-01', 1, 'down.', 'unauthorized') };

/** Makes the state of a healthy Application without differences. */
export function appState(over: Partial<AppState> = {}): AppState {
  return {
    namespace: 'argocd',
    name: 'runners',
    sync: 'Synced',
    errors: [],
    warnings: [],
    isOperating: false,
    isSkipped: false,
    refreshPending: false,
    manages: () => true,
    jobs: [],
    ...over,
  };
}

export interface OpenApplications {
  readonly apps: Applications;
  readonly queue: WorkQueue;
  readonly told: readonly ServeEvent[];
}

/** @param onNews a wake has ended, or Argo CD has answered. */
export function openApplications(
  argocd: WakeTarget,
  clock: Clock,
  { names = ['runners'] as readonly string[], onNews = (): void => undefined, wakes = 4 } = {},
): OpenApplications {
  const queue = new WorkQueue(clock);
  const told: ServeEvent[] = [];
  const apps = new Applications({ argocd, queue, clock, wakes, tell: (event) => void told.push(event), onNews });
  apps.keep(new Map(names.map((name) => [keyOf(name), [managedBy(name)]])));
  onTestFinished(() => queue.close());
  return { apps, queue, told };
}

export function keyOf(name: string): string {
  return `argocd/${name}`;
}

/** A RunnerGroup, as this Application has made it. */
export function managedBy(app: string, namespace = 'runners', name = 'ci'): LiveGroup {
  const annotations = { [TRACKING_ID]: `${app}:gitea.bpg.pw/RunnerGroup:${namespace}/${name}` };
  return { key: `${namespace}/${name}`, object: { metadata: { namespace, name, uid: app, annotations } } };
}
