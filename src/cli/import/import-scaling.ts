/** Says how many runners there were, and whose CI jobs: from what scales the pods, and from the fields around them. */
import * as z from 'zod';
import type { WhoseJobs } from '../init/answers.ts';
import { asksForge } from './import-fates.ts';
import type { OldRunners } from './import-objects.ts';
import { lostNote } from './import-template.ts';
import { objectNamed, type ReadVariable } from './import-variables.ts';

const SecretTarget = z.looseObject({ parameter: z.string(), name: z.string(), key: z.string() });
const TriggerAuthentication = z.looseObject({ spec: z.looseObject({ secretTargetRef: z.array(SecretTarget) }) });

/** True if no pod starts. KEDA starts them from replicas 0, and an autoscaler of Kubernetes leaves that alone. */
export function isStopped({ suspend, replicas, scaler }: OldRunners): boolean {
  return suspend === true || (replicas === 0 && (!scaler || scaler.kind === 'HorizontalPodAutoscaler'));
}

/** Returns the least number of runners. Undefined: none without a CI job. */
export function minimumOf({ scaler, minRunners }: OldRunners): number | undefined {
  return scaler?.spec.minReplicaCount || scaler?.spec.minReplicas || minRunners || undefined;
}

/** The key of a Secret with the API token that the trigger uses, and the object that names it. */
export function authOf(trigger: ReturnType<typeof triggersOf>['trigger'], otherObjects: readonly unknown[]) {
  const { name, kind = 'TriggerAuthentication' } = trigger?.authenticationRef ?? {};
  const object = objectNamed(kind, name, otherObjects);
  const refs = TriggerAuthentication.safeParse(object).data?.spec.secretTargetRef ?? [];
  const auth = refs.find(({ parameter }) => parameter === 'token' || parameter === 'personalAccessToken');
  return { object, auth, secret: auth && objectNamed('Secret', auth.name, otherObjects) };
}

/** The trigger that asks a Gitea, with what it takes from variables of the runner; and a sentence for each other one. */
export function triggersOf({ scaler }: OldRunners, variableOf: ReadVariable) {
  const all = scaler?.spec.triggers ?? [];
  const trigger = all.find(asksForge);
  const metadata = Object.entries(trigger?.metadata ?? {}).flatMap(([key, text]): [string, string][] => {
    const value = key.endsWith('FromEnv') ? variableOf(text)?.value : text;
    return value === undefined ? [] : [[key.replace(/FromEnv$/, ''), value]];
  });
  const noteOf = ({ authenticationRef, type, ...other }: (typeof all)[number]) => {
    const settings = { ...other.metadata, ...(authenticationRef && { authenticationRef: authenticationRef.name }) };
    const why = type === 'cron' ? 'use spec.idleSchedule' : 'queued CI jobs start runners';
    return lostNote(`trigger ${type}`, settings, why);
  };
  const triggerSettings: Readonly<Record<string, string>> = Object.fromEntries(metadata);
  return { trigger, triggerSettings, others: all.filter((each) => each !== trigger).map(noteOf) };
}

/** The most CI jobs that the old runners took at once. `note`: where the number is from, or why it is a guess. */
type Cap = Readonly<{ cap: number; note?: string | undefined }>;

/** Returns the cap, and how it was found. @param capacityInConfig CI jobs that one pod took at once, if a config.yaml says so */
export function capOf(runners: OldRunners, capacityInConfig: number | undefined): Cap {
  const { kind, maxRunners, scaler, parallelism = 1 } = runners;
  if (maxRunners !== undefined) return { cap: maxRunners };
  if (kind === 'DaemonSet')
    return { cap: 10, note: 'maxActiveRunners is a guess: a DaemonSet has as many runners as there are nodes.' };
  if (!scaler) return capOfReplicas(runners, capacityInConfig);
  // KEDA's own default.
  const max = scaler.spec.maxReplicaCount ?? scaler.spec.maxReplicas ?? 100;
  if (kind === 'ScaledJob') return capOfScaledJob(max, parallelism);
  const { cap, note } = timesCapacity(max, `that of ${scaler.kind} ${scaler.metadata.name}, ${max}`, capacityInConfig);
  const suspended = `replicas is 0, which stops a ${scaler.kind}: so suspend is true.`;
  return { cap, note: isStopped(runners) ? `${note} ${suspended}` : note };
}

/** A pod of a ScaledJob takes one CI job, whatever its capacity. */
function capOfScaledJob(maxJobs: number, parallelism: number): Cap {
  const note = `maxActiveRunners is maxReplicaCount, ${maxJobs}, times parallelism, ${parallelism}.`;
  return { cap: maxJobs * parallelism, note: parallelism > 1 ? note : undefined };
}

/** Nothing scales the pods: their number is `replicas`, or `parallelism` of a Job. */
function capOfReplicas({ replicas, parallelism = 1 }: OldRunners, capacityInConfig: number | undefined): Cap {
  if (replicas === 0) return { cap: 1, note: 'maxActiveRunners is a guess: replicas is 0, and so suspend is true.' };
  const source = parallelism > 1 ? `parallelism, ${parallelism}` : 'the number of replicas, 1 where none is written';
  if (replicas === undefined) return timesCapacity(Math.max(1, parallelism), source, capacityInConfig);
  return timesCapacity(Math.max(1, replicas), `the number of replicas, ${replicas}`, capacityInConfig);
}

/** @returns e.g. for 3 pods, `parallelism, 3` and capacity 2: 6, `maxActiveRunners is parallelism, 3, times the capacity of a runner, 2.` */
function timesCapacity(pods: number, source: string, capacity: number | undefined): Cap {
  const advice = "If the runner's capacity was more than 1, multiply it.";
  if (capacity === undefined) return { cap: pods, note: `maxActiveRunners is ${source}. ${advice}` };
  return { cap: pods * capacity, note: `maxActiveRunners is ${source}, times the capacity of a runner, ${capacity}.` };
}

/** Tells which Gitea, and whose CI jobs, the triggers and the fields around the pod name. */
export function saidIn(settings: Readonly<Record<string, string>>, around: OldRunners): Said {
  const ofAround = Object.fromEntries(
    Object.entries(around).flatMap(([field, value]) =>
      typeof value === 'string' ? [[FIELD_OF[field] ?? '', value]] : [],
    ),
  );
  const ofUrls = (around.scaler?.spec.triggers ?? []).map(({ metadata }) => ofApi(metadata['url'] ?? ''));
  const all = [
    { scope: scopeOf(settings), gitea: settings['address'] ?? settings['githubApiURL']?.replace(/\/api\/v1\/?$/, '') },
    ...ofUrls,
    { scope: scopeOf(ofAround), gitea: ofAround['address'] },
  ];
  return { scope: all.find((each) => each.scope)?.scope, gitea: all.find((each) => each.gitea)?.gitea };
}

type Said = Readonly<{ scope: WhoseJobs | undefined; gitea: string | undefined }>;

/** Words of KEDA for the fields of other operators. */
const FIELD_OF: Readonly<Record<string, string>> = {
  ...{ giteaConfigUrl: 'address', giteaURL: 'address', giteaUrl: 'address', instanceUrl: 'address' },
  ...{ org: 'org', orgName: 'org', organization: 'org', owner: 'owner' },
  ...{ repo: 'repo', repoName: 'repo', repository: 'repo', runnerScope: 'runnerScope', scope: 'runnerScope' },
};

/** Reads an address of Gitea's API, e.g. in a trigger of KEDA that counts waiting jobs. */
function ofApi(url: string): Said {
  const [, gitea, kind, owner = '', name = ''] =
    /^(https?:\/\/[^\s@?#]+?)\/api\/v1\/(orgs|repos|admin)(?:\/([\w.-]+))?(?:\/([\w.-]+))?/.exec(url) ?? [];
  const scopes: Readonly<Record<string, WhoseJobs>> = {
    orgs: { scope: 'org', org: owner },
    repos: { scope: 'repo', repo: `${owner}/${name}` },
    admin: { scope: 'global' },
  };
  return { gitea, scope: kind === undefined ? undefined : scopes[kind] };
}

/** Returns the scope in the metadata of KEDA's triggers of forges: the narrowest that is named. */
function scopeOf(metadata: Readonly<Record<string, string>>): Said['scope'] {
  const { owner, org = '' } = metadata;
  const repo = metadata['repo'] ?? metadata['repos']?.split(',')[0] ?? '';
  if (org !== '' && repo === '') return { scope: 'org', org };
  const ofOwner = owner ?? org;
  if (repo !== '' && (ofOwner !== '' || repo.includes('/')))
    return { scope: 'repo', repo: repo.includes('/') ? repo : `${ofOwner}/${repo}` };
  if (metadata['global'] === 'true') return { scope: 'global' };
  // KEDA does not say whether the owner is an organization: a person must.
  return owner && metadata['runnerScope'] === 'org' ? { scope: 'org', org: owner } : undefined;
}
