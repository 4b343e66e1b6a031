/** `explain` without PATH: RunnerGroups, pods, `serve` and Argo CD of a cluster. Real program, real HTTPS server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { standIn } from '../../src/config/runnergroup/broken.ts';
import { CERTIFICATES, kubeconfigFor, liveJob, newRunnerIn } from '../clients/kubernetes/through-cli.ts';
import { type ApiServer, type Override, send, startApiServer, status, TOKEN } from '../support/api-server.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { TOKEN as GITEA_TOKEN, startAcme } from '../support/start-acme.ts';

const servers: ApiServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const GROUPS = '/apis/gitea.bpg.pw/v1alpha1';

/** An object as Argo CD applied it. */
function groupObject(url: string, spec = '', name = 'ci', lookedAt = new Date().toISOString()): object {
  const { metadata, ...object } = parse(groupYaml(url, spec, name)) as { metadata: object };
  const annotations = { 'argocd.argoproj.io/tracking-id': `runners:gitea.bpg.pw/RunnerGroup:runners/${name}` };
  return { ...object, metadata: { ...metadata, uid: `uid-${name}`, annotations }, status: { lastCheckTime: lookedAt } };
}

/** The object that `generate` prints for a RunnerGroup whose spec cannot be used. */
function standInObject(name: string): object {
  const place = { file: 'ci.yaml', line: 7, column: 3 };
  const problems = [{ place, path: 'spec.org', message: 'is missing', code: 'GR-INPUT-05' }] as const;
  const object = standIn({
    namespace: 'runners',
    name,
    place,
    labels: undefined,
    annotations: undefined,
    problems,
  });
  return { ...object, metadata: { ...object.metadata, uid: `uid-${name}` } };
}

const LEASE = { spec: { holderIdentity: 'gitea-runners-7c9_ab12', renewTime: new Date().toISOString() } };
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
  readonly lease?: object;
  readonly application?: object;
}

/** Answers lists of RunnerGroups, the Lease and the Application; what is not given is refused. */
function objects({ groups, lease, application }: Objects): Override {
  return (url, response) => {
    const { pathname } = url;
    const is = (end: string): boolean => pathname.endsWith(end);
    if (pathname === `${GROUPS}/runnergroups` || pathname === `${GROUPS}/namespaces/runners/runnergroups`) {
      send(response, 200, { kind: 'RunnerGroupList', metadata: {}, items: groups });
    } else if (is('/runnergroups')) send(response, 200, { kind: 'RunnerGroupList', metadata: {}, items: [] });
    else if (is('/argocd/leases/gitea-runners-serve') && lease) send(response, 200, lease);
    else if (is('/argocd/applications/runners') && application) send(response, 200, application);
    else if (is('/secrets/gitea-api')) {
      const base64 = (text: string): string => Buffer.from(text).toString('base64');
      send(response, 200, { data: { token: base64(GITEA_TOKEN), url: base64(giteaUrl) } });
    } else if (is('/secrets/gitea-runner')) send(response, 200, { data: {} });
    else if (/\/(?:leases|applications)\//.test(pathname)) status(response, 403, 'Forbidden');
    else return false;
    return true;
  };
}

let giteaUrl = '';

async function scene(make: (url: string) => Objects, cluster: Parameters<typeof startApiServer>[0] = {}) {
  const acme = await startAcme();
  giteaUrl = acme.simulator.url;
  const { jobs } = acme.simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  const server = await startApiServer({ tls: CERTIFICATES, ...cluster, override: objects(make(giteaUrl)) });
  servers.push(server);
  const kubeconfig = kubeconfigFor(server);
  const empty = folderWith({});
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = acme.env) =>
    runHere(['explain', ...args], env, empty);
  return { ...acme, server, kubeconfig, run, jobId: jobs[0]?.id };
}

describe('without PATH and without files here', () => {
  it('explains the RunnerGroups of the cluster, and what serve and Argo CD say', async () => {
    const { run, kubeconfig, server } = await scene((url) => ({
      groups: [groupObject(url), groupObject(url, '  maxWorkers: 7\n', 'broken')],
      lease: LEASE,
      application: APPLICATION,
    }));

    const { code, stdout, stderr } = await run(['--kubeconfig', kubeconfig, '-A']);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Cluster: ${server.config.url} (context runners), all namespaces\n`);
    expect(stdout).toMatch(
      /^serve: gitea-runners-7c9_ab12 leads \(Lease renewed \d+s ago\); it last looked \d+s ago$/m,
    );
    expect(stdout).toContain(
      'Application argocd/runners: Unknown, Healthy, ComparisonError: error: GR-GITEA-01 list jobs of org acme\n',
    );
    expect(stdout).toMatch(/^RunnerGroup runners\/broken cannot be served: .*maxWorkers/m);
    expect(stdout).toMatch(/^runners\/ci +\S+ org acme +linux +1 of 5/m);
    expect(stdout).toMatch(
      / acme\/web one +linux +\d+s +ci-\d+-1-[0-9a-f]{8} \(owned by group runners\/ci; Argo CD does not sync Application argocd\/runners: ComparisonError: error: GR-GITEA-01/,
    );
    expect(stdout + stderr).not.toContain(TOKEN);
  });

  it('tells what is wrong with a RunnerGroup whose object stands in for a spec that cannot be used', async () => {
    const { run, kubeconfig } = await scene((url) => ({ groups: [groupObject(url), standInObject('broken')] }));

    const { code, stdout } = await run(['--kubeconfig', kubeconfig, '-n', 'runners']);

    expect(code).toBe(0);
    expect(stdout).toContain(
      'RunnerGroup runners/broken cannot be served: ci.yaml:7:3: spec.org: is missing [GR-INPUT-05]\n',
    );
    expect(stdout).not.toContain('gitea.invalid');
  });

  it('says what it may not read, and goes on', async () => {
    const { run, kubeconfig } = await scene((url) => ({ groups: [groupObject(url)] }));

    const { code, stdout } = await run(['--kubeconfig', kubeconfig, '-n', 'runners']);

    expect(code).toBe(0);
    expect(stdout).toContain('serve: not known: you may not read it (403)');
    expect(stdout).toContain('Application argocd/runners: not known: you may not read it (403)\n');
    expect(stdout).toContain('acme/web one');
  });

  it('says on stderr what it knows when Gitea does not answer', async () => {
    const { run, kubeconfig } = await scene((url) => ({
      groups: [groupObject(url)],
      lease: LEASE,
      application: APPLICATION,
    }));

    const { code, stdout, stderr } = await run(['--kubeconfig', kubeconfig, '-A'], {
      GITEA_URL: giteaUrl,
      GITEA_TOKEN: 'a-token-that-gitea-does-not-know',
    });

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Application argocd\/runners: Unknown, Healthy, ComparisonError/m);
    expect(stderr).toMatch(/^error: GR-GITEA-01 /m);
  });

  it('says when nobody leads, and when serve has not looked for long', async () => {
    const { run, kubeconfig } = await scene((url) => ({
      groups: [groupObject(url, '', 'ci', '2026-01-01T00:00:00Z')],
      lease: { spec: { holderIdentity: 'old', renewTime: '2026-01-01T00:00:00Z' } },
    }));

    const { stdout } = await run(['--kubeconfig', kubeconfig, '-A']);

    expect(stdout).toMatch(
      /^serve: nobody leads: old last renewed its Lease \d+d\d\dh ago; it last looked \d+d\d\dh ago, which is too long: read its log$/m,
    );
  });

  it('takes the namespace of the context, KUBECONFIG and ~/.kube/config as kubectl does, and Secrets through the API', async () => {
    const { run, kubeconfig } = await scene((url) => ({ groups: [groupObject(url)] }));
    const home = folderWith({});
    mkdirSync(join(home, '.kube'));
    writeFileSync(join(home, '.kube', 'config'), `current-context: none\n`);

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

  it('says so when there is no cluster, or --cluster off', async () => {
    const { run, kubeconfig } = await scene((url) => ({ groups: [groupObject(url)] }));

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
    const { simulator, env } = await startAcme();
    giteaUrl = simulator.url;
    simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
    const server = await startApiServer({
      tls: CERTIFICATES,
      override: objects({ groups: [groupObject(giteaUrl)], lease: LEASE }),
    });
    servers.push(server);
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

describe('pods', () => {
  it('are told of with the words of Kubernetes and their age, and a late one makes its job unserved', async () => {
    const first = await scene((url) => ({ groups: [groupObject(url)] }));
    const runner = newRunnerIn(
      (await runHere(['generate', folderWith({ 'ci.yaml': groupYaml(giteaUrl) })], first.env)).stdout,
    );
    const createdAtMs = Date.now() - 400_000;
    const pod = {
      metadata: {
        name: `${runner}-x7x9z`,
        namespace: 'runners',
        uid: 'uid-pod',
        creationTimestamp: new Date(createdAtMs).toISOString(),
        ownerReferences: [{ kind: 'Job', uid: `uid-${runner}` }],
      },
      status: {
        phase: 'Pending',
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'Unschedulable',
            message: '0/3 nodes are available: 3 Insufficient cpu.',
          },
        ],
      },
    };
    const server = await startApiServer({
      tls: CERTIFICATES,
      jobs: { runners: [liveJob(runner, createdAtMs)] },
      pods: { runners: [pod] },
      override: objects({ groups: [groupObject(giteaUrl)] }),
    });
    servers.push(server);

    const { code, stdout } = await first.run([
      '--kubeconfig',
      kubeconfigFor(server),
      '-A',
      '--exit-code',
      String(first.jobId),
    ]);

    expect(code).toBe(4);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      `Cause: ${runner} (owned by group runners/ci; its pod cannot start: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.)`,
    );
    expect(stdout).toMatch(
      /Pod: {6}its Kubernetes Job was created 6m\d\ds ago; its pod does not run yet: Unschedulable/,
    );
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      `Next: see why ${runner} cannot start: kubectl -n runners describe pods -l job-name=${runner}`,
    );
  });
});
