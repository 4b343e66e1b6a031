/** Law L25 through the real program: `generate` asks for the row of a bound runner whose container runs. Real API server stand-in. */
import { expect, it } from 'vitest';
import { kubeconfigFor, liveJob, startCluster } from '../clients/kubernetes/through-cli.ts';
import { podOf, runsSince } from '../support/kube-objects.ts';
import { runHere } from '../support/run-cli.ts';
import { startWithJob } from '../support/start-acme.ts';

const NAME = 'ci-9-1-abcdef';

it.each([true, false])(
  'generate asks for the rows of a repository when a runner bound to it is at work: %s',
  async (runs) => {
    const { env, folder, simulator } = await startWithJob();
    const asked: string[] = [];
    simulator.intercept(({ url = '' }) => {
      if (url.includes('/repos/')) asked.push(url.split('?', 1).join());
      return false;
    });
    const job = liveJob(NAME, Date.now() - 60_000) as { readonly metadata: object };
    const annotations = { 'gitea.bpg.pw/registered-at': 'repo:acme/web' };
    const pod = podOf(NAME, runs ? runsSince(Date.now() - 50_000) : { phase: 'Pending' });
    const jobs = { runners: [{ ...job, metadata: { ...job.metadata, annotations } }] };
    const kubeconfig = kubeconfigFor(await startCluster({ jobs, pods: { runners: [pod] } }));

    const { code, stderr } = await runHere(['generate', '--kubeconfig', kubeconfig, folder], env);

    expect(code, stderr).toBe(0);
    expect(asked).toEqual(runs ? ['/api/v1/repos/acme/web/actions/runners'] : []);
  },
);
