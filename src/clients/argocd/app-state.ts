/** Reads and judges the used fields of an Application (Argo CD 3.5.3, v1alpha1/types.go). Fetches nothing. */
import * as z from 'zod';
import { HARMFUL_OPTIONS } from '../../shared/installed/installed-application.ts';
import { PLUGIN, SHARD_SETTING } from '../../shared/installed/installed-names.ts';
import { groupBy, keyText } from '../../shared/keys.ts';
import { API_GROUP, KIND, REFRESH, SKIP_RECONCILE, timeText } from '../../shared/marks.ts';
import { oneLine } from '../../shared/printable.ts';
import { type ObjectRef, objectKey, shardRef } from './application.ts';

/** A condition of the Application. Both texts are safe to show. */
export type AppError = Readonly<ReturnType<typeof toError>>;
export type AppState = Readonly<ReturnType<typeof readApplication>>;

/** A clause without values from outside. */
export class AppShapeError extends Error {}

/** A word of this program: Argo CD has no such condition. */
const SKIPPED = 'Skipped';
const DELETING = 'Deleting';
const STOPPING: ReadonlySet<string> = new Set(['ComparisonError', 'InvalidSpecError', 'UnknownError', SKIPPED]);
/** Most characters of a message: a code, a sentence and an address. The status of a RunnerGroup shows it, too. */
const LONGEST_OF_ARGOCD = 600;
/** Most characters of a word such as a phase or a type. A longer one is cut in the middle. */
const LONGEST_WORD = 60;
/** Most warnings that are shown, one of each kind first: Argo CD has one for each object that it leaves out. */
const MOST_WARNINGS = 3;
/** An operation that runs for so long will not end soon, ms. */
const LONG_MS = 180_000;
const TRUE = /^(?:1|[tT]|true|True|TRUE)$/;

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const Resource = z.object({
  group: z.string().default(''),
  kind: z.string().default(''),
  namespace: z.string().default(''),
  name: z.string().default(''),
  hook: z.boolean().optional(),
  status: z.string().optional(),
  requiresPruning: z.boolean().optional(),
});

/**
 * What the last sync did with an object. Its status is empty, Synced, SyncFailed, Pruned or PruneSkipped. `hookPhase` is the
 * phase of a hook, and of an object whose health its wave waits for: Running, Failed, Error, Succeeded, Terminating.
 */
const Result = Resource.pick({ kind: true, name: true, namespace: true, status: true }).extend({
  hookType: z.string().default(''),
  hookPhase: z.string().default(''),
  message: z.string().default(''),
});

const Status = z.object({
  sync: z.object({ status: z.enum(['Synced', 'OutOfSync', 'Unknown', '']).optional() }).nullish(),
  health: z.object({ status: z.string().optional() }).nullish(),
  conditions: z.array(z.object({ type: z.string(), message: z.string() })).nullish(),
  operationState: z
    .object({
      // Running, Terminating, Failed, Error, Succeeded.
      phase: z.string(),
      message: z.string().optional(),
      startedAt: time.nullish().catch(undefined),
      syncResult: z
        .object({ resources: z.array(Result).nullish() })
        .nullish()
        .catch(undefined),
    })
    .nullish(),
  reconciledAt: time.nullish(),
  resources: z.array(Resource).nullish(),
  // Directory, Helm, Kustomize or Plugin.
  sourceType: z.string().nullish(),
  sourceTypes: z.array(z.string()).nullish(),
});

const Source = z.object({
  plugin: z
    .object({
      name: z.string().nullish(),
      env: z.array(z.object({ name: z.string(), value: z.string().default('') })).nullish(),
    })
    .nullish(),
});

const Application = z.object({
  metadata: z.object({
    name: z.string().min(1).max(253),
    namespace: z.string().min(1).max(253),
    annotations: z.record(z.string(), z.string()).nullish(),
    deletionTimestamp: z.string().nullish(),
    finalizers: z.array(z.string()).nullish(),
  }),
  spec: z
    .object({
      syncPolicy: z.object({ syncOptions: z.array(z.string()).nullish() }).nullish(),
      source: Source.nullish(),
      sources: z.array(Source).nullish(),
      sourceHydrator: z.object({ drySource: Source.nullish() }).nullish(),
    })
    .nullish(),
  // The requested operation, until it has ended.
  operation: z.unknown().optional(),
  status: Status.nullish(),
});

type AppJson = z.infer<typeof Application>;

/** Reads an Application, as Argo CD's API and Kubernetes give it. @throws AppShapeError: a used field has another form */
export function readApplication(json: unknown) {
  const parsed = Application.safeParse(json);
  if (!parsed.success) throw new AppShapeError(`no usable ${parsed.error.issues[0]?.path.join('.') || 'Application'}`);
  const app = parsed.data;
  const { metadata, spec, status } = app;
  const conditions = conditionsOf(app);
  const health = status?.health?.status;
  const reconciledAtMs = status?.reconciledAt;
  const resources = (status?.resources ?? []).filter(({ hook }) => hook !== true);
  const groups = resources.filter((each) => each.group === API_GROUP && each.kind === KIND && !each.requiresPruning);
  const differing = groups.filter((each) => each.status === 'OutOfSync');
  const managed = new Set([...resources, ...shardsOf(app)].map(objectKey));
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    /** `Unknown` also when Argo CD has not compared it yet. */
    sync: status?.sync?.status || 'Unknown',
    /** `Healthy`, `Progressing`, `Degraded`, …; absent before the first comparison. */
    ...(health && { health: oneLine(health, LONGEST_WORD) }),
    /** Errors in Argo CD's order. */
    errors: conditions.filter(({ type }) => isError(type)).map(toError),
    isSkipped: isSkipped(app),
    /** Why runners may not come: conditions that are no errors, in Argo CD's words, and harmful sync options. */
    warnings: [...warningsIn(conditions), ...harmfulOptions(spec?.syncPolicy?.syncOptions ?? [])],
    /** The last one (a sync) or the one under way. Its message is one line, safe to show; it may be empty. */
    ...(status?.operationState && { operation: toOperation(status.operationState) }),
    /** True if an operation is requested or runs. Until it ends, Argo CD refuses each sync (`SetAppOperation`). */
    isOperating: app.operation != null,
    /** Start of the last completed comparison with git: ms, by the controller's clock, in whole seconds. */
    ...(reconciledAtMs != null && { reconciledAtMs }),
    /** True if a refresh is requested or runs (annotation `REFRESH`). Another request may be lost in it. */
    refreshPending: metadata.annotations?.[REFRESH] !== undefined,
    /** True for its resources, also those that wait to be pruned, and for the shard that its plugin prints. */
    manages: (object: ObjectRef): boolean => managed.has(objectKey(object)),
    /** RunnerGroups that the Application prints: `runners/ci`. Absent: nothing has been compared. */
    ...(resources.length > 0 && { groups: groups.map(keyText) }),
    /** Those of them that differ from git, or are not in the cluster. Absent: none. */
    ...(differing.length > 0 && { differing: differing.map(keyText) }),
    ...pluginless(app),
    /** Jobs that Argo CD compares with its copy of the output. Not among them: hooks, and Jobs that wait to be pruned. */
    jobs: resources.flatMap(toJob),
  };
}

type AppCondition = Readonly<Record<'type' | 'message', string>>;

/** Returns the conditions of the Application, after two of our own: it is being deleted, or left alone. */
function conditionsOf(app: AppJson): readonly AppCondition[] {
  const { deletionTimestamp: deletedAt, finalizers } = app.metadata;
  const deleted = `somebody deleted it at ${deletedAt}, and finalizer ${finalizers?.join(', ')} is left`;
  const skipped = `annotation ${SKIP_RECONCILE}: Argo CD leaves this Application alone`;
  return [
    ...(deletedAt ? [{ type: DELETING, message: deleted }] : []),
    ...(isSkipped(app) ? [{ type: SKIPPED, message: skipped }] : []),
    ...(app.status?.conditions ?? []),
  ];
}

function isSkipped({ metadata }: AppJson): boolean {
  return TRUE.test(metadata.annotations?.[SKIP_RECONCILE] ?? '');
}

/** Returns the first warnings, one of each kind before the others. */
function warningsIn(conditions: readonly AppCondition[]): readonly string[] {
  const warnings = conditions.filter(({ type }) => !isError(type) && type !== ORPHANED);
  const oneOfEach = [...groupBy(warnings, ({ type }) => type).values()].flatMap(([first]) => first ?? []);
  const shown = [...new Set([...oneOfEach, ...warnings])].slice(0, MOST_WARNINGS);
  return shown.map(toError).map(({ type, message }) => `${type}: ${message}`);
}

function harmfulOptions(syncOptions: readonly string[]): readonly string[] {
  const harmful = syncOptions.filter((option) => HARMFUL_OPTIONS.has(option));
  return harmful.map((option) => `syncOptions has ${option}: ${HARMFUL_OPTIONS.get(option)}`);
}

/** Returns the shards that the plugin of the Application is told to print. */
function shardsOf({ spec }: AppJson): readonly ObjectRef[] {
  const variables = [spec?.source, spec?.sources].flat().flatMap((source) => source?.plugin?.env ?? []);
  return variables.filter(({ name }) => name === SHARD_SETTING).map(({ value }) => shardRef(value));
}

type OperationJson = NonNullable<z.infer<typeof Status>['operationState']>;

function toOperation(operation: OperationJson) {
  const { phase, startedAt: startedAtMs } = operation;
  return {
    phase: oneLine(phase, LONGEST_WORD),
    message: oneLine(operationText(operation), LONGEST_OF_ARGOCD),
    ...(startedAtMs != null && { startedAtMs }),
  };
}

/**
 * Returns an operation's message. Some give no reason: then the first reason of its objects is added. Argo CD itself adds
 * none of a hook, nor of an object that a wave waits for (3.5.3: gitops-engine, setOperationFailed).
 */
function operationText({ message = '', syncResult }: OperationJson): string {
  const all = (syncResult?.resources ?? []).filter((each) => each.message === '' || !message.includes(each.message));
  const refused = all.find((each) => each.status === 'SyncFailed' && each.message !== '');
  const failed = refused ?? all.find(({ hookPhase }) => hookPhase === 'Failed' || hookPhase === 'Error');
  if (!failed) return message;
  const { hookType, kind, name, namespace } = failed;
  const object = `${hookType && `hook ${hookType} `}${kind}/${name}${namespace && ` of namespace ${namespace}`}`;
  // A remedy of not-created.ts has these words.
  const who = kind && `${object} ${refused ? 'is refused' : 'failed'}: `;
  return `${message.replace(/\.$/, '')}: ${who}${failed.message || 'no message'}`;
}

interface Sources<T> {
  readonly source?: T | null | undefined;
  readonly sources?: readonly T[] | null | undefined;
  readonly sourceHydrator?: { readonly drySource?: T | null | undefined } | null | undefined;
}

/** Returns the sources as Argo CD reads them: `source` does not count beside `sources`. */
export function sourcesOf<T>({ source, sources, sourceHydrator }: Sources<T>): readonly T[] {
  if (sources?.length) return sources;
  const onlySource = source ?? sourceHydrator?.drySource;
  return onlySource ? [onlySource] : [];
}

/** `pluginless`: types of the sources if none has the plugin. Argo CD then applies the RunnerGroups, and is healthy. */
function pluginless({ spec, status }: AppJson): { readonly pluginless?: string } {
  const sources = sourcesOf(spec ?? {});
  if (sources.length === 0 || sources.some(({ plugin }) => plugin?.name === PLUGIN)) return {};
  const otherPlugins = sources.flatMap(({ plugin }) => (plugin?.name ? `plugin ${plugin.name}` : []));
  const types = (status?.sourceTypes ?? [status?.sourceType ?? []].flat()).map((type) => `source type ${type}`);
  const sourceTexts = [...new Set(otherPlugins.length > 0 ? otherPlugins : types)].join(', ');
  return { pluginless: oneLine(sourceTexts || 'no plugin', LONGEST_WORD) };
}

/** Returns Argo CD's words about the operation under way, and the command that ends a long one. Undefined: none. */
export function operationWords(app: AppState, nowMs: number): Lasting | undefined {
  const { isOperating, name, operation, reconciledAtMs = nowMs, refreshPending } = app;
  if (!isOperating && refreshPending && nowMs - reconciledAtMs > 10 * LONG_MS)
    return { says: 'a refresh is asked for', idleSinceMs: reconciledAtMs };
  if (!isOperating) return undefined;
  // An ended state is that of the operation before this one.
  if (!operation || OVER.has(operation.phase)) {
    const notBegun = 'an operation is asked for and has not begun';
    return { says: notBegun, ...(nowMs - reconciledAtMs > LONG_MS && { idleSinceMs: reconciledAtMs }) };
  }
  const { phase, message, startedAtMs } = operation;
  const since = startedAtMs === undefined ? `is ${phase}` : `has been ${phase} since ${timeText(startedAtMs)}`;
  const isLong = startedAtMs !== undefined && nowMs - startedAtMs > LONG_MS;
  const operationText = `an operation ${since}${message && `: ${message}`}`;
  const end = phase !== 'Terminating' && { end: `argocd app terminate-op ${name}` };
  return { says: operationText, ...(isLong && { ...end, lastsMs: nowMs - startedAtMs }) };
}

/** An operation under way. `end`: command that ends it. Only if it lasts long and is not being ended. */
interface Lasting {
  readonly says: string;
  readonly end?: string;
  readonly lastsMs?: number;
  /** Since when the controller has done nothing. It takes up a new operation at once, so it may be stuck. */
  readonly idleSinceMs?: number;
}

const OVER: ReadonlySet<string> = new Set(['Succeeded', 'Failed', 'Error']);

/** Type of the condition for objects that no Application manages. They keep no runner from coming. */
const ORPHANED = 'OrphanedResourceWarning';

function isError(type: string): boolean {
  return type.endsWith('Error') || type === SKIPPED || type === DELETING;
}

/** Objects printed with `hook: Skip` have no status: Argo CD does not compare them (`CompareAppState`). */
function toJob(resource: z.infer<typeof Resource>) {
  const { group, kind, namespace, name, requiresPruning, status } = resource;
  const isCompared = group === 'batch' && kind === 'Job' && requiresPruning !== true;
  if (!isCompared || !(status === 'Synced' || status === 'OutOfSync')) return [];
  // A sync would create or change a Job that is out of sync.
  return [{ namespace, name, outOfSync: status === 'OutOfSync' }];
}

function toError({ type, message }: AppCondition) {
  return {
    /** `ComparisonError`, `InvalidSpecError`, `SyncError` or another type of Argo CD, or `SKIPPED` or `DELETING`. */
    type: oneLine(type, LONGEST_WORD),
    /** One line. The output of a plugin is at its end. */
    message: oneLine(unwrapped(message), LONGEST_OF_ARGOCD),
    /** True if nothing may be synced, because the last comparison cannot be trusted. False: an error of an earlier sync. */
    stops: STOPPING.has(type),
  };
}

/** Removes Argo CD's words before those of the plugin, of the cluster, or of the last program that Argo CD called. */
export function unwrapped(message: string): string {
  const text = message.replace(
    /^[\s\S]*(?: failed exit status \d+: | desc = | failed to apply, reason: |failed to sync cluster \S+: | to live state: )(?=\S)/,
    '',
  );
  return OF_SIDECAR.test(message) ? `plugin sidecar: ${text}` : text.replace(SIDECAR_FAILED, 'plugin sidecar: ');
}

/** The call of the sidecar failed, and not its plugin (Argo CD 3.5.3: reposerver/repository/repository.go). */
const OF_SIDECAR = / in cmp: rpc error: code = \w+ desc = (?!error generating manifests)/;
/** The same before a call, in the words of Argo CD 3.1 and of newer ones. */
const SIDECAR_FAILED = /^(?:plugin sidecar failed\.|CMP processing failed for application "[^"]*":) /;
