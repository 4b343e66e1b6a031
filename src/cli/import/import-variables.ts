/** Reads how the pod configures its runner: variables, Secrets and files, as far as the given files have them. */
import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { caBundle } from '../../config/runnergroup/field-kinds.ts';
import { CA_PLACES, CA_VARIABLE } from '../../config/runnergroup/words.ts';
import { ownFileIn } from './import-runner-file.ts';
import type { OldContainer, PodSpec } from './import-shapes.ts';

type KeyRef = { readonly name: string; readonly key: string };

const TOKEN_VARIABLE = 'GITEA_RUNNER_REGISTRATION_TOKEN';
/** Names of variables with a registration token. CI jobs could read it, and with it anybody registers runners. */
export const TOKEN_VARIABLES = /^(?:\w+_)?(?:RUNNER|REG(?:ISTER|ISTRATION)?)_(?:\w+_)?TOKEN$|^(?:GITEA_)?TOKEN$/;
/** Names of Secrets that are made for a registration token. */
const TOKEN_SECRET = /runner.*token|regist/i;
/** A config.yaml that is not inside a ConfigMap gets this kind. */
export const KIND_OF_PLAIN_CONFIG = 'config.yaml';

/** The object of this kind and name in the files. Namespaces are not compared: manifests often leave them out. */
export function objectNamed(kind: string, name: string | undefined, otherObjects: readonly unknown[]): unknown {
  const wanted = z.looseObject({ kind: z.literal(kind), metadata: z.looseObject({ name: z.literal(name ?? '') }) });
  return otherObjects.find((object) => wanted.safeParse(object).success);
}

const Texts = z.record(z.string(), z.string()).default({});
const Data = z.looseObject({ kind: z.string(), data: Texts, stringData: Texts });

function textsOf(object: unknown): Readonly<Record<string, string>> {
  const { kind, data = {}, stringData = {} } = Data.safeParse(object).data ?? {};
  if (kind !== 'Secret') return data;
  const decoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]);
  return { ...Object.fromEntries(decoded), ...stringData };
}

type VariableValue = Readonly<{ value?: string | undefined; secretKeyRef?: KeyRef | undefined }>;

/** The container's own variable, else one of all that its envFrom brings. */
function variableOf({ env, envFrom }: OldContainer, name: string, others: readonly unknown[]) {
  const ownVariable = env.findLast((each) => each.name === name);
  const { secretKeyRef, configMapKeyRef } = ownVariable?.valueFrom ?? {};
  const ref = secretKeyRef ?? configMapKeyRef;
  const kindOf = (isSecret: boolean) => (isSecret ? 'Secret' : 'ConfigMap');
  if (ownVariable && !ref) return { value: ownVariable.value };
  if (ref) return { value: textsOf(objectNamed(kindOf(!!secretKeyRef), ref.name, others))[ref.key], secretKeyRef };
  for (const { prefix = '', configMapRef, secretRef } of envFrom.toReversed()) {
    const from = secretRef ?? configMapRef;
    const key = name.slice(prefix.length);
    const value = textsOf(objectNamed(kindOf(!!secretRef), from?.name, others))[key];
    if (value !== undefined && name === `${prefix}${key}`)
      return { value, secretKeyRef: secretRef && { name: secretRef.name, key } };
  }
  return undefined;
}

/** Options of `register`, with the variables that say the same. */
const OPTIONS = { token: TOKEN_VARIABLE, instance: 'GITEA_INSTANCE_URL', labels: 'GITEA_RUNNER_LABELS' };
const WORD = String.raw`"(?:[^"\\]|\\.)*"|'[^']*'|\$\([^)]*\)|[^\s"';&|]+`;

/** Returns what a command passes to `register`, as variables of the runner. `passed`: the variables that it uses. */
export function registrationOf(container: OldContainer, otherObjects: readonly unknown[]) {
  const text = [...container.command, ...container.args].join(' ').replaceAll('\\\n', ' ');
  const options = /\bregister\s.*/.exec(text)?.[0] ?? '';
  const registrationVariables = Object.entries(OPTIONS).flatMap(([option, name]): readonly PassedVariable[] => {
    const quoted = new RegExp(`--${option}(?:=|\\s+)(${WORD})`).exec(options)?.[1] ?? '';
    const word = quoted.replace(/^(["'])(.*)\1$/, '$2');
    const file = name === TOKEN_VARIABLE && /^(?:\$\(|`)\s*(?:cat\s|<)\s*["']?([^\s"'|)`]+)/.exec(word)?.[1];
    const from = /^\$(?:[({](?=\w+[)}:])|(?=\w+$))(\w+)/.exec(word)?.[1];
    if (file) return [{ from: '', variable: { name: `${name}_FILE`, value: file } }];
    if (from === undefined)
      return word === '' || word.includes('$') ? [] : [{ from: '', variable: { name, value: word } }];
    const guess = name === TOKEN_VARIABLE ? guessedToken([container], from, /^/) : undefined;
    const { value, secretKeyRef = guess } = variableOf(container, from, otherObjects) ?? {};
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
 * Returns where the registration token of the old runner is: in a variable, in a file of a volume, or (a guess) in a
 * Secret of `envFrom`. `secrets`: all Secrets in which CI jobs could read it, or another token of the old runner.
 *
 *     env: [{name: RUNNER_TOKEN, valueFrom: {secretKeyRef: {name: act, key: t}}}] -> ref: {name: act, key: t}
 *     env: [{name: RUNNER_TOKEN, value: abc}]                                     -> isWritten: true
 */
export function tokenOf(pod: PodSpec, containers: readonly OldContainer[], otherObjects: readonly unknown[]) {
  const variable = variablesOf(containers, otherObjects);
  const names = containers.flatMap(({ env }) => env.map(({ name }) => name.replace(/_FILE$/, '')));
  const tokenNames = [...new Set([TOKEN_VARIABLE, ...names.filter((name) => TOKEN_VARIABLES.test(name))])];
  const { refs: variableRefs, hasValue } = tokenFromVariables(tokenNames, variable);
  const namedFiles = tokenNames.flatMap((name) => variable(`${name}_FILE`)?.value || []);
  const refs = [...variableRefs, ...tokenFromFiles(namedFiles, pod, containers)];
  const isWritten = refs.length === 0 && hasValue;
  const isNamed = followReference(TOKEN_VARIABLE, variable)?.secretKeyRef || variable(`${TOKEN_VARIABLE}_FILE`);
  const guess = isWritten || isNamed ? undefined : guessedToken(containers, TOKEN_VARIABLE, /runner|token|gitea/i);
  const sources = pod.volumes.flatMap(sourcesOf);
  const mounted = sources.filter(({ kind, name }) => kind === 'Secret' && TOKEN_SECRET.test(name));
  const otherRefs = names.map((name) => (name.startsWith('GITEA_RUNNER_') ? variable(name)?.secretKeyRef : undefined));
  const secrets = new Set([...refs, guess, ...mounted, ...otherRefs].flatMap((each) => each?.name ?? []));
  return { ref: refs[0] ?? guess, isWritten, isGuess: refs.length === 0 && guess !== undefined, secrets: [...secrets] };
}

export type ReadVariable = ReturnType<typeof variablesOf>;

/** Returns the variable of this name. If its value is `$(OTHER)`, returns the variable OTHER. */
function followReference(name: string, variable: ReadVariable): VariableValue | undefined {
  const [, other = name] = /^\$\((\w+)\)$/.exec(variable(name)?.value ?? '') ?? [];
  return variable(other);
}

/** Returns the keys of Secrets that these variables take. `hasValue`: the value of one is in the given files. */
function tokenFromVariables(tokenNames: readonly string[], variable: ReadVariable) {
  const values = tokenNames.flatMap((name) => followReference(name, variable) ?? []);
  const refs = values.flatMap(({ secretKeyRef }) => secretKeyRef ?? []);
  return { refs, hasValue: values.some(({ value }) => value !== undefined) };
}

/** Returns the keys of Secrets that are mounted as these files, or as a file that a command names: `cat /etc/token`. */
function tokenFromFiles(namedFiles: readonly string[], { volumes }: PodSpec, containers: readonly OldContainer[]) {
  const commands = containers.flatMap(({ command, args }) => [...command, ...args]).join(' ');
  const files = [...namedFiles, ...(commands.match(/\/[\w./-]*token[\w./-]*/gi) ?? [])];
  const mounts = containers.flatMap(({ volumeMounts }) => volumeMounts);
  const keysAt = (file: string): readonly KeyRef[] =>
    mounts.flatMap(({ name, mountPath, subPath = '' }) => {
      const fileInVolume = posix.join(subPath, posix.relative(mountPath, file));
      const sources = volumes.flatMap((volume) => (volume.name === name ? sourcesOf(volume) : []));
      return sources.flatMap((source) => {
        if (!isIn(file, mountPath) || source.kind !== 'Secret') return [];
        const key = source.items ? source.items.find(({ path }) => path === fileInVolume)?.key : fileInVolume;
        return key === undefined ? [] : [{ name: source.name, key }];
      });
    });
  return files.flatMap((file) => keysAt(file).slice(0, 1));
}

/** Guesses that the first Secret in `envFrom` with a fitting name brings the variable. */
function guessedToken(containers: readonly OldContainer[], variableName: string, fitting: RegExp): KeyRef | undefined {
  const all = containers.flatMap(({ envFrom }) => envFrom);
  const { secretRef, prefix = '' } = all.find((each) => each.secretRef && fitting.test(each.secretRef.name)) ?? {};
  return secretRef && { name: secretRef.name, key: variableName.slice(prefix.length) };
}

/** True for a path in this folder, and for the folder itself. */
const isIn = (path: string, folder: string) => !posix.relative(folder, path).startsWith('..');

/** Finds the old runner's config.yaml and registration. `volumes` hold only these two files. `secret`: volumes with its token. */
export function ownFilesOf(pod: PodSpec, path: string | undefined, otherObjects: readonly unknown[]) {
  const inVolumes = pod.volumes.flatMap((volume) =>
    sourcesOf(volume).map(({ kind, name, items = [] }) => {
      const object = objectNamed(kind, name, otherObjects);
      return { volume: volume.name, object, paths: items.map((item) => item.path) };
    }),
  );
  const loose = otherObjects.filter((object) => Data.safeParse(object).data?.kind === KIND_OF_PLAIN_CONFIG);
  const mounts = [...pod.containers, ...pod.initContainers].flatMap(({ volumeMounts }) => volumeMounts);
  const around = (file = '') => mounts.filter(({ mountPath }) => posix.isAbsolute(file) && isIn(file, mountPath));
  const named = otherObjects.filter((object) => ownFileIn(textsOf(object)[posix.basename(path ?? '')] ?? '').file);
  const unmounted = around(path).length === 0 && named.length === 1 ? named[0] : undefined;
  const onlyOne = loose.length === 1 ? loose[0] : unmounted;
  const ofName = objectNamed(KIND_OF_PLAIN_CONFIG, posix.basename(path ?? ''), otherObjects) ?? onlyOne;
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
  // An emptyDir also holds files that the pod writes.
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

/**
 * Returns the CA certificates that the old runner trusts, if they are one key of one ConfigMap. Else a note for each mount.
 * If ConfigMap `corp` is mounted at /ca, `env: [{name: SSL_CERT_FILE, value: /ca/a.crt}]` gives
 * `caBundle: {configMapRef: {name: corp, key: a.crt}}`.
 */
export function certificatesOf(pod: PodSpec, variable: ReadVariable, otherObjects: readonly unknown[]) {
  const mounts = trustedMounts(pod, variable);
  const refs = mounts.map(({ sources, filesInVolume }) => oneKeyOf(sources, filesInVolume, otherObjects));
  const isOne = refs.every((ref) => isDeepStrictEqual(ref, refs[0]));
  const { data } = caBundle().safeParse(isOne ? { configMapRef: refs[0] } : undefined);
  const notes = mounts.map(({ mountPath, name, sources: [source] }) => {
    const place = `${mountPath} of ${source ? `${source.kind} ${source.name}` : `volume ${name}`}`;
    const field = `caBundle: {configMapRef: {name: ${source?.kind === 'ConfigMap' ? source.name : '…'}, key: …}}`;
    return `The old runner trusted ${place}. The new one does not: write "${field}" below spec, for a ConfigMap with the certificates.`;
  });
  return { caBundle: data, notes: data ? [] : [...new Set(notes)] };
}

/** Returns the mounts with CA certificates: at a place of the system, or where a variable such as `SSL_CERT_FILE` names a file. */
function trustedMounts(pod: PodSpec, variable: ReadVariable) {
  const containers = [...pod.containers, ...pod.initContainers];
  const names = containers.flatMap(({ env }) => env.map(({ name }) => name)).filter((name) => CA_VARIABLE.test(name));
  const namedFiles = names.flatMap((name) => variable(name)?.value?.split(':') ?? []).filter(posix.isAbsolute);
  const mounts = containers.flatMap(({ volumeMounts }) => volumeMounts);
  return mounts.flatMap(({ name, mountPath, subPath = '' }) => {
    const volume = pod.volumes.find((each) => each.name === name && each['emptyDir'] === undefined);
    const isNamed = namedFiles.some((file) => isIn(file, mountPath) || isIn(mountPath, file));
    if (!volume || !(isNamed || CA_PLACES.test(mountPath))) return [];
    const inMount = namedFiles.flatMap((file) => (isIn(file, mountPath) && posix.relative(mountPath, file)) || []);
    const filesInVolume = inMount.length > 0 ? inMount.map((file) => posix.join(subPath, file)) : [subPath];
    return [{ name, mountPath, sources: sourcesOf(volume), filesInVolume }];
  });
}

/** Returns the key of a ConfigMap behind these files of its volume, if it is only one. The empty path is the whole volume. */
function oneKeyOf(sources: ReturnType<typeof sourcesOf>, filesInVolume: readonly string[], all: readonly unknown[]) {
  const [source, otherSource] = sources;
  if (!source || otherSource) return undefined;
  const { kind, name, items, optional } = source;
  const isWhole = filesInVolume.includes('');
  const texts = Object.entries(textsOf(objectNamed(kind, name, all)));
  const pems = texts.filter(([, text]) => text.includes('BEGIN CERTIFICATE')).map(([key]) => key);
  const files = items ?? [...new Set(isWhole ? pems : filesInVolume)].map((key) => ({ key, path: key }));
  const [file, otherFile] = files.filter(({ path }) => isWhole || filesInVolume.includes(path));
  return file && !otherFile && kind === 'ConfigMap' && !optional ? { name, key: file.key } : undefined;
}
