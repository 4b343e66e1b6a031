/** Makes a group's template the Job of one runner: its name, labels and annotations. */
import type { EmittedRunner } from '../planner/decisions.ts';
import { POOL_LIFE_MS, parseRunnerName, poolIndexOf } from '../planner/names.ts';
import {
  COMPARE_OPTIONS,
  ENDED_AT,
  HOOK,
  IGNORE_EXTRANEOUS,
  IGNORE_HEALTH,
  JOB_ID,
  JOB_URL,
  KEEP_UNTIL,
  NO_PRUNE,
  REGISTER,
  REPOSITORY,
  RUN_ATTEMPT,
  RUNNER_CONFIG,
  SKIP,
  SYNC_OPTIONS,
  type Texts,
  timeText,
} from '../shared/marks.ts';
import { type Container, type JobManifest, NAME_VARIABLE, type PodTemplate } from './job-manifest.ts';

/** What makes a group's template the Job of one runner. */
export interface RunnerParts {
  readonly name: string;
  /** Besides those of the group. */
  readonly labels: Texts;
  readonly annotations: Texts;
  /** Of its pod; undefined: as in the template. */
  readonly priorityClass: string | undefined;
  /** It is a runner of a warm pool. */
  readonly isWarm: boolean;
  /** Of its Job, as it lives. Undefined: as in the template. */
  readonly spec?: object | undefined;
}

/** The parts that follow from a decision. */
export function partsOf(decision: EmittedRunner, spec?: object): RunnerParts {
  const { runner, priorityClass } = decision;
  const annotations = present(jobAnnotations(decision));
  return { name: runner, labels: runnerLabels(runner), annotations, priorityClass, isWarm: isWarm(runner), spec };
}

/** Containers that know the runner's name. */
const OURS = ['runner', REGISTER];

/** The Job of one runner. One that lives keeps its spec: Argo CD 3.6 has Kubernetes judge each difference (docs/adr/0063). */
export function stamp(ofGroup: JobManifest, parts: RunnerParts): JobManifest {
  const { name, labels, annotations } = parts;
  return {
    ...ofGroup,
    metadata: {
      annotations,
      labels: inOrder(ofGroup.metadata.labels, labels),
      name,
      namespace: ofGroup.metadata.namespace,
    },
    spec: (parts.spec as JobManifest['spec'] | undefined) ?? specOf(ofGroup, parts),
  };
}

function specOf(ofGroup: JobManifest, { name, labels, priorityClass, isWarm: warm }: RunnerParts): JobManifest['spec'] {
  const jobSpec = warm ? warmSpec(ofGroup.spec) : ofGroup.spec;
  const pod = jobSpec.template;
  // Containers of a podTemplate may have a variable of that name, too: it stays what it is.
  const named = (container: Container): Container => {
    if (!OURS.includes(container.name)) return container;
    const env = (container.env ?? []).map((entry) =>
      entry.name === NAME_VARIABLE ? { ...entry, value: name } : entry,
    );
    return { ...container, env };
  };
  const { containers, initContainers } = pod.spec;
  const spec = { ...pod.spec, containers: containers.map(named), initContainers: initContainers.map(named) };
  return {
    ...jobSpec,
    template: {
      metadata: { ...pod.metadata, labels: inOrder(pod.metadata.labels, labels) },
      spec: priorityClass === undefined ? spec : withClass(spec, priorityClass),
    },
  };
}

function withClass(spec: PodTemplate['spec'], priorityClassName: string): PodTemplate['spec'] {
  return inOrder<unknown>({ ...spec }, { priorityClassName }) as unknown as PodTemplate['spec'];
}

/** True for a runner of a pool. */
export function isWarm(runner: string): boolean {
  return poolIndexOf(parseRunnerName(runner)?.madeFor) !== undefined;
}

/** A line of every runner's configuration (runner-config.ts), and those that follow it in that of a warm one. */
const CAPACITY = '  capacity: 1\n';
const ASKS_OFTEN = `${CAPACITY}  fetch_interval: 1s\n  fetch_interval_max: 1s\n`;
/** `spec.runnerConfig` says itself how often its runners ask. */
const ASKS_AS_WRITTEN = /^ {2}fetch_interval(?:_max)?:/m;

/**
 * The spec of a group's warm runners (docs/adr/0035). What it has besides is no part of the template's hash: a pool that is switched on
 * changes no other runner.
 *
 * - Such a runner asks Gitea for work every second. Others ask after 2 s and, while they are idle, every 5 s (runner 1.0.8).
 * - Its Job may live longer, because it waits before it works. The planner exchanges an idle one before that time is over.
 */
function warmSpec(spec: JobManifest['spec']): JobManifest['spec'] {
  const { metadata } = spec.template;
  const config = metadata.annotations[RUNNER_CONFIG] ?? '';
  const asksOften = ASKS_AS_WRITTEN.test(config) ? config : config.replace(CAPACITY, ASKS_OFTEN);
  const annotations = { ...metadata.annotations, [RUNNER_CONFIG]: asksOften };
  return {
    ...spec,
    activeDeadlineSeconds: spec.activeDeadlineSeconds + POOL_LIFE_MS / 1000,
    template: { ...spec.template, metadata: { ...metadata, annotations } },
  };
}

/** Far below Kubernetes' 256 KiB for all annotations together; longer than any page of Gitea. */
const TEXT_LIMIT = 2048;
/** Control and format characters, line and paragraph separators, lone surrogates: they steer terminals or break readers. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Nearly every repository. Told first, because the tables of Unicode that `UNPRINTABLE` needs cost a start 1 ms. */
const ASCII = /^[\x20-\x7e]*$/;

/** Labels that follow from the runner's name alone; none for a warm-pool runner. */
export function runnerLabels(runner: string): Texts {
  const parts = parseRunnerName(runner);
  if (!parts || 'poolIndex' in parts.madeFor) return {};
  const { id, attempt } = parts.madeFor;
  return { [JOB_ID]: String(id), [RUN_ATTEMPT]: String(attempt) };
}

/** How Argo CD is to treat a Job, the CI job that it is for, and until when it stays for a look. */
export type Treatment = Pick<EmittedRunner, 'pinned' | 'skip' | 'job' | 'keep'>;

/**
 * Annotations of the Job object, never of its pod template: they may change while the Job lives.
 * A repository's unprintable characters become `?`. An address that is no plain http(s) URL, or is too long, is left out: half a
 * link is worse than none.
 */
export function jobAnnotations({ pinned, skip, job, keep }: Treatment): Texts {
  return {
    [COMPARE_OPTIONS]: pinned ? IGNORE_EXTRANEOUS : '',
    [HOOK]: skip ? SKIP : '',
    [IGNORE_HEALTH]: 'true',
    [SYNC_OPTIONS]: pinned ? NO_PRUNE : '',
    [JOB_URL]: plainUrl(job?.url ?? ''),
    [REPOSITORY]: printable(job?.repository ?? '').slice(0, TEXT_LIMIT),
    [ENDED_AT]: keep ? timeText(keep.endedAtMs) : '',
    [KEEP_UNTIL]: keep ? timeText(keep.untilMs) : '',
  };
}

function printable(text: string): string {
  return ASCII.test(text) ? text : text.replace(UNPRINTABLE, '?');
}

function plainUrl(url: string): string {
  return url.length <= TEXT_LIMIT && /^https?:\/\/[\x21-\x7e]+$/.test(url) ? url : '';
}

/** The entries with a value, sorted by key. */
export function present(part: Texts): Texts {
  return inOrder(Object.fromEntries(Object.entries(part).filter(([, value]) => value !== '')));
}

/** All entries, sorted by key: object order is output order. A label of a podTemplate may be empty. */
export function inOrder<T>(...parts: readonly Readonly<Record<string, T>>[]): Readonly<Record<string, T>> {
  const entries = parts.flatMap((part) => Object.entries(part));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
