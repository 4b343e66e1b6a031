/**
 * Law L5: the Jobs are listed again after a slow Gitea has answered. Jobs that ended meanwhile may have run a CI job
 * that Gitea did not know yet.
 */
import { expect, it } from 'vitest';
import { kubeconfigFor, liveJob, newRunnerIn, startCluster } from '../clients/kubernetes/through-cli.ts';
import { answerer, fakeGitea, jobRow } from '../support/gitea-stand-in.ts';
import { ago } from '../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';

/** Delay of Gitea, ms: more than the most age of a list of Jobs. */
const SLOW_MS = 600;

/** Returns the output for a waiting CI job with its first runner. */
async function generateWith(
  before: (runner: string) => readonly object[],
  after: (runner: string) => readonly object[],
) {
  const rows = { jobs: [jobRow(7, 'queued', { labels: ['linux'], created_at: ago(10) })] };
  const jobs: { runners: readonly object[] } = { runners: [] };
  let then: readonly object[] = [];
  const { url } = await fakeGitea({
    ...rows,
    // Gitea answers the queue at once, and the rest slowly.
    intercept: (seen, response) => {
      if (!seen.line.includes('in_progress')) return false;
      setTimeout(() => {
        jobs.runners = then;
        answerer(rows)(seen, response);
      }, SLOW_MS);
      return true;
    },
  });
  const server = await startCluster({ jobs });
  const folder = folderWith({ 'ci.yaml': groupYaml(url) });
  const run = async () =>
    await runHere(['generate', '--kubeconfig', kubeconfigFor(server), folder], {
      GITEA_URL: url,
      GITEA_TOKEN: 'secret',
    });
  const runner = newRunnerIn((await run()).stdout);
  jobs.runners = before(runner);
  then = after(runner);
  const { code, stdout, stderr } = await run();
  expect(code, stderr).toBe(0);
  return { wanted: newRunnerIn(stdout), runner };
}

const none = () => [];
const started = (runner: string) => [liveJob(runner, Date.now() - 5_000, { active: 1 })];
const ended = (runner: string) => {
  const condition = { type: 'Complete', status: 'True', lastTransitionTime: ago(0) };
  return [liveJob(runner, Date.now() - 5_000, { succeeded: 1, conditions: [condition] })];
};

it.each([
  ['had started', started],
  ['did not exist', none],
])('a runner that ends while Gitea is asked keeps its CI job (as the question was asked it %s)', async (_, before) => {
  const { wanted, runner } = await generateWith(before, ended);

  expect(runner).not.toBe('');
  expect(wanted).toBe(runner);
});

it('a runner that had ended before Gitea was asked has a successor', async () => {
  const { wanted, runner } = await generateWith(ended, ended);

  expect(wanted).toMatch(/^ci-7-1-/);
  expect(wanted).not.toBe(runner);
});
