/**
 * Keeps the registration tokens in Secrets as Gitea gives them (`--registration-secrets`): one key of the queue per key of a Secret.
 *
 *     groups ─► choose.ts ─► each key: read the Secret ─► ask Gitea (POST) ─► other than before: write token and url
 *
 * Bounds: one key per second and Gitea. Each key is asked for again after 5 minutes, after a failure sooner at first and then less
 * often. A token goes from Gitea's answer into the Secret and nowhere else.
 */

import { describeScope } from '../../clients/gitea/endpoints.ts';
import type { GiteaTarget } from '../../clients/gitea/observe.ts';
import { readRegistrationToken, registrationLevel } from '../../clients/gitea/registrations.ts';
import { Deadline } from '../../clients/http/deadline.ts';
import { fillSecret, readSecret } from '../../clients/kubernetes/secrets.ts';
import { URL_KEY } from '../../clients/tokens/api-token.ts';
import { holderOf, holdersIn, REGISTRATION_MARK } from '../../clients/tokens/registration-mark.ts';
import { accessOf, BACKGROUND, LONGEST_TURN_MS, originOf } from '../../serve/looks/guest.ts';
import type { Again, Turn } from '../../serve/queue.ts';
import type { StartTask } from '../../serve/task.ts';
import { normalBase } from '../../shared/base-url.ts';
import { doubled } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/key-text.ts';
import { groupsWithToken, refused, type TokenSlot, tokenSlots } from './choose.ts';

export interface FillingOptions {
  /** Names of the Secrets that may be written. */
  readonly names: ReadonlySet<string>;
  /** For each question to Kubernetes or Gitea. */
  readonly timeoutMs: number;
}

const GAP_MS = 1_000;
/** Keys that are asked for at the same time, in all Giteas. */
const WIDTH = 8;
/** Also how long a token that was replaced in Gitea stays in the Secret. */
const WELL_MS = 300_000;
const FIRST_MS = 15_000;
const LONGEST_MS = 600_000;

export function fillSecrets({ names, timeoutMs }: FillingOptions): StartTask {
  return ({ cluster, guest, queue, secretsClient: client, targetOf, tell: tellAll }) => {
    let slots: ReadonlyMap<string, TokenSlot> = new Map();
    /** What the slots follow from. */
    let from: readonly unknown[] = [];

    const tell = (id: string, outcome: 'written' | 'failed', failure?: Failure): void => {
      const slot = slots.get(id);
      if (!slot) return;
      if (failure && failure !== slot.target) guest.versions.clear();
      const told = { objects: slot.objects, secret: keyText(slot) };
      tellAll({ is: 'registration-token', ...told, outcome, ...(failure && { failure }) });
    };

    const ask = async (slot: TokenSlot, target: GiteaTarget): Promise<string> => {
      const access = accessOf(guest, target, timeoutMs);
      const level = await registrationLevel(access, target.scope);
      if (level) return await readRegistrationToken(access, level);
      throw refused(
        slot,
        `Gitea gives the registration token of ${describeScope(target.scope)} to that user alone. Use an API token of that user with scope write:user`,
      );
    };

    /** Gitea is asked only for a Secret that can be read and is bound to no other Gitea. */
    const fill = async (slot: TokenSlot, target: GiteaTarget, signal: AbortSignal) => {
      const { annotations, keys, version } = await readSecret(client, slot, new Deadline(timeoutMs, client.clock));
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
      const token = await guest.visit(target, BACKGROUND, () => ask(slot, target), signal);
      if (keys(slot.key)?.trim() === token && bound !== undefined && isMarked) return 'same';
      if (signal.aborted) return 'changed';
      const wanted = {
        data: { [slot.key]: token, ...(bound === undefined && { [URL_KEY]: target.url }) },
        annotations: { [REGISTRATION_MARK]: JSON.stringify(Object.fromEntries([...holders, [slot.key, own]])) },
      };
      return await fillSecret(client, slot, version, wanted, new Deadline(timeoutMs, client.clock));
    };

    const keep = async (id: string, { signal }: Turn): Promise<Again | undefined> => {
      const slot = slots.get(id);
      if (!slot) return undefined;
      if (slot.target instanceof Failure) throw slot.target;
      const pausedMs = guest.pauseMs(slot.target);
      if (pausedMs > 0) return { inMs: pausedMs, firm: true };
      const outcome = await fill(slot, slot.target, signal);
      if (signal.aborted) return undefined;
      if (outcome === 'written') tell(id, outcome);
      // Somebody else has changed it, so nothing was written.
      return { inMs: againMs(outcome === 'changed' ? 1 : 0) };
    };

    const line = queue.open('fill', {
      width: WIDTH,
      laneOf: (id) => {
        const target = slots.get(id)?.target;
        return target === undefined || target instanceof Failure ? `refused ${id}` : originOf(target);
      },
      // One that hangs holds up no other Gitea.
      perLane: 1,
      gapMs: GAP_MS,
      deadlineMs: LONGEST_TURN_MS + 3 * timeoutMs,
      backOffMs: againMs,
      onFailure: (id, failure) => tell(id, 'failed', failure),
      run: keep,
    });

    return ({ is }) => {
      if (is !== 'round-done') return;
      const [groups, targets] = [cluster.groups(), targetOf()];
      if (from[0] === groups && from[1] === targets) return;
      from = [groups, targets];
      const before = slots;
      slots = new Map(tokenSlots(groupsWithToken(groups, targets), names).map((slot) => [slot.id, slot]));
      line.keepOnly(slots);
      for (const [id, { target }] of slots) {
        const known = before.get(id)?.target;
        // A new API token may do what the old one could not.
        const isOther = target instanceof Failure ? !(known instanceof Failure) : known !== target;
        if (isOther) line.set(id, 0);
      }
    };
  };
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

/** Time until Gitea is asked for the same token again, ms: 5 minutes after none, else 15 s, 30 s … 10 minutes after so many failures in a row. */
export function againMs(failures: number): number {
  return failures === 0 ? WELL_MS : doubled(FIRST_MS, failures - 1, LONGEST_MS);
}
