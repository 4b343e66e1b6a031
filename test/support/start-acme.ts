import type { IncomingMessage, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../simulator/gitea/simulator.ts';
import { folderWith, groupYaml } from './run-cli.ts';

export const TOKEN = 'api-token-of-this-test-0123456789';

/**
 * Starts a simulated Gitea with org acme and repository acme/web, and the environment of a person who may read the org.
 */
export async function startAcme(options: SimulatorOptions = {}, spec = '') {
  const simulator: Simulator = await startSimulator(options);
  onTestFinished(() => simulator.close());
  simulator.gitea.addUser('anna');
  simulator.gitea.addOrg('acme', { owners: ['anna'] });
  simulator.gitea.addRepo('acme/web');
  simulator.gitea.addToken('anna', ['read:organization'], TOKEN);
  const env: Readonly<Record<string, string>> = { GITEA_URL: simulator.url, GITEA_TOKEN: TOKEN };
  /** With a RunnerGroup of the org. `spec`: further lines of it. */
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url, spec) });
  return { simulator, env, folder };
}

/** Starts such a Gitea with one queued job, which the RunnerGroup serves. */
export async function startWithJob(spec = '', options: SimulatorOptions = {}) {
  const acme = await startAcme(options, spec);
  const { jobs } = acme.simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  return { ...acme, jobId: jobs[0]?.id };
}

/** Returns a handler for `simulator.intercept`: matching requests like `GET /api/…` get this status. */
export function refusing(line: RegExp, status: number) {
  return ({ method, url }: IncomingMessage, response: ServerResponse): boolean => {
    const fits = line.test(`${method} ${url}`);
    if (fits) response.writeHead(status).end();
    return fits;
  };
}
