/** What is valid and probably not meant. Pure, but for the code that reads podTemplates, which is loaded when a group has one. */
import { askedWithoutPolicy } from '../../policy/pod-template.ts';
import { type OtherDocument, PASS_WORKLOADS, refusedDocuments } from '../../policy/workloads.ts';
import { parseLabel } from '../../runnergroup/label.ts';
import type { LateProblem } from '../../runnergroup/placed.ts';
import type { Problem, WarningCode } from '../../runnergroup/problems.ts';
import type { RunnerGroup } from '../../runnergroup/runner-group.ts';
import { type Overlap, overlappingGroup } from './overlaps.ts';

/** @param hasPolicy then the policy says what podTemplates may ask for. */
export async function warningsOf(groups: readonly RunnerGroup[], hasPolicy: boolean): Promise<readonly LateProblem[]> {
  const overlaps = overlappingGroup(groups);
  const found = groups.flatMap((group) => [...aboutGroup(group), ...aboutOverlap(group, overlaps.get(group))]);
  if (hasPolicy) return found;
  const asked = await askedWithoutPolicy(groups);
  const message = 'only a policy can allow this: without one generate refuses the group with exit 3';
  return [...found, ...asked.map(({ group, path }) => ({ group, path, message, code: 'GR-WARN-06' as const }))];
}

/** Documents beside the groups that stop all of them at generation time. */
export function warningsAbout(others: readonly OtherDocument[]): readonly Problem[] {
  return refusedDocuments(others).map(({ place, workload }) => {
    const is =
      workload === undefined ? 'YAML readers disagree about a line break or "---" in this' : `${workload} starts pods`;
    return {
      place,
      path: 'kind',
      message: `${is}, so generate refuses all files with exit 3: let an Application without this plugin deploy it, or set ${PASS_WORKLOADS}=true for gitea-runners`,
      code: 'GR-WARN-07',
    };
  });
}

function aboutGroup(group: RunnerGroup): readonly LateProblem[] {
  const warn = (code: WarningCode, path: readonly string[], message: string): LateProblem => ({
    group,
    path: ['spec', ...path],
    message,
    code,
  });
  const { authToken, giteaUrl, image, labels, maxActiveRunners, registrationToken, resources, suspend } = group;
  const others = labels.filter(({ name }) => /^(?:windows|macos)\b/i.test(name)).map(({ name }) => name);
  const isOneKey = authToken.name === registrationToken.name && authToken.key === registrationToken.key;
  return [
    ...(maxActiveRunners === 0 && !suspend
      ? [
          warn(
            'GR-WARN-01',
            ['maxActiveRunners'],
            'the cap is 0, so the group starts no runners: raise it, or set suspend: true',
          ),
        ]
      : []),
    ...movingImages(group).map(({ path, image }) =>
      warn(
        'GR-WARN-02',
        path,
        `the image ${image} has no fixed version, so runners may differ: give it a tag other than latest, or a digest`,
      ),
    ),
    ...(isPlainHttp(giteaUrl)
      ? [
          warn(
            'GR-WARN-03',
            [urlField(group)],
            'plain http: tokens travel unencrypted. Use https, or keep this to a network that you trust',
          ),
        ]
      : []),
    ...(Object.keys({ ...resources.requests, ...resources.limits }).length === 0 && group.podTemplate === undefined
      ? [
          warn(
            'GR-WARN-08',
            ['resources'],
            'is missing, so runner pods ask for nothing: a node takes too many of them, and ends them first when memory is short. Write e.g. "resources: {requests: {cpu: 500m, memory: 1Gi}}"',
          ),
        ]
      : []),
    ...(others.length > 0
      ? [
          warn(
            'GR-WARN-09',
            ['labels'],
            `runners are Linux pods, and jobs with runs-on ${others.join(', ')} would run there: remove the label`,
          ),
        ]
      : []),
    ...(/forgejo/i.test(image)
      ? [
          warn(
            'GR-WARN-09',
            ['image'],
            `${image} looks like Forgejo's runner, which does not register at Gitea: use gitea/runner`,
          ),
        ]
      : []),
    ...(isOneKey
      ? [
          warn(
            'GR-WARN-04',
            ['registrationToken'],
            'is the same key of the same Secret as authToken: an API token registers no runner. Name the key with the registration token',
          ),
        ]
      : []),
  ];
}

/** What stays on this machine is not seen by others. */
function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(?:localhost|127\..*|\[::1\])$/.test(hostname);
}

function urlField({ manifest }: RunnerGroup): 'gitea' | 'giteaURL' {
  const spec = manifest['spec'];
  return typeof spec === 'object' && spec !== null && 'giteaURL' in spec ? 'giteaURL' : 'gitea';
}

interface MovingImage {
  readonly path: readonly string[];
  readonly image: string;
}

/** Images without a tag and digest, or with the tag `latest`. */
function movingImages({ image, labels }: RunnerGroup): readonly MovingImage[] {
  const named = [{ path: ['image'], image }, ...labels.map(({ text }) => ({ path: ['labels'], image: imageOf(text) }))];
  return named.flatMap((each) =>
    each.image !== undefined && isMoving(each.image) ? [{ ...each, image: each.image }] : [],
  );
}

function imageOf(label: string): string | undefined {
  const parsed = parseLabel(label);
  if ('wrong' in parsed || parsed.schema !== 'docker') return undefined;
  return label.slice(`${parsed.name}:docker:`.length).replace(/^\/\//, '');
}

function isMoving(image: string): boolean {
  if (image.includes('@')) return false;
  const tag = /:([^/:]+)$/.exec(image)?.[1];
  return tag === undefined || tag === 'latest';
}

function aboutOverlap(group: RunnerGroup, overlap: Overlap | undefined): readonly LateProblem[] {
  if (!overlap) return [];
  const { other, labels } = overlap;
  const { file, line } = other.place;
  const message =
    `jobs with runs-on ${labels.slice(0, 3).join(', ')} may go to this group or to ${other.namespace}/${other.name} (${file}:${line}): ` +
    'the narrower scope comes first, then fewer labels, then the name';
  return [{ group, path: ['spec', 'labels'], message, code: 'GR-WARN-05' }];
}
