/**
 * Rules that several fields follow together, and the normal form that results. Each rule works on the fields that passed the schema.
 * A field with a problem of its own is `unclear`: the rules report nothing about it, so that one cause gives one problem.
 */

import { normalBase } from '../../shared/base-url.ts';
import {
  DEFAULT_IMAGES,
  DEFAULT_LABELS,
  GRACEFUL_STOP_SECONDS,
  PENDING_DEADLINE_SECONDS,
  RUNNER_RELEASE,
} from './defaults.ts';
import type { Path } from './documents.ts';
import { exampleOf, type FieldProblem } from './field-problem.ts';
import { nearestName } from './nearest.ts';
import { quoted } from './problems.ts';
import { quantityValue } from './quantity.ts';
import { newerKeys } from './runner-config.ts';
import type { ContainerMode, NormalFields, PodProxy, Scope, SecretKey } from './runner-group.ts';
import type { WrittenSpec } from './schema.ts';
import { isQualifiedName, type ParsedLabel, parseLabel, type RunnerLabel } from './words.ts';

/** A spec of which some fields may have failed their own check. */
export interface Draft {
  /** Fields that passed, with defaults; the others are absent. */
  readonly spec: Partial<WrittenSpec>;
  /** `metadata.name`, when it is a good one. */
  readonly groupName: string | undefined;
  /** True when the field at this path below `spec`, or something in it, has a problem of its own. */
  readonly unclear: (...path: Path) => boolean;
}

/** Either the normal form or its problems. No value and no problems: the schema has reported the fields already. */
type Ruled<T> = { readonly value: T } | { readonly problems: readonly FieldProblem[] };

const UNCLEAR = { problems: [] };

function ok<T>(value: T): Ruled<T> {
  return { value };
}

/** The answer of a rule that finds one problem. `path` is below `spec`. */
function wrong(path: Path, message: string): { readonly problems: readonly FieldProblem[] } {
  return { problems: [problemAt(path, message)] };
}

/** @param path below `spec` */
function problemAt(path: Path, message: string): FieldProblem {
  return { path: ['spec', ...path], message, code: 'GR-INPUT-06', together: true };
}

/** One rule per normal field, in the order of their problems. */
const RULES: { readonly [Field in keyof NormalFields]: (draft: Draft) => Ruled<NormalFields[Field]> } = {
  scope: ruleScope,
  giteaUrl: ruleGiteaUrl,
  labels: ruleLabels,
  registrationToken: (draft) => ruleSecret('registrationToken', draft),
  authToken: (draft) => ruleSecret('authToken', draft),
  image: ruleImage,
  acceptUnlabelledJobs: ruleUnlabelled,
  gracefulStopSeconds: ruleGracefulStop,
  maxActiveRunners: ruleCap,
  pendingDeadlineSeconds: rulePendingDeadline,
  resources: ruleResources,
  proxy: ruleProxy,
  runnerConfig: ruleRunnerConfig,
};

/** All rules together: the normal fields, or the problems of all rules. */
export function applyRules(draft: Draft): Ruled<NormalFields> {
  const ruled = Object.entries(RULES).map(([field, rule]) => [field, rule(draft)] as const);
  const values = ruled.flatMap(([field, result]) => ('value' in result ? [[field, result.value] as const] : []));
  if (values.length < ruled.length) {
    return { problems: ruled.flatMap(([, result]) => ('problems' in result ? result.problems : [])) };
  }
  return ok(Object.fromEntries(values) as unknown as NormalFields);
}

const OWNER_FIELDS = ['org', 'user', 'repo'] as const;

/** Which of org, user and repo a scope needs and refuses. */
function ruleScope(draft: Draft): Ruled<Scope> {
  const { spec, unclear } = draft;
  const { scope, org, user, repo } = spec;
  if (scope === undefined) return UNCLEAR;
  const isLacking = scope !== 'global' && spec[scope] === undefined && !unclear(scope);
  const foreign = scope === 'repo' ? [] : OWNER_FIELDS.filter((field) => field !== scope && spec[field] !== undefined);
  const problems = [
    ...(isLacking ? [problemAt([], `scope ${scope} needs ${scope}: add "${scope}: …"`)] : []),
    ...foreign.map((field) =>
      problemAt([field], `does not go with scope ${scope}: remove it, or set "scope: ${field}"`),
    ),
  ];
  if (problems.length > 0) return { problems };
  switch (scope) {
    case 'global':
      return ok({ kind: 'global' });
    case 'org':
      return org === undefined ? UNCLEAR : ok({ kind: 'org', org });
    case 'user':
      return user === undefined ? UNCLEAR : ok({ kind: 'user', user });
    case 'repo':
      return repo === undefined ? UNCLEAR : ruleRepository(repo, draft);
    default:
      return scope satisfies never;
  }
}

function ruleRepository(repo: string, { spec: { org, user }, unclear }: Pick<Draft, 'spec' | 'unclear'>): Ruled<Scope> {
  if (unclear('org') || unclear('user')) return UNCLEAR;
  if (org !== undefined && user !== undefined)
    return wrong(['user'], 'a repository has one owner: set org or user, not both');
  const field = org === undefined ? 'user' : 'org';
  const owner = org ?? user;
  const [first = '', second] = repo.split('/');
  if (second === undefined) {
    if (owner !== undefined) return ok({ kind: 'repo', owner, repo: first });
    return wrong(['repo'], `needs its owner: write "repo: OWNER/${first}", or add org or user`);
  }
  // Gitea compares owner names without regard to case.
  if (owner !== undefined && owner.toLowerCase() !== first.toLowerCase()) {
    return wrong([field], `${quoted(owner)} is not the owner in "repo: ${repo}": remove it or correct one of them`);
  }
  return ok({ kind: 'repo', owner: first, repo: second });
}

/** Both spellings of Gitea's URL. */
function ruleGiteaUrl({ spec: { gitea, giteaURL }, unclear }: Draft): Ruled<string> {
  if (unclear('gitea') || unclear('giteaURL')) return UNCLEAR;
  const written = gitea?.url ?? giteaURL;
  if (written === undefined) return wrong([], 'gitea.url is required: add "gitea: {url: https://…}"');
  const url = normalBase(written);
  if (url === undefined) return UNCLEAR;
  if (giteaURL !== undefined && normalBase(giteaURL) !== url) {
    return wrong(['giteaURL'], 'differs from gitea.url: remove one of the two spellings');
  }
  return ok(url);
}

/** Both spellings of a Secret's key. */
function ruleSecret(field: 'registrationToken' | 'authToken', { spec, unclear }: Draft): Ruled<SecretKey> {
  const selector = spec[field];
  if (selector === undefined || unclear(field)) return UNCLEAR;
  const { secretRef, name, key } = selector;
  if (secretRef) {
    if ((name ?? secretRef.name) === secretRef.name && (key ?? secretRef.key) === secretRef.key) return ok(secretRef);
    return wrong([field], 'name and key differ from secretRef: remove one of the two spellings');
  }
  if (name !== undefined && key !== undefined) return ok({ name, key });
  if (name === undefined && key === undefined) {
    return wrong([field], 'must name a Secret and its key: "secretRef: {name: …, key: …}"');
  }
  return wrong([field], `needs ${name === undefined ? 'name' : 'key'} beside ${name === undefined ? 'key' : 'name'}`);
}

/** Own labels first, then the default ones that no own label replaces, then the group's name. */
function ruleLabels({ spec, groupName, unclear }: Draft): Ruled<readonly RunnerLabel[]> {
  if (unclear('labels') || unclear('defaultLabels') || unclear('containerMode')) return UNCLEAR;
  const mode: ContainerMode = spec.containerMode ?? 'dind-rootless';
  const given = spec.defaultLabels ?? (mode === 'host' ? false : DEFAULT_LABELS);
  const own = (spec.labels ?? []).map(read);
  const added = (given === false ? [] : given).map(read);
  const checks: Checks = { mode, foreignWork: hasOwnImage(spec) || unclear('image') };
  const problems = [...checkLabels('labels', own, checks), ...checkLabels('defaultLabels', added, checks)];
  if (problems.length > 0) return { problems };
  const names = new Set(own.map(({ name }) => name));
  const written = [...own, ...added.filter(({ name }) => !names.has(name))];
  const labels = spec.groupLabel && groupName !== undefined ? withGroupLabel(written, groupName) : written;
  if (labels.length > 0) return ok(labels.map(({ name, text }) => ({ name, text })));
  return wrong([], 'the runners would have no label: add one to labels, e.g. "ubuntu-latest:host"');
}

/** A label for the group's name. Its jobs run as those of the first docker label, else on the host. A label of that name stays as it is. */
function withGroupLabel(labels: readonly ParsedLabel[], groupName: string): readonly ParsedLabel[] {
  if (labels.some(({ name }) => name === groupName)) return labels;
  const docker = labels.find(({ schema }) => schema === 'docker');
  const schema = docker ? 'docker' : 'host';
  const text = `${groupName}${docker ? docker.text.slice(docker.name.length) : ':host'}`;
  return [...labels, { name: groupName, text, schema }];
}

interface Checks {
  readonly mode: ContainerMode;
  /** Another runner image than the default one is asked for. */
  readonly foreignWork: boolean;
}

function read(text: string): ParsedLabel {
  const label = parseLabel(text);
  return 'wrong' in label ? { name: text, text, schema: 'foreign' } : label;
}

function checkLabels(
  field: string,
  labels: readonly ParsedLabel[],
  { mode, foreignWork }: Checks,
): readonly FieldProblem[] {
  const seen = new Set<string>();
  return labels.flatMap(({ name, text, schema }, index) => {
    const at = [field, index];
    const twice = seen.has(name);
    seen.add(name);
    if (twice) return [problemAt(at, `the name ${quoted(name)} is already in this list: remove one of them`)];
    if (schema === 'docker' && mode === 'host') {
      return [
        problemAt(
          at,
          `needs docker, which containerMode host does not have: write "${name}:host", or choose another containerMode`,
        ),
      ];
    }
    if (schema === 'foreign' && !foreignWork) {
      return [problemAt(at, `${quoted(text)} is neither name:host nor name:docker://image; ${labelInstead(text)}`)];
    }
    return [];
  });
}

/** `:doker://node` and `:node:20` are a misspelt schema and a missing one. A single word behind the name may be either. */
function labelInstead(text: string): string {
  const [name = '', schema = '', ...rest] = text.split(':');
  const image = rest.join(':').replace(/^\/\//, '');
  if (rest[0]?.startsWith('//') || nearestName(schema, ['docker']) !== undefined)
    return `did you mean ${quoted(`${name}:docker://${image}`)}?`;
  if (image !== '') return `did you mean ${quoted(`${name}:docker://${schema}:${image}`)}?`;
  return `the default runner ${RUNNER_RELEASE} would never register. Write ${quoted(`${name}-${schema}`)} here and in runs-on, or set image to a runner of 2.1 or newer. If ${quoted(schema)} is an image, write ${quoted(`${name}:docker://${schema}`)}`;
}

/** Image of the runner container. A podTemplate may name it, too. */
function ruleImage({ spec, unclear }: Draft): Ruled<string> {
  if (unclear('image') || unclear('containerMode') || unclear('podTemplate')) return UNCLEAR;
  const inTemplate = imageInTemplate(spec.podTemplate);
  if (inTemplate && spec.image !== undefined && spec.image !== inTemplate.image)
    return wrong(inTemplate.path, 'differs from spec.image: remove one of the two');
  return ok(inTemplate?.image ?? spec.image ?? DEFAULT_IMAGES[spec.containerMode ?? 'dind-rootless']);
}

/** A job without labels runs in docker, on the runner's own default image (runner 1.0.8, `PickPlatform`). */
function ruleUnlabelled({ spec }: Draft): Ruled<boolean> {
  if (spec.acceptUnlabelledJobs && spec.containerMode === 'host') {
    return wrong(['acceptUnlabelledJobs'], 'does not go with containerMode host: a job without labels runs in docker');
  }
  return ok(spec.acceptUnlabelledJobs ?? false);
}

/** A runner must have time for work besides the stop. */
function ruleGracefulStop({ spec, unclear }: Draft): Ruled<number> {
  const { activeDeadlineSeconds: deadline } = spec;
  if (deadline === undefined || unclear('gracefulStopSeconds')) return UNCLEAR;
  const stop = spec.gracefulStopSeconds ?? Math.min(GRACEFUL_STOP_SECONDS, deadline - 1);
  if (deadline > stop) return ok(stop);
  return wrong(
    ['activeDeadlineSeconds'],
    `is ${deadline}, but must be greater than gracefulStopSeconds, which is ${stop}`,
  );
}

const PLAIN_RESOURCES = ['cpu', 'memory', 'ephemeral-storage'];

/** What the API server says about resources of a container, before it can say it about every single Job. */
function ruleResources({ spec: { resources }, unclear }: Draft): Ruled<NormalFields['resources']> {
  if (unclear('resources')) return UNCLEAR;
  const requests = asTexts(resources?.requests ?? {});
  const limits = asTexts(resources?.limits ?? {});
  const problems = [...checkResourceNames('requests', requests), ...checkResourceNames('limits', limits)];
  for (const [name, request] of Object.entries(requests)) {
    const limit = limits[name];
    const at = ['resources', 'requests', name];
    if (limit !== undefined && quantityValue(request) > quantityValue(limit)) {
      problems.push(problemAt(at, `is ${request}, more than its limit ${limit}`));
    } else if (name.includes('/') && (limit === undefined || quantityValue(request) !== quantityValue(limit))) {
      problems.push(problemAt(at, 'must have an equal limit: Kubernetes does not overcommit this resource'));
    }
  }
  return problems.length > 0 ? { problems } : ok({ requests, limits });
}

function asTexts(quantities: Readonly<Record<string, string | number>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(quantities).map(([name, quantity]) => [name, String(quantity)]));
}

function checkResourceNames(field: string, quantities: Readonly<Record<string, string>>): FieldProblem[] {
  return Object.keys(quantities).flatMap((name) => {
    if (PLAIN_RESOURCES.includes(name) || /^hugepages-[0-9]+[KMG]i$/.test(name)) return [];
    if (name.includes('/') && isQualifiedName(name)) return [];
    const near = nearestName(name, PLAIN_RESOURCES);
    const hint =
      near === undefined
        ? `use ${PLAIN_RESOURCES.join(', ')} or a name with a domain, e.g. example.com/gpu`
        : `did you mean "${near}"?`;
    return [problemAt(['resources', field, name], `is no resource of a container; ${hint}`)];
  });
}

/** Kubernetes lets nobody make a PriorityClass with this prefix (docs, "Pod Priority and Preemption"). */
const OF_KUBERNETES = 'system-';

/** `maxActiveRunners`, else `maxWorkers`, else the last threshold of the tiers. Those that are written must be the same number. */
function ruleCap({ spec, unclear }: Draft): Ruled<number> {
  const { maxActiveRunners, maxWorkers, priorityTiers = [], podTemplate, minIdleRunners = 0 } = spec;
  if (unclear('maxActiveRunners') || unclear('maxWorkers') || unclear('priorityTiers')) return UNCLEAR;
  const last = priorityTiers.at(-1)?.threshold;
  const cap = maxActiveRunners ?? maxWorkers ?? last;
  if (cap === undefined) {
    const path = ['spec', 'maxActiveRunners'];
    return {
      problems: [
        { path, message: `is required: a whole number${exampleOf(path)}`, code: 'GR-INPUT-05', missing: true },
      ],
    };
  }
  const problems = priorityTiers.flatMap(({ threshold }, nth) => {
    const before = priorityTiers[nth - 1]?.threshold ?? 0;
    if (threshold > before) return [];
    const message = `is ${threshold}, but must be greater than ${before}, the threshold of the tier before it`;
    return [problemAt(['priorityTiers', nth, 'threshold'], message)];
  });
  for (const [nth, { priorityClassName }] of priorityTiers.entries()) {
    if (!priorityClassName.startsWith(OF_KUBERNETES)) continue;
    const message = "is a class of Kubernetes' own parts: a runner with it could push them off their node";
    problems.push(problemAt(['priorityTiers', nth, 'priorityClassName'], message));
  }
  if (last !== undefined && hasPriorityClass(podTemplate)) {
    const message = 'does not go with priorityTiers, which set it for each runner: remove one of them';
    problems.push(problemAt(['podTemplate', 'spec', 'priorityClassName'], message));
  }
  if (maxActiveRunners !== undefined && maxWorkers !== undefined && maxActiveRunners !== maxWorkers) {
    problems.push(problemAt(['maxWorkers'], 'differs from maxActiveRunners: remove one of the two spellings'));
  } else if (last !== undefined && last !== cap && problems.length === 0) {
    const field = maxActiveRunners === undefined ? 'maxWorkers' : 'maxActiveRunners';
    const message = `is ${cap}, but must be the last threshold of priorityTiers, which is ${last}: correct one, or remove ${field}`;
    problems.push(problemAt([field], message));
  }
  if (minIdleRunners > cap && problems.length === 0) {
    const message = `is ${minIdleRunners}, but must be at most the cap, which is ${cap}: idle runners count under it`;
    problems.push(problemAt(['minIdleRunners'], message));
  }
  return problems.length > 0 ? { problems } : ok(cap);
}

function hasPriorityClass(podTemplate: WrittenSpec['podTemplate']): boolean {
  const pod = podTemplate?.['spec'];
  return typeof pod === 'object' && pod !== null && 'priorityClassName' in pod;
}

/** A pod is not late before its spawn timeout. */
function rulePendingDeadline({ spec, unclear }: Draft): Ruled<number> {
  const { spawnTimeoutSeconds: spawn, pendingDeadlineSeconds: given } = spec;
  if (spawn === undefined || unclear('pendingDeadlineSeconds')) return UNCLEAR;
  const deadline = given ?? Math.max(PENDING_DEADLINE_SECONDS, spawn);
  if (deadline >= spawn) return ok(deadline);
  const message = `is ${deadline}, but must be at least spawnTimeoutSeconds, which is ${spawn}`;
  return wrong(['pendingDeadlineSeconds'], message);
}

/** Levels of the runner's log at which it says how its CI job ended. */
const SHOWS_THE_END: readonly string[] = ['debug', 'trace'];

/** Keys of the runner's configuration that the mode or another field makes useless. */
function ruleRunnerConfig({ spec, unclear }: Draft): Ruled<NormalFields['runnerConfig']> {
  const { containerMode, cache, runnerConfig = {}, proxy, caBundle, keepFailedSeconds = 0 } = spec;
  if (keepFailedSeconds > 0 && !SHOWS_THE_END.includes(runnerConfig.log?.level ?? 'debug')) {
    return wrong(
      ['runnerConfig', 'log', 'level'],
      'does not go with keepFailedSeconds, for which it is debug: remove one of them',
    );
  }
  const [newer] = hasOwnImage(spec) || unclear('image') ? [] : newerKeys(runnerConfig);
  if (newer) {
    return wrong(
      ['runnerConfig', ...newer.path],
      `came with runner ${newer.since}, and the default runner ${RUNNER_RELEASE} ignores it: set image to a runner of ${newer.since} or newer`,
    );
  }
  if (runnerConfig.runner?.env_file !== undefined && (proxy !== undefined || caBundle !== undefined)) {
    return wrong(
      ['runnerConfig', 'runner', 'env_file'],
      'does not go with spec.proxy and spec.caBundle, which need a file of their own there: use runner.envs',
    );
  }
  if (runnerConfig.container && containerMode === 'host') {
    return wrong(['runnerConfig', 'container'], 'does not go with containerMode host, which starts no containers');
  }
  if (cache && runnerConfig.cache?.enabled === false) {
    return wrong(['runnerConfig', 'cache', 'enabled'], 'is false, but spec.cache names a cache: remove one of them');
  }
  return ok(runnerConfig);
}

/** A group with the default image has the runner `RUNNER_RELEASE`. */
function hasOwnImage(spec: Draft['spec']): boolean {
  return spec.image !== undefined || imageInTemplate(spec.podTemplate) !== undefined;
}

/** The proxy of runner pods. */
function ruleProxy({ spec, unclear }: Draft): Ruled<PodProxy | undefined> {
  if (unclear('proxy')) return UNCLEAR;
  if (spec.proxy === undefined) return ok(undefined);
  const { http, https, noProxy, secretRef } = spec.proxy;
  if (http === undefined && https === undefined)
    return wrong(['proxy'], 'needs http or https: the URL of the proxy, e.g. "https: http://proxy.example.com:3128"');
  const tokens = [spec.registrationToken, spec.authToken].flatMap((token) => [token?.secretRef?.name, token?.name]);
  if (secretRef !== undefined && tokens.includes(secretRef.name)) {
    const message = 'is a Secret with a token of Gitea; CI jobs can read the login of the proxy, so use another Secret';
    return wrong(['proxy', 'secretRef', 'name'], message);
  }
  return ok({
    ...(http !== undefined && { http: withoutSlash(http) }),
    ...(https !== undefined && { https: withoutSlash(https) }),
    direct: noProxy ?? [],
    ...(secretRef !== undefined && { secret: secretRef.name }),
  });
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}

/**
 * The image that a podTemplate names for container `runner`, and where it stands below `spec`. It is the group's image, so that the init
 * container that registers has it, too. The template's shape is checked later, with the whole pod (src/observe/final-pods.ts).
 */
export function imageInTemplate(template: unknown): { readonly image: string; readonly path: Path } | undefined {
  const containers = fieldOf(fieldOf(template, 'spec'), 'containers');
  if (!Array.isArray(containers)) return undefined;
  const index = containers.findIndex((container) => fieldOf(container, 'name') === 'runner');
  const image = fieldOf(containers[index], 'image');
  if (typeof image !== 'string' || image === '') return undefined;
  return { image, path: ['podTemplate', 'spec', 'containers', index, 'image'] };
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, field)?.value;
}
