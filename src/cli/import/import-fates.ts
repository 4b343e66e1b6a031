/** Says what `import` does with each field around the pod. A field that no table has is named in a note. */
import { isMapping, valueAt } from '../../config/runnergroup/paths.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { lostNote } from './import-template.ts';

/** Fields that need no note: other code reads them. After `~`: they mean nothing here. `PATH=VALUE`: only with this value. */
const WITHOUT_PLACE = [
  '{apiVersion,kind,status,data,stringData,binaryData,type,immutable}',
  'metadata.{name,namespace,uid,resourceVersion,generation,creationTimestamp,managedFields,selfLink,labels,ownerReferences}',
  'metadata.annotations.{kubectl.kubernetes.io/last-applied-configuration,deployment.kubernetes.io/revision}',
  'metadata.annotations.meta.helm.sh/{release-name,release-namespace}',
  'spec.{template,replicas,selector,suspend,maxRunners,minRunners,labels,envSourceContainerName,secretTargetRef}',
  ...['spec', 'spec.jobTargetRef', 'spec.jobTemplate.spec'].map(
    (job) => `${job}.{template,parallelism,activeDeadlineSeconds,ttlSecondsAfterFinished,suspend,completions=1}`,
  ),
  'spec.{scaleTargetRef,targetRef,minReplicas,maxReplicas,minReplicaCount,maxReplicaCount,idleReplicaCount=0}',
  'spec.{giteaConfigUrl,giteaURL,giteaUrl,instanceUrl,org,orgName,organization,owner,repo,repoName,repository,runnerScope,scope}',
  'spec.triggers.{type,name,authenticationRef}',
  'spec.triggers.metadata.{name,address,githubApiURL,owner,org,repo,repos,global,runnerScope,labels,token}',
  'spec.triggers.metadata.{ownerFromEnv,reposFromEnv,runnerScopeFromEnv,githubApiURLFromEnv,labelsFromEnv}',
  // How a workload replaces its pods, and what scales them: runners end with their CI job.
  '~spec.{strategy,updateStrategy,revisionHistoryLimit,minReadySeconds,paused,ordinals,progressDeadlineSeconds}',
  '~spec.{serviceName,podManagementPolicy,persistentVolumeClaimRetentionPolicy,concurrencyPolicy,startingDeadlineSeconds}',
  '~spec.{rollout,rolloutStrategy,scalingStrategy,pollingInterval,cooldownPeriod,initialCooldownPeriod}',
  '~spec.{successfulJobsHistoryLimit,failedJobsHistoryLimit,triggers.metricType,triggers.useCachedMetrics}',
  '~spec.triggers.metadata.{targetJobs,targetWorkflowQueueLength,matchUnlabeledJobsWithUnlabeledRunners,enableEtags}',
].map((line) => [line.replace('~', ''), line.startsWith('~') ? '~' : ''] as const);

const REASONS = {
  'metadata.annotations.autoscaling.keda.sh/{paused,paused-replicas}': 'use spec.suspend',
  'spec.volumeClaimTemplates': `runners end with their CI job: see ${manual('cache.md')}`,
  'spec.{schedule,timeZone}': 'use spec.idleSchedule',
  'spec.{completions,jobTargetRef.completions}': 'a Job is one runner here',
  'spec.{backoffLimit,jobTargetRef.backoffLimit}':
    'a CI job without a runner gets another one; see spec.maxEvictionRetries',
  'spec.idleReplicaCount': 'use spec.minIdleRunners',
  'spec.{advanced,behavior}': 'a busy runner is never stopped',
  'spec.fallback': 'runners stay as they are while Gitea gives no answer',
  'spec.metrics': 'queued CI jobs start runners',
  'spec.{updatePolicy,resourcePolicy}': 'write the requests into spec.resources',
};

/** Fates by path: a reason, `~` or nothing. Elements of lists have no number. */
const FATES: ReadonlyMap<string, string> = new Map(
  [...WITHOUT_PLACE, ...Object.entries(REASONS)].flatMap(([line, why]) => {
    const [, base = '', names = line] = /^(.*)\{(.*)\}$/.exec(line) ?? [];
    return names.split(',').map((name) => [`${base}${name}`, why] as const);
  }),
);

/** True for a trigger of a forge. Each other trigger is named as a whole. */
export function asksForge(trigger: unknown): boolean {
  return /^(?:forgejo|gitea|github)-runner$/.test(String(valueAt(trigger, ['type'])));
}

/** A sentence for each field that is not carried over, and one for all that mean nothing. @param owner what they are of */
export function notCarriedOver(value: unknown, owner: string): readonly string[] {
  const lost = lostFields(value);
  const meaningless = [...new Set(lost.flatMap(([path, , why]) => (why === '~' ? path : [])))].join(', ');
  const told = lost.flatMap(([path, each, why]) => (why === '~' ? [] : lostNote(`${owner} ${path}`, each, why)));
  return meaningless === '' ? told : [...told, `Of ${owner} these mean nothing here: ${meaningless}.`];
}

function lostFields(value: unknown, path = ''): readonly (readonly [path: string, value: unknown, why: string])[] {
  const fate = FATES.get(`${path}=${JSON.stringify(value)}`) ?? FATES.get(path);
  const isEmpty = value === undefined || value === '' || (typeof value === 'object' && !Object.keys(value ?? {})[0]);
  if (fate === '' || isEmpty) return [];
  const base = path === '' ? '' : `${path}.`;
  const isOnWay = fate === undefined && [...FATES.keys()].some((knownPath) => knownPath.startsWith(base));
  const isRead = (element: unknown) => path !== 'spec.triggers' || asksForge(element);
  if (isOnWay && Array.isArray(value)) return value.filter(isRead).flatMap((each) => lostFields(each, path));
  if (isOnWay && isMapping(value))
    return Object.entries(value).flatMap(([key, inner]) => lostFields(inner, `${base}${key}`));
  return [[path, value, fate ?? 'import does not know what it means']];
}
