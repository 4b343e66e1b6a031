/** All Applications that manage groups of ours, with one waker each. */
import type { WakeTarget } from '../../argocd/wake.ts';
import type { Clock } from '../../clock.ts';
import type { Tell } from '../events.ts';
import type { LiveGroup } from '../planning/live.ts';
import { applicationOfGroup, refOf } from '../planning/ownership.ts';
import type { WakeFacts } from '../round.ts';
import { WakeLine } from './line.ts';
import { ManagedApp, type Wish } from './managed-app.ts';

export interface ManagedAppsOptions {
  readonly argocd: WakeTarget;
  /** Wakes at the same time. */
  readonly wakes: number;
  readonly clock: Clock;
  readonly tell: Tell;
  /** A wake has ended, or Argo CD has answered. */
  readonly onNews: () => void;
}

export class ManagedApps {
  readonly #options: ManagedAppsOptions;
  readonly #line: WakeLine;
  readonly #apps = new Map<string, ManagedApp>();

  constructor(options: ManagedAppsOptions) {
    this.#options = options;
    this.#line = new WakeLine(options.wakes, options.clock);
  }

  /** True once each one shows its plan or was woken in vain. */
  get done(): boolean {
    return [...this.#apps.values()].every(({ done }) => done);
  }

  /** Why wakes failed, one line for each Application. */
  get troubles(): readonly string[] {
    return [...this.#apps].flatMap(([key, { trouble }]) => (trouble ? `${key}: ${trouble}` : []));
  }

  /** How each one was woken so far. */
  get wakes(): ReadonlyMap<string, WakeFacts> {
    return new Map([...this.#apps].map(([key, { wakes }]) => [key, wakes]));
  }

  /** These exist now, with their groups. The key of groups without an Application is ''. */
  keep(byApp: ReadonlyMap<string, readonly LiveGroup[]>): void {
    for (const [key, app] of this.#apps) {
      if (byApp.has(key)) continue;
      app.close();
      this.#apps.delete(key);
    }
    for (const [key, members] of byApp) {
      if (key === '') continue;
      const groups = members.map(({ object }) => refOf(object.metadata));
      const known = this.#apps.get(key);
      if (known) {
        known.groups = groups;
        continue;
      }
      const [first] = members;
      const ref = first && applicationOfGroup(first);
      if (!ref) throw new Error(`no Application behind ${key}`);
      this.#apps.set(key, new ManagedApp(key, ref, groups, { ...this.#options, line: this.#line }));
    }
  }

  /** Wakes Argo CD until the cluster shows this plan. */
  follow(application: string, wish: Wish): void {
    this.#apps.get(application)?.follow(wish);
  }

  close(): void {
    for (const app of this.#apps.values()) app.close();
  }
}
