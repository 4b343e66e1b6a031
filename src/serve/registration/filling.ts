/**
 * Keeps the registration tokens in Secrets as Gitea gives them (`--registration-secrets`), while this process leads.
 *
 *     groups ─► choose.ts ─► each key: read the Secret ─► ask Gitea (POST) ─► other than before: write token and url
 *
 * Bounds: one key per second and Gitea. Each key is asked for again after 5 minutes, after a failure sooner at first and then less
 * often. A token goes from Gitea's answer into the Secret and nowhere else.
 */
import { normalBase } from '../../base-url.ts';
import { Failure } from '../../failure.ts';
import { describeScope } from '../../gitea/endpoints.ts';
import type { GiteaTarget } from '../../gitea/observe.ts';
import { readRegistrationToken, registrationLevel } from '../../gitea/registrations.ts';
import { Deadline } from '../../http/deadline.ts';
import { pause } from '../../http/pause.ts';
import { untilAborted } from '../../http/until-aborted.ts';
import { keyText } from '../../key-text.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { fillSecret, readSecret } from '../../kubernetes/fill-secret.ts';
import { URL_KEY } from '../../tokens/api-token.ts';
import { holderOf, holdersIn, REGISTRATION_MARK } from '../../tokens/registration-mark.ts';
import type { Tell } from '../events.ts';
import { accessOf, BACKGROUND, type Guest, originOf } from '../looks/guest.ts';
import type { LookoutOptions } from '../looks/lookout.ts';
import { type GroupWithToken, refused, type TokenSlot, tokenSlots } from './choose.ts';

export interface FillingOptions {
  /** Absent: nothing is done. */
  readonly registration?: {
    /** Names of the Secrets that may be written. */
    readonly names: ReadonlySet<string>;
    /** For Secrets alone. Whoever made it closes it. */
    readonly client: KubeClient;
  };
  /** Its budget and pauses hold for these requests, too. Whoever made it closes it. */
  readonly guest: Pick<Guest, 'http' | 'pauseMs' | 'versions' | 'visit'>;
  /** Its time limit holds for each question to Kubernetes or Gitea. */
  readonly lookout: Pick<LookoutOptions, 'timeoutMs'>;
  /** The groups that exist now. */
  readonly groups: () => readonly GroupWithToken[];
  readonly now: () => number;
  readonly tell: Tell;
}

const PAUSE_MS = 1_000;

/** Runs until `signal` is aborted. */
export async function fillAgainAndAgain(options: FillingOptions, signal: AbortSignal): Promise<void> {
  if (!options.registration) return;
  const filler = new Filler(options, options.registration, signal);
  while (!signal.aborted) {
    filler.pass();
    await pause(PAUSE_MS, signal);
  }
  await filler.ended();
}

type Registration = NonNullable<FillingOptions['registration']>;

/** What is remembered of a key between two questions. */
interface Pace {
  readonly target: GiteaTarget | Failure;
  readonly notBeforeMs: number;
  /** In a row. */
  readonly failures: number;
}

class Filler {
  readonly #options: FillingOptions;
  readonly #client: KubeClient;
  readonly #names: ReadonlySet<string>;
  readonly #signal: AbortSignal;
  /** By id of the slot. */
  readonly #paces = new Map<string, Pace>();
  /** What is under way, by origin of the Gitea: one that hangs holds up no other. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(options: FillingOptions, { client, names }: Registration, signal: AbortSignal) {
    this.#options = options;
    this.#client = client;
    this.#names = names;
    this.#signal = signal;
  }

  /** Begins with one key of each Gitea at most, and does not wait. */
  pass(): void {
    const { groups, guest } = this.#options;
    const slots = tokenSlots(groups(), this.#names);
    const existing = new Set(slots.map(({ id }) => id));
    for (const id of this.#paces.keys()) if (!existing.has(id)) this.#paces.delete(id);
    for (const slot of slots) {
      const { target } = slot;
      if (!this.#isDue(slot)) continue;
      if (target instanceof Failure) this.#failed(slot, target);
      else if (!this.#underWay.has(originOf(target)) && guest.pauseMs(target) === 0) this.#begin(slot, target);
    }
  }

  /** Resolves when nothing is under way any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  #begin(slot: TokenSlot, target: GiteaTarget): void {
    const origin = originOf(target);
    const work = this.#keep(slot, target).finally(() => this.#underWay.delete(origin));
    this.#underWay.set(origin, work);
  }

  /** A new API token may do what the old one could not: then it is due at once. */
  #isDue({ id, target }: TokenSlot): boolean {
    const known = this.#paces.get(id);
    if (!known || this.#options.now() >= known.notBeforeMs) return true;
    return target instanceof Failure ? !(known.target instanceof Failure) : known.target !== target;
  }

  async #keep(slot: TokenSlot, target: GiteaTarget): Promise<void> {
    try {
      // A Secret that hangs must not delay the end: it is broken off when its client is closed.
      const outcome = await untilAborted(this.#signal, this.#fill(slot, target));
      if (outcome === undefined) return;
      // Nothing was written: it is tried again as after a failure.
      this.#remember(slot, outcome === 'changed' ? this.#failures(slot) + 1 : 0);
      if (outcome === 'written') this.#options.tell({ is: 'registration-token', ...told(slot), outcome });
    } catch (error) {
      // Leadership has ended, and the connections with it.
      if (this.#signal.aborted) return;
      if (!(error instanceof Failure)) throw error;
      this.#options.guest.versions.clear();
      this.#failed(slot, error);
    }
  }

  /** Gitea is asked only for a Secret that can be read and is bound to no other Gitea. */
  async #fill(slot: TokenSlot, target: GiteaTarget): Promise<'written' | 'changed' | 'same'> {
    const client = this.#client;
    const { timeoutMs } = this.#options.lookout;
    const { annotations, keys, version } = await readSecret(client, slot, new Deadline(timeoutMs));
    const bound = keys(URL_KEY)?.trim() || undefined;
    if (bound !== undefined && normalBase(bound) !== normalBase(target.url)) {
      throw refused(
        slot,
        `its key ${URL_KEY} names another Gitea than ${target.url}. Correct gitea.url, or name another Secret`,
      );
    }
    const holders = [...holdersIn(annotations[REGISTRATION_MARK])].filter(([key]) => keys(key)?.trim());
    const own = holderOf({ giteaUrl: target.url, scope: target.scope });
    const isMarked = checkHolder(slot, own, new Map(holders).get(slot.key));
    const token = await this.#ask(slot, target);
    if (keys(slot.key)?.trim() === token && bound !== undefined && isMarked) return 'same';
    if (this.#signal.aborted) return 'changed';
    const wanted = {
      data: { [slot.key]: token, ...(bound === undefined && { [URL_KEY]: target.url }) },
      annotations: { [REGISTRATION_MARK]: JSON.stringify(Object.fromEntries([...holders, [slot.key, own]])) },
    };
    return await fillSecret(client, slot, version, wanted, new Deadline(timeoutMs));
  }

  async #ask(slot: TokenSlot, target: GiteaTarget): Promise<string> {
    const { guest, lookout } = this.#options;
    return await guest.visit(target, BACKGROUND, async () => {
      const access = accessOf(guest, target, lookout.timeoutMs);
      const level = await registrationLevel(access, target.scope);
      if (level) return await readRegistrationToken(access, level);
      throw refused(
        slot,
        `Gitea gives the registration token of ${describeScope(target.scope)} to that user alone. Use an API token of that user with scope write:user`,
      );
    });
  }

  #failed(slot: TokenSlot, failure: Failure): void {
    this.#remember(slot, this.#failures(slot) + 1);
    this.#options.tell({ is: 'registration-token', ...told(slot), outcome: 'failed', failure });
  }

  #failures({ id }: TokenSlot): number {
    return this.#paces.get(id)?.failures ?? 0;
  }

  #remember({ id, target }: TokenSlot, failures: number): void {
    this.#paces.set(id, { target, failures, notBeforeMs: this.#options.now() + againMs(failures) });
  }
}

/** True when the key is known to be for this scope. @throws Failure when it is for another one, or may be. */
function checkHolder(slot: TokenSlot, own: string, holder: string | undefined): boolean {
  if (holder === own) return true;
  if (holder !== undefined) {
    throw refused(slot, `it holds the token of ${holder}, not of ${own}. To give it to these groups, remove the key`);
  }
  if (slot.unclear === undefined) return false;
  const what = `RunnerGroup ${slot.unclear} of this namespace is not valid, so it may name this key for another scope`;
  throw refused(slot, `${what}. Correct that group`);
}

function told(slot: TokenSlot) {
  return { objects: slot.objects, secret: keyText(slot) };
}

/** Also how long a token that was replaced in Gitea stays in the Secret. */
const WELL_MS = 300_000;
const FIRST_MS = 15_000;
const LONGEST_MS = 600_000;

/** Time until `serve` asks Gitea for the same token again, ms, after so many failures in a row: 5 minutes after none; else 15 s, 30 s … 10 minutes. */
export function againMs(failures: number): number {
  return failures === 0 ? WELL_MS : Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
}
