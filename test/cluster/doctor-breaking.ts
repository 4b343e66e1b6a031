/** Breaks a real installation and repairs it, for doctor-breaks.ts. */
import { sleep } from '../servers/process.ts';
import { ORG } from './install.ts';
import { type Begun, oneJobSucceeds } from './one-job.ts';

/** A broken installation. */
export type Patient = Begun;

/** The finding that was printed about a fault. */
export interface Cross {
  /** Whole text of the check. */
  readonly check: string;
  /** A part of the finding's text. */
  readonly says: string;
  /** A part of the advice. */
  readonly fix: string;
}

export interface Break {
  readonly name: string;
  /** Answers how to mend it. Undefined: the advice is one command, and mends it. */
  readonly make: (patient: Patient) => Promise<undefined | (() => Promise<unknown>)>;
  readonly crosses: readonly Cross[];
  /** Environment of `doctor`, if it needs more than the cluster. */
  readonly env?: (patient: Patient) => Promise<Readonly<Record<string, string>>>;
}

export type Json = Record<string, unknown>;

/** The object as it is, to be put back. */
export async function kept(
  patient: Patient,
  namespace: string,
  ...what: readonly string[]
): Promise<() => Promise<unknown>> {
  const object = JSON.parse(await patient.kubectl('get', '-n', namespace, ...what, '-o', 'json')) as Json;
  const { resourceVersion, uid, creationTimestamp, managedFields, ...metadata } = object['metadata'] as Json;
  const file = patient.stack.machine.write(
    `kept-${what.join('-').replaceAll('/', '-')}.json`,
    JSON.stringify({ ...object, metadata }),
  );
  return async () => {
    const isThere = (await patient.kubectl('get', '-n', namespace, ...what, '--ignore-not-found', '-o', 'name')) !== '';
    await patient.kubectl(isThere ? 'replace' : 'create', '-f', file);
  };
}

/** A merge patch that the advice mends, or that is taken back by putting back the whole object. */
export function patched(namespace: string, what: string, patch: Json, mendedBy?: 'advice'): Break['make'] {
  return async (patient) => {
    const back = mendedBy === 'advice' ? undefined : await kept(patient, namespace, what);
    await patient.kubectl('patch', '-n', namespace, what, '--type=merge', '-p', JSON.stringify(patch));
    return back;
  };
}

export function deleted(namespace: string, what: string): Break['make'] {
  return async (patient) => {
    const back = await kept(patient, namespace, what);
    await patient.kubectl('delete', '-n', namespace, what, '--wait=true');
    return back;
  };
}

/** The RunnerGroup as the cluster has it is changed, and put back by git's. */
export function groupWith(spec: Json): Break['make'] {
  return async (patient) => {
    const old = JSON.parse(await patient.kubectl('get', '-n', 'runners', 'runnergroup/ci', '-o', 'json')) as Json;
    await patient.kubectl('patch', '-n', 'runners', 'runnergroup/ci', '--type=merge', '-p', JSON.stringify({ spec }));
    const before = old['spec'] as Json;
    const undo = Object.fromEntries(Object.keys(spec).map((key) => [key, before[key] ?? null]));
    const patch = ['patch', '-n', 'runners', 'runnergroup/ci', '--type=merge', '-p'];
    return () => patient.kubectl(...patch, JSON.stringify({ spec: undo }));
  };
}

/** The Secret with the API token has another one. */
export function apiToken(make: (patient: Patient) => Promise<string>): Break['make'] {
  return async (patient) =>
    await patched('argocd', 'secret/gitea-api', { stringData: { token: await make(patient) } })(patient);
}

const HOOKS = `/orgs/${ORG}/hooks`;

interface HookRow {
  readonly id: number;
  readonly config: Readonly<Record<string, string>>;
}

export async function removeHook({ stack }: Patient): Promise<HookRow> {
  const { admin } = stack.gitea;
  const [hook] = (await admin.call('GET', HOOKS)) as readonly HookRow[];
  if (!hook) throw new Error('there is no webhook');
  await admin.call('DELETE', `${HOOKS}/${hook.id}`);
  return hook;
}

/** Replaces the webhook by another one. The manual and a delivery repair it. */
export function hookWith(
  config: Readonly<Record<string, string>>,
  { active = true, after }: { readonly active?: boolean; readonly after?: (patient: Patient) => Promise<unknown> } = {},
): Break['make'] {
  return async (patient) => {
    const { url = '', content_type } = (await removeHook(patient)).config;
    // Gitea never tells the secret, and takes a new one only with a new webhook.
    const made = { url, content_type, secret: 'another one', ...config };
    const hook = { type: 'gitea', active, events: ['workflow_job'], config: made };
    await patient.stack.gitea.admin.call('POST', HOOKS, hook);
    await after?.(patient);
    return async () => {
      await removeHook(patient);
      await patient.installation.webhook();
      await oneJobSucceeds(patient.stack);
    };
  };
}

/** A member of the org who owns nothing: sees jobs, and not the runners. */
export async function tokenOfMember({ stack }: Patient): Promise<string> {
  const { admin } = stack.gitea;
  const member = await admin.createUser('member');
  const team = {
    name: 'readers',
    permission: 'read',
    includes_all_repositories: true,
    units: ['repo.code', 'repo.actions'],
  };
  const { id } = (await admin.call('POST', `/orgs/${ORG}/teams`, team)) as { readonly id: number };
  await admin.call('PUT', `/teams/${id}/members/${member.name}`);
  return await member.createToken(['read:organization']);
}

/** A CI job that ends clearly after the last delivery. */
export async function lateJob(patient: Patient): Promise<void> {
  await sleep(20_000);
  await oneJobSucceeds(patient.stack);
}
