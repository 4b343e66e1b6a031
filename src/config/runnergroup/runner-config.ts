/** `runnerConfig`: keys of the runner's config.yaml (1.0.8 to 3.3.0). Checked here: 1.0.8 ignores unknown keys. */
import * as z from 'zod';
import { stringLike, whenWritten } from './field-kinds.ts';
import { refinementOf } from './words.ts';

/** Most bytes of all keys. They are an annotation of each Job, and Kubernetes allows 256 KiB of annotations. */
export const RUNNER_CONFIG_LIMIT = 16_384;

const text = () => z.string().max(4096).optional();
const flag = () => z.boolean().optional();
const texts = () => z.array(z.string().max(4096)).max(100).optional();
/** A number would be nanoseconds. */
const DURATION = /^(?:0|(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|ms|s|m|h))+)$/;
const duration = () =>
  stringLike(0, 64, DURATION, 'must be a duration with its unit, e.g. 30s, 5m or 1h30m').optional();

/** A size in bytes. The runner accepts a plain number, too, which would need a type of its own in the CRD. */
const SIZE = /^[0-9]+(?:\.[0-9]+)? ?(?:[kmgt]i?)?b?$/i;
const size = () => stringLike(0, 64, SIZE, 'must be a size, e.g. 10GB, 512MB or 0').optional();

function keys() {
  return z
    .strictObject({
      log: z.strictObject({
        level: z.enum(['trace', 'debug', 'info', 'warn', 'warning', 'error', 'fatal', 'panic']).optional(),
        job: z.strictObject({ dir: text(), retention: duration(), max_size: size() }).optional(),
      }),
      runner: z.strictObject({
        envs: z.record(z.string().max(253), z.string().max(8192)).optional(),
        env_file: text(),
        fetch_timeout: duration(),
        fetch_interval: duration(),
        fetch_interval_max: duration(),
        workdir_cleanup_age: duration(),
        idle_cleanup_interval: duration(),
        log_report_interval: duration(),
        log_report_max_latency: duration(),
        log_report_batch_size: z.int().min(1).max(1_000_000).optional(),
        state_report_interval: duration(),
        github_mirror: text(),
        allocate_pty: flag(),
        action_shallow_clone: flag(),
        set_act_env: flag(),
        patch_actions: flag(),
        default_image: text(),
        tool_cache_mode: z.enum(['none', 'shared']).optional(),
        post_task_script: text(),
        post_task_script_timeout: duration(),
        hooks: z.strictObject({ job_started: text(), job_completed: text() }).optional(),
      }),
      cache: z.strictObject({
        enabled: flag(),
        dir: text(),
        host: text(),
        port: z.int().min(0).max(65_535).optional(),
        offline_mode: flag(),
        v2: flag(),
        retention: duration(),
        repo_size_limit: size(),
        size_limit: size(),
        sweep_interval: duration(),
      }),
      container: z.strictObject({
        network: text(),
        privileged: flag(),
        options: text(),
        workdir_parent: text(),
        valid_volumes: texts(),
        // Anything else is a docker daemon outside the pod. "-": CI jobs do not get the socket.
        docker_host: z.literal('-').optional(),
        force_pull: flag(),
        force_rebuild: flag(),
        bind_workdir: flag(),
        network_create_options: z.strictObject({ enable_ipv4: flag(), enable_ipv6: flag() }).optional(),
        service_ready_timeout: duration(),
      }),
      host: z.strictObject({ workdir_parent: text() }),
      metrics: z.strictObject({ enabled: flag(), addr: text(), readiness_grace: duration() }),
      health_check: z.strictObject({
        enabled: flag(),
        min_free_disk_space_mb: z.int().min(0).max(1_000_000_000).optional(),
        script: text(),
        interval: duration(),
        timeout: duration(),
      }),
    })
    .partial()
    .superRefine(refinementOf(checkSize));
}

function checkSize(config: object): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(config));
  if (bytes <= RUNNER_CONFIG_LIMIT) return undefined;
  return `has ${bytes} bytes, more than ${RUNNER_CONFIG_LIMIT}: keep long values in the runner's image, e.g. in runner.env_file`;
}

export const RunnerConfigKeys = whenWritten(keys);

export type RunnerConfig = Readonly<z.output<typeof RunnerConfigKeys>>;

/** Keys that came after runner 1.0.8: the first release that has each, by `section.key`, or by section. */
export const NEWER_KEYS: Readonly<Record<string, string>> = {
  'log.job': '3.3',
  'runner.action_shallow_clone': '2.0',
  'runner.set_act_env': '2.1',
  'runner.patch_actions': '3.3',
  'runner.default_image': '3.3',
  'runner.tool_cache_mode': '3.2',
  'runner.post_task_script': '2.0',
  'runner.post_task_script_timeout': '2.0',
  'runner.hooks': '3.0',
  'cache.v2': '3.0',
  'cache.retention': '3.2',
  'cache.repo_size_limit': '3.2',
  'cache.size_limit': '3.2',
  'cache.sweep_interval': '3.2',
  'container.network_create_options': '2.0',
  'container.service_ready_timeout': '3.1',
  'metrics.readiness_grace': '2.2',
  health_check: '2.2',
};

/** Keys that this program sets, with the message for each, by `section.key`. */
export const OWNED_KEYS: Readonly<Record<string, string>> = {
  'runner.file': 'the runner and its registration must agree about the file: remove it',
  'runner.capacity': 'a runner runs one CI job: use spec.maxActiveRunners',
  'runner.timeout': 'use spec.activeDeadlineSeconds',
  'runner.shutdown_timeout': 'use spec.gracefulStopSeconds',
  'runner.report_close_timeout': "the pod's termination grace is made for the runner's default: remove it",
  'runner.labels': 'use spec.labels',
  'runner.insecure':
    "the registration token would go to whoever answers in Gitea's place: remove it, and name Gitea's CA in spec.caBundle",
  'cache.external_server': 'use spec.cache.url',
  'cache.external_secret': 'a secret has no place in a file: use spec.cache.secretRef',
  'cache.external_secret_file': 'use spec.cache.secretRef',
  'container.network_mode': 'it is the older name of container.network',
  'container.require_docker': 'use spec.containerMode',
  'container.docker_timeout': 'use spec.containerMode',
};

/** Returns the message for a key below `spec.runnerConfig` that this program sets. Undefined for other fields. */
export function ownedKey(path: readonly (string | number)[]): string | undefined {
  const [spec, field, ...keys] = path;
  if (spec !== 'spec' || field !== 'runnerConfig') return undefined;
  const key = keys.join('.');
  return Object.hasOwn(OWNED_KEYS, key) ? OWNED_KEYS[key] : undefined;
}
