/** Reads how the pod configures its runner: variables, Secrets and files, as far as the given files have them. */
import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { caBundle } from '../../config/runnergroup/field-kinds.ts';
import { CA_PLACES, CA_VARIABLE } from '../../config/runnergroup/words.ts';
import { ownFileIn } from './import-runner-file.ts';
import type { OldContainer, PodSpec } from './import-shapes.ts';

type KeyRef = { readonly name: string; readonly key: string };

const TOKEN = 'GITEA_RUNNER_REGISTRATION_TOKEN';
/** Variables with a registration token. CI jobs could read it, and with it anybody registers runners. */
export const OF_OLD_RUNNER = /^(?:\w+_)?(?:RUNNER|REG(?:ISTER|ISTRATION)?)_(?:\w+_)?TOKEN$|^(?:GITEA_)?TOKEN$/;
/** Secrets that are made for a registration token. */
const TOKEN_SECRET = /runner.*token|regist/i;
/** Kind for a config.yaml in a file of its own. */
export const LOOSE_FILE = 'config.yaml';

/** The object of this kind and name in the files. Namespaces are not compared: manifests often leave them out. */
export function objectNamed(kind: string, name: string | undefined, otherObjects: readonly unknown[]): unknown {
  const wanted = z.looseObject({ kind: z.literal(kind), metadata: z.looseObject({ name: z.literal(name ?? '') }) });
  return otherObjects.find((object) => wanted.safeParse(object).success);
}

const Texts = z.record(z.string(), z.string()).default({});
const Data = z.looseObject({ kind: z.string(), data: Texts, stringData: Texts });

/** The texts of a ConfigMap or Secret. */
function textsOf(object: unknown): Readonly<Record<string, string>> {
  const { kind, data = {}, stringData = {} } = Data.safeParse(object).data ?? {};
  if (kind !== 'Secret') return data;
  const decoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]);
  return { ...Object.fromEntries(decoded), ...stringData };
}

interface VariableValue {
  readonly value?: string | undefined;
  readonly secretKeyRef?: KeyRef | undefined;
}

/** The container's own variable, else one of all that its envFrom brings. */
function variableOf(
  { env, envFrom }: OldContainer,
  name: string,
  otherObjects: readonly unknown[],
): VariableValue | undefined {
  const ownVariable = env.findLast((each) => each.name === name);
  const { secretKeyRef, configMapKeyRef } = ownVariable?.valueFrom ?? {};
  const ref = secretKeyRef ?? configMapKeyRef;
  const kindOf = (isSecret: boolean) => (isSecret ? 'Secret' : 'ConfigMap');
  if (ownVariable && !ref) return { value: ownVariable.value };
  if (ref)
    return { value: textsOf(objectNamed(kindOf(!!secretKeyRef), ref.name, otherObjects))[ref.key], secretKeyRef };
  for (const { prefix = '', configMapRef, secretRef } of envFrom.toReversed()) {
    const from = secretRef ?? configMapRef;
    const key = name.slice(prefix.length);
    const value = textsOf(objectNamed(kindOf(!!secretRef), from?.name, otherObjects))[key];
    if (value !== undefined && name === `${prefix}${key}`)
      return { value, secretKeyRef: secretRef && { name: secretRef.name, key } };
  }
  return undefined;
}

/** Options of `register`, with the variables that say the same. */
const OPTIONS = Object.entries({ token: TOKEN, instance: 'GITEA_INSTANCE_URL', labels: 'GITEA_RUNNER_LABELS' });
const WORD = String.raw`"(?:[^"\\]|\\.)*"|'[^']*'|\$\([^)]*\)|[^\s"';&|]+`;

/** Returns what a command passes to `register`, as variables of the runner. `passed`: the variables that it uses. */
export function registrationOf(container: OldContainer, otherObjects: readonly unknown[]) {
  const text = [...container.command, ...container.args].join(' ').replaceAll('\\\n', ' ');
  const options = /\bregister\s.*/.exec(text)?.[0] ?? '';
  const registrationVariables = OPTIONS.flatMap(([option, name]): readonly PassedVariable[] => {
    const quoted = new RegExp(`--${option}(?:=|\\s+)(${WORD})`).exec(options)?.[1] ?? '';
    const word = quoted.replace(/^(["'])(.*)\1$/, '$2');
    const file = name === TOKEN && /^(?:\$\(|`)\s*(?:cat\s|<)\s*["']?([^\s"'|)`]+)/.exec(word)?.[1];
    const from = /^\$(?:[({](?=\w+[)}:])|(?=\w+$))(\w+)/.exec(word)?.[1];
    if (file) return [{ from: '', variable: { name: `${name}_FILE`, value: file } }];
    if (from === undefined)
      return word === '' || word.includes('$') ? [] : [{ from: '', variable: { name, value: word } }];
    const guess = name === TOKEN ? container.envFrom.find(({ secretRef }) => secretRef) : undefined;
    const ofAll = guess?.secretRef && { name: guess.secretRef.name, key: from.slice(guess.prefix?.length ?? 0) };
    const { value, secretKeyRef = ofAll } = variableOf(container, from, otherObjects) ?? {};
    if ((value ?? secretKeyRef) === undefined) return [];
    return [{ from, variable: { name, value, valueFrom: { secretKeyRef } } }];
  });
  const env = [...container.env, ...registrationVariables.map(({ variable }) => variable)];
  return { container: { ...container, env }, passed: registrationVariables.map(({ from }) => from) };
}

/** A variable that a command passes to `register`. `from`: the one that it uses. Empty: the value is written there. */
type PassedVariable = Readonly<{ from: string; variable: OldContainer['env'][number] }>;

/** ConfigMaps from which these containers have variables. */
export function mapsOf(containers: readonly OldContainer[], otherObjects: readonly unknown[]): readonly unknown[] {
  const refs = containers.flatMap(({ env, envFrom }) => [
    ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef),
    ...envFrom.map(({ configMapRef }) => configMapRef),
  ]);
  return refs.flatMap((ref) => objectNamed('ConfigMap', ref?.name, otherObjects) ?? []);
}

/** Reads each variable from the first container that has it: an init container may register the runner. */
export function variablesOf(containers: readonly OldContainer[], otherObjects: readonly unknown[]) {
  return (name: string): VariableValue | undefined =>
    containers.flatMap((container) => variableOf(container, name, otherObjects) ?? []).at(0);
}

/** ConfigMaps and Secrets behind a volume, with the names that their keys have there. */
function sourcesOf({ configMap, secret, projected }: PodSpec['volumes'][number]) {
  const all = [{ configMap, secret: secret && { ...secret, name: secret.secretName } }, ...(projected?.sources ?? [])];
  return all.flatMap((source) => [
    ...(source.configMap ? [{ kind: 'ConfigMap', ...source.configMap }] : []),
    ...(source.secret ? [{ kind: 'Secret', ...source.secret }] : []),
  ]);
}

/**
 * Returns the place of the registration token: a variable, a file in a volume, or a guessed key of a Secret in `envFrom`.
 * `secrets`: all Secrets in which CI jobs could read it, or another token of the old runner.
 */
export function tokenOf(pod: PodSpec, containers: readonly OldContainer[], otherObjects: readonly unknown[]) {
  const variable = variablesOf(containers, otherObjects);
  const names = containers.flatMap(({ env }) => env.map(({ name }) => name.replace(/_FILE$/, '')));
  const ofToken = [TOKEN, ...new Set(names.filter((name) => name !== TOKEN && OF_OLD_RUNNER.test(name)))];
  const used = ofToken.map((name) => variable(/^\$\((\w+)\)$/.exec(variable(name)?.value ?? '')?.[1] ?? name));
  const commands = containers.flatMap(({ command, args }) => [...command, ...args]).join(' ');
  const files = [
    ...ofToken.map((name) => variable(`${name}_FILE`)?.value ?? ''),
    ...(commands.match(/\/[\w./-]*token[\w./-]*/gi) ?? []),
  ];
  const refs = [
    ...used.map((each) => each?.secretKeyRef),
    ...files.map((file) => secretOfFile(pod, containers, file)),
  ].flatMap((each) => each ?? []);
  const isWritten = refs.length === 0 && used.some((each) => each?.value !== undefined);
  const all = containers.flatMap(({ envFrom }) => envFrom);
  const isKnown = isWritten || used[0]?.secretKeyRef || variable(`${TOKEN}_FILE`);
  const guess = isKnown ? undefined : all.find(({ secretRef }) => /runner|token|gitea/i.test(secretRef?.name ?? ''));
  const key = TOKEN.slice(guess?.prefix?.length ?? 0);
  const guessed = guess?.secretRef && { name: guess.secretRef.name, key };
  const ref = refs[0] ?? guessed;
  const inVolumes = pod.volumes
    .flatMap(sourcesOf)
    .filter(({ kind, name }) => kind === 'Secret' && TOKEN_SECRET.test(name));
  const ofRunner = names.filter((name) => name.startsWith('GITEA_RUNNER_')).map((name) => variable(name)?.secretKeyRef);
  const secrets = [...refs, ...inVolumes, ...ofRunner, guessed].flatMap((each) => each?.name ?? []);
  return { ref, isWritten, isGuess: ref !== undefined && ref === guessed, secrets: [...new Set(secrets)] };
}

function secretOfFile({ volumes }: PodSpec, containers: readonly OldContainer[], file: string): KeyRef | undefined {
  const mounts = containers.flatMap(({ volumeMounts }) => volumeMounts);
  const keys = mounts.flatMap(({ name, mountPath, subPath }) => {
    const inside = posix.relative(mountPath, file);
    const path = posix.join(subPath ?? '', inside);
    const sources = volumes.flatMap((volume) => (volume.name === name ? sourcesOf(volume) : []));
    return sources.flatMap((source) => {
      if (inside.startsWith('..') || source.kind !== 'Secret') return [];
      const key = source.items ? source.items.find((item) => item.path === path)?.key : path;
      return key === undefined ? [] : [{ name: source.name, key }];
    });
  });
  return keys.at(0);
}

/** The old runner's config.yaml, and what Gitea has given it. `volumes` hold no more than these; `secret` ones hold its token. */
export function ownFilesOf(pod: PodSpec, path: string | undefined, otherObjects: readonly unknown[]) {
  const inVolumes = pod.volumes.flatMap((volume) =>
    sourcesOf(volume).map(({ kind, name, items = [] }) => {
      const object = objectNamed(kind, name, otherObjects);
      return { volume: volume.name, object, paths: items.map((item) => item.path) };
    }),
  );
  const loose = otherObjects.filter((object) => Data.safeParse(object).data?.kind === LOOSE_FILE);
  const mounts = [...pod.containers, ...pod.initContainers].flatMap(({ volumeMounts }) => volumeMounts);
  const around = (file = '') =>
    mounts.filter(({ mountPath }) => posix.isAbsolute(file) && !posix.relative(mountPath, file).startsWith('..'));
  const named = otherObjects.filter((object) => ownFileIn(textsOf(object)[posix.basename(path ?? '')] ?? '').file);
  const unmounted = around(path).length === 0 && named.length === 1 ? named[0] : undefined;
  const ofName =
    objectNamed(LOOSE_FILE, posix.basename(path ?? ''), otherObjects) ?? (loose.length === 1 ? loose[0] : unmounted);
  const all = [...inVolumes, { volume: '', object: ofName, paths: [] }].map(({ paths, ...each }) => {
    const texts = textsOf(each.object);
    const read = Object.values(texts).map(ownFileIn);
    const [file, state] = [read.find((one) => one.file)?.file, read.find((one) => one.state)?.state];
    return { ...each, file, state, names: [...Object.keys(texts), ...paths], isAlone: read.length === 1 };
  });
  const config = all.find(({ file }) => file);
  const place = config?.file?.place ?? '.runner';
  const isPlace = (file = '') => posix.basename(file) === posix.basename(place);
  const states = all.filter(({ state, names }) => state || names.some(isPlace));
  const alone = mounts.filter(({ mountPath, subPath }) => isPlace(mountPath) || isPlace(subPath));
  const secret = [...states.map(({ volume }) => volume), ...[...around(place), ...alone].map(({ name }) => name)];
  // A folder that the pod fills itself has more.
  const isFilled = (name: string) => pod.volumes.some((each) => each.name === name && each['emptyDir'] !== undefined);
  const unread = config?.volume ? [] : around(path).flatMap(({ name }) => (isFilled(name) ? [] : name));
  return {
    file: config?.file,
    /** The object with the config.yaml, if the pod does not mount it. */
    unmounted: config && config.object === unmounted ? unmounted : undefined,
    state: states.find(({ state }) => state)?.state,
    secret: [...new Set(secret)],
    volumes: [...secret, ...unread, ...(config?.isAlone ? [config.volume] : [])],
    read: [...(config ? [config] : []), ...states].map(({ object }) => object),
  };
}

/** Returns the CA certificates that the old runner trusts, if they are one key of one ConfigMap, else a sentence for each mount. */
export function certificatesOf(pod: PodSpec, variable: ReturnType<typeof variablesOf>, others: readonly unknown[]) {
  const isIn = (inner: string, outer: string) => !posix.relative(outer, inner).startsWith('..');
  const containers = [...pod.containers, ...pod.initContainers];
  const names = containers.flatMap(({ env }) => env).flatMap(({ name }) => (CA_VARIABLE.test(name) ? [name] : []));
  const named = names.flatMap((name) => variable(name)?.value?.split(':') ?? []).filter(posix.isAbsolute);
  const mounts = containers.flatMap(({ volumeMounts }) => volumeMounts);
  const trusted = mounts.flatMap(({ name, mountPath, subPath = '' }) => {
    const volume = pod.volumes.find((each) => each.name === name && each['emptyDir'] === undefined);
    const isNamed = named.some((place) => isIn(place, mountPath) || isIn(mountPath, place));
    if (!volume || !(isNamed || CA_PLACES.test(mountPath))) return [];
    const inside = named.flatMap((place) => (isIn(place, mountPath) && posix.relative(mountPath, place)) || []);
    const paths = inside.length > 0 ? inside.map((path) => posix.join(subPath, path)) : [subPath];
    const [source, other] = sourcesOf(volume);
    return [{ name, mountPath, source, ref: source && !other ? oneKeyOf(source, new Set(paths), others) : undefined }];
  });
  const isOne = trusted.every(({ ref }) => isDeepStrictEqual(ref, trusted[0]?.ref));
  const { data } = caBundle().safeParse(isOne ? { configMapRef: trusted[0]?.ref } : undefined);
  const notes = trusted.map(({ mountPath, name, source }) => {
    const place = `${mountPath} of ${source ? `${source.kind} ${source.name}` : `volume ${name}`}`;
    const field = `caBundle: {configMapRef: {name: ${source?.kind === 'ConfigMap' ? source.name : '…'}, key: …}}`;
    return `register does not trust ${place}, as the old runner did: write "${field}" below spec, for a ConfigMap with the certificates.`;
  });
  return { caBundle: data, notes: data ? [] : [...new Set(notes)] };
}

/** The one key of a ConfigMap at these paths of its volume. The empty path is the whole volume. */
function oneKeyOf(source: ReturnType<typeof sourcesOf>[number], paths: ReadonlySet<string>, all: readonly unknown[]) {
  const { kind, name, items, optional } = source;
  const texts = Object.entries(textsOf(objectNamed(kind, name, all)));
  const pems = texts.filter(([, text]) => text.includes('BEGIN CERTIFICATE')).map(([key]) => key);
  const files = items ?? [...(paths.has('') ? pems : paths)].map((key) => ({ key, path: key }));
  const [file, other] = files.filter(({ path }) => paths.has('') || paths.has(path));
  return file && !other && kind === 'ConfigMap' && !optional ? { name, key: file.key } : undefined;
}
