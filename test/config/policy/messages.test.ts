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

it.each<[message: string, policy: unknown, group?: AnyGroup, asker?: Asker]>([
  [
    'metadata.namespace: is runners, but the destination namespace of the Application is other. Make an Application for that namespace, or ask for this destination to be allowed there',
    {},
    {},
    { ...ARGO, destination: 'other' },
  ],
  [
    'metadata.namespace: is runners, but the Application has no destination namespace. Make an Application for that namespace, or ask for this destination to be allowed there',
    { namespaces: [{ name: 'runners' }] },
    {},
    ARGO,
  ],
  [
    'metadata.namespace: is runners; the policy allows team-*, ops. Use one of them',
    { namespaces: [{ name: 'team-*' }, { name: 'ops' }] },
  ],
  [
    'metadata.namespace: is runners; the policy allows a, b, c, d, e and 2 more. Use one of them',
    { namespaces: ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name })) },
  ],
  [
    'the Argo CD project is "other"; the policy allows ci. Move the Application, or ask for its project to be allowed',
    { projects: ['ci'] },
    {},
    { ...ARGO, destination: 'runners', project: 'other' },
  ],
  [
    'spec.scope: is repo:acme/web; the policy allows global in namespace runners. Use one of these scopes',
    { namespaces: [{ name: '*', scopes: ['global'] }] },
    { scope: { kind: 'repo', owner: 'acme', repo: 'web' } },
  ],
  [
    'spec.gitea.url: is https://gitea.example.com; the policy allows https://other.example.com. Use one of them',
    { giteas: ['https://other.example.com'] },
  ],
  [
    'spec.image: is "gitea/runner:1"; the policy allows docker.io/x. Use one of them',
    { images: ['docker.io/x'] },
    { image: 'gitea/runner:1' },
  ],
  [
    `spec.image: is "gitea/runner@${DIGEST.slice(0, 47)}…"; the policy allows docker.io/gitea/runner:1 (a pattern with a tag covers no image by digest). Use one of them`,
    { images: ['docker.io/gitea/runner:1'] },
    { image: `gitea/runner@${DIGEST}` },
  ],
  [
    'spec.image: is "a b", which is no image that can be judged; the policy allows none. Use one of them',
    { images: [] },
    { image: 'a b' },
  ],
  ['spec.image: comes from docker.io; the policy allows ghcr.io. Use an image from there', { registries: ['ghcr.io'] }],
  [
    'spec.image: is "a b", which is no image that can be judged; the policy allows ghcr.io. Use an image from there',
    { registries: ['ghcr.io'] },
    { image: 'a b' },
  ],
  [
    'spec.securityProfile: is not set, which means privileged with containerMode dind; the policy allows restricted at most. Set it to restricted, with containerMode: host',
    { securityProfile: AT_MOST.restricted },
    { containerMode: 'dind' },
  ],
  [
    'spec.securityProfile: is baseline; the policy allows restricted at most. Set it to restricted',
    { securityProfile: AT_MOST.restricted },
    { securityProfile: 'baseline' },
  ],
  [
    'spec.securityProfile: is privileged; the policy allows baseline at most. Set it to baseline',
    { securityProfile: AT_MOST.baseline },
    { containerMode: 'buildkit', securityProfile: 'privileged' },
  ],
  [
    'spec.securityProfile: is baseline; the policy allows restricted at most. Set it to restricted, with containerMode: host',
    { securityProfile: AT_MOST.restricted },
    { containerMode: 'buildkit', securityProfile: 'baseline' },
  ],
  [
    `spec.securityProfile: is baseline; the policy allows restricted at most. Set it to restricted${SAY_WHY}`,
    { securityProfile: LIFTED },
    { securityProfile: 'baseline' },
  ],
  [
    'spec.securityProfile: is privileged; the policy allows restricted at most. Set it to restricted',
    { securityProfile: LIFTED },
    { securityProfile: 'privileged' },
  ],
  [
    'spec.securityProfile: is privileged; the policy allows baseline at most. Set it to baseline',
    { securityProfile: LIFTED },
    { securityProfile: 'privileged', manifest: REASON },
  ],
  [
    `spec.podTemplate.${'x'.repeat(80)}: cannot be judged: unknown field; known here: metadata, spec`,
    {},
    { podTemplate: { ['x'.repeat(200)]: 1 } },
  ],
])('a denial says in full: %s', (message, policy, group, asker) => {
  expect(messagesOf(policy, group, asker)).toEqual([message]);
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
