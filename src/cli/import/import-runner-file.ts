/** The runner's own config.yaml -> fields of a RunnerGroup, and a sentence for each key that is not carried over. */
import { parse } from 'yaml';
import * as z from 'zod';
import { isMapping } from '../../config/runnergroup/paths.ts';
import { NEWER_KEYS, OWNED_KEYS, RunnerConfigKeys } from '../../config/runnergroup/runner-config.ts';
import { durationMs } from '../flags/readers.ts';
import { filled, lostNote, withoutNulls } from './import-template.ts';

const optionalText = z.string().optional().catch(undefined);
/** A value that cannot be read is named, like a key without a meaning. */
const Told = z.looseObject({
  labels: z.array(z.string()).optional().catch(undefined),
  capacity: z.int().min(1).optional().catch(undefined),
  timeout: optionalText,
  file: optionalText,
  envs: z.record(z.string(), z.string()).optional().catch(undefined),
});

export type FromRunnerFile = NonNullable<ReturnType<typeof fromRunnerFile>>;

/** Told by other fields, if they can be read. */
const READ = new Set(['runner.labels', 'runner.capacity', 'runner.timeout']);
/** Keys that are not carried over, with the reason. */
const LEFT_OUT: ReadonlyMap<string, string> = new Map([
  ...Object.entries(NEWER_KEYS).map(([key, since]) => [key, `needs runner ${since}: see spec.image`] as const),
  ...Object.entries(OWNED_KEYS),
  ['runner.envs', 'they may be secrets: write the others into spec.runnerConfig'],
  ...['runner.env_file', 'cache.dir', 'cache.host', 'cache.port'].map((key) => [key, 'of the old machine'] as const),
]);

/** Values with places, addresses and networks of the old pod. */
const OF_THE_OLD_POD: Readonly<Record<string, (value: unknown) => boolean>> = {
  'container.options': (value) =>
    /(?:^|\s)(?:-[ve]|--(?:volume|mount|env|network|net|link|device|add-host))/.test(String(value)),
  'container.valid_volumes': () => true,
  'container.network': (value) => !['host', 'bridge', 'none'].includes(String(value)),
  'container.workdir_parent': () => true,
  'host.workdir_parent': () => true,
};

const SECTIONS = ['log', 'runner', 'cache', 'container', 'host', 'metrics', 'server', 'health_check'];

/** Returns what `import` does with a key. `silent`: the key has no meaning, or another field replaces it. */
function fateOf(section: string, key: string, value: unknown, isRead: boolean): 'kept' | 'silent' | 'old' | 'lost' {
  const name = `${section}.${key}`;
  const isLeftOut = LEFT_OUT.has(name) || LEFT_OUT.has(section);
  if (isRead || value === '' || name === 'runner.file' || (value === false && isLeftOut)) return 'silent';
  if (OF_THE_OLD_POD[name]?.(value)) return 'old';
  return !isLeftOut && RunnerConfigKeys.safeParse({ [section]: { [key]: value } }).success ? 'kept' : 'lost';
}

/** Keys by which the values of a chart are recognized: they may have a `runner` of their own. */
const OF_CHARTS =
  /^(?:image|replica(?:Count|s)|persistence|resources|nodeSelector|tolerations|affinity|serviceAccount|\w*Override|pod\w+)$/;

/** Reads a config.yaml. Undefined: it is not the config.yaml of a runner. */
export function fromRunnerFile(value: unknown) {
  const file = withoutNulls(value);
  if (!isMapping(file) || !SECTIONS.some((name) => isMapping(file[name]))) return undefined;
  if (Object.keys(file).some((name) => name === 'kind' || OF_CHARTS.test(name))) return undefined;
  const runnerSettings = Told.parse(isMapping(file['runner']) ? file['runner'] : {});
  const seconds = Math.round(durationMs(runnerSettings.timeout ?? '') / 1000) || undefined;
  const settings = Object.entries(file).flatMap(([section, keys]) =>
    Object.entries(filled(isMapping(keys) ? keys : { '': keys })).map(([key, value]) => {
      const name = key === '' ? section : `${section}.${key}`;
      const isRead = READ.has(name) && runnerSettings[key] !== undefined;
      return { section, key, value, name, fate: fateOf(section, key, value, isRead) };
    }),
  );
  const kept: Record<string, Record<string, unknown>> = {};
  for (const { section, key, value } of settings.filter(({ fate }) => fate === 'kept'))
    kept[section] = { ...kept[section], [key]: value };
  const keysText = (value: unknown) => (isMapping(value) ? ` ${Object.keys(value).join(', ')}` : '');
  const whyOf = (name: string, section: string) =>
    LEFT_OUT.get(name) ?? LEFT_OUT.get(section) ?? 'spec.runnerConfig does not take it';
  const lost = settings.flatMap(({ fate, name, section, value }) =>
    fate === 'lost' ? `${name}${keysText(value)} (${whyOf(name, section)})` : [],
  );
  const old = settings.filter(({ fate }) => fate === 'old');
  const notes = [
    ...(seconds ? ['activeDeadlineSeconds is runner.timeout: here the wait for a CI job counts, too.'] : []),
    ...old.map(({ name, value }) => lostNote(name, value, 'it names places, addresses or networks of the old pod')),
    ...(lost.length > 0 ? [`Of the runner's config.yaml these are not carried over: ${lost.join(', ')}.`] : []),
  ];
  return {
    labels: runnerSettings.labels ?? [],
    /** CI jobs that one runner took at once. */
    capacity: runnerSettings.capacity ?? 1,
    /** File of the old runner's registration. */
    place: runnerSettings.file,
    envs: runnerSettings.envs,
    spec: filled({ activeDeadlineSeconds: seconds, runnerConfig: kept }),
    notes,
  };
}

/** Registration of an old runner (`.runner`). Anybody with its token is that runner. */
const Registration = Told.extend({ uuid: z.string(), token: z.string(), address: optionalText });

/** Returns which of the old runner's own files a string is. It may be no YAML. */
export function ownFileIn(text: string) {
  try {
    const value: unknown = parse(text, { logLevel: 'silent', maxAliasCount: 100, merge: true });
    return { file: fromRunnerFile(value), state: Registration.safeParse(value).data };
  } catch {
    return {};
  }
}
