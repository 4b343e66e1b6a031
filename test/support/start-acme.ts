import { onTestFinished } from 'vitest';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../model/gitea/simulator.ts';
import { folderWith, groupYaml } from './run-cli.ts';

export const TOKEN = 'api-token-of-this-test-0123456789';

/** A simulated Gitea with org acme and repository acme/web, and the environment of a person who may read the org. */
export async function startAcme(
  options: SimulatorOptions = {},
): Promise<{ readonly simulator: Simulator; readonly env: Readonly<Record<string, string>> }> {
  const simulator = await startSimulator(options);
  onTestFinished(() => simulator.close());
  simulator.gitea.addUser('anna');
  simulator.gitea.addOrg('acme', { owners: ['anna'] });
  simulator.gitea.addRepo('acme/web');
  simulator.gitea.addToken('anna', ['read:organization'], TOKEN);
  return { simulator, env: { GITEA_URL: simulator.url, GITEA_TOKEN: TOKEN } };
}

/** The same with one queued job, and a folder with the RunnerGroup that serves it. @param spec more of the group */
export async function startWithJob(spec = '', options: SimulatorOptions = {}) {
  const { simulator, env } = await startAcme(options);
  const { jobs } = simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  return { simulator, env, folder: folderWith({ 'ci.yaml': groupYaml(simulator.url, spec) }), jobId: jobs[0]?.id };
}
