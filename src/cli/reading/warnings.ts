/** Warns of values that are valid and probably not intended. Pure, but it may load the code that reads podTemplates. */
import { machineOf } from '../../answers/uncovered-labels.ts';
import { askedWithoutPolicy, PASS_WORKLOADS, refusedDocuments } from '../../config/policy/without-policy.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import type { LateProblem } from '../../config/runnergroup/placed.ts';
import type { Problem, WarningCode } from '../../config/runnergroup/problems.ts';
import type { PassThrough } from '../../config/runnergroup/read.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { parseLabel } from '../../config/runnergroup/words.ts';
import { memo } from '../../planner/collections.ts';
import { dependsOnJob } from '../../planner/limits.ts';
import { ownerOf } from '../../planner/repositories.ts';
import { isSame, keyText } from '../../shared/keys.ts';
import { coverOf, hasJobsOf } from '../../shared/scope.ts';
import { listAt, type Odd } from './odd.ts';
import { oddContainers } from './odd-commands.ts';
import { oddSecrets } from './odd-secrets.ts';
import { oddValues } from './odd-values.ts';
import { oddVolumes } from './odd-volumes.ts';

/** @param hasPolicy then the policy says what podTemplates may ask for. */
export async function warningsOf(groups: readonly RunnerGroup[], hasPolicy: boolean): Promise<readonly LateProblem[]> {
  const overlaps = overlappingGroup(groups);
  const heaviest = aboutSharedLimits(groups);
  const problems = groups.flatMap((group): readonly LateProblem[] => {
    const warnings = [...warningsIn(group), ...aboutOverlap(overlaps.get(group))];
    const ofFields = warnings.map(([field, code, message]) => ({ group, path: ['spec', field], message, code }));
    const odd = [...oddValues(group), ...oddSecrets(group), ...oddVolumes(group)];
    const ofOdd = (code: WarningCode, all: readonly Odd[]) =>
      all.map(([path, message]) => ({ group, path, message, code }));
    const ofPods = [...ofOdd('GR-WARN-14', odd), ...ofOdd('GR-WARN-11', oddContainers(group))];
    return [...ofFields, ...heaviest(group), ...ofPods];
  });
  if (hasPolicy) return problems;
  const unpermitted = await askedWithoutPolicy(groups);
  const message = 'only a policy can allow this: without one generate starts no runners for the group';
  return [...problems, ...unpermitted.map((place): LateProblem => ({ ...place, message, code: 'GR-WARN-06' }))];
}

/** Warns of documents beside the groups: those that `generate` does not pass on, and plain Secrets. */
export function warningsAbout(documents: readonly PassThrough[]): readonly Problem[] {
  // Not a Secret that SOPS has encrypted: it holds `ENC[` and a key `sops`.
  const secrets = documents.filter(
    ({ objects, text }) =>
      objects.some(({ kind }) => kind === 'Secret') && !/^sops:\s[\s\S]*ENC\[|ENC\[[\s\S]*^sops:\s/m.test(text),
  );
  const secretProblems = secrets.map(({ place }): Problem => {
    const message =
      'a Secret in Git is readable to all who read the repository: make it in the cluster, or commit a SealedSecret or an ExternalSecret. If this one is real, revoke it';
    return { place, path: 'kind', message, code: 'GR-WARN-14' };
  });
  const refused = refusedDocuments(documents).map(({ place, workload }): Problem => {
    const cause =
      workload === undefined ? 'YAML readers disagree about a line break or "---" in this' : `${workload} starts pods`;
    const effect = workload === undefined ? 'refuses all files with exit 3' : 'leaves it as it is in the cluster';
    const remedy = `let an Application without this plugin deploy it, or set ${PASS_WORKLOADS}=true for gitea-runners`;
    return { place, path: 'kind', message: `${cause}, so generate ${effect}: ${remedy}`, code: 'GR-WARN-07' };
  });
  return [...refused, ...secretProblems];
}

type Warning = readonly [field: string, code: WarningCode, message: string];

const NO_RUNNERS = 'the cap is 0, so the group starts no runners: raise it, or set suspend: true';
const PLAIN_HTTP = 'plain http: tokens travel unencrypted. Use https, or keep this to a network that you trust';
const NO_REQUESTS =
  'is missing, so runner pods ask for nothing: a node takes too many of them, and ends them first when memory is short. Write e.g. "resources: {requests: {cpu: 500m, memory: 1Gi}}"';
const NOT_BOUND =
  'needs bound runners from the release after 0.2 on: without them Gitea gives a runner any job of the scope. Write "registration: {by: serve, for: repository}"';
const UNUSED = 'is not used, because serve registers: remove it, and its Secret when no other group names it';

function warningsIn(group: RunnerGroup): readonly Warning[] {
  const { fairness, giteaUrl, image, labels, limits, proxy, registration } = group;
  const isForeign = ({ name, text }: (typeof labels)[number]) => /Windows|macOS/.test(machineOf(name, text) ?? '');
  const foreignLabels = labels.filter(isForeign).map(({ name }) => name);
  const foreign = `runners are Linux pods, and jobs with runs-on ${foreignLabels.join(', ')} would run there: remove the label`;
  const forgejo = `${image} looks like Forgejo's runner, which does not register at Gitea: use gitea/runner`;
  const isPerJob = limits.some(dependsOnJob);
  const needsBound = registration.for === 'scope' && (isPerJob || fairness === 'per-repository');
  const { protocol, hostname } = new URL(giteaUrl);
  const isDirect = proxy?.direct.some((host) => `.${hostname}`.endsWith(host)) === true;
  const isPast = proxy?.http !== undefined && proxy.https === undefined && protocol === 'https:' && !isDirect;
  const past = `has no https, so the way to Gitea goes past it: write "https: ${proxy?.http}", too`;
  // Traffic on one machine, or within the cluster, is not visible to others.
  const isHere = /^(?:localhost|127\..*|\[::1\]|.*\.svc(?:\..*)?)$/.test(hostname);
  const isInSpec = (field: string): boolean => valueAt(group.manifest, ['spec', field]) !== undefined;
  const isTokenUnused = registration.by === 'serve' && isInSpec('registrationToken');
  const warnIf = (condition: boolean, ...warning: Warning): readonly Warning[] => (condition ? [warning] : []);
  return [
    ...warnIf(group.maxActiveRunners === 0 && !group.suspend, 'maxActiveRunners', 'GR-WARN-01', NO_RUNNERS),
    ...movingImages(group),
    ...warnIf(protocol === 'http:' && !isHere, isInSpec('giteaURL') ? 'giteaURL' : 'gitea', 'GR-WARN-03', PLAIN_HTTP),
    ...warnIf(asksNothing(group), 'resources', 'GR-WARN-08', NO_REQUESTS),
    ...warnIf(foreignLabels.length > 0, 'labels', 'GR-WARN-09', foreign),
    ...warnIf(/forgejo/i.test(image), 'image', 'GR-WARN-09', forgejo),
    ...warnIf(isPast, 'proxy', 'GR-WARN-14', past),
    ...warnIf(needsBound, isPerJob ? 'limits' : 'fairness', 'GR-WARN-12', NOT_BOUND),
    ...warnIf(isTokenUnused, 'registrationToken', 'GR-WARN-13', UNUSED),
  ];
}

function asksNothing({ podTemplate, resources }: RunnerGroup): boolean {
  const specs = [valueAt(podTemplate, ['spec']), ...listAt(podTemplate, ['spec', 'containers'])];
  const isEmpty = Object.keys({ ...resources.requests, ...resources.limits }).length === 0;
  return isEmpty && specs.every((spec) => valueAt(spec, ['resources']) === undefined);
}

function movingImages({ image, labels }: RunnerGroup): readonly Warning[] {
  const imagesWithPlaces = [['image', image] as const, ...labels.map(({ text }) => ['labels', imageOf(text)] as const)];
  return imagesWithPlaces.flatMap(([field, each]): readonly Warning[] => {
    if (each === undefined || each.includes('@') || /(?::(?!latest$)[^:/]+|\/v?\d+\.\d[\w.-]*)$/.test(each)) return [];
    const message = `the image ${each} has no fixed version, so runners may differ: give it a tag other than latest, or a digest`;
    return [[field, 'GR-WARN-02', message]];
  });
}

function imageOf(label: string): string | undefined {
  const parsed = parseLabel(label);
  if ('wrong' in parsed || parsed.schema !== 'docker') return undefined;
  return label.slice(`${parsed.name}:docker:`.length).replace(/^\/\//, '');
}

function aboutOverlap(overlap: Overlap | undefined): readonly Warning[] {
  if (!overlap) return [];
  const { labels, other } = overlap;
  const places = `this group or to ${keyText(other)} (${other.place.file}:${other.place.line})`;
  const order = 'the narrower scope comes first, then fewer labels, then the name';
  const message = `jobs with runs-on ${labels.slice(0, 3).join(', ')} may go to ${places}: ${order}`;
  return [['labels', 'GR-WARN-05', message]];
}

/** Warns of sizes that weigh more than a shared limit has slots. If groups set different numbers, the lowest counts. */
function aboutSharedLimits(groups: readonly RunnerGroup[]): (group: RunnerGroup) => readonly LateProblem[] {
  const lowest = new Map<string, { readonly max: number; readonly owner: RunnerGroup }>();
  for (const owner of groups)
    for (const { name = '', max } of owner.limits)
      if (max < (lowest.get(name)?.max ?? Number.POSITIVE_INFINITY)) lowest.set(name, { max, owner });
  return (group) =>
    group.sizes.flatMap(({ weight }, index) =>
      group.limits.flatMap(({ name }): readonly LateProblem[] => {
        const least = name === undefined ? undefined : lowest.get(name);
        if (!least || weight <= least.max) return [];
        const { max, owner } = least;
        const place = `${keyText(owner)} (${owner.place.file}:${owner.place.line})`;
        const message = `is ${weight}, more than the limit ${name}, which is ${max} in ${place}: such a job would wait for ever if one Application has both. Write weight ${max} at most, or raise that max`;
        return [{ group, path: ['spec', 'sizes', index, 'weight'], message, code: 'GR-WARN-10' }];
      }),
    );
}

type Overlap = Readonly<{ other: RunnerGroup; labels: readonly string[] }>;

/** Finds for each active group the first one before it with the same Gitea, a common scope and a common label. */
function overlappingGroup(groups: readonly RunnerGroup[]): ReadonlyMap<RunnerGroup, Overlap> {
  const overlaps = new Map<RunnerGroup, Overlap>();
  /** The groups so far, by Gitea, and by Gitea and owner. */
  const earlierOf = memo((_: string): RunnerGroup[] => []);
  for (const group of groups.filter(({ suspend }) => !suspend)) {
    const { giteaUrl } = group;
    // The owner is in lower case, as Gitea compares names. `*`: all owners.
    const owner = ownerOf(coverOf(group.scope) ?? '*');
    const all = earlierOf(giteaUrl);
    const ofOwner = earlierOf(`${giteaUrl} ${owner}`);
    const overlap = firstOverlap(group, owner === '*' ? all : [...ofOwner, ...earlierOf(`${giteaUrl} *`)]);
    if (overlap) overlaps.set(group, overlap);
    all.push(group);
    ofOwner.push(group);
  }
  return overlaps;
}

function firstOverlap(group: RunnerGroup, candidates: readonly RunnerGroup[]): Overlap | undefined {
  const { scope } = group;
  for (const other of candidates) {
    // All candidates have the same owner, or a global scope. Two groups of one name are an error already.
    const areRepos = scope.kind === 'repo' && other.scope.kind === 'repo';
    const areOtherRepos = areRepos && !hasJobsOf(other.scope, `${scope.owner}/${scope.repo}`);
    if (isSame(other, group) || areOtherRepos) continue;
    const names = new Set(other.labels.map(({ name }) => name));
    const labels = group.labels.flatMap(({ name }) => (names.has(name) ? [name] : []));
    if (labels.length > 0) return { other, labels };
  }
  return undefined;
}
