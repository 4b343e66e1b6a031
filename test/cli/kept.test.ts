/** A group with `keepFailedSeconds` in the real program: what a look at Gitea reads for it. */
import { expect, it } from 'vitest';
import { kubeconfigFor, liveJob, newRunnerIn, startCluster } from '../clients/kubernetes/through-cli.ts';
import { fakeGitea, jobRow } from '../support/gitea-stand-in.ts';
import { ago, podOf, runsSince } from '../support/kube-objects.ts';
import { folderWith, groupYaml, type Outcome, runHere } from '../support/run-cli.ts';

const KEEPS = '  keepFailedSeconds: 600\n';

it('generate keeps the runner of the only CI job, which failed', async () => {
  const queued = await fakeGitea({ jobs: [jobRow(7, 'queued', { labels: ['linux'] })] });
  const runner = newRunnerIn((await generateWith(queued.url, undefined)).stdout);
  const times = { created_at: ago(100), started_at: ago(70), completed_at: ago(30) };
  const failed = jobRow(7, 'completed', { ...times, runner_name: runner, conclusion: 'failure', labels: ['linux'] });
  const gitea = await fakeGitea({ jobs: [failed] });

  const { code, stdout, stderr } = await generateWith(gitea.url, runner);

  expect(code, stderr).toBe(0);
  expect(stdout).toContain(`name: "${runner}"`);
  expect(stdout).toContain(`gitea.bpg.pw/ended-at: "${times.completed_at}"`);
  expect(stderr).toContain('1 debugging');
});

/** Runs the program with a cluster in which the pod of this runner runs. */
async function generateWith(url: string, runner: string | undefined): Promise<Outcome> {
  const nowMs = Date.now();
  const there = runner === undefined ? [] : [liveJob(runner, nowMs - 90_000, { active: 1 })];
  const pods = runner === undefined ? [] : [podOf(runner, runsSince(nowMs - 80_000), nowMs - 90_000)];
  const cluster = await startCluster({ jobs: { runners: there }, pods: { runners: pods } });
  const folder = folderWith({ 'ci.yaml': groupYaml(url, KEEPS) });
  return await runHere(['generate', '--kubeconfig', kubeconfigFor(cluster), folder], {
    GITEA_URL: url,
    GITEA_TOKEN: 'secret',
  });
}
