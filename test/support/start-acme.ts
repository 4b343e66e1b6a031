import { onTestFinished } from 'vitest';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../model/gitea/simulator.ts';

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
