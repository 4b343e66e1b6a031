/** Rules over several fields, and the normal form. No rule speaks of a field with a problem of its own (`unclear`). */
import { defined } from '../../shared/defined.ts';
import type { Scope } from '../../shared/scope.ts';
import { normalBase } from '../../shared/url.ts';
import type { Path } from './documents.ts';
import { exampleOf, type FieldProblem } from './field-problem.ts';
import {
  DEFAULT_IMAGES,
  DEFAULT_LABELS,
  GRACEFUL_STOP_SECONDS,
  PENDING_DEADLINE_SECONDS,
  RUNNER_RELEASE,
  type WrittenSpec,
} from './group-schema.ts';
import { valueAt } from './paths.ts';
import { quoted } from './problems.ts';
import { NEWER_KEYS } from './runner-config.ts';
import {
  type ContainerMode,
  hasDocker,
  type NormalFields,
  OF_REPOSITORY,
  type PodProxy,
  type SecretKey,
} from './runner-group.ts';
import { tokenJudge } from './secrets.ts';
import { imageInTemplate } from './sizes.ts';
import { labelNamed, nearestName, type ParsedLabel, parseLabel, type RunnerLabel, resourceFaults } from './words.ts';

/** A spec of which some fields may have failed their own check. */
export interface Draft {
  /** Fields that passed, with defaults; the others are absent. */
  readonly spec: Partial<WrittenSpec>;
  /** `metadata.name`, when it is a good one. */
  readonly groupName: string | undefined;
  /** True if the field at this path below `spec`, or a part of it, has a problem of its own. */
  readonly unclear: (...path: Path) => boolean;
}

/** Reports a fault at a path below `spec`. */
type Report = (path: Path, message: string, more?: Partial<FieldProblem>) => undefined;

/** Returns the normal form. Undefined if a field has a problem: a reported one, or one of its own. */
type Rule<T> = (draft: Draft, report: Report) => T | undefined;

/** One rule per normal field, in the order of the problems. */
const RULES: { readonly [Field in keyof NormalFields]: Rule<NormalFields[Field]> } = {
  scope: ruleScope,
  giteaUrl: ruleGiteaUrl,
  labels: ruleLabels,
  registrationToken: ruleRegistration,
  authToken: (...asked) => ruleSecret('authToken', ...asked),
  image: ruleImage,
  acceptUnlabelledJobs: ruleUnlabelled,
  gracefulStopSeconds: ruleGracefulStop,
  maxActiveRunners: ruleCap,
  pendingDeadlineSeconds: rulePendingDeadline,
  resources: ({ spec, unclear }, report) => (unclear('resources') ? undefined : ruleResources(spec, [], report)),
  sizes: ruleSizes,
  limits: ruleLimits,
  proxy: ruleProxy,
  runnerConfig: ruleRunnerConfig,
};

/** Runs all rules. `normal` is complete if neither a rule nor the schema has found a problem. */
export function applyRules(draft: Draft): {
  readonly problems: readonly FieldProblem[];
  readonly normal: NormalFields;
} {
  const problems: FieldProblem[] = [];
  const report: Report = (path, message, more) => {
    problems.push({ path: ['spec', ...path], message, code: 'GR-INPUT-06', together: true, ...more });
    return undefined;
  };
  const normal = Object.fromEntries(Object.entries(RULES).map(([field, rule]) => [field, rule(draft, report)]));
  const { spec } = draft;
  for (const { path, message } of tokenJudge([{ spec, of: '' }])(spec)) report(path.slice(1), message);
  return { problems, normal: normal as unknown as NormalFields };
}

const OWNER_FIELDS = ['org', 'user', 'repo'] as const;

/** Checks org, user and repo against the scope: which one it needs, and which ones it refuses. */
function ruleScope(draft: Draft, report: Report): Scope | undefined {
  const { spec, unclear } = draft;
  const { scope, org, user, repo } = spec;
  if (scope === undefined) return undefined;
  const isLacking = scope !== 'global' && spec[scope] === undefined && !unclear(scope);
  const foreign = scope === 'repo' ? [] : OWNER_FIELDS.filter((field) => field !== scope && spec[field] !== undefined);
  if (isLacking) report([], `scope ${scope} needs ${scope}: add "${scope}: …"`);
  for (const field of foreign) report([field], `does not go with scope ${scope}: remove it, or set "scope: ${field}"`);
  if (isLacking || foreign.length > 0) return undefined;
  if (scope === 'global') return { kind: scope };
  if (scope === 'repo') return repo === undefined ? undefined : ruleRepository(repo, draft, report);
  if (scope === 'org') return org === undefined ? undefined : { kind: scope, org };
  return user === undefined ? undefined : { kind: scope, user };
}

function ruleRepository(repo: string, { spec: { org, user }, unclear }: Draft, report: Report): Scope | undefined {
  if (unclear('org') || unclear('user')) return undefined;
  if (org !== undefined && user !== undefined)
    return report(['user'], 'a repository has one owner: set org or user, not both');
  const owner = org ?? user;
  const [first = '', second] = repo.split('/');
  if (second === undefined) {
    if (owner !== undefined) return { kind: 'repo', owner, repo: first };
    return report(['repo'], `needs its owner: write "repo: OWNER/${first}", or add org or user`);
  }
  // Gitea compares owner names without regard to case.
  if (owner === undefined || owner.toLowerCase() === first.toLowerCase())
    return { kind: 'repo', owner: first, repo: second };
  const message = `${quoted(owner)} is not the owner in "repo: ${repo}": remove it or correct one of them`;
  return report([org === undefined ? 'user' : 'org'], message);
}

/** Reads Gitea's URL from both spellings. */
function ruleGiteaUrl({ spec: { gitea, giteaURL }, unclear }: Draft, report: Report): string | undefined {
  if (unclear('gitea') || unclear('giteaURL')) return undefined;
  const writtenUrl = gitea?.url ?? giteaURL;
  if (writtenUrl === undefined) return report([], 'gitea.url is required: add "gitea: {url: https://…}"');
  const url = normalBase(writtenUrl);
  if (url === undefined || giteaURL === undefined || normalBase(giteaURL) === url) return url;
  return report(['giteaURL'], 'differs from gitea.url: remove one of the two spellings');
}

/** Reads a Secret's key from both spellings. */
function ruleSecret(field: 'registrationToken' | 'authToken', { spec, unclear }: Draft, report: Report) {
  const selector = spec[field];
  if (selector === undefined || unclear(field)) return undefined;
  const { secretRef, name, key } = selector;
  if (secretRef) {
    if ((name ?? secretRef.name) === secretRef.name && (key ?? secretRef.key) === secretRef.key) return secretRef;
    return report([field], 'name and key differ from secretRef: remove one of the two spellings');
  }
  if (name !== undefined && key !== undefined) return { name, key };
  if (name === undefined && key === undefined)
    return report([field], 'must name a Secret and its key: "secretRef: {name: …, key: …}"');
  return report([field], `needs ${name === undefined ? 'name beside key' : 'key beside name'}`);
}

const BOUND = 'write "registration: {by: serve, for: repository}"';

function isBound({ registration }: Draft['spec']): boolean {
  return registration?.for === 'repository';
}

/** Decides who registers the runners. A group that `serve` registers may name its Secret, too, for later. */
function ruleRegistration(draft: Draft, report: Report): SecretKey | undefined {
  const { spec, unclear } = draft;
  const token = ruleSecret('registrationToken', draft, report);
  if (unclear('registration')) return undefined;
  const { minIdleRunners = 0, idleSchedule = [], idleDemand, repositories = [], order = [] } = spec;
  const hasClaims = [spec, ...(spec.sizes ?? [])].some(({ podTemplate }) => hasOwnClaim(podTemplate));
  const ofBound = { repositories: repositories.length > 0, order: order.length > 0, podTemplate: hasClaims };
  const ofPools = { minIdleRunners: minIdleRunners > 0, idleSchedule: idleSchedule.length > 0, idleDemand };
  const why = isBound(spec)
    ? 'does not go with registration for repository, as an idle runner has none: remove it'
    : `needs runners that are bound to a repository: ${BOUND}, or remove it`;
  for (const [field, isSet] of Object.entries(isBound(spec) ? ofPools : ofBound))
    if (isSet && !unclear(field))
      report([field], field === 'podTemplate' ? `names a claim by ${OF_REPOSITORY}, which ${why}` : why);
  if (spec.registration?.by === 'serve') return undefined;
  if (isBound(spec)) report(['registration', 'for'], `is repository, but a pod registers for the scope only: ${BOUND}`);
  if (spec.registrationToken !== undefined || unclear('registrationToken')) return token;
  const message = `is required: a mapping${exampleOf(['spec', 'registrationToken'])}`;
  return report(['registrationToken'], message, { code: 'GR-INPUT-05', missing: true, together: false });
}

/** A claim of each repository. */
function hasOwnClaim(template: unknown): boolean {
  const volumes = valueAt(template, ['spec', 'volumes']);
  const nameOf = (volume: unknown) => String(valueAt(volume, ['persistentVolumeClaim', 'claimName']));
  return Array.isArray(volumes) && volumes.some((volume) => nameOf(volume).includes(OF_REPOSITORY));
}

/** Returns the group's own labels, then the default labels that none of them replaces, then the group's name. */
function ruleLabels(draft: Draft, report: Report): readonly RunnerLabel[] | undefined {
  const { spec, groupName, unclear } = draft;
  if (unclear('labels') || unclear('defaultLabels') || unclear('containerMode')) return undefined;
  const defaultLabels = spec.defaultLabels ?? (hasDocker(modeOf(spec)) ? DEFAULT_LABELS : false);
  const ownLabels = (spec.labels ?? []).map(read);
  const added = (defaultLabels === false ? [] : defaultLabels).map(read);
  checkLabels('labels', ownLabels, draft, report);
  checkLabels('defaultLabels', added, draft, report);
  const names = new Set(ownLabels.map(({ name }) => name));
  const allLabels = [...ownLabels, ...added.filter(({ name }) => !names.has(name))];
  const isNamed = !spec.groupLabel || groupName === undefined || allLabels.some(({ name }) => name === groupName);
  const labels = isNamed ? allLabels : [...allLabels, labelNamed(allLabels, groupName)];
  if (labels.length > 0) return labels.map(({ name, text }) => ({ name, text }));
  return report([], 'the runners would have no label: add one to labels, e.g. "ubuntu-latest:host"');
}

function read(text: string): ParsedLabel {
  const label = parseLabel(text);
  return 'wrong' in label ? { name: text, text, schema: 'foreign' } : label;
}

function modeOf({ containerMode = 'dind-rootless' }: Draft['spec']): ContainerMode {
  return containerMode;
}

function checkLabels(field: string, labels: readonly ParsedLabel[], { spec, unclear }: Draft, report: Report): void {
  const mode = modeOf(spec);
  const isOtherRunner = hasOwnImage(spec) || unclear('image');
  const labelNames = new Set<string>();
  for (const [index, { name, text, schema }] of labels.entries()) {
    const labelPath = [field, index];
    if (labelNames.has(name)) report(labelPath, `the name ${quoted(name)} is already in this list: remove one of them`);
    else if (schema === 'docker' && !hasDocker(mode)) {
      const advice = `write "${name}:host", or choose another containerMode`;
      report(labelPath, `needs docker, which containerMode ${mode} does not have: ${advice}`);
    } else if (schema === 'foreign' && !isOtherRunner) {
      report(labelPath, `${quoted(text)} is neither name:host nor name:docker://image; ${labelInstead(text)}`);
    }
    labelNames.add(name);
  }
}

/** `:doker://node` is a misspelt schema, `:node:20` lacks one. A single word behind the name may be either. */
function labelInstead(text: string): string {
  const [name = '', schema = '', ...imageParts] = text.split(':');
  const meant = read(text.replace('=', ':'));
  if (meant.schema !== 'foreign') return `write ${quoted(meant.text)}`;
  if (name.includes('/')) return `it lacks its name: write ${quoted(`ubuntu-latest:docker://${text}`)}`;
  if (name === 'docker' && schema.startsWith('//'))
    return `it lacks its name: write ${quoted(`ubuntu-latest:${text}`)}`;
  const image = imageParts.join(':').replace(/^\/\//, '');
  if (imageParts[0]?.startsWith('//') || nearestName(schema, ['docker']) !== undefined)
    return `did you mean ${quoted(`${name}:docker://${image}`)}?`;
  if (image !== '') return `did you mean ${quoted(`${name}:docker://${schema}:${image}`)}?`;
  const namedImage = schema.replace(/@(?!sha256:)/, ':');
  return (
    `the default runner ${RUNNER_RELEASE} would never register. Write ${quoted(`${name}-${schema}`)} here and in runs-on, or set image to ` +
    `a runner of 2.1 or newer. If ${quoted(schema)} is an image, write ${quoted(`${name}:docker://${namedImage}`)}`
  );
}

/** Image of the runner container. A podTemplate may name it, too. */
function ruleImage({ spec, unclear }: Draft, report: Report): string | undefined {
  if (unclear('image') || unclear('containerMode') || unclear('podTemplate')) return undefined;
  const inTemplate = imageInTemplate(spec.podTemplate);
  if (inTemplate && spec.image !== undefined && spec.image !== inTemplate.image)
    return report(inTemplate.path, 'differs from spec.image: remove one of the two');
  return inTemplate?.image ?? spec.image ?? DEFAULT_IMAGES[modeOf(spec)];
}

/** A job without labels runs in docker, on the runner's own default image (runner 1.0.8, `PickPlatform`). */
function ruleUnlabelled({ spec }: Draft, report: Report): boolean | undefined {
  const { acceptUnlabelledJobs = false, containerMode = 'dind-rootless' } = spec;
  if (!acceptUnlabelledJobs || hasDocker(containerMode)) return acceptUnlabelledJobs;
  const message = `does not go with containerMode ${containerMode}: a job without labels runs in docker`;
  return report(['acceptUnlabelledJobs'], message);
}

/** A runner must have time for work besides the stop. */
function ruleGracefulStop({ spec, unclear }: Draft, report: Report): number | undefined {
  const { activeDeadlineSeconds: deadline } = spec;
  if (deadline === undefined || unclear('gracefulStopSeconds')) return undefined;
  const stop = spec.gracefulStopSeconds ?? Math.min(GRACEFUL_STOP_SECONDS, deadline - 1);
  if (deadline > stop) return stop;
  const message = `is ${deadline}, but must be greater than gracefulStopSeconds, which is ${stop}`;
  return report(['activeDeadlineSeconds'], message);
}

/** Checks requests and limits. With a podTemplate, plan/final-pods.ts checks the final pod in its place. */
function ruleResources(fields: Pick<Draft['spec'], 'resources' | 'podTemplate'>, path: Path, report: Report) {
  const [requests, limits] = [asTexts(fields.resources?.requests ?? {}), asTexts(fields.resources?.limits ?? {})];
  for (const fault of fields.podTemplate ? [] : resourceFaults(requests, limits))
    report([...path, 'resources', ...fault.path], fault.message);
  return { requests, limits };
}

/** The name of a size is a label of runs-on. A job has at most one such label; only runners of that size have it. */
function ruleSizes(draft: Draft, report: Report): NormalFields['sizes'] | undefined {
  const { spec, unclear } = draft;
  const { sizes = [], priorityTiers = [] } = spec;
  if (unclear('sizes')) return undefined;
  if (sizes.length > 0 && priorityTiers.length > 0)
    return report(['sizes'], 'does not go with priorityTiers, which count runners and not slots: remove one of them');
  const labels = ruleLabels(draft, () => undefined) ?? [];
  const cap = ruleCap(draft, () => undefined) ?? 0;
  return sizes.map((size, index) => {
    const { name, weight, resources, podTemplate } = size;
    const sizePath = ['sizes', index];
    if (labels.some((label) => label.name === name))
      report([...sizePath, 'name'], `is a label of the group already, so all its runners have it: choose another name`);
    if (sizes.findIndex((size) => size.name === name) < index)
      report([...sizePath, 'name'], 'is the name of a size before it: choose another one');
    checkWeight(weight, 'the cap', cap, [...sizePath, 'weight'], report);
    for (const limit of spec.limits ?? [])
      checkWeight(weight, `the limit ${limit.name ?? limitKind(limit)}`, limit.max, [...sizePath, 'weight'], report);
    return {
      name,
      weight,
      ...(resources && { resources: ruleResources({ podTemplate: spec.podTemplate, ...size }, sizePath, report) }),
      ...(podTemplate && { podTemplate }),
    };
  });
}

/** A cap of 0 starts no runners of any size. */
function checkWeight(weight: number, limitText: string, maximum: number, path: Path, report: Report): void {
  if (maximum > 0 && weight > maximum)
    report(path, `is ${weight}, more than ${limitText}, which is ${maximum}: such a job would wait for ever`);
}

/** `per repository of branches main, release/*` */
function limitKind({ per, branches }: NormalFields['limits'][number]): string {
  return [per && `per ${per}`, branches && `of branches ${branches.join(', ')}`].filter(Boolean).join(' ');
}

/** Each plan compares each of these limits with each queued job: with 10 patterns each, 500,000 times for 10,000 jobs. */
const MOST_LIMITS_OF_JOBS = 5;

/** Gitea knows no such limits: an idle runner takes any job, and turns put younger jobs first. */
function ruleLimits({ spec, unclear }: Draft, report: Report): NormalFields['limits'] | undefined {
  if (unclear('limits')) return undefined;
  const { limits = [], minIdleRunners = 0, idleSchedule = [], idleDemand, fairness } = spec;
  const idle = ': Gitea gives an idle runner to any job';
  const unfit: readonly (readonly [string, boolean])[] = [
    [`minIdleRunners${idle}`, minIdleRunners > 0],
    [`idleSchedule${idle}`, idleSchedule.length > 0],
    [`idleDemand${idle}`, idleDemand !== undefined],
    ['fairness per-repository, whose turns Gitea does not know: remove one of them', fairness === 'per-repository'],
  ];
  for (const [index, limit] of limits.entries()) {
    const { name, per, branches } = limit;
    const limitPath = ['limits', index];
    const isSame = (other: typeof limit): boolean =>
      other.name === name && (name !== undefined || limitKind(other) === limitKind(limit));
    const ofJobs = per ? 'per' : branches && 'branches';
    if (name === undefined && ofJobs === undefined)
      report(limitPath, 'needs name, per or branches: the cap of the group is maxActiveRunners');
    else if (limits.findIndex(isSame) < index) report(limitPath, 'is in this list already: remove one of them');
    if (name !== undefined && branches)
      report(
        [...limitPath, 'branches'],
        'does not go with name: Jobs do not say their branch to other groups. Remove one',
      );
    for (const [what, isSet] of unfit)
      if (ofJobs && isSet && !isBound(spec)) report([...limitPath, ofJobs], `does not go with ${what}`);
  }
  const ofJobs = limits.filter(({ per, branches }) => per || branches).length;
  if (ofJobs > MOST_LIMITS_OF_JOBS)
    report(['limits'], `has ${ofJobs} limits with per or branches, more than ${MOST_LIMITS_OF_JOBS}: remove some`);
  return limits;
}

function asTexts(quantities: Readonly<Record<string, string | number>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(quantities).map(([name, quantity]) => [name, String(quantity)]));
}

/** Kubernetes lets nobody make a PriorityClass with this prefix (docs, "Pod Priority and Preemption"). */
const OF_KUBERNETES = 'system-';

/** Returns `maxActiveRunners`, else `maxWorkers`, else the tiers' last threshold. All written ones must be equal. */
function ruleCap({ spec, unclear }: Draft, report: Report): number | undefined {
  const { maxActiveRunners, maxWorkers, priorityTiers = [], podTemplate, minIdleRunners = 0 } = spec;
  if (unclear('maxActiveRunners') || unclear('maxWorkers') || unclear('priorityTiers')) return undefined;
  const last = priorityTiers.at(-1)?.threshold;
  const cap = maxActiveRunners ?? maxWorkers ?? last;
  if (cap === undefined) {
    const message = `is required: a whole number${exampleOf(['spec', 'maxActiveRunners'])}`;
    return report(['maxActiveRunners'], message, { code: 'GR-INPUT-05', missing: true, together: false });
  }
  const faults = wrongTiers(priorityTiers);
  if (last !== undefined && valueAt(podTemplate, ['spec', 'priorityClassName']) !== undefined) {
    const message = 'does not go with priorityTiers, which set it for each runner: remove one of them';
    faults.push([['podTemplate', 'spec', 'priorityClassName'], message]);
  }
  if (maxActiveRunners !== undefined && maxWorkers !== undefined && maxActiveRunners !== maxWorkers) {
    faults.push([['maxWorkers'], 'differs from maxActiveRunners: remove one of the two spellings']);
  } else if (last !== undefined && last !== cap && faults.length === 0) {
    const field = maxActiveRunners === undefined ? 'maxWorkers' : 'maxActiveRunners';
    const message = `is ${cap}, but must be the last threshold of priorityTiers, which is ${last}: correct one, or remove ${field}`;
    faults.push([[field], message]);
  }
  const idle: [Path, number | undefined][] = [
    [['minIdleRunners'], minIdleRunners],
    ...(spec.idleSchedule ?? []).map(({ runners }, at): [Path, number] => [['idleSchedule', at, 'runners'], runners]),
    [['idleDemand', 'most'], spec.idleDemand?.most],
  ];
  for (const [path, count = 0] of faults.length === 0 ? idle : [])
    if (count > cap)
      faults.push([path, `is ${count}, but must be at most the cap, which is ${cap}: idle runners count under it`]);
  for (const [path, message] of faults) report(path, message);
  return cap;
}

function wrongTiers(tiers: WrittenSpec['priorityTiers']): [Path, string][] {
  return tiers.flatMap(({ threshold, priorityClassName }, nth) => {
    const previousThreshold = tiers[nth - 1]?.threshold ?? 0;
    const faults: [Path, string][] = [];
    if (threshold <= previousThreshold) {
      const message = `is ${threshold}, but must be greater than ${previousThreshold}, the threshold of the tier before it`;
      faults.push([['priorityTiers', nth, 'threshold'], message]);
    }
    if (priorityClassName.startsWith(OF_KUBERNETES)) {
      const message = "is a class of Kubernetes' own parts: a runner with it could push them off their node";
      faults.push([['priorityTiers', nth, 'priorityClassName'], message]);
    }
    return faults;
  });
}

/** A pod is not late before its spawn timeout. */
function rulePendingDeadline({ spec, unclear }: Draft, report: Report): number | undefined {
  const { spawnTimeoutSeconds: spawn, pendingDeadlineSeconds: pendingDeadline } = spec;
  if (spawn === undefined || unclear('pendingDeadlineSeconds')) return undefined;
  const deadline = pendingDeadline ?? Math.max(PENDING_DEADLINE_SECONDS, spawn);
  if (deadline >= spawn) return deadline;
  const message = `is ${deadline}, but must be at least spawnTimeoutSeconds, which is ${spawn}`;
  return report(['pendingDeadlineSeconds'], message);
}

/** Levels of the runner's log at which it says how its CI job ended. */
const SHOWS_THE_END: readonly string[] = ['debug', 'trace'];

/** Keys of the runner's configuration that the mode or another field makes useless. */
function ruleRunnerConfig({ spec, unclear }: Draft, report: Report): NormalFields['runnerConfig'] | undefined {
  const { containerMode, cache, runnerConfig = {}, proxy, caBundle, keepFailedSeconds = 0 } = spec;
  const reportField = (path: readonly string[], message: string) => report(['runnerConfig', ...path], message);
  if (keepFailedSeconds > 0 && !SHOWS_THE_END.includes(runnerConfig.log?.level ?? 'debug'))
    return reportField(
      ['log', 'level'],
      'does not go with keepFailedSeconds, for which it is debug: remove one of them',
    );
  const isNewer = ([key]: readonly [string, string]) => valueAt(runnerConfig, key.split('.')) !== undefined;
  const newer = hasOwnImage(spec) || unclear('image') ? undefined : Object.entries(NEWER_KEYS).find(isNewer);
  if (newer) {
    const [key, since] = newer;
    const message = `came with runner ${since}, and the default runner ${RUNNER_RELEASE} ignores it: set image to a runner of ${since} or newer`;
    return reportField(key.split('.'), message);
  }
  if (runnerConfig.runner?.env_file !== undefined && (proxy !== undefined || caBundle !== undefined)) {
    const message =
      'does not go with spec.proxy and spec.caBundle, which need a file of their own there: use runner.envs';
    return reportField(['runner', 'env_file'], message);
  }
  if (runnerConfig.container && containerMode === 'host')
    return reportField(['container'], 'does not go with containerMode host, which starts no containers');
  if (cache && runnerConfig.cache?.enabled === false)
    return reportField(['cache', 'enabled'], 'is false, but spec.cache names a cache: remove one of them');
  return runnerConfig;
}

/** A group with the default image has the runner `RUNNER_RELEASE`. */
function hasOwnImage(spec: Draft['spec']): boolean {
  return spec.image !== undefined || imageInTemplate(spec.podTemplate) !== undefined;
}

function ruleProxy({ spec, unclear }: Draft, report: Report): PodProxy | undefined {
  if (spec.proxy === undefined || unclear('proxy')) return undefined;
  const { http, https, noProxy: direct = [], secretRef } = spec.proxy;
  if (http === undefined && https === undefined) {
    const message = 'needs http or https: the URL of the proxy, e.g. "https: http://proxy.example.com:3128"';
    return report(['proxy'], message);
  }
  const withoutSlash = (url: string | undefined) => url?.replace(/\/$/, '');
  return defined({ http: withoutSlash(http), https: withoutSlash(https), direct, secret: secretRef?.name });
}
