/** `explain` without PATH: RunnerGroups, pods, `serve` and Argo CD of a cluster. Real program, real HTTPS server. */
import { describe, expect, it } from 'vitest';
import { standIn } from '../../src/config/runnergroup/broken.ts';
import { CERTIFICATES, kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { type Override, TOKEN } from '../support/api-server.ts';
import { answering, groupList, groupObject, secretObject } from '../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { TOKEN as GITEA_TOKEN, startAcme, startWithJob } from '../support/start-acme.ts';

/** The object that `generate` prints for a RunnerGroup whose spec cannot be used. */
function standInObject(name: string): object {
  const place = { file: 'ci.yaml', line: 7, column: 3 };
  const problems = [{ place, path: 'spec.org', message: 'is missing', code: 'GR-INPUT-05' }] as const;
  const object = standIn({ namespace: 'runners', name, place, labels: undefined, annotations: undefined, problems });
  return { ...object, metadata: { ...object.metadata, uid: `uid-${name}` } };
}

interface ExplainedJob {
  readonly runner: string;
  readonly notCreated: { readonly why: string };
}

const lease = () => ({ spec: { holderIdentity: 'gitea-runners-7c9_ab12', renewTime: new Date().toISOString() } });
const APPLICATION = {
  metadata: { name: 'runners', namespace: 'argocd' },
  spec: { project: 'runners' },
  status: {
    sync: { status: 'Unknown' },
    health: { status: 'Healthy' },
    conditions: [{ type: 'ComparisonError', message: 'error: GR-GITEA-01 list jobs of org acme' }],
  },
};

interface Objects {
  readonly groups: readonly object[];
  readonly lease?: object | number;
  readonly application?: object | number;
  /** Whether the person may create pods. */
  readonly mayAct?: boolean;
}

/** Answers lists of RunnerGroups, the Lease and the Application. Other requests are refused. */
function objects(url: string, { groups, lease = 403, application = 403, mayAct = true }: Objects): Override {
  return answering({
    '/v1alpha1/runnergroups': groupList(groups),
    '/namespaces/runners/runnergroups': groupList(groups),
    '/runnergroups': groupList([]),
    '/argocd/leases/gitea-runners-serve': lease,
    '/argocd/applications/runners': application,
    '/secrets/gitea-api': secretObject({ token: GITEA_TOKEN, url }),
    '/secrets/gitea-runner': { data: {} },
    '/selfsubjectaccessreviews': { status: { allowed: mayAct } },
  });
}

async function scene(make: (url: string) => Objects) {
  const acme = await startWithJob();
  const { url } = acme.simulator;
  const server = await startCluster({ override: objects(url, make(url)) });
  const empty = folderWith({});
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = acme.env) =>
    runHere(['explain', ...args], env, empty);
  return { ...acme, url, server, kubeconfig: kubeconfigFor(server), run };
}

describe('without PATH and without files here', () => {
  it('explains the RunnerGroups of the cluster, and what serve and Argo CD say', async () => {
    const { run, kubeconfig, server } = await scene((url) => ({
      groups: [groupObject(groupYaml(url)), groupObject(groupYaml(url, '  maxWorkers: 7\n', 'broken'))],
      lease: lease(),
      application: APPLICATION,
    }));

    const { code, stdout, stderr } = await run(['--kubeconfig', kubeconfig, '-A']);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Cluster: ${server.config.url} (context runners), all namespaces\n`);
    expect(stdout).toMatch(
      /^serve: gitea-runners-7c9_ab12 leads \(Lease renewed \d+s ago\); it last looked \d+s ago$/m,
    );
    expect(stdout).toContain('Application argocd/runners: Unknown, Healthy, ComparisonError (see below)\n');
    expect(stdout).toMatch(/^RunnerGroup runners\/broken cannot be served: .*maxWorkers/m);
    expect(stdout).toMatch(/^runners\/ci +org acme +linux +1 of 5/m);
    expect(stdout).toMatch(
      / acme\/web one +linux +\d+s +Argo CD does not sync Application argocd\/runners: ComparisonError: error: GR-GITEA-01/,
    );
    expect(stdout + stderr).not.toContain(TOKEN);
  });

  it.each([true, false])('explain says whom to ask only to a person who may start no pod: %s', async (mayAct) => {
    const { run, kubeconfig } = await scene((url) => ({
      groups: [groupObject(groupYaml(url))],
      application: APPLICATION,
      mayAct,
    }));

    const table = await run(['--kubeconfig', kubeconfig, '-A']);
    const job = await run(['--kubeconfig', kubeconfig, '-A', '1']);

    const ask =
      /Ask: +you may not create pods in namespace runners, so others do this: whoever merges into RunnerGroup runners\/ci,/;
    for (const { stdout } of [table, job]) expect(ask.test(stdout.replaceAll(/\n +/g, ' ')), stdout).toBe(!mayAct);
  });

  it('explain without PATH says of each CI job what keeps the shard that its runner falls to', async () => {
    const acme = await startAcme();
    acme.simulator.gitea.push('acme/web', {
      jobs: Array.from({ length: 24 }, (_, nth) => ({ key: `job-${nth}`, runsOn: ['linux'] })),
    });
    const { url } = acme.simulator;
    const text = groupYaml(url).replace('maxActiveRunners: 5', 'maxActiveRunners: 24');
    const tracking = 'runners-0:gitea.bpg.pw/RunnerGroup:runners/ci';
    const annotations = { 'argocd.argoproj.io/tracking-id': tracking, 'gitea.bpg.pw/shards': '2' };
    const made = groupObject(text) as { readonly metadata: object };
    const group = { ...made, metadata: { ...made.metadata, annotations } };
    const well = { sync: { status: 'Synced' }, health: { status: 'Healthy' } };
    const server = await startCluster({
      override: answering({
        '/runnergroups': groupList([group]),
        '/argocd/leases/gitea-runners-serve': lease(),
        '/argocd/applications/runners-0': { metadata: { name: 'runners-0', namespace: 'argocd' }, status: well },
        '/argocd/applications/runners-1': { ...APPLICATION, metadata: { name: 'runners-1', namespace: 'argocd' } },
        '/secrets/gitea-api': secretObject({ token: GITEA_TOKEN, url }),
        '/secrets/gitea-runner': { data: {} },
      }),
    });
    const kubeconfig = kubeconfigFor(server);

    const explained = await runHere(
      ['explain', '--kubeconfig', kubeconfig, '-A', '-o', 'json'],
      acme.env,
      folderWith({}),
    );
    const folder = folderWith({ 'ci.yaml': text });
    const env = { ...acme.env, ARGOCD_APP_NAME: 'runners-1', GITEA_RUNNERS_SHARD: '1/2' };
    const printed = await runHere(['generate', '--kubeconfig', kubeconfig, folder], env);

    expect([explained.code, printed.code], explained.stderr + printed.stderr).toEqual([0, 0]);
    const jobs: readonly ExplainedJob[] = JSON.parse(explained.stdout).jobs;
    const kept = jobs.filter(({ notCreated }) =>
      notCreated.why.startsWith('the runner falls to shard 1. Argo CD does not sync Application argocd/runners-1: '),
    );
    expect(jobs).toHaveLength(24);
    expect(kept.map(({ runner }) => runner).sort()).toEqual(
      [...printed.stdout.matchAll(/^ {2}name: "(ci-\S+)"$/gm)].map(([, name]) => name).sort(),
    );
    expect(kept.length).toBeGreaterThan(0);
  });

  it('explain without PATH tells what is wrong with a RunnerGroup whose object stands in for a spec that cannot be used', async () => {
    const { run, kubeconfig } = await scene((url) => ({
      groups: [groupObject(groupYaml(url)), standInObject('broken')],
    }));

    const { code, stdout } = await run(['--kubeconfig', kubeconfig, '-n', 'runners']);

    expect(code).toBe(0);
    expect(stdout).toContain(
      'RunnerGroup runners/broken cannot be served: ci.yaml:7:3: spec.org: is missing [GR-INPUT-05]\n',
    );
    expect(stdout).not.toContain('gitea.invalid');
  });

  it('explain of a run whose group is broken tells that first, and nothing of a wrong name', async () => {
    const lost = (url: string) => groupYaml(url, '', 'mobile').replace('org: acme', 'org: mobile');
    const { run, kubeconfig } = await scene((url) => ({
      groups: [groupObject(groupYaml(url)), groupObject(lost(url).replace('name: gitea-api', 'name: lost'))],
    }));
    const ask = (what: string) => run([what, '--kubeconfig', kubeconfig, '-n', 'runners']);

    const [ofRun, ofOther, ofJob] = await Promise.all([ask('mobile/app#1'), ask('acme/web#99'), ask('4711')]);

    const told = 'RunnerGroup runners/mobile cannot be served, so its jobs are not seen: GR-GITEA-03';
    expect(ofRun.stderr).toContain(`error: GR-EXPLAIN-03 explain mobile/app#1: ${told}`);
    expect(ofRun.stderr).not.toContain('Gitea shows no run');
    expect(ofOther.stderr).toContain('explain acme/web#99: Gitea shows no run 99 of acme/web');
    expect(ofJob.stderr).toContain(`explain 4711: ${told}`);
    expect(ofJob.stderr).toContain('Of the others, there is no unfinished job of this id');
  });

  it('explain of a repository that only a group without a readable spec may have names that group', async () => {
    const { run, kubeconfig } = await scene((url) => ({
      groups: [groupObject(groupYaml(url)), standInObject('broken')],
    }));

    const { stdout } = await run(['other/api#1', '--kubeconfig', kubeconfig, '-n', 'runners']);

    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'Cause: RunnerGroup runners/broken may have other/api, and cannot be served: ci.yaml:7:3: spec.org: is missing',
    );
    expect(stdout).toContain('mend RunnerGroup runners/broken: ');
  });

  it('explain without PATH leaves out a group that serve says the policy denies, and says so', async () => {
    const message = 'GR-POLICY-04 spec.image: comes from evil.example.com';
    const ready = { type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const conditions = [{ ...ready, reason: 'PolicyDenied', message }];
    const { run, kubeconfig } = await scene((url) => ({
      groups: [
        groupObject(groupYaml(url, '', 'denied'), { conditions }),
        groupObject(groupYaml(url), { conditions: [{ ...ready, reason: 'GiteaFailed', message: 'no answer' }] }),
      ],
    }));

    const { code, stdout } = await run(['--kubeconfig', kubeconfig, '-n', 'runners']);
    const ofDenied = await run(['denied', '--kubeconfig', kubeconfig, '-n', 'runners']);

    expect(code).toBe(0);
    expect(stdout).toContain(`RunnerGroup runners/denied cannot be served: PolicyDenied: ${message}\n`);
    expect(stdout).toContain('of group runners/ci');
    // The denied group is in no table: it has neither a runner nor a job.
    expect(stdout).not.toMatch(/^runners\/denied /m);
    expect(ofDenied.stdout).toMatch(/^RunnerGroup runners\/denied cannot be served\./);
    expect(ofDenied.stdout).toContain('spec.image: comes from evil.example.com');
  });

  it('explain without PATH says what it may not read, and goes on', async () => {
    const { run, kubeconfig } = await scene((url) => ({ groups: [groupObject(groupYaml(url))] }));

    const { code, stdout } = await run(['--kubeconfig', kubeconfig, '-n', 'runners']);

    expect(code).toBe(0);
    expect(stdout).toContain('serve: not known: you may not read it (403)');
    expect(stdout).toContain('Application argocd/runners: not known: you may not read it (403)\n');
    expect(stdout).toContain('acme/web one');
  });

  it('explain without PATH says on stderr what it knows when Gitea does not answer', async () => {
    const { run, kubeconfig, url } = await scene((gitea) => ({
      groups: [groupObject(groupYaml(gitea))],
      lease: lease(),
      application: APPLICATION,
    }));

    const { code, stdout, stderr } = await run(['--kubeconfig', kubeconfig, '-A'], {
      GITEA_URL: url,
      GITEA_TOKEN: 'a-token-that-gitea-does-not-know',
    });

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Application argocd\/runners: Unknown, Healthy, ComparisonError/m);
    expect(stderr).toMatch(/^error: GR-GITEA-01 /m);
  });

  it('explain without PATH says when nobody leads, and when serve has not looked for long', async () => {
    const { run, kubeconfig } = await scene((url) => ({
      groups: [groupObject(groupYaml(url), { lastCheckTime: '2026-01-01T00:00:00Z' })],
      lease: { spec: { holderIdentity: 'old', renewTime: '2026-01-01T00:00:00Z' } },
    }));

    const { stdout } = await run(['--kubeconfig', kubeconfig, '-A']);

    expect(stdout).toMatch(
      /^serve: nobody leads: old last renewed its Lease \d+d\d\dh ago; it last looked \d+d\d\dh ago, which is too long: read its log$/m,
    );
  });

  it('explain without PATH takes the namespace of the context, KUBECONFIG and ~/.kube/config as kubectl does, and Secrets through the API', async () => {
    const { run, kubeconfig } = await scene((url) => ({ groups: [groupObject(groupYaml(url))] }));
    const home = folderWith({ '.kube/config': 'current-context: none\n' });

    const byVariable = await run(['-n', 'runners'], { KUBECONFIG: kubeconfig });
    const bySecondFile = await run(['-n', 'runners'], { KUBECONFIG: `${home}/missing:${kubeconfig}` });
    const ofContext = await run([], { KUBECONFIG: kubeconfig });
    const ofHome = await run([], { HOME: home });

    expect(byVariable).toMatchObject({ code: 0, stderr: '' });
    expect(byVariable.stdout).toContain('acme/web one');
    expect(bySecondFile.stdout).toContain('acme/web one');
    expect(ofContext).toMatchObject({ code: 2, stdout: '' });
    expect(ofContext.stderr).toContain('no RunnerGroup in namespace default');
    expect(ofHome).toMatchObject({ code: 2, stdout: '' });
    expect(ofHome.stderr).toContain('GR-CLUSTER-12');
  });

  it('explain names the context, and the way to another cluster, if this one has no RunnerGroup', async () => {
    const { run, kubeconfig } = await scene(() => ({ groups: [] }));

    const { code, stderr } = await run(['-n', 'runners', '--kubeconfig', kubeconfig]);

    expect(code).toBe(2);
    expect(stderr).toMatch(/no RunnerGroup in namespace runners of https:\S+ \(context \S+\)/);
    expect(stderr).toContain('another cluster with --kubeconfig or kubectl config use-context');
  });

  it('explain without PATH says so when there is no cluster, or --cluster off', async () => {
    const { run, kubeconfig } = await scene((url) => ({ groups: [groupObject(groupYaml(url))] }));

    expect(await run(['-A'], {})).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('GR-EXPLAIN-04'),
    });
    expect(await run(['--cluster', 'off', '--kubeconfig', kubeconfig])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('GR-INPUT-09'),
    });
  });

  it('works as serve in its pod: service account, its namespaces, its Secrets', async () => {
    const { simulator, env } = await startWithJob();
    const found = { groups: [groupObject(groupYaml(simulator.url))], lease: lease() };
    const server = await startCluster({ override: objects(simulator.url, found) });
    const { hostname, port } = new URL(server.config.url);
    const account = folderWith({ token: TOKEN, 'ca.crt': CERTIFICATES.ca });

    const { code, stdout, stderr } = await runHere(
      ['explain'],
      {
        ...env,
        GITEA_RUNNERS_KUBERNETES_DIR: account,
        GITEA_RUNNERS_NAMESPACES: 'runners',
        KUBERNETES_SERVICE_HOST: hostname,
        KUBERNETES_SERVICE_PORT: port,
      },
      folderWith({}),
    );

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('(service account of this pod), namespace runners\n');
    const lists = server.seen.map(({ pathname }) => pathname).filter((path) => !/leases|applications/.test(path));
    expect(lists.every((path) => path.includes('/namespaces/runners/'))).toBe(true);
  });
});
