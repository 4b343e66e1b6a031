/** Tests the whole text of each denial: a worse message is a red test. */
import { expect, it } from 'vitest';
import { type Asker, type Denial, denialLine, refusalsBy } from '../../../src/config/policy/denial.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { type AnyGroup, BY_HAND, denialsBy, policyOf } from './support.ts';

/** Returns the messages without place, name and rule. */
function messagesOf(spec: unknown, group: AnyGroup = {}, asker: Asker = BY_HAND): readonly string[] {
  const denials = denialsBy(policyOf(spec), [{ ...runnerGroup(), ...group } as RunnerGroup], asker);
  return denials.map((denial: Denial) => denialLine(denial).replace(/^ci\.yaml:1: \S+: | \[\S+\]$/g, ''));
}

const ARGO = { isArgoCd: true } as const;
const DIGEST = `sha256:${'a'.repeat(64)}`;
const REASON = { metadata: { annotations: { 'gitea.bpg.pw/profile-reason': 'builds images' } } };
const AT_MOST = { restricted: { highest: 'restricted' }, baseline: { highest: 'baseline' } } as const;
const LIFTED = { highest: 'restricted', withReason: 'baseline' } as const;
const SAY_WHY = ', or say in the annotation gitea.bpg.pw/profile-reason why this group needs it';

it.each<[string, unknown, AnyGroup, Asker, string]>([
  [
    'another destination',
    {},
    {},
    { ...ARGO, destination: 'other' },
    'metadata.namespace: is runners, but the destination namespace of the Application is other. Make an Application for that namespace, or ask for this destination to be allowed there',
  ],
  [
    'no destination',
    { namespaces: [{ name: 'runners' }] },
    {},
    ARGO,
    'metadata.namespace: is runners, but the Application has no destination namespace. Make an Application for that namespace, or ask for this destination to be allowed there',
  ],
  [
    'another namespace',
    { namespaces: [{ name: 'team-*' }, { name: 'ops' }] },
    {},
    BY_HAND,
    'metadata.namespace: is runners; the policy allows team-*, ops. Use one of them',
  ],
  [
    'more names than are told',
    { namespaces: ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name })) },
    {},
    BY_HAND,
    'metadata.namespace: is runners; the policy allows a, b, c, d, e and 2 more. Use one of them',
  ],
  [
    'the Application as a whole',
    { projects: ['ci'] },
    {},
    { ...ARGO, destination: 'runners', project: 'other' },
    'the Argo CD project is "other"; the policy allows ci. Move the Application, or ask for its project to be allowed',
  ],
  [
    'a scope that has other words, too',
    { namespaces: [{ name: '*', scopes: ['global'] }] },
    { scope: { kind: 'repo', owner: 'acme', repo: 'web' } },
    BY_HAND,
    'spec.scope: is repo:acme/web; the policy allows global in namespace runners. Use one of these scopes',
  ],
  [
    'another Gitea',
    { giteas: ['https://other.example.com'] },
    {},
    BY_HAND,
    'spec.gitea.url: is https://gitea.example.com; the policy allows https://other.example.com. Use one of them',
  ],
  [
    'an image by tag',
    { images: ['docker.io/x'] },
    { image: 'gitea/runner:1' },
    BY_HAND,
    'spec.image: is "gitea/runner:1"; the policy allows docker.io/x. Use one of them',
  ],
  [
    'an image by digest',
    { images: ['docker.io/gitea/runner:1'] },
    { image: `gitea/runner@${DIGEST}` },
    BY_HAND,
    `spec.image: is "gitea/runner@${DIGEST.slice(0, 47)}…"; the policy allows docker.io/gitea/runner:1 (a pattern with a tag covers no image by digest). Use one of them`,
  ],
  [
    'no image',
    { images: [] },
    { image: 'a b' },
    BY_HAND,
    'spec.image: is "a b", which is no image that can be judged; the policy allows none. Use one of them',
  ],
  [
    'another registry',
    { registries: ['ghcr.io'] },
    {},
    BY_HAND,
    'spec.image: comes from docker.io; the policy allows ghcr.io. Use an image from there',
  ],
  [
    'no image, and so no registry',
    { registries: ['ghcr.io'] },
    { image: 'a b' },
    BY_HAND,
    'spec.image: is "a b", which is no image that can be judged; the policy allows ghcr.io. Use an image from there',
  ],
  [
    'a profile by its containerMode',
    { securityProfile: AT_MOST.restricted },
    { containerMode: 'dind' },
    BY_HAND,
    'spec.securityProfile: is not set, which means privileged with containerMode dind; the policy allows restricted at most. Set it to restricted, with containerMode: host',
  ],
  [
    'a profile with host',
    { securityProfile: AT_MOST.restricted },
    { securityProfile: 'baseline' },
    BY_HAND,
    'spec.securityProfile: is baseline; the policy allows restricted at most. Set it to restricted',
  ],
  [
    'a profile with BuildKit, which meets baseline',
    { securityProfile: AT_MOST.baseline },
    { containerMode: 'buildkit', securityProfile: 'privileged' },
    BY_HAND,
    'spec.securityProfile: is privileged; the policy allows baseline at most. Set it to baseline',
  ],
  [
    'a profile with BuildKit, which does not meet restricted',
    { securityProfile: AT_MOST.restricted },
    { containerMode: 'buildkit', securityProfile: 'baseline' },
    BY_HAND,
    'spec.securityProfile: is baseline; the policy allows restricted at most. Set it to restricted, with containerMode: host',
  ],
  [
    'a profile that a reason would allow',
    { securityProfile: LIFTED },
    { securityProfile: 'baseline' },
    BY_HAND,
    `spec.securityProfile: is baseline; the policy allows restricted at most. Set it to restricted${SAY_WHY}`,
  ],
  [
    'a profile that no reason would allow',
    { securityProfile: LIFTED },
    { securityProfile: 'privileged' },
    BY_HAND,
    'spec.securityProfile: is privileged; the policy allows restricted at most. Set it to restricted',
  ],
  [
    'a profile beyond what the reason allows',
    { securityProfile: LIFTED },
    { securityProfile: 'privileged', manifest: REASON },
    BY_HAND,
    'spec.securityProfile: is privileged; the policy allows baseline at most. Set it to baseline',
  ],
  [
    'a field with a long name',
    {},
    { podTemplate: { ['x'.repeat(200)]: 1 } },
    BY_HAND,
    `spec.podTemplate.${'x'.repeat(80)}: cannot be judged: unknown field; known here: metadata, spec`,
  ],
])('%s', (_, spec, group, asker, message) => {
  expect(messagesOf(spec, group, asker)).toEqual([message]);
});

it('each group that is denied is refused with its own denials, and those of all', () => {
  const [a, b, good] = ['a', 'b', 'good'].map((name) => runnerGroup({ name, image: `x.example.com/${name}` }));
  const groups = [a, b, good] as readonly RunnerGroup[];
  const policy = policyOf({ images: ['x.example.com/good'], projects: ['ci'] });
  const own = denialsBy(policy, groups, BY_HAND);
  const namesOf = (denials: readonly Denial[]) =>
    [...refusalsBy('p', groups, denials).byGroup].map(([{ name }, { message }]) => [
      name,
      message.split('\n').length - 1,
    ]);

  expect(namesOf(own)).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
  expect(refusalsBy('p', groups, own).whole?.message).toMatch(/^serve RunnerGroups: 2 denials by the policy p\.\n/);
  expect(namesOf(denialsBy(policy, groups, { ...ARGO, destination: 'runners', project: 'x' }))).toEqual([
    ['a', 2],
    ['b', 2],
    ['good', 1],
  ]);
  expect(refusalsBy('p', groups, own.slice(0, 1)).whole?.message).toMatch(/: 1 denial by the policy p\.\n/);
  expect(refusalsBy('p', groups, [])).toEqual({ byGroup: new Map(), whole: undefined });
});
