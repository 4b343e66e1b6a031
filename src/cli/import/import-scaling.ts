/** Says how many runners there were, and whose CI jobs: from what scales the pods, and from the fields around them. */
import * as z from 'zod';
import type { WhoseJobs } from '../init/answers.ts';
import { asksForge } from './import-fates.ts';
import type { OldRunners } from './import-objects.ts';
import { lostNote } from './import-template.ts';
import { objectNamed } from './import-variables.ts';

const TriggerAuthentication = z.looseObject({
  spec: z.looseObject({
    secretTargetRef: z.array(z.looseObject({ parameter: z.string(), name: z.string(), key: z.string() })),
  }),
});

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
  return { object, auth: refs.find(({ parameter }) => parameter === 'token' || parameter === 'personalAccessToken') };
}

/** The trigger that asks a Gitea, with what it takes from variables of the runner; and a sentence for each other one. */
export function triggersOf(
  { scaler }: OldRunners,
  variableOf: (name: string) => { readonly value?: string | undefined } | undefined,
) {
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

/** Returns the number of runners, and the field that it comes from. A pod of a ScaledJob takes one CI job. */
export function capOf(runners: OldRunners, ofFile: number | undefined): readonly [number, ...string[]] {
  const { kind, maxRunners, replicas, scaler, parallelism = 1 } = runners;
  if (maxRunners !== undefined) return [maxRunners];
  // KEDA's own default.
  const maxReplicas = scaler && (scaler.spec.maxReplicaCount ?? scaler.spec.maxReplicas ?? 100);
  if (kind === 'ScaledJob' && maxReplicas !== undefined) {
    const times = `maxActiveRunners is maxReplicaCount, ${maxReplicas}, times parallelism, ${parallelism}.`;
    return [maxReplicas * parallelism, ...(parallelism > 1 ? [times] : [])];
  }
  if (kind === 'DaemonSet')
    return [10, 'maxActiveRunners is a guess: a DaemonSet has as many runners as there are nodes.'];
  const pods = maxReplicas ?? Math.max(1, replicas ?? parallelism);
  if (replicas === 0 && !scaler) return [pods, 'maxActiveRunners is a guess: replicas is 0, and so suspend is true.'];
  const stopped =
    isStopped(runners) && scaler ? ` replicas is 0, which stops a ${scaler.kind}: so suspend is true.` : '';
  const ofPods = parallelism > 1 ? `parallelism, ${parallelism}` : 'the number of replicas, 1 where none is written';
  const ofReplicas = replicas === undefined ? ofPods : `the number of replicas, ${replicas}`;
  const source = scaler ? `that of ${scaler.kind} ${scaler.metadata.name}, ${pods}` : ofReplicas;
  if (ofFile !== undefined)
    return [pods * ofFile, `maxActiveRunners is ${source}, times the capacity of a runner, ${ofFile}.${stopped}`];
  return [pods, `maxActiveRunners is ${source}.${stopped} If the runner's capacity was more than 1, multiply it.`];
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
  return {
    scope: all.find((each) => each.scope)?.scope,
    gitea: all.find((each) => each.gitea)?.gitea,
  };
}

interface Said {
  readonly scope: WhoseJobs | undefined;
  readonly gitea: string | undefined;
}

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

/** Returns the scope in the metadata of KEDA's triggers `forgejo-runner` and `github-runner`. */
function scopeOf(metadata: Readonly<Record<string, string>>): Said['scope'] {
  const { owner, org = '' } = metadata;
  const repo = metadata['repo'] ?? metadata['repos']?.split(',')[0] ?? '';
  if (metadata['global'] === 'true') return { scope: 'global' };
  if (org !== '' && repo === '') return { scope: 'org', org };
  const ofOwner = owner ?? org;
  if (repo !== '' && (ofOwner !== '' || repo.includes('/')))
    return { scope: 'repo', repo: repo.includes('/') ? repo : `${ofOwner}/${repo}` };
  // KEDA does not say whether the owner is an organization: a person must.
  return owner && metadata['runnerScope'] === 'org' ? { scope: 'org', org: owner } : undefined;
}
