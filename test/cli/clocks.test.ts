/** Servers whose clocks differ: real program, a Gitea and an API server with clocks of their own. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { NAME } from '../../src/shared/installed/installed-names.ts';
import { kubeconfigFor, liveJob, newRunnerIn, startCluster } from '../clients/kubernetes/through-cli.ts';
import { answering, groupList, groupObject } from '../support/kube-objects.ts';
import { folderWith, groupYaml, type Outcome, runHere } from '../support/run-cli.ts';
import { startAcme, startWithJob } from '../support/start-acme.ts';

interface Skew {
  /** Gitea's clock minus this machine's, seconds. */
  readonly gitea: number;
  readonly kubernetes: number;
}

interface Explained {
  readonly checkedAt: string;
  readonly jobs: readonly { readonly untilMs?: number }[];
}

/** Number of failed runners: the back-off is then some minutes long, enough for the processes of a test. */
const FAILURES = 6;
const HOUR_MS = 3_600_000;

/**
 * A queued job whose last runner's Job has just failed by Kubernetes' clock: the planner backs off from that moment on, which
 * `explain` tells as `untilMs`.
 */
async function afterFailures({ gitea, kubernetes }: Skew) {
  const clockOf = (seconds: number) => Date.now() + seconds * 1000;
  const tellTime = (response: ServerResponse, seconds: number): boolean => {
    response.sendDate = false;
    response.setHeader('Date', new Date(clockOf(seconds)).toUTCString());
    return false;
  };
  const { simulator, env, folder } = await startWithJob('', { now: () => clockOf(gitea) });
  simulator.intercept((_, response) => tellTime(response, gitea));
  const jobs: object[] = [];
  const override = (_: URL, response: ServerResponse) => tellTime(response, kubernetes);
  const kubeconfig = kubeconfigFor(await startCluster({ jobs: { runners: jobs }, override }));
  const run = (command: string, ...flags: string[]): Promise<Outcome> =>
    runHere([command, '--kubeconfig', kubeconfig, ...flags, folder], env);

  let failedMs = 0;
  for (let failures = 1; failures <= FAILURES; failures += 1) {
    const name = newRunnerIn((await run('generate')).stdout);
    failedMs = clockOf(kubernetes) - (failures < FAILURES ? HOUR_MS : 0);
    const lastTransitionTime = new Date(failedMs).toISOString();
    const status = { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime }] };
    jobs.push(liveJob(name, failedMs - 1000, status));
  }
  const { stdout, stderr } = await run('explain', '--json');
  const explained = JSON.parse(stdout) as Explained;
  return {
    stderr,
    /** Difference of the plan's time from Gitea's clock, in seconds. */
    nowOff: (Date.parse(explained.checkedAt) - clockOf(gitea)) / 1000,
    /** Time from the failure until the next try, by Gitea's clock, in seconds. */
    backOff: ((explained.jobs[0]?.untilMs ?? Number.NaN) - failedMs) / 1000 - (gitea - kubernetes),
  };
}

/** Time that the test's own processes may take in between, in seconds. */
const SLACK_SECONDS = 20;

it('clocks that differ are one for the planner, and the user is told', async () => {
  const equal = await afterFailures({ gitea: 0, kubernetes: 0 });
  const behind = await afterFailures({ gitea: 0, kubernetes: -60 });
  const ahead = await afterFailures({ gitea: 3600, kubernetes: 3660 });

  expect(equal.stderr).toBe('');
  for (const { backOff, nowOff } of [behind, ahead]) {
    expect(Math.abs(backOff - equal.backOff)).toBeLessThanOrEqual(2);
    expect(Math.abs(nowOff)).toBeLessThan(SLACK_SECONDS);
  }
  const warning = (way: string): RegExp =>
    new RegExp(
      `^warning: GR-CLOCK-01 compare clocks: that of Kubernetes \\(https://localhost:\\d+\\) is (?:59|60|61) s ${way} that of Gitea \\(http://127`,
    );
  expect(behind.stderr).toMatch(warning('behind'));
  expect(ahead.stderr).toMatch(warning('ahead of'));
});

it.each([-360, 360])('a clock of this machine that is off by %i s makes no dead serve, and is told', async (off) => {
  const ago = (seconds: number): string => new Date(Date.now() + (off - seconds) * 1000).toISOString();
  const tellTime = (response: ServerResponse): boolean => {
    response.sendDate = false;
    response.setHeader('Date', new Date(ago(0)).toUTCString());
    return false;
  };
  const { simulator, env } = await startAcme({ now: () => Date.parse(ago(30)) });
  simulator.intercept((_, response) => tellTime(response));
  simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  const container = { name: NAME, image: 'x' };
  const answers = answering({
    '/version': { major: '1', minor: '34' },
    '/runnergroups': groupList([groupObject(groupYaml(simulator.url), { lastCheckTime: ago(20) })]),
    '/leases/gitea-runners-serve': { spec: { holderIdentity: 'serve-1', renewTime: ago(3) } },
    [`/deployments/${NAME}`]: {
      spec: { replicas: 2, template: { spec: { serviceAccountName: 'x', containers: [container] } } },
      status: { readyReplicas: 2 },
    },
    '/applications/runners': {
      metadata: { name: 'runners', namespace: 'argocd' },
      spec: { project: 'runners', syncPolicy: { automated: {} } },
      status: {
        sync: { status: 'OutOfSync' },
        operationState: { phase: 'Running', startedAt: ago(10), message: 'waiting' },
      },
      operation: { sync: {} },
    },
  });
  const server = await startCluster({
    override: (url, response, request, handle) => tellTime(response) || answers(url, response, request, handle),
  });
  const cluster = ['--kubeconfig', kubeconfigFor(server), '-n', 'runners'];

  const explained = await runHere(['explain', ...cluster, '--exit-code'], env, folderWith({}));
  const { stdout, stderr } = await runHere(['doctor', ...cluster], env, folderWith({}));

  expect(explained.code, explained.stdout).toBe(0);
  expect(explained.stdout).toMatch(/serve: serve-1 leads \(Lease renewed \ds ago\); it last looked 2\ds ago\n/);
  expect(stdout).toContain('✓ leader of serve: serve-1');
  const way = off < 0 ? 'ahead of' : 'behind';
  for (const told of [explained.stderr, stderr])
    expect(told).toMatch(
      new RegExp(`^warning: GR-CLOCK-04 compare clocks: that of this machine is (?:5m5\\ds|6m0\\ds) ${way} that of`),
    );
});
