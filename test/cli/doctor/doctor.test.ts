/** `doctor` on installations: whole ones, and those that lack or break one thing. Real program, real HTTPS server, simulated Gitea. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { remedyOfFailure } from '../../../src/cli/reading/finding.ts';
import { Failure, type FailureKind } from '../../../src/shared/failure.ts';
import { liveJob } from '../../clients/kubernetes/through-cli.ts';
import { makeCertificates } from '../../support/certificate.ts';
import { runnerRow } from '../../support/gitea-stand-in.ts';
import { folderWith, runCli } from '../../support/run-cli.ts';
import { TOKEN as GITEA_TOKEN } from '../../support/start-acme.ts';
import { TlsFront } from '../../support/tls-front.ts';
import { ownName } from '../../tasks/sweep/scene.ts';
import { BROKEN, wrongToken } from './broken.ts';
import {
  API_TOKEN,
  APPLICATION,
  APPLICATIONS,
  AUTOSCALER,
  at,
  CM,
  COMPARED,
  CRD,
  condition,
  examine,
  GROUP,
  GROUPS,
  HOOKS,
  hook,
  METRICS,
  metrics,
  NAMESPACE,
  NODES,
  PODS,
  POLICY,
  PROJECTS,
  put,
  REGISTRATION,
  REVIEWS,
  SETTINGS,
  SPEC,
  secret,
  type World,
  without,
} from './world.ts';

const JOBS = '/apis/batch/v1/namespaces/runners/jobs';

it('doctor finds nothing bad in an installation made by the manual', async () => {
  const { run } = await examine();

  const { code, stdout, stderr } = await run();

  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
  expect(stdout).not.toMatch(/^[✗?]/m);
  expect(stdout).toMatch(/\n\d+ good, 0 bad, 0 not known\n$/);
  expect(stdout).toContain('✓ rights in Argo CD: get and sync of Applications, and nothing more\n');
  expect(stdout).not.toContain('registration"');
});

it.each(BROKEN)(
  'doctor marks what is broken with a cross, and says how to repair it: %s',
  async (_, change, cross, advice) => {
    const { run } = await examine(change);

    const { code, stdout, stderr } = await run();

    expect({ code, stderr }, stdout).toEqual({ code: 1, stderr: '' });
    const lines = stdout.split('\n');
    const at = lines.findIndex((line) => line.startsWith(`✗ ${cross}`));
    expect(at, stdout).toBeGreaterThanOrEqual(0);
    expect(lines[at + 1]).toContain(advice);
    expect(stdout).not.toContain('gitea-runners doctor');
    const [own] = cross.split(':');
    expect(lines.filter((line) => line.startsWith('✗') && !line.startsWith(`✗ ${own}:`))).toEqual([]);
  },
);

const OURS = [PROJECTS, 'items', 0, 'spec'];
const IN_CLUSTER = 'https://kubernetes.default.svc';
const other = (destinations: readonly object[]) =>
  put([PROJECTS, 'items', 1], { metadata: { name: 'other' }, spec: { destinations, sourceRepos: ['*'] } });
const OPEN = 'project other has the destination runners';

it.each<readonly [string, (world: World) => World, string | undefined]>([
  ['all destinations, as Argo CD makes `default`', other([{ server: '*', namespace: '*' }]), OPEN],
  ['this cluster by name', other([{ name: 'in-cluster', namespace: 'runn*' }]), OPEN],
  ['all but another namespace', other([{ server: IN_CLUSTER, namespace: '!kube-system' }]), OPEN],
  ['another namespace', other([{ server: IN_CLUSTER, namespace: 'web' }]), undefined],
  ['another cluster', other([{ server: 'https://prod.example.com', namespace: '*' }]), undefined],
  [
    'all but ours, wherever that stands',
    other([
      { server: '*', namespace: '*' },
      { server: '*', namespace: '!runners' },
    ]),
    undefined,
  ],
  ['nothing, as `default` ought to be', other([]), undefined],
  ['ours from anywhere', put([...OURS, 'sourceRepos'], ['*']), 'project runners has the source *'],
  [
    'ours for other namespaces',
    put([...OURS, 'sourceNamespaces'], ['web']),
    'project runners has the source namespace web',
  ],
  ['none that may be read', put([PROJECTS], 403), 'you may not read it (403)'],
])('doctor looks at projects with %s', async (_, change, told) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  // Not a fault: the users of the project are not known here.
  expect(code, stdout).toBe(0);
  if (told === undefined)
    expect(stdout).toContain('✓ projects in Argo CD: no other has a namespace of runners as destination\n');
  else expect(stdout).toContain(`? projects in Argo CD: ${told}\n`);
});

const MESH = '? RunnerGroup runners/ci: namespace runners puts the proxy of a service mesh into its pods';
const LABELS = [NAMESPACE, 'metadata', 'labels'];
const linkerd = put([NAMESPACE, 'metadata', 'annotations'], { 'linkerd.io/inject': 'enabled' });
const own = (metadata: object) => put([...SPEC, 'podTemplate'], { metadata });

it.each<readonly [string, readonly ((world: World) => World)[], boolean]>([
  ['Istio', [put(LABELS, { 'istio-injection': 'enabled' })], true],
  ['a revision of Istio', [put(LABELS, { 'istio.io/rev': 'stable' })], true],
  ['Linkerd', [linkerd], true],
  ['Linkerd, which the group keeps out', [linkerd, own({ annotations: { 'linkerd.io/inject': 'disabled' } })], false],
  [
    'Istio, which the group keeps out',
    [put(LABELS, { 'istio-injection': 'enabled' }), own({ labels: { 'sidecar.istio.io/inject': 'false' } })],
    false,
  ],
  ['Istio without sidecars', [put(LABELS, { 'istio.io/dataplane-mode': 'ambient' })], false],
])('a namespace of a service mesh: %s', async (_, changes, isTold) => {
  const { run } = await examine((world) => changes.reduce((changed, change) => change(changed), world));

  const { stdout } = await run();

  expect(stdout.includes(MESH), stdout).toBe(isTold);
});

it('doctor finds an Application with several sources, one of which runs the plugin', async () => {
  const { run } = await examine((world) => {
    const { source } = at(world[APPLICATIONS], 'items', 0, 'spec');
    const sources = [{ repoURL: 'https://charts.example.com' }, source];
    const changed = put(
      [...OURS, 'sourceRepos'],
      ['https://charts.example.com', 'https://gitea.example.com/ops/*'],
    )(world);
    return put(
      [...APPLICATION, 'spec', 'sources'],
      sources,
    )(put([...APPLICATION, 'spec', 'source'], undefined)(changed));
  });

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout).toContain('✓ Application runners: project runners\n');
});

it('doctor repeats what Argo CD says of an Application, whatever it is', async () => {
  const conditions = [{ type: 'FrobnicatedNotice', message: 'zzz' }];
  const { run } = await examine(put([...APPLICATION, 'status'], { conditions }));

  expect((await run()).stdout).toContain('? Application runners: Argo CD says FrobnicatedNotice: zzz\n');
});

it('doctor demands the right to create Secrets only where serve registers runners', async () => {
  const { run } = await examine(put([REVIEWS], 'create secrets'));

  expect((await run()).stdout).toContain('✓ rights in Kubernetes: serve in namespace runners');
});

it.each([
  ['{by: serve}', 'write:organization'],
  ['{by: serve, for: repository}', 'write:repository'],
])(
  'doctor demands no registration Secret with registration %s, and names the scope of the API token',
  async (by, scope) => {
    const { run } = await examine(without(REGISTRATION), `\n  registration: ${by}`);

    const { stdout } = await run();

    const told = `RunnerGroup runners/ci: serve registers its runners, for which its API token needs ${scope}`;
    expect(stdout).toContain(told);
    expect(stdout).not.toContain('gitea-runner ');
  },
);

it('compares the label that Argo CD tracks by with the one that the installation is told', async () => {
  const { run } = await examine((world) => {
    const told = put([SETTINGS], {
      data: { GITEA_RUNNERS_ARGOCD_URL: 'https://a', GITEA_RUNNERS_TRACKING_LABEL: 'a/b' },
    })(world);
    const labelled = put([CM, 'data', 'application.resourceTrackingMethod'], 'label')(told);
    return put([CM, 'data', 'application.instanceLabelKey'], 'a/b')(labelled);
  });

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout).toContain('✓ tracking in Argo CD: by label\n');
});

it('doctor prints one error when the cluster does not accept its login', async () => {
  const { run } = await examine(put(['/version'], 401));

  const { code, stdout, stderr } = await run();

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^error: GR-CLUSTER-05 ask the version of Kubernetes: GET .*: the cluster does not know the token or certificate \(401\)\. Mount a valid token, or log in again if it is of a kubeconfig\.\n$/,
  );
});

it.each<readonly [string, (world: World) => World, string]>([
  ['webhooks', put([HOOKS], 403), '? webhook of org acme: could not look: GR-GITEA-02 '],
  [
    'deliveries',
    put([PODS], 403),
    '? webhook of org acme: to http://gitea-runners.argocd.svc/webhook; whether it delivers is not known: its pods cannot be listed (403)',
  ],
  [
    'the registration token',
    put([COMPARED], 403),
    '? RunnerGroup runners/ci: Secret gitea-runner has a registration token; whether it is that of its scope was not compared: GR-GITEA-02 ',
  ],
  ['argocd-cm', put([CM], 403), '? account in Argo CD, tracking in Argo CD, what Argo CD watches: '],
  ['the registration Secret', put([REGISTRATION], 403), '? RunnerGroup runners/ci: Secret gitea-runner'],
  ['the CRD', put([CRD], 403), '? CustomResourceDefinition: '],
  ['nodes', put([NODES], 403), '? RunnerGroup runners/ci, nodes: nodes cannot be read: you may not read it (403)'],
  ['the version', put(['/version'], 403), '? Kubernetes: the cluster answered 403'],
  ['roles', put([REVIEWS], 403), '? rights in Kubernetes: you may not ask that (403)'],
  ['the API token', put([API_TOKEN], 403), '? RunnerGroup runners/ci: http'],
  ['the NetworkPolicy, which may be left out', without(POLICY), '? NetworkPolicy of serve: it does not exist'],
  [
    'nodes that an autoscaler adds',
    (world) => ({ ...world, [NODES]: { items: [] }, [AUTOSCALER]: {} }),
    '? RunnerGroup runners/ci, nodes: none of 0 can take its pod. The autoscaler',
  ],
])('could not look at %s, and does not call that bad', async (_, change, line) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(
    stdout.split('\n').filter((each) => each.startsWith(line)),
    stdout,
  ).not.toEqual([]);
});

it('an account that may read nothing is told so once, with exit 1', async () => {
  const forbidden = (world: World) => Object.fromEntries(Object.keys(world).map((path) => [path, 403]));
  const { run } = await examine((world) => ({ ...forbidden(world), '/version': world['/version'] ?? 403 }));

  const { code, stdout } = await run();

  expect(code, stdout).toBe(1);
  expect(stdout.match(/: you may not read it \(403\)$/gm), stdout).toHaveLength(1);
  expect(stdout).toMatch(/, 0 bad, \d+ not known\nNothing here could be looked at\. Ask for rights to read it/);
});

describe('of a Gitea that only the cluster reaches', () => {
  const INSIDE = 'http://127.0.0.1:1';
  const inside = (world: World): World => ({
    ...put([...SPEC, 'gitea'], { url: INSIDE })(world),
    [API_TOKEN]: secret({ token: GITEA_TOKEN, url: INSIDE }),
    [REGISTRATION]: secret({ token: 'registration', url: INSIDE }),
  });

  it('doctor says that serve reaches a Gitea that doctor does not, and does not call that bad', async () => {
    const { run } = await examine(inside);

    const { code, stdout } = await run();

    expect(code, stdout).toBe(0);
    expect(stdout).toContain('? Gitea, org acme: not reached from here: GR-HTTP-01 ');
    expect(stdout).toContain('✓ RunnerGroup runners/ci, as serve sees it: ready');
  });

  it('a Gitea that serve does not reach either is bad, and nobody is sent for a new token', async () => {
    const unreached = put([...GROUP, 'status', 'conditions'], [condition('False')]);
    const { run } = await examine((world) => unreached(inside(world)));

    const { code, stdout } = await run();

    expect(code, stdout).toBe(1);
    expect(stdout).toMatch(/✗ Gitea, org acme: GR-HTTP-01 .*\n {4}check the URL and that the server is up\n/);
    expect(stdout).toContain('✗ RunnerGroup runners/ci, as serve sees it: GiteaFailed');
    expect(stdout).not.toContain('Make a token');
  });
});

it('doctor reads API tokens in the namespace of the group where sidecar and serve do', async () => {
  const { run } = await examine((world) => {
    const { [API_TOKEN]: token, ...rest } = world;
    return {
      ...rest,
      [`${NAMESPACE}/secrets/gitea-api`]: token ?? 404,
      [SETTINGS]: { data: { GITEA_RUNNERS_ARGOCD_URL: 'https://a', GITEA_RUNNERS_SECRETS: 'api' } },
    };
  });

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout).not.toMatch(/^[✗?]/m);
});

it('doctor reads each scope of Gitea once, however many groups share it', async () => {
  const { run, requests } = await examine((world) => {
    const group = at(world[GROUPS], 'items', 0);
    const named = (name: string) => ({ ...group, metadata: { ...at(group, 'metadata'), name, uid: name } });
    return put([GROUPS, 'items'], ['a', 'b', 'c'].map(named))(world);
  });

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout.match(/^✓ Gitea, org acme/gm)).toHaveLength(1);
  expect(requests.filter(({ target }) => target.startsWith(HOOKS))).toHaveLength(2);
  expect(requests.filter(({ target }) => /actions\/runners\?/.test(target))).toHaveLength(1);
});

it('doctor prints JSON without a token', async () => {
  const { run } = await examine();

  const { code, stdout } = await run('--json');

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    findings: expect.arrayContaining([{ check: 'Kubernetes', is: 'good', text: '1.34' }]),
  });
  expect(stdout).not.toContain(GITEA_TOKEN);
});

it('doctor needs a cluster', async () => {
  const outcome = await runCli(['doctor'], { HOME: '/nonexistent' }, folderWith({}));

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toContain('error: GR-DOCTOR-01 ');
});

describe('dead rows in Gitea', () => {
  const RUNNERS = '/api/v1/orgs/acme/actions/runners';
  const ci = { namespace: 'runners', name: 'ci' };
  const offline = { status: 'offline' };
  const dead = [runnerRow(1, ownName(1, ci, ''), offline), runnerRow(2, ownName(2, ci, ''), offline)];
  const runners = [...dead, runnerRow(3, ownName(3, ci, '')), runnerRow(4, 'build-host', offline)];
  const rows = { [RUNNERS]: { total_count: runners.length, runners } };

  it('dead rows in Gitea are counted, and what switches sweeps on is named', async () => {
    const { run } = await examine((world) => ({ ...world, ...rows }));

    const { code, stdout } = await run();

    expect(code).toBe(0);
    expect(stdout).toContain(
      '? dead rows in Gitea: 2 of 3 rows of its runners seem dead; nothing deletes them, because --sweep is off\n' +
        '    Set GITEA_RUNNERS_SWEEP: "true" in ConfigMap gitea-runners-settings of namespace argocd',
    );
  });

  it.each([
    [
      'serve sweeps',
      { ...rows, [SETTINGS]: { data: { GITEA_RUNNERS_ARGOCD_URL: 'https://a', GITEA_RUNNERS_SWEEP: 'true' } } },
      '✓ dead rows in Gitea: 2 of 3 rows of its runners seem dead; serve deletes them\n',
    ],
    [
      'the Jobs cannot be listed',
      { ...rows, [JOBS]: 403 },
      '? dead rows in Gitea: not counted, because the Jobs cannot be listed: GR-CLUSTER-06\n',
    ],
    [
      'they are of another instance',
      { ...rows, [SETTINGS]: { data: { GITEA_RUNNERS_ARGOCD_URL: 'https://a', GITEA_RUNNERS_INSTANCE: 'north' } } },
      '✓ dead rows in Gitea: none\n',
    ],
    [
      'their Jobs live',
      {
        ...rows,
        [JOBS]: {
          kind: 'JobList',
          metadata: { resourceVersion: '1' },
          items: dead.map(({ name }) => liveJob(String(name), Date.now(), { active: 1 })),
        },
      },
      '✓ dead rows in Gitea: none\n',
    ],
  ])('dead rows in Gitea are told when %s', async (_, more, line) => {
    const { run } = await examine((world) => ({ ...world, ...more }));

    expect((await run()).stdout).toContain(line);
  });
});

it('doctor names the Secret that it has read, which is not in the namespace of the group', async () => {
  const { run } = await examine(wrongToken);

  const { stdout } = await run();

  expect(stdout).toContain('put a valid one into key token of Secret gitea-api of namespace argocd.');
  expect(stdout).not.toContain('gitea-api of namespace runners');
});

it('doctor fits the terminal, with its remedies', async () => {
  const { run } = await examine(put(['/api/v1/orgs/acme/actions/jobs'], 502), '', () => ({ COLUMNS: '80' }));

  const lines = (await run()).stdout.split('\n');

  const long = lines.filter((line) => line.length > 80);
  expect(long.filter((line) => !/^\s*\S+$/.test(line))).toEqual([]);
  expect(lines.filter((line) => line.startsWith('    ')).length).toBeGreaterThan(1);
});

it('doctor tells that a RunnerGroup differs from git, and does not call all good', async () => {
  const resources = [
    { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci', status: 'OutOfSync' },
  ];
  const { run } = await examine(put([...APPLICATION, 'status'], { sync: { status: 'OutOfSync' }, resources }));

  const { stdout } = await run();

  expect(stdout).toMatch(
    /\? Application runners: RunnerGroup runners\/ci differs from git\n {4}argocd app diff runners shows how. If it stays so: argocd app sync runners/,
  );
});

describe('what is told of a group that is ready', () => {
  const told = (type: string, reason: string, message: string) =>
    put([...GROUP, 'status', 'conditions', 1], { ...condition('True'), type, reason, message });

  it.each([
    ['ImagePullBackOff', 'ci-1: ImagePullBackOff: not found', 'correct the image'],
    ['InitContainerRunning', 'ci-1: init container register has not ended (node n)', 'see that pods reach Gitea'],
    ['InitContainerRunning', 'ci-1: init container setup has not ended (node n)', 'see what that init container waits'],
    ['CreateContainerConfigError', 'ci-1: CreateContainerConfigError: zzz', 'See the events of these pods'],
    [
      'Unschedulable',
      'ci-1: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.',
      'add a node with room, or lower requests in spec.resources: another line here says',
    ],
    ['Unschedulable', 'ci-1: Unschedulable: zzz', 'see which rule of the scheduler'],
    ['NoPod', 'ci-1: NoPod: violates PodSecurity "baseline"', 'use a lower spec.securityProfile'],
  ])('pods that cannot start are bad, with what helps against %s: %s', async (reason, first, helps) => {
    const { run } = await examine(told('PodsStuck', reason, `Pods of runners that cannot start: 2. ${first}`));

    const { code, stdout } = await run();

    expect(code, stdout).toBe(1);
    expect(stdout).not.toContain('gitea-runners doctor');
    expect(stdout).toContain(
      `as serve sees it: PodsStuck: Pods of runners that cannot start: 2. ${first}\n    ${helps}`,
    );
  });

  it('a repository at which no runner can be registered is bad', async () => {
    const { run } = await examine(
      put([...GROUP, 'status', 'conditions', 1], { ...condition('False'), type: 'Registered', message: 'zzz' }),
    );

    expect((await run()).stdout).toMatch(
      /✗ RunnerGroup runners\/ci, as serve sees it: Registered: zzz\n {4}gitea-runners explain/,
    );
  });

  it.each<[string, boolean, object]>([
    ['bad', true, {}],
    ['no matter where deliveries come', false, { accepted: 1_700_000_100 }],
  ])('a webhook whose certificate is not trusted is %s', async (_, isBad, lastDeliveries) => {
    const front = await TlsFront.start('http://127.0.0.1:1', makeCertificates());
    onTestFinished(() => front.close());
    const { run } = await examine((world) => ({
      ...world,
      [HOOKS]: [hook(`https://localhost:${front.port}/webhook`)],
      [METRICS]: metrics(1_700_000_000, lastDeliveries as Readonly<Record<string, number>>),
    }));

    const { stdout } = await run();

    const said = /✗ webhook of org acme: to https:\/\/localhost:\d+\/webhook, which Gitea may not trust: .*unknown CA/;
    expect(said.test(stdout), stdout).toBe(isBad);
  });

  it('webhooks that never answer take no time from the other questions', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const hooks = ['a', 'b', 'c'].map((path) => hook(`https://127.0.0.1:${port}/${path}/webhook`));
    const { run } = await examine(put([HOOKS], hooks));

    const { stdout } = await run();

    expect(stdout).toContain('✓ RunnerGroup runners/ci: Secret gitea-runner ');
    expect(stdout).not.toContain('was not compared');
  });

  it.each([
    [60, true],
    [300, false],
  ])('Jobs that live for only %i s after their end, by the word of others, are bad: %s', async (seconds, isBad) => {
    const job = {
      ...liveJob('ci-7-1-abcdabcd', Date.now(), { active: 1 }),
      spec: { selector: {}, ttlSecondsAfterFinished: seconds },
    };
    const { run } = await examine((world) => ({
      ...world,
      [JOBS]: { kind: 'JobList', metadata: { resourceVersion: '1' }, items: [job] },
    }));

    const { stdout } = await run();

    const line = '✗ RunnerGroup runners/ci: its Jobs have ttlSecondsAfterFinished 60, and the RunnerGroup says 600';
    expect(stdout.includes(line), stdout).toBe(isBad);
  });

  it('jobs that are held back are told, and are no fault', async () => {
    const { run } = await examine(told('AtCapacity', 'JobsHeldBack', 'Jobs are held back by maxActiveRunners.'));

    const { code, stdout } = await run();

    expect(code, stdout).toBe(0);
    expect(stdout).toContain(
      '? RunnerGroup runners/ci, as serve sees it: AtCapacity: Jobs are held back by maxActiveRunners.\n',
    );
  });
});

it('doctor advises no new token when Gitea is ill', async () => {
  const { run } = await examine(put(['/api/v1/orgs/acme/actions/jobs'], 502));

  const { code, stdout } = await run();

  expect(code, stdout).toBe(1);
  expect(stdout).toMatch(
    /✗ Gitea, org acme: GR-GITEA-\d+ .*502.*\n.*Gitea fails, or a proxy before it: read their logs/,
  );
  expect(stdout).not.toContain('Make a token');
});

it('doctor advises to repair Gitea first when the plugin of an Application fails there', async () => {
  const message = 'error: GR-GITEA-05 list jobs of org acme: Gitea failed (502)';
  const failing = put([...APPLICATION, 'status'], { conditions: [{ type: 'ComparisonError', message }] });
  const { run } = await examine((world) => failing(put(['/api/v1/orgs/acme/actions/jobs'], 502)(world)));

  const { stdout } = await run();

  const told = `✗ Application runners: ComparisonError: ${message}\n    It follows from Gitea, org acme, which is bad above: mend that first\n`;
  expect(stdout).toContain(told);
  expect(stdout.indexOf('✗ Gitea, org acme: GR-GITEA-05')).toBeLessThan(stdout.indexOf(told));
});

it.each(Object.entries({ unauthorized: true, timeout: false, 'server-error': false, cluster: false }))(
  'doctor advises a new token after a failure of kind %s: %s',
  (kind, isAsked) => {
    const failure = new Failure('GR-X-01', 1, 'x', kind as FailureKind);

    expect(remedyOfFailure(failure).includes('token goes into the Secret')).toBe(isAsked);
  },
);
