/**
 * Rules that several fields follow together, and the normal form that results. Each rule works on the fields that passed the schema.
 * A field with a problem of its own is `unclear`: the rules report nothing about it, so that one cause gives one problem.
 */
import { normalBase } from '../../shared/base-url.ts';
import { ruleCap, rulePendingDeadline } from './cap-rules.ts';
import { DEFAULT_IMAGES, DEFAULT_LABELS, GRACEFUL_STOP_SECONDS, RUNNER_RELEASE } from './defaults.ts';
import type { FieldProblem } from './field-problem.ts';
import { type ParsedLabel, parseLabel, type RunnerLabel } from './label.ts';
import { nearestName } from './nearest.ts';
import { quoted } from './problems.ts';
import { normalProxy } from './proxy-rule.ts';
import { quantityValue } from './quantity.ts';
import { type Draft, ok, problemAt, type Ruled, UNCLEAR, wrong } from './rule.ts';
import { hasOwnImage, ruleRunnerConfig } from './runner-config-rule.ts';
import type { ContainerMode, NormalFields, PodProxy, Scope, SecretKey } from './runner-group.ts';
import { imageInTemplate } from './template-image.ts';
import { isQualifiedName } from './words.ts';

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

/** Which of org, user and repo a scope needs and refuses. */
function ruleScope({ spec, unclear }: Draft): Ruled<Scope> {
  const { scope, org, user, repo } = spec;
  if (scope === undefined) return UNCLEAR;
  const problems: FieldProblem[] = [];
  const needs = (field: 'org' | 'user' | 'repo', value: string | undefined) => {
    if (value === undefined && !unclear(field))
      problems.push(problemAt([], `scope ${scope} needs ${field}: add "${field}: …"`));
  };
  const forbids = (field: 'org' | 'user' | 'repo') => {
    if (spec[field] === undefined) return;
    problems.push(problemAt([field], `does not go with scope ${scope}: remove it, or set "scope: ${field}"`));
  };
  switch (scope) {
    case 'global':
      for (const field of ['org', 'user', 'repo'] as const) forbids(field);
      return problems.length > 0 ? { problems } : ok({ kind: 'global' });
    case 'org':
      needs('org', org);
      for (const field of ['user', 'repo'] as const) forbids(field);
      return org === undefined || problems.length > 0 ? { problems } : ok({ kind: 'org', org });
    case 'user':
      needs('user', user);
      for (const field of ['org', 'repo'] as const) forbids(field);
      return user === undefined || problems.length > 0 ? { problems } : ok({ kind: 'user', user });
    case 'repo':
      needs('repo', repo);
      return repo === undefined ? { problems } : ruleRepository(repo, { spec, unclear });
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

/** The proxy of runner pods. */
function ruleProxy({ spec, unclear }: Draft): Ruled<PodProxy | undefined> {
  if (unclear('proxy')) return UNCLEAR;
  const read = spec.proxy && normalProxy(spec.proxy, spec);
  return read !== undefined && 'message' in read ? wrong(['proxy', ...read.path], read.message) : ok(read);
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
