/** Writes the configuration file of a group's runners. */
import { hasDocker, type JobGroup } from '../config/runnergroup/runner-group.ts';
import { shutdownSeconds } from './container-mode.ts';
import { sorted } from './job-manifest.ts';
import { configParts } from './proxy-and-ca.ts';
import { document } from './yaml.ts';

/** Folder of the configuration file in the runner container. */
export const CONFIG_DIR = '/etc/gitea-runner';
/** Value of `CONFIG_FILE`: `scripts/run.sh` passes it to `register` and `daemon`. */
export const CONFIG_FILE = `${CONFIG_DIR}/config.yaml`;

/**
 * The runner's own configuration (1.0.8, `config.example.yaml`); everything else is its default, or in `spec.runnerConfig`.
 * - `file` is what `scripts/run.sh` takes for `RUNNER_STATE_FILE`, relative to /data: both must agree.
 * - `timeout` follows the Job's deadline, else the runner's own 3 h would end longer CI jobs; Gitea's limit stays.
 * - `shutdown_timeout` is 0 s by default: a stopped runner would cut its CI job at once, and report it as a success.
 * - `docker_timeout` is 0 s by default: the runner would end if dockerd is not up yet. After it, it ends with an error.
 * - `require_docker`: else a runner with `host` labels only does not wait for dockerd. In dind-rootless s6 waits.
 * - `env_file`, `options`, `valid_volumes`: proxy-and-ca.ts.
 * - `log.level`: with `keepFailedSeconds` the pod must see how its CI job ended (keep.ts).
 * - no `labels`: they would override `GITEA_RUNNER_LABELS` at registration.
 */
export function runnerConfig(group: JobGroup): string {
  const { runnerConfig: configOfGroup, cache, containerMode } = group;
  const { envFile, folders } = configParts(group);
  const { options = '', valid_volumes: volumes = [] } = configOfGroup.container ?? {};
  const mounts = folders.map((folder) => `-v ${folder}:${folder}:ro`);
  const container = {
    ...configOfGroup.container,
    ...(folders.length > 0 && {
      options: [...mounts, options].join(' ').trim(),
      valid_volumes: [...folders, ...volumes],
    }),
  };
  const sections: Readonly<Record<string, readonly string[]>> = {
    runner: [
      '  file: .runner',
      '  capacity: 1',
      `  timeout: ${group.activeDeadlineSeconds}s`,
      `  shutdown_timeout: ${shutdownSeconds(group)}s`,
      ...linesOf({ ...configOfGroup.runner, ...(envFile && { env_file: envFile }) }),
    ],
    container: [
      ...(hasDocker(containerMode) ? ['  docker_timeout: 120s'] : []),
      ...(containerMode === 'dind' ? ['  require_docker: true'] : []),
      ...(hasDocker(containerMode) ? linesOf(container) : []),
    ],
    host: linesOf(configOfGroup.host),
    log: linesOf(logOf(group)),
    metrics: linesOf(configOfGroup.metrics),
    health_check: linesOf(configOfGroup.health_check),
    // The last one: the secret of the cache server is added to it in the pod (init-containers.ts).
    cache: [
      ...linesOf(configOfGroup.cache),
      ...linesOf(cache && { external_server: `${cache.url.replace(/\/+$/, '')}/` }),
    ],
  };
  const lines = Object.entries(sections).flatMap(([name, inner]) => (inner.length > 0 ? [`${name}:`, ...inner] : []));
  return `${lines.join('\n')}\n`;
}

function logOf({ keepFailedSeconds, runnerConfig: { log } }: JobGroup) {
  return keepFailedSeconds > 0 ? { level: 'debug', ...log } : log;
}

/** True if the runner also prints the logs of CI jobs (1.0.8, internal/app/run/runner.go). */
export function printsJobLogs(group: JobGroup): boolean {
  return /^(?:debug|trace)$/i.test(String(logOf(group)?.['level']));
}

/** Keys of a section in order: their order in the RunnerGroup must not make another runner. */
function linesOf(section: Readonly<Record<string, unknown>> = {}): readonly string[] {
  const { length } = Object.keys(section);
  return length === 0
    ? []
    : document({ section: sorted(section) })
        .trimEnd()
        .split('\n')
        .slice(1);
}
