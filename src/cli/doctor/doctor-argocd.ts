/** Judges what stands in Argo CD: the account of `serve`, its rights, the Applications. Pure. */
import { parseDocument } from 'yaml';
import * as z from 'zod';
import { afterError, ERROR_CODE, failureOf } from '../../answers/not-created.ts';
import { sourcesOf, unwrapped } from '../../clients/argocd/app-state.ts';
import { JOBS, RUNNER_GROUPS } from '../../clients/kubernetes/resources.ts';
import {
  APPLICATION_ANNOTATIONS,
  applicationSpec,
  HARMFUL_OPTIONS,
} from '../../shared/installed/installed-application.ts';
import { ACCOUNT, manual, PLUGIN, SETTINGS, TRACKING_SETTING } from '../../shared/installed/installed-names.ts';
import { groupBySeveral, keyText } from '../../shared/keys.ts';
import { COMPARE_OPTIONS, KIND, SKIP_RECONCILE, TRACKING_LABEL } from '../../shared/marks.ts';
import { firstNames } from '../../shared/printable.ts';
import * as fixes from '../reading/finding.ts';
import { bad, good, type Judgement, type Judgements, judgeRead, unknown, withCheckName } from '../reading/finding.ts';
import type { Application, AppProject, WithData } from '../reading/reads.ts';
import { applicationSeen } from '../reading/surroundings.ts';
import type { Installation, Judged } from './installation.ts';

/** Judges whether Argo CD has the account of `serve`, and lets it have a token. */
export function account({ accounts, argocdNamespace }: Installation): Judgements {
  return judgeRead(accounts, fixes.NO_ARGOCD, ({ data }) => {
    const may = data[`accounts.${ACCOUNT}`];
    if (may === undefined) return bad(`argocd-cm has no accounts.${ACCOUNT}`, fixes.NEW_ACCOUNT);
    const switched = `accounts.${ACCOUNT}.enabled`;
    if (data[switched]?.trim() === 'false') {
      const edit = `kubectl -n ${argocdNamespace} edit configmap argocd-cm`;
      return bad(`argocd-cm has ${switched}: false, so Argo CD refuses its token`, `Remove that line: ${edit}`);
    }
    return may.split(',').some((word) => word.trim() === 'apiKey')
      ? good(may)
      : bad(`accounts.${ACCOUNT} is ${may}: without apiKey it can have no token`, fixes.NEW_ACCOUNT);
  });
}

/** Judges whether we know Argo CD's objects by the label or annotation that Argo CD sets. */
export function tracking({ accounts, settings }: Installation): Judgements {
  return judgeRead(accounts, fixes.NO_ARGOCD, ({ data }) => {
    const method = data['application.resourceTrackingMethod'] || 'annotation';
    const label = data['application.instanceLabelKey'] || TRACKING_LABEL;
    const ours = ('value' in settings && settings.value.data[TRACKING_SETTING]) || TRACKING_LABEL;
    if (method !== 'label' || label === ours) return good(`by ${method}`);
    const fix = `Set ${TRACKING_SETTING}: ${label} in ConfigMap ${SETTINGS} (${manual('install.md#settings')})`;
    return bad(`by label ${label}, but we read ${ours}: no Application is found, and none is woken`, fix);
  });
}

const PATTERNS = z.array(z.string()).default([]);
/** `resource.exclusions` and `resource.inclusions`. An absent list of an entry means all. */
const Filters = z.array(z.looseObject({ apiGroups: PATTERNS, kinds: PATTERNS }));

/** Judges whether Argo CD watches Jobs and RunnerGroups: its settings can leave out kinds. */
export function watched({ accounts, argocdNamespace }: Installation): Judgements {
  return judgeRead(accounts, fixes.NO_ARGOCD, ({ data }) => {
    const isCovered = (all: readonly string[], text: string) =>
      all.length === 0 || all.some((each) => covers(each, text));
    const isIn = (key: string, group: string, kind: string): boolean | undefined => {
      const { data: filters } = Filters.safeParse(parseDocument(data[`resource.${key}`] ?? '').toJS());
      return filters?.some(({ apiGroups, kinds }) => isCovered(apiGroups, group) && isCovered(kinds, kind));
    };
    const unseen = [JOBS.kind, RUNNER_GROUPS.kind].filter((each = '') => {
      const [group = '', kind = ''] = each.split('/');
      return isIn('exclusions', group, kind) || isIn('inclusions', group, kind) === false;
    });
    if (unseen.length === 0) return good('Jobs and RunnerGroups');
    const fix = `Take it out: kubectl -n ${argocdNamespace} edit configmap argocd-cm`;
    return bad(`resource.exclusions or resource.inclusions of argocd-cm leave out ${unseen.join(' and ')}`, fix);
  });
}

const NARROW = `Narrow it, unless only administrators use it: ${manual('security.md#argo-cd-and-its-project')}`;

/** Rights that the account needs on the Applications of its project. */
const NEEDED = ['get', 'sync'];

/** Judges whether the account of `serve` has the rights that it needs, and no more. */
export function rights({ rights: read, applications: apps, argocdNamespace }: Installation): Judgements {
  const edit = `kubectl -n ${argocdNamespace} edit configmap argocd-rbac-cm`;
  return judgeRead(read, fixes.NO_ARGOCD, (map) => {
    const lines = policyLines(map);
    const ours = lines.filter(({ kind, subject }) => kind === 'p' && subject === ACCOUNT);
    const allowed = ours.filter(({ effect, resource }) => resource === 'applications' && effect === 'allow');
    const may = (needed: string, name?: string): boolean =>
      allowed.some(({ action, object }) => [needed, '*'].includes(action) && (!name || covers(object, name)));
    const lacking = NEEDED.filter((action) => !may(action));
    if (lacking.length > 0) return bad(`${ACCOUNT} may not ${lacking.join(' and ')} Applications`, fixes.NEW_RIGHTS);
    const names = 'value' in apps ? apps.value.filter(hasPlugin).map(rbacName) : [];
    const beyond = names.filter((name) => NEEDED.some((action) => !may(action, name)));
    if (beyond.length > 0) {
      const text = `${ACCOUNT} may not get and sync ${beyond.join(', ')} (PROJECT/NAME)`;
      return bad(text, `Put the Application into the project runners, or name its project in ${edit}`);
    }
    const roles = lines.filter(({ kind, subject }) => kind === 'g' && subject === ACCOUNT);
    const denying = denyingLine(lines, [ACCOUNT, ...roles.map(({ resource: role }) => role)], names);
    if (denying) return bad(`the line "${denying.text}" denies what it needs`, `Remove this line: ${edit}`);
    const isAdmin = map.data['policy.default']?.trim() === 'role:admin';
    const needless = [
      ...ours.filter(({ action, resource }) => resource !== 'applications' || !NEEDED.includes(action)),
      ...roles,
      ...(isAdmin ? [{ text: 'policy.default: role:admin' }] : []),
    ];
    if (needless.length === 0) return good('get and sync of Applications, and nothing more');
    const text = `${ACCOUNT} may do more than it needs: ${needless.map((line) => line.text).join('; ')}`;
    return bad(text, `Remove these lines: ${edit}`);
  });
}

/** Reads Argo CD's RBAC policy: lines `p, SUBJECT, RESOURCE, ACTION, OBJECT, EFFECT`, and `g, SUBJECT, ROLE`. */
function policyLines({ data }: WithData) {
  const texts = Object.entries(data).flatMap(([key, text]) =>
    /^policy\.(?:.*\.)?csv$/.test(key) ? text.split('\n') : [],
  );
  return texts.map((line) => {
    const words = line.split(',').map((word) => word.trim());
    const [kind, subject = '', resource = '', action = '', object = '', effect] = words;
    return { kind, subject, resource, action, object, effect, text: words.join(', ') };
  });
}

/** Finds a line that denies what is needed. It counts more than all that allow (Argo CD 3.5: assets/model.conf). */
function denyingLine(lines: ReturnType<typeof policyLines>, subjects: readonly string[], names: readonly string[]) {
  return lines.find(
    ({ kind, subject, resource, action, object, effect }) =>
      kind === 'p' &&
      effect === 'deny' &&
      subjects.includes(subject) &&
      covers(resource, 'applications') &&
      NEEDED.some((needed) => covers(action, needed)) &&
      names.some((name) => covers(object, name)),
  );
}

/** Names an Application as Argo CD's RBAC policy does. */
const rbacName = ({ metadata, spec }: Application): string => `${spec.project}/${metadata.name}`;

/** Argo CD's glob. @param any what `*` stands for. Default: any text, slashes too */
function covers(pattern: string, object: string, any = '.*'): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'));
  return new RegExp(`^${parts.join(any)}$`).test(object);
}

/** True for this cluster, as far as its name in Argo CD tells. */
const isHere = ({ name = 'in-cluster', server = WANTED.destination.server }: Application['spec']['destination']) =>
  name === 'in-cluster' && server === WANTED.destination.server;

/** Matches destinations as Argo CD does: `!` inverts a pattern, and a namespace that matches it is denied. */
function mayDeployTo(to: string, { destinations }: AppProject['spec']): boolean {
  const fits = (pattern: string, text: string) => covers(pattern.replace('!', ''), text) !== pattern.startsWith('!');
  const fitsHere = (server: string, name: string) =>
    fits(server, WANTED.destination.server) || fits(name, 'in-cluster');
  return (
    destinations.every(({ namespace }) => !namespace.startsWith('!') || fits(namespace, to)) &&
    destinations.some(({ server, name, namespace }) => fitsHere(server, name) && fits(namespace, to))
  );
}

/** Matches repositories as Argo CD does (IsSourcePermitted): `!` denies, and `*` stops at a slash. */
function mayUse(repository: string, { sourceRepos }: AppProject['spec']): boolean {
  const normal = (url: string): string =>
    url
      .trim()
      .toLowerCase()
      .replace(/\.git$/, '');
  const covered = (pattern: string) => pattern === '*' || covers(normal(pattern), normal(repository), '[^/]*');
  const fits = (pattern: string): boolean => covered(pattern.replace('!', '')) !== pattern.startsWith('!');
  return sourceRepos.some(fits) && sourceRepos.every((each) => !each.startsWith('!') || fits(each));
}

const IMPERSONATION = 'application.sync.impersonation';

/** Returns the part of one of our Applications that its project forbids. Undefined: none. */
function refusal(app: Application, all: readonly AppProject[], { accounts }: Installation): string | undefined {
  const { destination, project: name } = app.spec;
  const project = all.find(({ metadata }) => metadata.name === name);
  if (!project) return 'it does not exist, and an Application is of it';
  const { namespaceResourceBlacklist: denied, namespaceResourceWhitelist: allowed } = project.spec;
  const repository = sourcesOf(app.spec).find(
    ({ repoURL }) => repoURL !== '' && !mayUse(repoURL, project.spec),
  )?.repoURL;
  if (repository !== undefined) return `its sourceRepos do not allow ${repository}`;
  const { namespace = '', server = WANTED.destination.server } = destination;
  if (namespace !== '' && isHere(destination) && !mayDeployTo(namespace, project.spec))
    return `it lacks the destination ${namespace}`;
  const { data = {} } = 'value' in accounts ? accounts.value : {};
  const isNeeded = data[`${IMPERSONATION}.enabled`] === 'true' && data[`${IMPERSONATION}.enforced`] !== 'false';
  const isForUs = (to: { readonly server: string; readonly namespace: string }) =>
    covers(to.server, server) && covers(to.namespace, namespace);
  if (isNeeded && !project.spec.destinationServiceAccounts.some(isForUs))
    return `it has no destinationServiceAccounts for namespace ${namespace}, which ${IMPERSONATION}.enabled asks for`;
  // As Argo CD does it: no list of what is allowed allows all (IsGroupKindNamePermitted).
  const isIn = (list: typeof denied, kind: string): boolean =>
    list?.some((each) => covers(`${each.group}/${each.kind}`, kind)) ?? false;
  const refused = [JOBS.kind, RUNNER_GROUPS.kind].filter(
    (kind = '') => (allowed && !isIn(allowed, kind)) || isIn(denied, kind),
  );
  return refused.length === 0 ? undefined : `it does not allow ${refused.join(' and ')} (GROUP/KIND) in namespaces`;
}

/** Matches a window as Argo CD does (SyncWindows.Matches): one of its lists, or with `andOperator` each that it has. */
function isUnder(
  { metadata, spec: { destination } }: Application,
  window: AppProject['spec']['syncWindows'][number],
): boolean {
  const { name = '', namespace = '', server = '' } = destination;
  const fits = (patterns: readonly string[], ...names: readonly string[]) =>
    patterns.length === 0 ? [] : patterns.some((pattern) => names.some((each) => covers(pattern, each)));
  const { applications: apps, clusters, namespaces } = window;
  const all = [fits(apps, metadata.name), fits(clusters, name, server), fits(namespaces, namespace)].flat();
  return window.andOperator === true ? !all.includes(false) : all.includes(true);
}

/** Returns what may stop each sync. Argo CD alone tells what is open now. To it, a sync by `serve` is one by hand. */
function pauses({ metadata: { name }, spec }: AppProject, { applications: apps, argocdNamespace }: Installation) {
  const ours = 'value' in apps ? apps.value.filter((each) => hasPlugin(each) && each.spec.project === name) : [];
  const windows = spec.syncWindows.filter((each) => each.manualSync !== true && ours.some((app) => isUnder(app, each)));
  const edit = `kubectl -n ${argocdNamespace} edit appproject ${name}`;
  const fix = `argocd proj windows list ${name} shows what is open now. With manualSync: true serve can sync: ${edit}`;
  const isProven = ours.every(({ status }) => status.resources.length > 0 && status.conditions.length === 0);
  const signs = !isProven && (spec.signatureKeys.length > 0 || spec.sourceIntegrity != null);
  const signed = `project ${name}: Argo CD syncs signed commits only (signatureKeys, sourceIntegrity)`;
  const ofKind = (kind: string, when: string): readonly Judgement[] => {
    const those = windows.filter((each) => each.kind === kind);
    const times = those.map(({ duration, schedule, timeZone }) => `${schedule} ${timeZone || 'UTC'} for ${duration}`);
    const text = `${when} its ${kind} windows (${firstNames(times, 3)}) no sync goes through, not even by hand: no runner starts then`;
    return those.length > 0 ? [unknown(`project ${name}: ${text}`, fix)] : [];
  };
  const unsigned = signs ? [unknown(signed, `Sign the commits of its folder, or: ${edit}`)] : [];
  return [...ofKind('deny', 'in'), ...ofKind('allow', 'outside of'), ...unsigned];
}

/** Judges the projects. A wide project is not a fault: its users are not known here. */
export function projects(installation: Installation): Judgements {
  const { projects: read, applications: apps, groups, argocdNamespace } = installation;
  const pluginApps = 'value' in apps ? apps.value.filter(hasPlugin) : [];
  const ours = new Set(pluginApps.map(({ spec }) => spec.project));
  if (ours.size === 0) return [];
  const namespaces = [...new Set(groups.map(({ namespace }) => namespace))];
  return judgeRead(read, fixes.NO_ARGOCD, (all) => {
    const refusing = new Map(
      pluginApps.flatMap((each) => {
        const why = refusal(each, all, installation);
        return why === undefined ? [] : [[each.spec.project, why] as const];
      }),
    );
    const edit = `Add it (compare install/examples/project.yaml): kubectl -n ${argocdNamespace} edit appproject`;
    if (refusing.size > 0) return [...refusing].map(([name, why]) => bad(`project ${name}: ${why}`, `${edit} ${name}`));
    const wide = all.flatMap(({ metadata: { name }, spec }) => {
      const anyRepository = spec.sourceRepos.flatMap((each) => (each === '*' ? `source ${each}` : []));
      const sources = [...anyRepository, ...spec.sourceNamespaces.map((each) => `source namespace ${each}`)];
      const reached = namespaces.filter((each) => mayDeployTo(each, spec)).map((each) => `destination ${each}`);
      return (ours.has(name) ? sources : reached).map((each) => unknown(`project ${name} has the ${each}`, NARROW));
    });
    const pausing = all.flatMap((each) => pauses(each, installation));
    if (wide.length + pausing.length > 0) return [...wide, ...pausing];
    return good('no other has a namespace of runners as destination');
  });
}

/** Returns the sources that run the plugin. Several work, but one can take over the runners of another (docs/adr/0054). */
export const pluginSources = ({ spec }: Application) => sourcesOf(spec).filter(({ plugin }) => plugin?.name === PLUGIN);
const hasPlugin = (app: Application): boolean => pluginSources(app).length > 0;
/** `runners/ci`, as the last comparison has found them. */
const groupsOf = ({ status }: Application): readonly string[] =>
  status.resources.filter(({ kind }) => kind === KIND).map(keyText);

/** Judges each Application that has the plugin or RunnerGroups, and whether each namespace of groups has one. */
export function applications(installation: Judged): Judgements {
  const { applications: read, groups: all, argocdNamespace, params } = installation;
  const others = 'value' in params ? (params.value.data['application.namespaces'] ?? '') : '';
  /** What is missing here may be in a namespace that Argo CD looks at, too. */
  const lacking = (text: string, fix: string) =>
    others === ''
      ? bad(text, `${fix}. If an ApplicationSet should make it: kubectl -n ${argocdNamespace} describe applicationsets`)
      : unknown(`${text}; namespaces ${others} (application.namespaces) are not looked at`, SEE_ALL);
  return judgeRead(read, fixes.NO_ARGOCD, (allApps) => {
    const concerned = allApps.filter((each) => hasPlugin(each) || groupsOf(each).length > 0);
    if (concerned.length === 0)
      return lacking(`no Application of namespace ${argocdNamespace} has the plugin ${PLUGIN}`, fixes.STEP_3);
    const namespaces = new Set(concerned.map(({ spec }) => spec.destination.namespace));
    const alone = [...new Set(all.map(({ namespace }) => namespace))].filter((namespace) => !namespaces.has(namespace));
    const owners = groupBySeveral(concerned, groupsOf);
    return [
      ...concerned.flatMap((each) =>
        withCheckName(`Application ${each.metadata.name}`, [...application(each, installation), ...elsewhere(each)]),
      ),
      ...[...owners].flatMap(([group, apps]) => {
        const names = apps.map(({ metadata }) => metadata.name).join(' and ');
        const text = `${names} both have RunnerGroup ${group}, and take it from each other with each sync`;
        return apps.length < 2 ? [] : bad(text, 'Leave it in the repository of one of them');
      }),
      ...alone.map((namespace) => {
        const text = `none has the destination namespace ${namespace}, which has RunnerGroups`;
        return lacking(text, `Make an Application for it: ${fixes.STEP_3}`);
      }),
    ];
  });
}

export function applicationSets({ applicationSets: read, argocdNamespace }: Installation): Judgements {
  const all = 'value' in read ? read.value : [];
  const ours = all.filter(({ spec }) => sourcesOf(spec.template.spec).some(({ plugin }) => plugin?.name === PLUGIN));
  return ours.flatMap(({ metadata: { name }, status: { conditions } }) => {
    const error = conditions.find(({ type, status }) => type === 'ErrorOccurred' && status === 'True');
    const fix = `Correct what it says: kubectl -n ${argocdNamespace} describe applicationsets ${name}`;
    const judgement = error ? bad(`makes no Applications now: ${error.message}`, fix) : good('makes its Applications');
    return withCheckName(`ApplicationSet ${name}`, judgement);
  });
}

const SEE_ALL = 'kubectl get applications.argoproj.io -A shows all';

function elsewhere({ spec: { destination } }: Application): readonly Judgement[] {
  if (isHere(destination)) return [];
  const text = `it deploys to cluster ${destination.name ?? destination.server}, which is not looked at`;
  return [unknown(text, 'Run doctor there, too: --kubeconfig')];
}

/** Returns what is wrong with the source of the manifests. Undefined: they come from the plugin. */
function sourceTrouble(app: Application): string | undefined {
  if (app.spec.sourceHydrator) return 'its source hydrator commits what is printed, and no wake runs the plugin';
  const count = pluginSources(app).length;
  if (count > 1) return `${count} of its sources have the plugin: one can take over runners of another`;
  return count === 0 ? `it has RunnerGroups, and no source with the plugin ${PLUGIN}` : undefined;
}

/** Judges one Application: first what Argo CD says, then how it differs from that of the manual. */
function application(app: Application, { above, nowMs }: Judged): readonly Judgement[] {
  const { metadata, spec, status } = app;
  const trouble = sourceTrouble(app);
  if (trouble !== undefined) return [bad(trouble, `See ${manual('beside-argo-cd.md#sources')}`)];
  const seen = applicationSeen(app, keyText(metadata), nowMs);
  const failure = failureOf(seen, fixes.HERE);
  const { differing = [] } = seen;
  const differs = differing.length > 0 ? [`RunnerGroup ${firstNames(differing, 3)} differs from git`] : [];
  if (failure && metadata['deletionTimestamp'] !== undefined) return [bad(failure.why, failure.next)];
  const faults = faultsOf(app);
  // A sync that has failed is told by its operation, which has the reason.
  const error = status.conditions.find(({ type }) => type.endsWith('Error') && type !== 'SyncError');
  const text = error && `${error.type}: ${unwrapped(error.message)}`;
  const cause = causeOf(text ?? failure?.why ?? '', above);
  const first = cause && fixes.followsFrom(cause);
  const ofError = text && bad(text, first ?? afterError(text, keyText(metadata), fixes.HERE));
  const { namespace, name } = metadata;
  const patch = `kubectl -n ${namespace} patch application ${name} --type=merge -p '${JSON.stringify(patchFor(app))}'`;
  const isLeftAlone = metadata.annotations[SKIP_RECONCILE] !== undefined;
  const judge = failure?.isUnserved ? bad : unknown;
  const told = ofError || (failure && !isLeftAlone && judge(failure.why, first ?? failure.next));
  const judged = [told || [], faults.length > 0 ? bad([...faults, ...differs].join('; '), patch) : []].flat();
  if (judged.length > 0) return judged;
  const said = status.conditions.map(({ type, message }) => `${type}: ${message}`).join('; ');
  const doubts = [...differs, said && `Argo CD says ${said}`].filter(Boolean).join('; ');
  const sync = `argocd app diff ${name} shows how. If it stays so: argocd app sync ${name}`;
  return [doubts ? unknown(doubts, differs.length > 0 ? sync : undefined) : good(`project ${spec.project}`)];
}

/** Returns the check from whose fault an error of Argo CD follows: it has the same code, or is the plugin's. */
function causeOf(text: string, above: Judged['above']): string | undefined {
  const [code] = ERROR_CODE.exec(text) ?? [];
  const ofCode = code && above.find(({ is, text: seen }) => is === 'bad' && seen.includes(code))?.check;
  const ofPlugin = /plugin sidecar: |cmp-server/.test(text) && fixes.badAbove(above, ['environment', 'sidecar']);
  return ofCode || ofPlugin || undefined;
}

/** Annotations for which Argo CD does nothing, or takes the output of an older commit. A merge patch removes what is null. */
const REMOVED = { [SKIP_RECONCILE]: null, 'argocd.argoproj.io/manifest-generate-paths': null };

/** Returns how an Application differs from that of the manual. */
function faultsOf(app: Application): readonly string[] {
  const { metadata, spec } = app;
  const { automated, syncOptions = [] } = spec.syncPolicy ?? {};
  const isCompared = comparedBy(app).some((text) => text.trim() === OPTION);
  return [
    ...(automated ? [] : ['its automated sync is off: syncPolicy.automated is missing']),
    ...(automated?.enabled === false ? ['its automated sync is off: automated.enabled must not be false'] : []),
    ...(!automated || automated.prune === true ? [] : ['automated.prune must be true']),
    ...(!automated || automated.allowEmpty === true ? [] : ['automated.allowEmpty must be true']),
    ...(automated?.selfHeal === true ? ['automated.selfHeal must not be true'] : []),
    ...WANTED.syncPolicy.syncOptions.filter((each) => !syncOptions.includes(each)).map((each) => `${each} is missing`),
    ...syncOptions.flatMap((each) => HARMFUL_OPTIONS.get(each)?.replace(/^/, `${each} must go: `) ?? []),
    ...Object.keys(REMOVED).flatMap((each) => (each in metadata.annotations ? `annotation ${each} must go` : [])),
    ...(ignoresJobs(app) ? [] : ['ignoreDifferences of Job /spec is missing']),
    ...(isCompared ? [] : [`annotation ${COMPARE_OPTIONS}: ${OPTION} is missing`]),
  ];
}

const WANTED = applicationSpec({ repository: '', path: '', namespace: '' });
const { [COMPARE_OPTIONS]: OPTION } = APPLICATION_ANNOTATIONS;

const ignoresJobs = ({ spec }: Application): boolean => spec.ignoreDifferences.some(({ kind }) => kind === 'Job');

function comparedBy({ metadata }: Application): readonly string[] {
  return [metadata.annotations[COMPARE_OPTIONS] ?? []].flat().flatMap((text) => text.split(','));
}

/** Returns a patch that adds the missing parts. */
function patchFor(app: Application) {
  const keyOf = (option: string): string | undefined => option.split('=')[0];
  const { syncPolicy, ignoreDifferences } = WANTED;
  const judgedBy = new Set([...syncPolicy.syncOptions, ...HARMFUL_OPTIONS.keys()].map(keyOf));
  const otherOptions = (app.spec.syncPolicy?.syncOptions ?? []).filter((option) => !judgedBy.has(keyOf(option)));
  const compared = comparedBy(app).filter((text) => !text.includes('ServerSideDiff='));
  return {
    metadata: { annotations: { [COMPARE_OPTIONS]: [...compared, OPTION].join(','), ...REMOVED } },
    spec: {
      syncPolicy: {
        automated: { ...syncPolicy.automated, selfHeal: null, enabled: null },
        syncOptions: [...otherOptions, ...syncPolicy.syncOptions],
      },
      ...(!ignoresJobs(app) && { ignoreDifferences }),
    },
  };
}
