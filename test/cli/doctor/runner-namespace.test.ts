/** What the namespace of a RunnerGroup refuses: quotas, LimitRanges, NetworkPolicies, the ServiceAccount. Real program and server. */
import { expect, it } from 'vitest';
import { liveJob } from '../../clients/kubernetes/through-cli.ts';
import { runnerRow } from '../../support/gitea-stand-in.ts';
import { ownName } from '../../tasks/sweep/scene.ts';
import {
  DRY_RUN,
  examine,
  type Json,
  NAMESPACE,
  OWN_REVIEW,
  POLICIES,
  put,
  QUOTAS,
  refusal,
  SERVICE_ACCOUNT,
  SPEC,
  secret,
  type World,
  without,
} from './world.ts';

const all =
  (...changes: readonly ((world: World) => World)[]) =>
  (world: World): World =>
    changes.reduce((changed, change) => change(changed), world);

const used = (pods: string) =>
  put(
    [QUOTAS, 'items'],
    [
      {
        metadata: { name: 'compute' },
        status: { hard: { pods: '2', 'services.loadbalancers': '0' }, used: { pods, 'services.loadbalancers': '0' } },
      },
    ],
  );
const mayNotTry = put([OWN_REVIEW, 'status', 'allowed'], false);
const refusing = (why: string, code = 403) => put([DRY_RUN], refusal(`pods "ci-x2x9z" is ${why}`, code));
const policy = (name: string, egress: readonly Json[], podSelector: Json = {}): Json => ({
  metadata: { name },
  spec: { podSelector, policyTypes: ['Egress'], egress },
});
const withPolicies = (...items: readonly Json[]) => put([POLICIES, 'items'], items);
const pods = (name: string): Json => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });
const DNS: Json = { to: [pods('kube-system')], ports: [{ protocol: 'UDP', port: 53 }] };
const giteaAt = (url: string) => put([...SPEC, 'gitea'], { url });
const pullSecret = put([...SPEC, 'podTemplate'], { spec: { imagePullSecrets: [{ name: 'regcred' }] } });
const OF_NAMESPACE = /^✗ RunnerGroup runners\/ci: (?:namespace|NetworkPolicy|Secret regcred|ServiceAccount)/;
const REGCRED = `${NAMESPACE}/secrets/regcred`;
const CI = { namespace: 'runners', name: 'ci' };

it.each<readonly [string, (world: World) => World, string, string]>([
  [
    'a quota that others have used up',
    refusing('forbidden: exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10'),
    'namespace runners refuses its pods: pods "ci-x2x9z" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=10',
    'raise that quota (compute)',
  ],
  [
    'a quota that wants limits in each pod',
    refusing('forbidden: failed quota: compute: must specify limits.memory for: runner'),
    'namespace runners refuses its pods: pods "ci-x2x9z" is forbidden: failed quota: compute: must specify limits.memory',
    'change spec.resources',
  ],
  [
    'a LimitRange below the size of the runner',
    refusing('forbidden: maximum memory usage per Container is 1Gi, but limit is 4Gi'),
    'namespace runners refuses its pods: pods "ci-x2x9z" is forbidden: maximum memory usage per Container is 1Gi',
    'change spec.resources',
  ],
  [
    'a default of a LimitRange below the request',
    refusing(
      'invalid: spec.containers[0].resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 512Mi',
      422,
    ),
    'namespace runners refuses its pods: pods "ci-x2x9z" is invalid: ',
    'change spec.resources',
  ],
  [
    'a webhook that does not answer',
    put(
      [DRY_RUN],
      refusal(
        'Internal error occurred: failed calling webhook "v.kyverno.svc": failed to call webhook: Post "https://kyverno-svc.kyverno.svc:443/v": no endpoints available',
        500,
      ),
    ),
    'namespace runners refuses its pods: Internal error occurred: failed calling webhook',
    'mend the webhook of service kyverno-svc',
  ],
  [
    'a webhook that names no status',
    put([DRY_RUN], refusal('admission webhook "validate.kyverno.svc-fail" denied the request: no host paths', 400)),
    'namespace runners refuses its pods: admission webhook "validate.kyverno.svc-fail" denied the request',
    'who runs admission webhook validate.kyverno.svc-fail',
  ],
  [
    'a quota that is used up, to whom may not try a pod',
    all(mayNotTry, used('2')),
    'namespace runners refuses its pods: exceeded quota: compute, used: pods=2, limited: pods=2',
    'raise that quota (compute)',
  ],
  [
    'a NetworkPolicy that denies all egress',
    all(withPolicies(policy('default-deny', [])), giteaAt('https://gitea.example.com')),
    'NetworkPolicy default-deny lets its pods not reach DNS (UDP 53), gitea.example.com (TCP 443)',
    'install/runners.yaml',
  ],
  [
    'a NetworkPolicy that allows DNS only',
    all(withPolicies(policy('default-deny', []), policy('dns', [DNS])), giteaAt('https://gitea.example.com')),
    'NetworkPolicy default-deny, dns lets its pods not reach gitea.example.com (TCP 443)',
    'install/runners.yaml',
  ],
  [
    'a NetworkPolicy that forgets DNS',
    all(withPolicies(policy('web', [{ ports: [{ port: 443 }] }])), giteaAt('https://gitea.example.com')),
    'NetworkPolicy web lets its pods not reach DNS (UDP 53)',
    'install/runners.yaml',
  ],
  [
    'a NetworkPolicy that lets pods reach their own namespace only',
    all(withPolicies(policy('web', [DNS, { to: [{ podSelector: {} }] }])), giteaAt('http://gitea-http.git.svc:3000')),
    'NetworkPolicy web lets its pods not reach gitea-http.git.svc (TCP 3000)',
    'install/runners.yaml',
  ],
  [
    'no ServiceAccount',
    all(
      without(SERVICE_ACCOUNT),
      refusing('forbidden: error looking up service account runners/default: serviceaccount "default" not found'),
    ),
    'namespace runners refuses its pods: pods "ci-x2x9z" is forbidden: error looking up service account runners/default: serviceaccount "default" not found',
    'make that ServiceAccount',
  ],
  [
    'no Secret for a registry',
    pullSecret,
    'Secret regcred of imagePullSecrets: it does not exist',
    'create secret docker-registry regcred',
  ],
  [
    'a Secret for a registry of the ServiceAccount that is no such Secret',
    all(
      put([SERVICE_ACCOUNT, 'imagePullSecrets'], [{ name: 'regcred' }]),
      put([REGCRED], { ...secret({ password: 'x' }), type: 'Opaque' }),
    ),
    'Secret regcred of imagePullSecrets: it is of type Opaque',
    'create secret docker-registry regcred',
  ],
  [
    'a namespace whose deletion hangs',
    all(
      put([NAMESPACE, 'metadata', 'deletionTimestamp'], '2026-01-01T00:00:00Z'),
      put([NAMESPACE, 'status'], {
        conditions: [
          { type: 'NamespaceContentRemaining', status: 'True', message: 'Some resources are remaining: zzz' },
        ],
      }),
    ),
    'namespace runners is being deleted: it takes no Jobs. Some resources are remaining: zzz',
    'kubectl create namespace runners',
  ],
])('doctor tells before the first job that pods cannot start or register: %s', async (_, change, cross, advice) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  expect(code, stdout).toBe(1);
  const lines = stdout.split('\n');
  const at = lines.findIndex((line) => line.startsWith(`✗ RunnerGroup runners/ci: ${cross}`));
  expect(at, stdout).toBeGreaterThanOrEqual(0);
  expect(lines.filter((line) => OF_NAMESPACE.test(line))).toHaveLength(1);
  expect(lines[at + 1]).toContain(advice);
});

const JOBS = '/apis/batch/v1/namespaces/runners/jobs';
const RUNNERS = '/api/v1/orgs/acme/actions/runners';
function living(count: number): World {
  const list = (kind: string, items: readonly unknown[]) => ({ kind, metadata: { resourceVersion: '1' }, items });
  const names = Array.from({ length: count }, (_, index) => `ci-${index + 1}-1-abcdabcd`);
  const creationTimestamp = new Date().toISOString();
  const pod = (name: string) => ({
    metadata: {
      ...{ name: `${name}-x`, namespace: 'runners', uid: name, creationTimestamp },
      ownerReferences: [{ kind: 'Job', name, uid: `uid-${name}` }],
    },
    status: { phase: 'Running', containerStatuses: [{ name: 'runner', state: { running: {} } }] },
  });
  const jobs = names.map((name) => liveJob(name, Date.now(), { active: 1 }));
  return { [JOBS]: list('JobList', jobs), [`${NAMESPACE}/pods`]: list('PodList', names.map(pod)) };
}

it.each<readonly [string, (world: World) => World]>([
  [
    'a quota that its own runners use, up to the cap',
    (world) => ({
      ...all(refusing('forbidden: exceeded quota: compute'), put([...SPEC, 'maxActiveRunners'], 2))(world),
      ...living(2),
    }),
  ],
  [
    'a NetworkPolicy that allows all ports of TCP and UDP by a range',
    all(
      withPolicies(
        policy('web', [{ ports: ['TCP', 'UDP'].map((protocol) => ({ protocol, port: 1, endPort: 65535 })) }]),
      ),
      giteaAt('http://gitea-http.git.svc:3000'),
    ),
  ],
  [
    'a NetworkPolicy with the port of DNS in OpenShift',
    all(
      withPolicies(policy('web', [{ ports: [{ protocol: 'UDP', port: 5353 }, { port: 443 }] }])),
      giteaAt('https://gitea.example.com'),
    ),
  ],
  ['a NetworkPolicy for other pods', withPolicies(policy('deny', [], { matchLabels: { app: 'web' } }))],
  [
    'a NetworkPolicy of a network that ignores it, as an online runner shows',
    (world) => ({
      ...withPolicies(policy('deny', []))(world),
      [RUNNERS]: { total_count: 1, runners: [runnerRow(3, ownName(3, CI, ''))] },
    }),
  ],
  [
    'a NetworkPolicy with a way to the pods behind the Service of Gitea',
    all(
      withPolicies(policy('web', [DNS, { to: [pods('git')], ports: [{ port: 3000 }] }])),
      giteaAt('http://gitea.git.svc'),
    ),
  ],
])('doctor draws no cross for %s', async (_, change) => {
  const { run } = await examine(change);

  const { stdout } = await run();

  expect(stdout.split('\n').filter((line) => OF_NAMESPACE.test(line))).toEqual([]);
});

it.each([
  ['NetworkPolicies', POLICIES],
  ['ServiceAccount default', SERVICE_ACCOUNT],
])('doctor says that it may not read %s, and does not call that bad', async (what, path) => {
  const { run } = await examine(put([path], 403));

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout).toContain(`? RunnerGroup runners/ci: ${what}: you may not read it (403)\n`);
});

it.each<readonly [string, (world: World) => World, string]>([
  ['the right to create pods', mayNotTry, 'you may not create pods in namespace runners'],
  ['an answer about that right', put([OWN_REVIEW], 403), 'you may not ask that (403)'],
  [
    'a webhook that can be tried',
    put([DRY_RUN], { ...refusal('zzz does not support dry run', 400), reason: 'BadRequest' }),
    'the cluster answered 400',
  ],
])('doctor cannot try a pod without %s, and does not call that bad', async (_, change, why) => {
  const { run } = await examine(all(change, used('1')));

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout).toContain(`? RunnerGroup runners/ci: whether namespace runners takes its pods: ${why}\n`);
});

it('doctor creates no pod: it only asks whether one would be taken', async () => {
  const { run, asked } = await examine();

  await run();

  const tried = asked.filter((line) => /^POST .*\/pods\b/.test(line));
  expect(tried).toEqual(['POST /api/v1/namespaces/runners/pods?dryRun=All']);
});
