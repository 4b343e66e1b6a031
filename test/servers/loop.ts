/** generate, sync, again: what Argo CD does for as long as something is queued. Every pass is kept for the verdict. */

import type { Outcome } from '../support/run-cli.ts';
import type { Cluster } from './cluster.ts';
import { generate, type TestGroup } from './generate.ts';
import { groupOf, isPinned, readManifests } from './manifest.ts';
import { sleep } from './process.ts';

/** One group in one pass. */
export interface GroupPass {
  readonly group: string;
  readonly cap: number;
  readonly emitted: number;
  /** Names of the emitted Jobs that say Prune=false. */
  readonly pinned: readonly string[];
  /** Runners that live and are wanted, right after the sync. */
  readonly active: number;
}

export interface Pass {
  readonly generated: Outcome;
  readonly groups: readonly GroupPass[];
}

export interface LoopWorld {
  readonly cluster: Cluster;
  readonly folder: string;
  readonly groups: readonly TestGroup[];
  readonly url: string;
  readonly token: string;
}

/** Pause between two passes. */
const PAUSE_MS = 500;

export class Loop {
  readonly passes: Pass[] = [];
  readonly #world: LoopWorld;

  constructor(world: LoopWorld) {
    this.#world = world;
  }

  get cluster(): Cluster {
    return this.#world.cluster;
  }

  /** Goes on until nothing is printed and no runner is left. */
  async untilIdle(): Promise<void> {
    const { cluster } = this.#world;
    await this.until(
      'every runner ends',
      ({ generated }) => generated.stdout === '' && cluster.unfinished === 0,
      60_000,
    );
  }

  /** Runs passes until `done`. A failing `generate` changes nothing and is kept as a pass, as with Argo CD. @throws after `timeoutMs`. */
  async until(what: string, done: (pass: Pass) => boolean | Promise<boolean>, timeoutMs: number): Promise<void> {
    const until = Date.now() + timeoutMs;
    for (;;) {
      const pass = await this.#pass();
      this.passes.push(pass);
      if (await done(pass)) return;
      if (Date.now() > until)
        throw new Error(`${what}: not after ${timeoutMs / 1000} s; last: ${pass.generated.stderr}`);
      await sleep(PAUSE_MS);
    }
  }

  async #pass(): Promise<Pass> {
    const { cluster, folder, groups, url, token } = this.#world;
    const beganAtMs = Date.now();
    const generated = await generate(folder, url, token);
    const look = { beganAtMs, endedAtMs: Date.now() };
    if (generated.code !== 0) return { generated, groups: [] };
    const manifests = readManifests(generated.stdout);
    cluster.sync(manifests, look);
    return {
      generated,
      groups: groups.map(({ name, cap }) => {
        const own = manifests.filter((manifest) => groupOf(manifest) === name);
        const pinned = own.filter(isPinned).map(({ metadata }) => metadata.name);
        return { group: name, cap, emitted: own.length, pinned, active: cluster.active(name, manifests) };
      }),
    };
  }
}
