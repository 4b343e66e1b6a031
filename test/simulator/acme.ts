import { onTestFinished } from 'vitest';
import type { Gitea } from '../../simulator/gitea/gitea.ts';
import type { RunnerSpec } from '../../simulator/gitea/runners.ts';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../simulator/gitea/simulator.ts';

export const VERSIONS = ['1.25.4', '1.26.0', '1.27.3'] as const;

/** The fields of Gitea's answers that the tests look at. */
export interface Body {
  readonly message: string;
  readonly url: string;
  readonly version: string;
  readonly login: string;
  readonly total_count: number;
  readonly jobs: readonly JobBody[];
  readonly runners: readonly RunnerBody[];
  readonly workflow_runs: readonly { readonly id: number; readonly run_attempt: number; readonly status: string }[];
}

export interface JobBody {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  readonly labels: readonly string[] | null;
  readonly status: string;
  readonly conclusion?: string;
  readonly run_attempt: number;
  readonly runner_id?: number;
  readonly runner_name?: string;
  readonly steps: readonly unknown[] | null;
  readonly created_at: string;
  readonly started_at: string;
}

export interface RunnerBody {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
}

/** A simulator with people in it, and a clock that moves only when it is told to. It ends with the test. */
export interface Acme extends Simulator {
  readonly clock: { now: number };
  /** GET below `/api/v1` with somebody's token; `body` is the parsed JSON. */
  get(path: string, token?: string, init?: RequestInit): Promise<{ status: number; headers: Headers; body: Body }>;
}

/**
 * Users: `root` (site admin), `olga` (owns org acme), `mia` (member), `tom` (nobody). Tokens are `<user>-all`.
 * Repositories: `acme/web` (public), `acme/secret` (private), `tom/toys` (public).
 */
export async function startAcme(options: SimulatorOptions = {}): Promise<Acme> {
  const clock = { now: Date.UTC(2026, 8, 1) };
  const simulator = await startSimulator({ now: () => clock.now, ...options });
  onTestFinished(() => simulator.close());
  const { gitea } = simulator;
  gitea.addUser('root', { admin: true });
  for (const name of ['olga', 'mia', 'tom']) gitea.addUser(name);
  for (const name of ['root', 'olga', 'mia', 'tom']) gitea.addToken(name, ['all'], `${name}-all`);
  gitea.addOrg('acme', { owners: ['olga'], members: ['mia'] });
  gitea.addRepo('acme/web');
  gitea.addRepo('acme/secret', { private: true });
  gitea.addRepo('tom/toys');
  return {
    ...simulator,
    clock,
    get: async (path, token = 'root-all', init = {}) => {
      const headers = token === '' ? {} : { authorization: `token ${token}` };
      const response = await fetch(`${simulator.url}/api/v1${path}`, { headers, ...init });
      const text = await response.text();
      const json = response.headers.get('content-type')?.startsWith('application/json');
      return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
    },
  };
}

/** Registers an ephemeral runner in org acme. @returns its id */
export function addRunner(gitea: Gitea, over: Partial<RunnerSpec> = {}): number {
  const scope = { kind: 'owner', owner: 'acme' } as const;
  return gitea.register({ name: 'r', scope, labels: ['ubuntu-latest'], ...over }).id;
}

/** `n` jobs without needs. */
export function jobs(n: number): { key: string }[] {
  return Array.from({ length: n }, (_, index) => ({ key: `job${index}` }));
}
