/** What cannot be meant in a group apart from its pods: addresses, names, times, marks, and entries that never count. Pure. */
import { valueAt } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { LOOK_NOW, QUEUE, SKIP_RECONCILE, SUSPENDED } from '../../shared/marks.ts';
import { childrenAt, elementsAt, type Odd, oddIf, type Part, partAt, podsOf, specOf } from './odd.ts';

export function aboutNamespace({ namespace, manifest }: RunnerGroup): readonly Odd[] {
  const path = ['metadata', ...(valueAt(manifest, ['metadata', 'namespace']) === undefined ? [] : ['namespace'])];
  const message = `is ${namespace}: CI jobs would run beside what rules the cluster. Give runners a namespace of their own, e.g. "namespace: runners"`;
  return oddIf([/^argocd$|^kube-/.test(namespace), path, message]);
}

const OTHER_FORGES = /^(?:[\w-]+\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)$/;

/** First steps below Gitea of its pages (Gitea, `models/user/user.go`, reserved names). */
const PAGES: ReadonlySet<string> = new Set(
  '- admin api explore issues login milestones notifications org pulls repo user'.split(' '),
);

/** Folders in which people serve a Gitea: an owner of that name proves no page. */
const FOLDER = /^(?:gitea|git|forge|code|scm|vcs)$/i;

/** What a server speaks at a port. */
const SPEAKS: Readonly<Record<string, string>> = { 80: 'http', 443: 'https', 22: 'ssh', 2222: 'ssh' };

/** Warns of another forge, and of the address of a page in a browser. */
export function aboutGitea({ giteaUrl, manifest, scope }: RunnerGroup): readonly Odd[] {
  const { hostname, origin, pathname, port, protocol } = new URL(giteaUrl);
  const path = valueAt(manifest, ['spec', 'giteaURL']) === undefined ? ['spec', 'gitea', 'url'] : ['spec', 'giteaURL'];
  const right = SPEAKS[port];
  const wrong = protocol.slice(0, -1);
  const withoutPort = giteaUrl.replace(`:${port}`, '');
  const name = ownerNameIn(scope).toLowerCase();
  const steps = pathname.split('/').slice(1);
  const isOwner = (step: string) => step.toLowerCase() === name && !FOLDER.test(step);
  const first = steps.findIndex((step) => step !== '' && (PAGES.has(step) || isOwner(step)));
  const [page, base] = [steps.slice(first).join('/'), [origin, ...steps.slice(0, first)].join('/')];
  const forge = `is ${hostname}, which is no Gitea: write the address of yours, e.g. https://gitea.example.com`;
  const crossed = `is ${wrong} at port ${port}, which speaks ${right}: write ${withoutPort}, or the right port`;
  return oddIf(
    [OTHER_FORGES.test(hostname), path, forge],
    [right !== undefined && right !== wrong, path, crossed],
    [first >= 0, path, `is the address of a page, ${page}: write the address of Gitea, ${base}`],
  ).slice(0, 1);
}

/** The organization, the user, or the owner of the repository. Empty: the scope is global. */
function ownerNameIn(scope: RunnerGroup['scope']): string {
  const { org, user, owner } = { org: '', user: '', owner: '', ...scope };
  return org || user || owner;
}

/** Fields with the seconds from which on they may be meant. */
const SHORT = [
  ['activeDeadlineSeconds', 900, "all of a runner's life: write e.g. 21600, if these are minutes"],
  ['gracefulStopSeconds', 10, 'a CI job to finish after a stop: write e.g. 10800, or 0 if it need not'],
  ['keepFailedSeconds', 60, 'people to come and enter the pod: write e.g. 3600, or 0 if nobody does'],
] as const;

export function aboutTime({ manifest }: RunnerGroup): readonly Odd[] {
  return SHORT.flatMap(([field, least, what]) => {
    const seconds = Number(valueAt(manifest, ['spec', field]));
    return oddIf([seconds > 0 && seconds < least, ['spec', field], `is ${seconds} s for ${what}`]);
  });
}

const LOOKS_ONCE =
  'asks for one look only, because each sync writes the same value: remove the line, and use the action "Look now" in Argo CD';
const OF_APPLICATIONS =
  'has no effect here, because Argo CD reads it at Applications only: remove the line. "suspend: true" stops new runners';

/** Annotations of ours, of Argo CD and of autoscalers. */
const NOTES =
  /^(?:argocd\.argoproj\.io\/(?!instance$)|gitea\.bpg\.pw\/(?:suspended|look-now|profile-reason)|karpenter\.sh\/do-not-disrupt|cluster-autoscaler\.kubernetes\.io\/safe-to-evict)/;

/** Warns of annotations and labels that do something else than their lines seem to say, or nothing there. */
export function aboutMarks(group: RunnerGroup): readonly Odd[] {
  const root: Part = { path: [], value: group.manifest };
  const owners = [root, ...podsOf(group).map(({ owner }) => partAt(owner, 'podTemplate'))];
  const marks = owners.flatMap((owner) =>
    ['annotations', 'labels'].flatMap((field) => childrenAt(owner, 'metadata', field)),
  );
  return marks.flatMap(({ path, value }) => {
    const key = String(path.at(-1));
    const isLabel = path.at(-2) === 'labels';
    const isNegative = !isLabel && /^(?:|false|no|off|0|none|null)$/i.test(String(value));
    const suspends = `is ${JSON.stringify(value)}, and suspends the group, as any value does: remove the line`;
    const instead = key === SUSPENDED ? 'write "suspend: true" below spec' : 'move it to annotations';
    return oddIf(
      [key === SUSPENDED && isNegative, path, suspends],
      [key === LOOK_NOW && !isLabel, path, LOOKS_ONCE],
      [key === SKIP_RECONCILE && !isLabel, path, OF_APPLICATIONS],
      [isLabel && NOTES.test(key), path, `is an annotation, and does nothing as a label: ${instead}`],
      [key === QUEUE, path, `belongs to Jobs, which have it from spec: write "queue: ${value}" there`],
    );
  });
}

/** Warns of entries that a wider entry covers: repositories, and hours of a pool. */
export function aboutSwallowed(group: RunnerGroup): readonly Odd[] {
  const spec = specOf(group);
  const ofPatterns = ['repositories', 'order'].flatMap((field) => {
    const entries = elementsAt(spec, field);
    const wide = entries.findIndex(({ value }) => value === '*');
    const covered = entries.filter((_, at) => wide >= 0 && (field === 'order' ? at > wide : at !== wide));
    return covered.map(({ path }): Odd => [path, 'never counts beside "*", which fits all: remove one of them']);
  });
  type Hours = Readonly<Record<'days' | 'timeZone' | 'from' | 'to', string> & { runners: number }>;
  const hours = elementsAt(spec, 'idleSchedule').map(({ value }) => value as Hours);
  const ofHours = hours.flatMap(({ days, timeZone, from, to, runners }, at): readonly Odd[] => {
    const wide = hours.findIndex((other, index) => {
      const isSame = `${other.days} ${other.timeZone}` === `${days} ${timeZone}`;
      const isAround = from < to && other.from <= from && to <= other.to;
      return isSame && isAround && (other.runners > runners || (other.runners === runners && index < at));
    });
    const message = `never counts: idleSchedule[${wide}] has as many runners at these hours. Raise runners, or remove it`;
    return oddIf([wide >= 0, ['spec', 'idleSchedule', at], message]);
  });
  return [...ofPatterns, ...ofHours];
}

/** Warns of names that are no repository, or are repositories of others. */
export function aboutRepositories(group: RunnerGroup): readonly Odd[] {
  const [spec, ownOwner] = [specOf(group), ownerNameIn(group.scope)];
  const ofOthers = ['repositories', 'order'].flatMap((field) =>
    elementsAt(spec, field).flatMap(({ path, value }) => {
      const [owner = '', name] = String(value).split('/');
      const isForeign = !owner.includes('*') && owner.toLowerCase() !== ownOwner.toLowerCase();
      const message = `is of ${owner}, and the group has jobs of ${ownOwner} only: write "${name}"`;
      return oddIf([name !== undefined && ownOwner !== '' && isForeign, path, message]);
    }),
  );
  const { path, value } = partAt(spec, 'repo');
  const [, base] = /^(.+)\.git$/i.exec(String(value ?? '')) ?? [];
  return [
    ...oddIf([base !== undefined, path, `ends with .git, as no repository does: write "repo: ${base}"`]),
    ...ofOthers,
  ];
}

export function aboutLimits({ manifest, limits = [], maxActiveRunners }: RunnerGroup): readonly Odd[] {
  return limits.flatMap(({ max, name }, index) => {
    const path = ['spec', 'limits', index, 'max'];
    const message = `is ${max}, more than the cap, which is ${maxActiveRunners}, so it limits nothing: write less, or remove it`;
    // A name may be shared with other groups.
    const isOwn = name === undefined && valueAt(manifest, path) !== undefined;
    return oddIf([isOwn && max > maxActiveRunners, path, message]);
  });
}
