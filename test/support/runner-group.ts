import type { RunnerGroup } from '../../src/runnergroup/runner-group.ts';

/** A RunnerGroup as it is after reading, with defaults that say nothing. */
export function runnerGroup(over: Partial<RunnerGroup> = {}): RunnerGroup {
  return {
    place: { file: 'ci.yaml', line: 1, column: 1 },
    namespace: 'runners',
    name: 'ci',
    scope: { kind: 'org', org: 'acme' },
    giteaUrl: 'https://gitea.example.com',
    labels: [{ name: 'linux', text: 'linux:host' }],
    maxActiveRunners: 10,
    minIdleRunners: 0,
    groupLabel: false,
    registrationToken: { name: 'gitea-runner', key: 'registration-token' },
    authToken: { name: 'gitea-api', key: 'token' },
    suspend: false,
    acceptUnlabelledJobs: false,
    fairness: 'oldest',
    image: 'gitea/runner:1.0.8',
    containerMode: 'host',
    resources: { requests: {}, limits: {} },
    proxy: undefined,
    runnerConfig: {},
    notify: [],
    setupCommand: [],
    keepFailedSeconds: 0,
    spawnTimeoutSeconds: 300,
    pendingDeadlineSeconds: 900,
    priorityTiers: [],
    activeDeadlineSeconds: 21_600,
    ttlSecondsAfterFinished: 600,
    maxEvictionRetries: 0,
    evictionRetryDelaySeconds: 5,
    gracefulStopSeconds: 600,
    manifest: {},
    ...over,
  };
}
