import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { configLines } from './proxy-and-ca.ts';

/** Folder of the configuration file in the runner container. */
export const CONFIG_DIR = '/etc/gitea-runner';
/** What `CONFIG_FILE` says: `scripts/run.sh` hands it to `register` and `daemon`. */
export const CONFIG_FILE = `${CONFIG_DIR}/config.yaml`;

/**
 * The runner's own configuration (runner 1.0.8, `internal/pkg/config/config.example.yaml`); everything else is its default.
 * Only numbers and texts of ours are filled in, so nothing needs quoting.
 * - `file` is what `scripts/run.sh` takes for `RUNNER_STATE_FILE`, relative to /data: both must agree.
 * - `timeout` follows the Job's deadline, else the runner's own 3 h would end longer CI jobs; Gitea's limit stays.
 * - `shutdown_timeout` is 0 s by default: a stopped runner would cancel its CI job at once.
 * - `docker_timeout` is 0 s by default: the runner would end when dockerd is not up yet. After it the runner ends with an error.
 * - `require_docker`: without it a runner with `host` labels only would not wait for the sidecar's dockerd. In dind-rootless s6 waits.
 * - `env_file`, `options`, `valid_volumes`: proxy-and-ca.ts.
 * - no `labels`: they would override `GITEA_RUNNER_LABELS` at registration.
 */
export function runnerConfig(group: RunnerGroup): string {
  const added = configLines(group);
  const lines = [
    'runner:',
    '  file: .runner',
    '  capacity: 1',
    `  timeout: ${group.activeDeadlineSeconds}s`,
    `  shutdown_timeout: ${group.gracefulStopSeconds}s`,
    ...added.runner,
  ];
  if (group.containerMode !== 'host') lines.push('container:', '  docker_timeout: 120s', ...added.container);
  if (group.containerMode === 'dind') lines.push('  require_docker: true');
  return `${lines.join('\n')}\n`;
}
