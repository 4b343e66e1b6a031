/**
 * Runs a runner's Job as a process, like the kubelet: volumes become folders, environment and Secret references are
 * resolved, and the runner image's own entry point `scripts/run.sh` starts the real runner.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Container, RunnerJob } from './manifest.ts';
import type { Playground, Running } from './process.ts';

export interface PodWorld {
  readonly playground: Playground;
  /** Build of the runner: `gitea-runner` and `scripts/run.sh`. */
  readonly runner: string;
  /** Values by `<Secret>/<key>`. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Values by `<ConfigMap>/<key>`. */
  readonly configMaps?: ReadonlyMap<string, string>;
}

export interface Pod {
  readonly running: Running;
  readonly graceSeconds: number;
  /** Removes the pod's folder; its log stays. */
  readonly remove: () => void;
}

const CONFIG_ANNOTATION = 'gitea.bpg.pw/runner-config';

/**
 * Starts the pod of a Job: the init containers' commands, and the runner image's entry point when that has ended well.
 * @throws when a Secret it refers to does not exist (a real pod would wait for it).
 */
export function startPod(job: RunnerJob, world: PodWorld): Pod {
  const { playground, runner } = world;
  const { name } = job.metadata;
  const { initContainers, containers, volumes = [] } = job.spec.template.spec;
  const root = playground.makeFolder('pods', name);
  const mounts = [...initContainers, ...containers].flatMap(({ volumeMounts }) => volumeMounts);
  const folders = new Map(
    mounts.map(({ name: volume, mountPath }) => [mountPath, playground.makeFolder('pods', name, 'volumes', volume)]),
  );
  const mountPath = new RegExp([...folders.keys()].sort((a, b) => b.length - a.length).join('|'), 'g');
  /** A text with every mention of a mounted folder moved. */
  const inVolume = (text: string): string => text.replaceAll(mountPath, (path) => folders.get(path) ?? path);
  for (const { name: volume, configMap } of volumes) {
    for (const { key, path } of configMap?.items ?? []) {
      const value = world.configMaps?.get(`${configMap?.name}/${key}`);
      if (value === undefined) throw new Error(`Job ${name}: there is no ConfigMap ${configMap?.name} with key ${key}`);
      writeFileSync(join(root, 'volumes', volume, path), value);
    }
  }
  const environmentOf = ({ env }: Container): readonly string[] => {
    const known = new Map<string, string>();
    for (const { name: variable, value = '', valueFrom } of env) {
      const given = valueFrom
        ? referredTo(valueFrom, name, world)
        : inVolume(value.replaceAll(/\$\((\w+)\)/g, (text, of: string) => known.get(of) ?? text));
      if (given !== undefined) known.set(variable, given);
    }
    return [...known].map(([variable, value]) => `${variable}=${value}`);
  };
  const config = job.spec.template.metadata.annotations[CONFIG_ANNOTATION];
  if (config !== undefined) writeFileSync(inVolume('/etc/gitea-runner/config.yaml'), inVolume(config));

  const [container] = containers;
  const script = join(root, 'run.sh');
  writeFileSync(script, movedScript(join(runner, 'scripts', 'run.sh'), inVolume('/data'), root));
  // Kubernetes makes one dollar sign of two.
  const moved = (word: string): string => inVolume(word.replaceAll('$$', () => '$'));
  const starts = initContainers.map((each) => {
    const words = [...environmentOf(each), ...(each.command ?? []).map(moved)].map(quoted).join(' ');
    return `(cd ${quoted(inVolume(each.workingDir ?? '/'))} && env ${words}) || exit`;
  });
  const steps = [...starts, `exec env ${environmentOf(container).map(quoted).join(' ')} bash ${quoted(script)}`];
  const pod = join(root, 'pod.sh');
  writeFileSync(pod, `${steps.join('\n')}\n`);
  const running = playground.start({
    command: 'bash',
    args: [pod],
    cwd: root,
    env: { HOME: root },
    binaries: runner,
    logFile: join(playground.makeFolder('logs'), `${name}.log`),
  });
  return {
    running,
    graceSeconds: job.spec.template.spec.terminationGracePeriodSeconds,
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  };
}

type Reference = NonNullable<Container['env'][number]['valueFrom']>;

/** Undefined: an optional Secret that does not exist. */
function referredTo({ secretKeyRef }: Reference, job: string, world: PodWorld): string | undefined {
  if (secretKeyRef === undefined) return '127.0.0.1';
  const { name, key, optional = false } = secretKeyRef;
  const found = world.secrets.get(`${name}/${key}`);
  if (found === undefined && !optional) throw new Error(`Job ${job}: there is no Secret ${name} with key ${key}`);
  return found;
}

/** The entry point with its two fixed paths moved into the pod's folder: here all pods share one file system. */
function movedScript(file: string, data: string, root: string): string {
  const text = readFileSync(file, 'utf8');
  if (!text.includes('cd /data') || !text.includes('/tmp/reg.log'))
    throw new Error(`${file} is not the script we know`);
  return text.replaceAll('/data', data).replaceAll('/tmp/reg.log', join(root, 'reg.log'));
}

/** Quotes one word for a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
