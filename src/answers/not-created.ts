/** Finds why the runner of a CI job does not come, from `serve`, Argo CD and the RunnerGroup's status. Pure. */
import { Spec } from '../config/runnergroup/group-schema.ts';
import { INVALID } from '../config/runnergroup/status.ts';
import type { GroupKey } from '../planner/decisions.ts';
import { type LiveJob, NO_POD, siblingOf } from '../planner/evidence.ts';
import { ARGOCD_NAMESPACE, manual, NAME, PLUGIN, SETTINGS, serveLogs } from '../shared/installed/installed-names.ts';
import { keyText } from '../shared/keys.ts';
import { SKIP_RECONCILE, timeText } from '../shared/marks.ts';
import { duration, firstNames } from '../shared/printable.ts';
import type { NotCreated } from './model.ts';
import { PLACES, type Places, type Remedies, remedyIn, remedyOf, STEP_2, unreached, WEBHOOKS } from './remedies.ts';
import type { ApplicationSeen, StatusSeen, WhereIAm } from './where.ts';

const NO_JOB = 'Argo CD has not created its Kubernetes Job';
export const NOT_CREATED_YET: NotCreated = { why: `${NO_JOB} yet`, next: 'wait a few seconds', isUnserved: false };

/** A CI job whose runner is wanted. */
interface WaitingJob {
  readonly group: GroupKey;
  /** The shard that its runner falls to. Absent: there are none. */
  readonly shard?: number | undefined;
  /** Before this time the runner is not late, ms since 1970. */
  readonly waitUntilMs?: number;
}

/** Causes in order: the shard's Application, `serve` is down, the group is not ready, `serve` is late, else only waiting. */
export function whyNotCreated(whereIAm: WhereIAm | undefined, job: WaitingJob, nowMs: number): NotCreated {
  const group = keyText(job.group);
  const status = whereIAm?.statuses.find((each) => each.group === group);
  const { application: applicationKey } = status ?? {};
  const shardKey = applicationKey && job.shard !== undefined ? siblingOf(applicationKey, job.shard) : applicationKey;
  const application = whereIAm?.applications.find(({ name }) => name === shardKey);
  const failure =
    (application && failureOfShard(application, job)) ??
    (whereIAm && downOf(whereIAm, application)) ??
    (status && unready(status, application)) ??
    (whereIAm && status && neverSeen(whereIAm, status, application, job, nowMs)) ??
    (whereIAm && status && silent(whereIAm, status, application));
  const { waitUntilMs = nowMs } = job;
  const isLate = nowMs > waitUntilMs;
  const isUnserved = failure?.isUnserved || isLate;
  if (failure) return { ...failure, why: `${failure.why}${awaitedProblem(failure, whereIAm)}`, isUnserved };
  const { says = '' } = application ?? {};
  const differs = differsFromGit(application, group);
  const causes = [status?.waits?.replace(/\.$/, ''), says && `Argo CD says: ${says.replace(/\.$/, '')}`, differs?.why];
  const remedy = application && argocdRemedy(says, application.name);
  const effect = isLate ? `${NO_JOB}, and it is ${duration(nowMs - waitUntilMs)} late` : NOT_CREATED_YET.why;
  const wait = `wait until ${timeText(waitUntilMs)}. After that, ${lookAt(application)}`;
  return {
    why: [...causes, effect].filter(Boolean).join('; '),
    next: remedy ?? (isLate ? (differs?.next ?? lookAt(application)) : wait),
    ...(remedy && { isKnown: true as const }),
    isUnserved: isLate || FINAL.test(says),
  };
}

/** Returns why the Application of the job's shard creates nothing. Later, another shard may take the job (docs/adr/0109). */
function failureOfShard(application: ApplicationSeen, job: WaitingJob): NotCreated | undefined {
  const { shard } = job;
  const failure = failureOf(application) ?? leftOut(application, job);
  if (!failure || shard === undefined) return failure;
  const isShardMissing = application.isMissing && shard > 0;
  const { why, next } = isShardMissing
    ? { why: `there is no Application ${application.name}`, next: 'create it, or lower the number of shards in all' }
    : failure;
  const whyOfShard = `the runner falls to shard ${shard}. ${why}. After the spawn timeout it may fall to another shard`;
  return { ...failure, why: whyOfShard, next };
}

/** Returns what to do where the cluster has another spec of this RunnerGroup than git. Undefined: nothing tells so. */
export function differsFromGit(application: ApplicationSeen | undefined, group: string): NotCreated | undefined {
  if (!application?.differing?.includes(group)) return undefined;
  const name = application.name.split('/')[1];
  const next =
    failureOf(application)?.next ?? `argocd app diff ${name} shows what git has; then argocd app sync ${name}`;
  return { why: `RunnerGroup ${group} differs from git`, next, isUnserved: true };
}

/** Returns the problem of the RunnerGroup for whose health a sync waits. */
function awaitedProblem({ why }: NotCreated, whereIAm: WhereIAm | undefined): string {
  const [, name] = /waiting for healthy state of \S*\/RunnerGroup\/([\w-]+)/.exec(why) ?? [];
  const isIt = ({ group }: Pick<StatusSeen, 'group'>): boolean => name !== undefined && group.endsWith(`/${name}`);
  const problem = whereIAm?.broken.find(isIt)?.problem ?? whereIAm?.statuses.find(isIt)?.notReady;
  return problem === undefined ? '' : `; RunnerGroup ${name} cannot be served: ${problem}`;
}

/** `serve` renews the time of its last look once a minute. */
export const LOOK_LATE_MS = 180_000;

function namespaceOf(application: ApplicationSeen | undefined): string {
  return application?.name.split('/')[0] ?? ARGOCD_NAMESPACE;
}

function describeCommand({ name }: Pick<ApplicationSeen, 'name'>): string {
  const [namespace, application] = name.split('/');
  return `kubectl -n ${namespace} describe applications.argoproj.io ${application}`;
}

/** Returns where a person finds the cause that is unknown here. */
function lookAt(application: ApplicationSeen | undefined): string {
  const showsWhy = 'the Application in Argo CD shows why';
  if (!application) return `${showsWhy}: its last sync, and its conditions`;
  const { says, unread } = application;
  const describe = describeCommand(application);
  if (says !== undefined || unread !== undefined) return `${showsWhy}: ${describe}`;
  return `gitea-runners doctor compares the Application and the settings with what they should be; ${describe} has all that Argo CD says`;
}

/** Undefined: it leads, or nothing is known. */
export function downOf({ serve }: WhereIAm, application: ApplicationSeen | undefined): NotCreated | undefined {
  const isDown = 'unread' in serve ? serve.isMissing === true : serve.isLate;
  if (!isDown) return undefined;
  const isByHand = application?.isAutomated === false;
  const kubectl = `kubectl -n ${namespaceOf(application)}`;
  return {
    why: `serve does not run, so nothing wakes Argo CD${isByHand ? `, and Application ${application.name} has no automated sync` : ''}`,
    next: `start serve again: ${kubectl} get deployment,pods -l app.kubernetes.io/name=${NAME}. If it has 0 replicas: ${kubectl} scale deployment/${NAME} --replicas=2; else ${serveLogs(namespaceOf(application))}`,
    isUnserved: true,
  };
}

/** Returns why `serve` leads, or may lead, and has never written the status of the group. Undefined: it has, or may still. */
function neverSeen(
  { serve, servedNamespaces }: WhereIAm,
  { group, lastCheckTime }: StatusSeen,
  application: ApplicationSeen | undefined,
  { group: { namespace }, waitUntilMs = 0 }: WaitingJob,
  nowMs: number,
): NotCreated | undefined {
  if (lastCheckTime !== undefined) return undefined;
  const argocd = namespaceOf(application);
  const setting = `GITEA_RUNNERS_NAMESPACES in ConfigMap ${SETTINGS} of namespace ${argocd}`;
  if (servedNamespaces?.length && !servedNamespaces.includes(namespace)) {
    const why = `serve does not look at namespace ${namespace}, only at ${firstNames(servedNamespaces, 3)}`;
    return { why, next: `add ${namespace} to ${setting}, as ${manual('install.md#settings')} says`, isUnserved: true };
  }
  if (nowMs <= waitUntilMs) return undefined;
  const named = servedNamespaces ? '' : `see that ${setting} names ${namespace}; `;
  const leads = 'unread' in serve ? `nothing tells whether serve runs (${serve.unread}), and it` : 'serve leads, and';
  const why = `${leads} has never looked at RunnerGroup ${group}`;
  const next = `${named}gitea-runners doctor says which rights it lacks in namespace ${namespace}; ${serveLogs(argocd)}`;
  return { why, next, isUnserved: true };
}

function silent({ lookedAt }: WhereIAm, { group, lastCheckTime = '' }: StatusSeen, application?: ApplicationSeen) {
  const silentMs = Date.parse(lookedAt) - Date.parse(lastCheckTime);
  const why = `serve leads, and has not looked at RunnerGroup ${group} for ${duration(silentMs)}`;
  const next = `read its log: ${serveLogs(namespaceOf(application))}`;
  return silentMs > LOOK_LATE_MS ? { why, next, isUnserved: true } : undefined;
}

/** The step for a group that `serve` refuses and this program accepts. */
export const otherVersion = ({ DOCTOR }: Pick<typeof PLACES, 'DOCTOR'> = PLACES): string =>
  `this program accepts it, so serve is of another version: ${DOCTOR} shows the images of serve and the sidecar`;

function unready(status: StatusSeen, application: ApplicationSeen | undefined): NotCreated | undefined {
  const { group, isOutdated, notReady, reason = '' } = status;
  if (notReady === undefined) return undefined;
  const unreadyGroup = `RunnerGroup ${group} is not ready`;
  const why = `${unreadyGroup}: ${notReady}`;
  if (reason === INVALID && !isOutdated) return { why, next: otherVersion(), isUnserved: true };
  if (!ARGOCD_REASONS.has(reason) || status.application === undefined)
    return { why, next: `${correctText(notReady)}; serve tries again by itself`, isUnserved: true };
  const { says } = application ?? {};
  if (says === undefined && application && application.unread === undefined) {
    const differs = differsFromGit(application, group);
    const next = differs?.next ?? lookAt(application);
    return { why: `${why}${differs ? `; ${differs.why}` : ''}`, next, isUnserved: true };
  }
  // The status has Argo CD's words, too, for people who may not read the Application.
  const remedy = argocdRemedy(says ?? notReady, status.application) ?? 'correct what Argo CD says';
  const next = `${remedy}: ${describeCommand({ name: status.application })}`;
  if (says === undefined) return { why, next, isUnserved: true };
  return { why: `Argo CD says: ${says} (${unreadyGroup}: ${reason})`, next, isUnserved: true };
}

/** Reasons of the condition `Ready` whose cause is in Argo CD. */
export const ARGOCD_REASONS: ReadonlySet<string> = new Set([
  'ComparisonError',
  'PlanDiffers',
  'SyncFailed',
  'ForeignApplication',
]);

/** Returns why `serve` cannot register the runner, if its pod waits for credentials. */
export function unregistered({ statuses }: WhereIAm, job: WaitingJob, live: LiveJob): NotCreated | undefined {
  const status = statuses.find((each) => each.group === keyText(job.group));
  const { registeredAt, state, stillSinceMs, trouble } = live;
  const isWaiting = state === 'starting' && registeredAt !== undefined && (!trouble || stillSinceMs !== undefined);
  const refusal = isWaiting && status?.unregistered?.find(({ at }) => at === registeredAt);
  if (!refusal) return undefined;
  const next = `serve tries again every 10 s. What its code asks for: ${manual('symptoms.md#a-pod-waits-for-its-credentials')}`;
  return { why: `serve cannot register its runner at ${refusal.at}: ${refusal.message}`, next, isUnserved: true };
}

/** Returns why the Application creates nothing. Undefined: it shows no cause. */
export function failureOf(application: ApplicationSeen, places?: Places): NotCreated | undefined {
  const { name, end, error, idleSinceMs, isMissing, isSyncFailed, lastsMs, pluginless, says = '' } = application;
  if (isMissing) {
    const why = `Application ${name}, which made the RunnerGroup, does not exist any more`;
    return { why, next: 'create it again, or delete the RunnerGroup', isUnserved: true };
  }
  if (error !== undefined) {
    const all = ERROR_CODE.test(error) ? '' : `; all of it: ${describeCommand(application)}`;
    const why = `Argo CD does not sync Application ${name}: ${error}`;
    return { why, next: afterError(error, name, places, isSyncFailed) + all, isUnserved: true };
  }
  if (pluginless !== undefined) {
    const why = `Application ${name} does not use the plugin (it has ${pluginless}), so Argo CD applies RunnerGroups and no Jobs`;
    return { why, next: withPlugin(application), isUnserved: true };
  }
  if (idleSinceMs !== undefined) {
    const why = `Application ${name}: ${says}. Argo CD last compared it at ${timeText(idleSinceMs)}`;
    // Where Argo CD compares seldom, a refresh may have been asked for just now.
    return { why, next: CONTROLLER_REMEDY, isUnserved: says.startsWith('an operation') };
  }
  if (lastsMs === undefined) return undefined;
  const why = `Argo CD says: ${says}. For ${duration(lastsMs)} no other sync of Application ${name} can begin`;
  if (SYNC_WINDOW.test(says)) return { why, next: `${WINDOW_REMEDY}, and end this sync: ${end}`, isUnserved: true };
  const remedy = argocdRemedy(says, name, places) ?? 'correct what it waits for';
  if (end !== undefined)
    return { why, next: `${remedy}. If this sync does not end then, end it: ${end}`, isUnserved: true };
  const ending = `it is being ended: ${describeCommand(application)} shows what holds it`;
  return { why, next: `${ending}; then ${remedy}`, isUnserved: true };
}

/** Returns why the cluster may not have what git has. Undefined: nothing tells so. */
export function behindGit({ applications }: WhereIAm): NotCreated | undefined {
  const all = applications.map((each): NotCreated | undefined => {
    const { differing = [], isAutomated, name } = each;
    const failure = failureOf(each);
    if (failure) return { ...failure, why: `a change in git does not come: ${failure.why}` };
    if (differing.length === 0) return undefined;
    const off = isAutomated === false ? ', and its automated sync is off' : '';
    const next = `see whether git has these labels: Application ${name} is OutOfSync${off}. Then: argocd app sync ${name.split('/')[1]}`;
    return { why: `RunnerGroup ${firstNames(differing, 3)} differs from git`, next, isUnserved: true };
  });
  return all.find((each) => each !== undefined);
}

/** Returns where to put the plugin. A parent would revert a patch of the Application. */
function withPlugin({ name, parent }: ApplicationSeen): string {
  const plugin = `put plugin: {name: ${PLUGIN}} into spec.source`;
  if (parent !== undefined)
    return `${plugin} of Application ${name} in the repository of Application ${parent}, which makes it`;
  const [namespace, application] = name.split('/');
  const patch = JSON.stringify({ spec: { source: { plugin: { name: PLUGIN } } } });
  return `${plugin}, where the Application is written. Until then: kubectl -n ${namespace} patch applications.argoproj.io ${application} --type=merge -p '${patch}'`;
}

/** The Application reads another place than the RunnerGroup is in. It is Synced, and prints no Job for it. */
function leftOut(application: ApplicationSeen, { group: key, shard = 0 }: WaitingJob): NotCreated | undefined {
  const { groups, name, parent, source = 'its source' } = application;
  const group = keyText(key);
  // Only the first shard has the RunnerGroup.
  if (!groups || groups.includes(group) || shard > 0) return undefined;
  const why = `Application ${name} made RunnerGroup ${group} and does not print it any more: it is not in ${source}`;
  const place = parent === undefined ? '' : ` in the repository of Application ${parent}`;
  const remove = `kubectl -n ${key.namespace} delete runnergroup ${key.name}`;
  const next = `correct path and targetRevision in spec.source of Application ${name}${place}, or delete the RunnerGroup: ${remove}`;
  return { why, next, isUnserved: true };
}

const CONTROLLER_REMEDY =
  'see whether argocd-application-controller runs: kubectl -n argocd get pods. OOMKilled: raise its memory';
const SYNC_WINDOW = /blocked by sync window/;
const WINDOW_REMEDY =
  'wait for the end of that window, or write manualSync: true there (spec.syncWindows of the AppProject)';

const SIDECAR_LOG = `kubectl -n argocd logs deployment/argocd-repo-server -c ${NAME} --tail=50`;
const STEP_1 = `repeat step 1 of ${manual('install.md#install-three-steps')}`;

/** Remedies for messages of Argo CD (3.5.3, and master of August 2026). The first match counts. `<APP>`: the Application. */
const ARGOCD_REMEDIES: Remedies = [
  // An object of a sync that Argo CD gives no reason for (app-state.ts).
  [
    /\bJob\/(?<name>[\w.-]+) of namespace (?<space>[\w-]+) failed: /,
    'see why Job <name> fails, or take it out of the Application: kubectl -n <space> logs job/<name>',
  ],
  // gitops-engine: pkg/sync/sync_context.go, setRunningPhase.
  [
    /(?:waiting for (?:healthy state of|completion of hook) [\w.-]*\/|\b(?=\w+\/\S+ (?:of namespace \S+ )?failed: ))(?<kind>\w+)\/(?<name>[\w.:-]+)/,
    'see why <kind> <name> is not ready, and mend it: kubectl get <kind> -A --field-selector metadata.name=<name> -o yaml',
  ],
  ...WEBHOOKS,
  [
    /find cmp-server plugin|(?:cmp.server|fork\/exec).*(?:permission denied|read-only|no such file)/,
    `the sidecar ${NAME} of argocd-repo-server is not there, not ready, or may not write: ${STEP_1}`,
  ],
  [/signal: killed|failed exit status 137/, `give the sidecar ${NAME} of argocd-repo-server more memory`],
  [
    /plugin sidecar: .*(?:EOF|transport|\.sock\b)/,
    `see why the sidecar ${NAME} of argocd-repo-server ended: kubectl -n argocd describe pods -l app.kubernetes.io/name=argocd-repo-server. OOMKilled: raise its memory`,
  ],
  [/plugin sidecar: (?!.*(?:context |larger than))/, `see what it says before that: ${SIDECAR_LOG}`],
  [SYNC_WINDOW, WINDOW_REMEDY],
  [/unknown (?:method|service) \S+/, 'bring all parts of Argo CD to one version: kubectl -n argocd get pods -o wide'],
  [/to ignore cluster/, 'let ARGOCD_CONTROLLER_REPLICAS and the replicas of argocd-application-controller agree'],
  [/ 407 |Proxy Authentication/, 'give argocd-repo-server a login for that proxy, in its HTTPS_PROXY'],
  [/git .*failed timeout after/, 'see why git is slow, or raise ARGOCD_EXEC_TIMEOUT of argocd-repo-server'],
  [/live resource: .*field not declared/, 'upgrade Argo CD: this Kubernetes has that field, and its schema does not'],
  [/tasks are not valid(?!: )/, 'see which object it refuses: status.operationState.syncResult of the Application'],
  [
    /WRONGPASS|NOAUTH/,
    'have all read the password of Secret argocd-redis again: kubectl -n argocd rollout restart deployment,statefulset',
  ],
  [/argo\S*redis|:6379\b/, 'start Redis of Argo CD again: kubectl -n argocd get pods shows why it does not answer'],
  [/^Deleting:/, 'see what holds its deletion: its status and its objects. Create it again when it is gone'],
  [/skip-reconcile/, `remove it: kubectl annotate applications.argoproj.io <APP> ${SKIP_RECONCILE}-`],
  [/ExcludedResource/, 'allow Jobs and RunnerGroups in argocd-cm: resource.exclusions, resource.inclusions'],
  [
    /SharedResourceWarning: (?<kind>\w+)\/(?<name>[\w.-]+) is part of applications (?<one>[\w./-]+) and (?<other>[\w./-]+)/, // controller/state.go
    'take <kind> <name> out of the source of one of the Applications <one> and <other>',
  ],
  [/(?:Shared|Repeated) ?[Rr]esource/, 'leave the RunnerGroup in one place of one Application'],
  [
    /waiting for deletion of [\w.-]*\/(?<kind>\w+)\/(?<name>[\w.-]+)/,
    'see what holds the deletion of <kind> <name>, finalizers as a rule: kubectl get <kind> -A --field-selector metadata.name=<name> -o yaml',
  ],
  [/Operation terminated/, 'sync it again: somebody has ended that sync'],
  [/syncOptions has/, 'remove that option from spec.syncPolicy.syncOptions'],
  [/'(?<space>\S+)' is not permitted to use project '(?<name>\S+)'/, 'argocd proj add-source-namespace <name> <space>'],
  [/ repo (?<url>\S+) is not permitted in project '(?<name>\S+)'/, 'argocd proj add-source <name> <url>'],
  [
    /server '(?<url>\S+)' and namespace '(?<space>\S*)' .*allowed destinations in project '(?<name>\S+)'/,
    'argocd proj add-destination <name> <url> <space>',
  ],
  [/namespace (?<space>\S+) is not permitted in project '(?<name>\S+)'/, 'add destination <space> to project <name>'],
  [
    /resource (?<group>\S*):(?<kind>\w+) is not permitted in project (?<name>[\w.-]+\w)/,
    "argocd proj allow-namespace-resource <name> '<group>' <kind>",
  ],
  [/project .*(?:does not exist|not allowed|not found)/, 'make that AppProject, or correct spec.project'],
  [/(?:matching|default) service account/, 'name one in spec.destinationServiceAccounts of the AppProject'],
  [/cluster \S+ not found|no clusters with this name/, 'correct spec.destination: argocd cluster list'],
  [/is not managed/, 'add that namespace to those of the cluster in Argo CD: argocd cluster set --namespace'],
  [
    /(?<![\w.-])(?!Job)(?<kind>\w+)(?:\.[\w.-]+)? "(?<name>[\w.:-]+)" is invalid: metadata\.annotations: Too long/,
    'annotate <kind> <name> in git with argocd.argoproj.io/sync-options: ServerSideApply=true, or give it an Application of its own',
  ],
  [
    /(?<![\w.-])(?!Job|RunnerGroup)(?<kind>\w+)(?:\.[\w.-]+)? "(?<name>[\w.:-]+)" is invalid: .*(?:is immutable|updates to \w+ spec)/,
    'take that change of <kind> <name> back in git, or delete it, with all that it holds: Argo CD makes it again',
  ],
  [
    /field not declared in schema|strict decoding error|CRD is installed|API could not find|could not find the requested resource|RunnerGroup\S* "[^"]*" is invalid/,
    'install the CRD of this version: <DOCTOR> has the command. Of another kind: the CRD that it names',
  ],
  [/currently unable to handle/, 'see which API of the cluster does not answer: kubectl get apiservices'],
  [
    /asked us to try again later|client rate limiter|Too large resource version/,
    'Argo CD tries again by itself. After ten minutes ask who runs the API server',
  ],
  [/cannot (?:list|watch) resource/, 'give its account this right, or leave that kind out: resource.exclusions'],
  [
    /SchemaError|error getting openapi resources: (?!.*(?:dial |x509|Unauthorized))/, // gitops-engine: pkg/utils/kube/ctl.go
    'correct the schema of the CRD or the API that the message names: kubectl get --raw /openapi/v2, kubectl get apiservices',
  ],
  [
    /initial state of resource (?<resource>[\w.-]+): (?!.*(?:dial |x509|Unauthorized|credentials))/, // gitops-engine: pkg/cache/cluster.go
    'see whether that cluster lists <resource>: kubectl get <resource> -A; ask who runs its API',
  ],
  [
    /client to provide credentials|cluster info|live state|initial state|sync cluster|server (?:resources|version)|api resources/,
    'see whether Argo CD reaches that cluster, and whether its credentials are valid: argocd cluster list',
  ],
  [/server.?side.?diff/i, `annotate the Application as ${manual('upgrade.md#020')} says`],
  [/reached the specified backoff limit/, 'see the log of that Job, or take its hook out of the Application'],
  [/field is immutable/, 'let the admission policy that changes pods of Jobs match CREATE only'],
  [
    /failed timeout after/,
    'see why generate takes so long: <DOCTOR> tells how Gitea and Kubernetes answer. The limit is ARGOCD_EXEC_TIMEOUT of the sidecar',
  ],
  [
    /reading from server: EOF|transport is closing/,
    'see why argocd-repo-server ended: kubectl -n argocd get pods. OOMKilled: raise its memory',
  ],
  [/namespaces? "[^"]*" not found/, `create that namespace again: ${STEP_2}`],
  [/signature is required|not signed/, 'sign that commit, or correct spec.signatureKeys of the AppProject'],
  [/(?:larger than|exceeded) max/, 'keep RunnerGroups in a smaller repository, or raise ARGOCD_GRPC_MAX_SIZE_MB'],
  [/conflict with "/, 'let Argo CD alone write it: kubectl get --show-managed-fields -o yaml shows who else does'],
  [/app path (?:does|is|outside)/, 'correct spec.source.path of the Application, or make that folder in git'],
  [/out-of-bounds symlinks\. file: (?<file>\S+)/, 'take <file> out of git, a link that leads out of the repository'],
  [/wipe out all resources/, 'write allowEmpty: true into spec.syncPolicy.automated of the Application'],
  [/submodule/, 'give Argo CD access to that submodule: argocd repo list. Or take it out of git'],
  [/both name and server|server missing|clusters with the same/, 'write one of name and server in spec.destination'],
  [/repoURL and either/, 'write spec.source.repoURL and spec.source.path of the Application'],
  [/Namespace for .* is missing/, 'write metadata.namespace of that object, or spec.destination.namespace'],
  [/exceeds the Kubernetes resource size/, 'lower spec.revisionHistoryLimit of the Application, or split its folder'],
  [
    /no space left|\.lock': File exists/,
    'empty the folder of argocd-repo-server: kubectl -n argocd rollout restart deployment/argocd-repo-server',
  ],
  [/knownhosts|host key/i, 'give Argo CD the key of that host: ssh-keyscan HOST | argocd cert add-ssh --batch'],
  [/(?:list refs|ls-remote).*x509|SSL cert/, 'give Argo CD the CA of that host: argocd cert add-tls HOST --from FILE'],
  [/(?:error|code|HTTP):? 429|Rate lim/, 'let Argo CD ask that host more seldom: timeout.reconciliation in argocd-cm'],
  [/(?:error|code|HTTP):? 5\d\d|remote end hung up|early EOF/, 'see whether that host is well: the log of Gitea'],
  [/transport: .* dial/, 'start argocd-repo-server again: kubectl -n argocd get pods shows why it does not answer'],
  ...unreached('argocd-repo-server'),
  [
    /(?:list refs|ls-remote).*(?:dial|timeout)|resolve host|failed to connect to|connect to host/i,
    'see that argocd-repo-server reaches that host: DNS, NetworkPolicy, proxy',
  ],
  [
    /resolve '?\S+ to a commit SHA|remote ref|reference (?:not found|is not a tree)/,
    'correct spec.source.targetRevision of the Application: git has no such branch or tag',
  ],
  [
    /authentication (?:required|failed)|repository (?:'\S+' )?not found|ls-remote|list refs|publickey|could not read|error: 40\d/i,
    'give Argo CD access to that repository: argocd repo list',
  ],
  [/context (?:dead|cancel)/, 'see how busy argocd-repo-server is: <DOCTOR> tells whether Gitea answers'],
];

/** Matches messages of the API server about a refused object. Only these have the remedies of pods. */
const REFUSED = /is (?:forbidden|invalid)\b|denied the request|failed calling webhook|etcdserver|Internal error/;
/** Matches final refusals. After others, Argo CD tries a sync again, five times within three minutes. */
const FINAL =
  /not permitted|allowed destinations|\w+ResourceWarning|syncOptions has|is (?:invalid|immutable|not managed|installed)|no matching|denied (?:the )?request|cannot \w+ resource|" not found/;

/** Undefined: none is known. @param key of the Application, `argocd/runners` */
function argocdRemedy(message: string, key: string, places?: Places): string | undefined {
  const [namespace, application] = key.split('/');
  const remedy = remedyIn(ARGOCD_REMEDIES, message, { ...places, APP: `-n ${namespace} ${application}` });
  // Argo CD applies Jobs, and no pods.
  const refused = { reason: NO_POD, message: `Job: ${message}` };
  return remedy ?? (REFUSED.test(message) ? remedyOf(refused, places && { places }) : undefined);
}

/** Returns the remedy for an error of Argo CD in this Application, `argocd/runners`. */
export function afterError(error: string, key: string, places?: Places, isSyncFailed = false): string {
  const remedy = ERROR_CODE.test(error) ? olderPlugin(error) : argocdRemedy(error, key, places);
  const application = key.split('/')[1];
  const again = isSyncFailed ? `sync ${application}` : `get ${application} --hard-refresh`;
  return `${remedy ?? correctText(error)}, then argocd app ${again}`;
}

/** Returns the remedy for a plugin that does not know a field which this program knows. */
function olderPlugin(error: string): string | undefined {
  const [, field = ''] = / spec\.(\w+): unknown field/.exec(error) ?? [];
  return /GR-INPUT-04/.test(error) && Object.hasOwn(Spec.shape, field)
    ? `this program knows spec.${field}, so the sidecar ${NAME} of argocd-repo-server is older: ${STEP_1}`
    : undefined;
}

export const ERROR_CODE = /\bGR-[A-Z]+-\d+/;

/** Returns the next step after a message with a code: the remedy at its end, if it has one. */
export function correctText(error: string): string {
  const [code] = ERROR_CODE.exec(error) ?? [];
  if (code === undefined) return 'correct what it says';
  const [, remedy] = /\. ([A-Z].*?)\.?$/s.exec(error) ?? [];
  if (remedy === undefined) return `see ${code} in ${manual('errors.md')}`;
  return remedy.replace(/^(?!Argo|Gitea|Kube|Job|Runner|Secret)[A-Z](?=[a-z])/, (first) => first.toLowerCase());
}
