/**
 * Keeps the registration tokens in Secrets as Gitea gives them (`--registration-secrets`): one key of the queue per key of a Secret.
 *
 *     groups ─► tokenKeys ─► each key: read the Secret ─► ask Gitea (POST) ─► other than before: write token and url
 *
 * Bounds: one key per second and Gitea. Each key is asked for again after 5 minutes, after a failure sooner at first.
 * A token goes from Gitea's answer into the Secret and nowhere else.
 */
import * as z from 'zod';
import type { GiteaAccess } from '../../clients/gitea/api.ts';
import { describeScope } from '../../clients/gitea/endpoints.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import { readRegistrationToken } from '../../clients/gitea/registrations.ts';
import { Deadline, parseJson } from '../../clients/http/request.ts';
import { fillSecret, readSecret } from '../../clients/kubernetes/cluster-secrets.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import { URL_KEY } from '../../clients/tokens/api-token.ts';
import { templateAsks } from '../../config/policy/policy-rules.ts';
import type { RunnerGroup, SecretKey } from '../../config/runnergroup/runner-group.ts';
import { otherSecrets, type SecretRef } from '../../config/runnergroup/secrets.ts';
import type { TargetOf } from '../../plan/find-targets.ts';
import { asking, LONGEST_TURN_MS } from '../../serve/looks/giteas.ts';
import type { Retry, Turn } from '../../serve/queue/work-queue.ts';
import type { LiveGroup } from '../../serve/seen/live.ts';
import type { StartTask, TaskContext } from '../../serve/task.ts';
import { doubled } from '../../shared/clock.ts';
import { defined } from '../../shared/defined.ts';
import { Failure } from '../../shared/failure.ts';
import { groupBy, keyText } from '../../shared/keys.ts';
import { type Scope, scopeWord } from '../../shared/scope.ts';
import { normalBase } from '../../shared/url.ts';

/** Time between two checks of a good Secret, ms. So long a token that was replaced in Gitea may stay in the Secret. */
const WELL_MS = 300_000;
/** Pause after the first failure, ms. It is doubled with each further failure. */
const FIRST_MS = 15_000;
/** Longest pause after failures, ms. */
const LONGEST_MS = 600_000;

/** Returns a function that fills one Secret. @param timeoutMs for each question to Kubernetes or Gitea */
function filler({ giteas, secretsClient: client }: TaskContext, timeoutMs: number) {
  const ask = async (access: GiteaAccess, tokenKey: TokenKey, target: GiteaTarget) => {
    const token = await readRegistrationToken(access, target.scope);
    if (token) return token;
    const subject = `Gitea gives the registration token of ${describeScope(target.scope)} to that user alone`;
    throw refusalOf(tokenKey, `${subject}. Use an API token of that user with scope write:user`);
  };

  /** Gitea is asked only for a Secret that can be read and is bound to no other Gitea. */
  const fill = async (tokenKey: TokenKey, target: GiteaTarget, signal: AbortSignal) => {
    const { annotations, keys, version } = await readSecret(client, tokenKey, new Deadline(timeoutMs, client.clock));
    const bound = keys(URL_KEY)?.trim() || undefined;
    if (bound !== undefined && normalBase(bound) !== normalBase(target.url)) {
      const subject = `its key ${URL_KEY} names another Gitea than ${target.url}`;
      throw refusalOf(tokenKey, `${subject}. Correct gitea.url, or name another Secret`);
    }
    const marked = Holders.parse(parseJson(annotations[REGISTRATION_MARK] ?? ''));
    const holders = Object.entries(marked).filter(([key]) => keys(key)?.trim());
    const holder = new Map(holders).get(tokenKey.key);
    if (holder === undefined) checkHolder(tokenKey, '', holder);
    const { token, now } = await giteas.ask(target, timeoutMs, (access) => ask(access, tokenKey, target), signal);
    const expectedHolder = holderOf({ giteaUrl: target.url, scope: { ...target.scope, now } });
    const isSame = keys(tokenKey.key)?.trim() === token;
    // An equal token belongs to this scope, whatever the scope's name was when it was written.
    if (!isSame) checkHolder(tokenKey, expectedHolder, holder);
    if (isSame && bound !== undefined && holder === expectedHolder) return 'same';
    if (signal.aborted) return 'changed';
    const data = { [tokenKey.key]: token, ...(bound === undefined && { [URL_KEY]: target.url }) };
    const mark = JSON.stringify(Object.fromEntries([...holders, [tokenKey.key, expectedHolder]]));
    const content = { data, annotations: { [REGISTRATION_MARK]: mark } };
    return await fillSecret(client, tokenKey, version, content, new Deadline(timeoutMs, client.clock));
  };

  return fill;
}

/** Fills Secrets. @param names those that may be written @param timeoutMs for each question to Kubernetes or Gitea */
export function fillSecrets(names: ReadonlySet<string>, timeoutMs: number): StartTask {
  return (context) => {
    const { cluster, giteas, queue, targetOf, tell: tellAll } = context;
    const fill = filler(context, timeoutMs);
    let byId: ReadonlyMap<string, TokenKey> = new Map();
    /** Inputs of the current keys. */
    let from: readonly unknown[] = [];

    const tell = (id: string, failure?: Failure): void => {
      const tokenKey = byId.get(id);
      if (!tokenKey) return;
      if (failure && failure !== tokenKey.target) giteas.versions.clear();
      const { objects } = tokenKey;
      tellAll({ is: 'registration-token', objects, secret: keyText(tokenKey), ...(failure && { failure }) });
    };

    const keep = async (id: string, { signal }: Turn): Promise<Retry | undefined> => {
      const tokenKey = byId.get(id);
      if (!tokenKey) return undefined;
      if (tokenKey.target instanceof Failure) throw tokenKey.target;
      const pausedMs = giteas.pauseMs(tokenKey.target);
      if (pausedMs > 0) return { inMs: pausedMs, firm: true };
      const outcome = await fill(tokenKey, tokenKey.target, signal);
      if (signal.aborted) return undefined;
      if (outcome === 'written') tell(id);
      // Somebody else has changed it, so nothing was written.
      return { inMs: againMs(outcome === 'changed' ? 1 : 0) };
    };

    const line = queue.open('fill', {
      ...asking((id) => byId.get(id)?.target),
      deadlineMs: LONGEST_TURN_MS + 3 * timeoutMs,
      backOffMs: againMs,
      onFailure: tell,
      run: keep,
    });

    return ({ is }) => {
      if (is !== 'reconciled') return;
      const [groups, targets] = [cluster.groups(), targetOf()];
      if (from[0] === groups && from[1] === targets) return;
      from = [groups, targets];
      const before = byId;
      byId = new Map(tokenKeys(groups, targets, names).map((tokenKey) => [tokenKey.id, tokenKey]));
      line.keepOnly(byId);
      for (const [id, { target }] of byId) {
        const earlierTarget = before.get(id)?.target;
        // A new API token may do what the old one could not.
        const isOther = target instanceof Failure ? !(earlierTarget instanceof Failure) : earlierTarget !== target;
        if (isOther) line.set(id, 0);
      }
    };
  };
}

/** Checks whose token the key holds. @throws Failure when it is for another scope, or may be */
function checkHolder(tokenKey: TokenKey, expectedHolder: string, holder: string | undefined): void {
  if (holder === expectedHolder) return;
  if (holder !== undefined) {
    const reason = `it holds the token of ${holder}, not of ${expectedHolder}`;
    throw refusalOf(tokenKey, `${reason}. To give it to these groups, remove the key`);
  }
  if (tokenKey.unclear === undefined) return;
  const doubt = `RunnerGroup ${tokenKey.unclear} of this namespace is not valid, so it may name this key for another scope`;
  throw refusalOf(tokenKey, `${doubt}. Correct that group`);
}

/** Time until Gitea is asked for the same token again, ms: 5 minutes after none, else 15 s, 30 s … 10 minutes after so many failures in a row. */
export function againMs(failures: number): number {
  return failures === 0 ? WELL_MS : doubled(FIRST_MS, failures - 1, LONGEST_MS);
}

/** A key of a Secret, and the groups whose runners register with it. */
interface TokenKey {
  /** `<namespace>/<name>` of the Secret, and the key. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  /** RunnerGroups in the order of their names. */
  readonly objects: readonly RunnerGroupObject[];
  /** The scope of the token, and the API token to request it with. A Failure: nothing may be written there. */
  readonly target: GiteaTarget | Failure;
  /** Name of a group of the namespace that may name this key, too, for a scope that is not known. */
  readonly unclear?: string;
}

type SoundGroup = LiveGroup & { readonly group: RunnerGroup };
type ByPod = LiveGroup & { readonly group: RunnerGroup & { readonly registrationToken: SecretKey } };

/** Finds the keys to fill. @param groups all of them: the Secrets of a broken one are unknown @param names of writable Secrets */
export function tokenKeys(groups: readonly LiveGroup[], targetOf: TargetOf, names: ReadonlySet<string>) {
  const soundGroups = groups.filter((one): one is SoundGroup => one.group !== undefined);
  const broken = groups.flatMap(({ group, object }) => (group ? [] : object.metadata));
  const unclear = new Map(broken.map(({ name, namespace }) => [namespace, name]));
  const byPod = soundGroups.filter((one): one is ByPod => one.group.registrationToken !== undefined);
  const members = groupBy(byPod, ({ group: { namespace, registrationToken } }) =>
    names.has(registrationToken.name) ? `${namespace}/${registrationToken.name} ${registrationToken.key}` : undefined,
  );
  if (members.size === 0) return [];
  const byNamespace = groupBy(soundGroups, ({ group }) => group.namespace);
  const uses = new Map([...byNamespace].map(([namespace, all]) => [namespace, all.flatMap(usesOf)]));
  return [...members].flatMap(([id, unordered]) => {
    const sharing = unordered.toSorted((a, b) => (a.group.name < b.group.name ? -1 : 1));
    const [{ group }] = sharing as [ByPod];
    const targets = sharing.map((each) => targetOf.get(each.group));
    const goodTarget = targets.find((target) => target !== undefined && !(target instanceof Failure));
    if (!goodTarget) return [];
    const { namespace, registrationToken } = group;
    const why = conflict(group, sharing) ?? otherUse(registrationToken, uses.get(namespace) ?? []);
    const tokenKey = { id, namespace, ...registrationToken, objects: sharing.map(({ object }) => object) };
    const target = why ? refusalOf(tokenKey, why) : goodTarget;
    return [{ ...tokenKey, target, ...defined({ unclear: unclear.get(namespace) }) }];
  });
}

/** Groups whose API token cannot be used count, too: their scope and Gitea stand in their spec. */
function conflict({ registrationToken: { key } }: ByPod['group'], sharing: readonly SoundGroup[]): string | undefined {
  if (key === URL_KEY) return 'this key names the Gitea of the Secret. Name another key in registrationToken';
  const [first, second] = [...new Set(sharing.map(({ group }) => holderOf(group)))].sort();
  if (second === undefined) return undefined;
  return `its RunnerGroups want tokens of ${first} and of ${second}. Give each scope a key or a Secret of its own`;
}

/** A place that reads a key of a Secret, or the whole Secret. */
type Use = Omit<SecretRef, 'at' | 'path'> & { readonly why: string };

/** Returns the values that a group reads besides its registration token. */
function usesOf({ group }: SoundGroup): readonly Use[] {
  const inPod = templateAsks(group, 'secret').map(({ path, value }) => ({ path, name: value }));
  const otherRefs = [...otherSecrets(group.manifest['spec']), ...inPod];
  return [
    { ...group.authToken, why: 'a RunnerGroup names it under authToken, so it holds an API token' },
    ...otherRefs.map(({ path, ...ref }) => ({ ...ref, why: `RunnerGroup ${group.name} names it in ${path}` })),
  ];
}

function otherUse({ name, key }: SecretKey, uses: readonly Use[]): string | undefined {
  const use = uses.find((each) => each.name === name && (each.key ?? key) === key);
  return use && `${use.why}. Name another one in registrationToken`;
}

/** Returns why nothing is written to the key, and what to do: without a full stop. */
function refusalOf({ key, name, namespace }: Pick<TokenKey, 'key' | 'name' | 'namespace'>, why: string): Failure {
  return new Failure('GR-TOKEN-11', 1, `write key ${key} of Secret ${name} of namespace ${namespace}: ${why}.`);
}

/**
 * Annotation of a Secret, in which `serve` notes whose tokens it holds: '{"registration-token":"org:acme at https://gitea.example.com"}'.
 * A filled key is never filled for another scope or Gitea, and no runner is started that would register with it.
 */
export const REGISTRATION_MARK = 'gitea.bpg.pw/registration-tokens';

/** Names the owner of the token with which a group's runners register. */
function holderOf({ giteaUrl, scope }: { readonly giteaUrl: string; readonly scope: Scope }): string {
  return `${scopeWord(scope)} at ${normalBase(giteaUrl)}`;
}

/** Holders by key of the Secret. A value that somebody else has written counts as none. */
const Holders = z.record(z.string(), z.string().optional().catch(undefined)).catch({});
