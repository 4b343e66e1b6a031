/** What cannot be meant about the runner: its image, its labels, and docker for its CI jobs. Pure. */
import { matchesGlob } from '../../config/policy/policy-patterns.ts';
import { DEFAULT_LABELS } from '../../config/runnergroup/group-schema.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import { hasDocker, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { CA_PLACES, CA_VARIABLE } from '../../config/runnergroup/words.ts';
import {
  containersOf,
  elementsAt,
  listAt,
  type Odd,
  oddIf,
  partAt,
  podsOf,
  runnersOf,
  specOf,
  variablesOf,
} from './odd.ts';

/** What an option of docker mounts. A `-v` without a colon makes a volume without a name. */
const MOUNTED =
  /(?:^|\s)(?:(?:-v|--volume)[\s=]*["']?([^\s:"']+):|--mount[\s=]+["']?(?:\S*,)?(?:source|src)=([^\s,"']+))/g;
/** Amounts as Kubernetes writes them. Docker takes 4g, 4GiB and 0.5. */
const NOT_DOCKERS =
  /(?:^|\s)(?:-m|--(?:memory(?:-swap|-reservation)?|shm-size|cpus))[\s=]*["']?(([\d.]+)([kmgt])i|(?<=cpus.)(\d+)m)(?!\S)/i;

/** Warns of options of docker: the daemon sees the folders of its own pod, and the runner lets through what is listed. */
export function aboutOptions(group: RunnerGroup): readonly Odd[] {
  const container = partAt(specOf(group), 'runnerConfig', 'container');
  const { path, value: options = '' } = partAt(container, 'options');
  const names = [...String(options).matchAll(MOUNTED)].map(([, volume, source = volume ?? '']) => source);
  const mounts = containersOf(group).flatMap((each) => elementsAt(each, 'volumeMounts'));
  const folders = ['/data', ...mounts.map(({ value }) => String(valueAt(value, ['mountPath'])))];
  const isInPod = (name: string) =>
    !name.startsWith('/') || folders.some((each) => `${name}/`.startsWith(each) || `${each}/`.startsWith(`${name}/`));
  const folder = names.find((name) => !isInPod(name));
  const valid = listAt(container.value, ['valid_volumes']).map(String);
  // For the runner `*` is all, slashes too, and it knows more signs.
  const isListed = (name: string) =>
    valid.some((each) => /[[{?]/.test(each) || matchesGlob(each.replace(/\*/g, '**'), name));
  const left = names.filter((name) => !isListed(name));
  const [, amount, number, unit = '', thousandths] = NOT_DOCKERS.exec(String(options)) ?? [];
  const ofDocker = thousandths ? Number(thousandths) / 1000 : `${number}${unit.toLowerCase()}`;
  const notThere = `mounts ${folder} of the runner's own pod, which has nothing there, and not of the node: remove it`;
  const notListed = `mounts ${left.join(' and ')}, which valid_volumes does not list, so the runner leaves it out: write "valid_volumes: [${[...valid, ...left].join(', ')}]"`;
  return oddIf(
    [folder !== undefined, path, notThere],
    [folder === undefined && left.length > 0, path, notListed],
    [amount !== undefined, path, `has ${amount}, and docker reads no unit of Kubernetes: write ${ofDocker}`],
  );
}

/** Images of Gitea, of other forges' runners, and of CI jobs. */
const NO_RUNNER =
  /^(?:docker\.io\/)?(?:library\/)?(?:ubuntu|debian|alpine|fedora|node|golang|python|rust|ruby|maven|gradle|eclipse-temurin|busybox|docker)(?:[:@](?!\/)|$)|(?:^|\/)(?:gitea\/gitea|gitea\.com\/gitea|runner-images|catthehacker\/\w+|forgejo\/forgejo|actions-runner|github-runner|gitlab-runner|inbound-agent|woodpecker-agent|drone-runner-\w+)(?:[:@]|$)/;
/** An image of the runner project, with its tag. `own`: from its own registries, which have no other tags. */
const OF_PROJECT =
  /^(?<repository>(?:(?<own>(?:docker\.io\/)?)|.*\/)gitea\/(?:act_)?runner):(?:v(?=\d))?(?<version>nightly|latest|\d+(?:\.\d+)*)(?<rest>[\w.-]*)(?<digest>@.+)?$/;
/** Names near those of the images of the runner project. */
const NEAR_PROJECT =
  /^(?:(?:docker\.io|(?:docker\.)?gitea\.com)\/)?((?:gitea\/)?(?:act-runner|act-?runners|act_runners|gitea\/(?:runners|gitea-runner|actrunner)))(?:[:@]|$)/;
const HOLDS_NO_RUNNER =
  'holds no Gitea runner. What CI jobs run in is said by a label, e.g. "labels: [linux:docker://debian:13]": remove the line';
/** Releases without `register --ephemeral`. */
const TOO_OLD = /(?:^|\/)act_runner:v?0\.(?:[01]\.\d+|2\.(?:\d|1[01]))(?![\d.])/;
const NEVER_REGISTERS =
  'is older than act_runner 0.2.12, which brought ephemeral runners: it never registers. Remove the line';

export function aboutImage(group: RunnerGroup): readonly Odd[] {
  const { containerMode } = group;
  const isRootless = containerMode === 'dind-rootless';
  const mayHaveDaemon = isRootless || containerMode === 'buildkit' || RIGHTS.test(JSON.stringify(podsOf(group)));
  return [specOf(group), ...runnersOf(group)].flatMap((part) => {
    const { path, value } = partAt(part, 'image');
    const image = String(value ?? '');
    const near = NEAR_PROJECT.exec(image)?.[1];
    const { repository, own, version, rest = '', digest } = OF_PROJECT.exec(image)?.groups ?? {};
    const right = `"image: ${repository}:${version}${isRootless ? '-dind-rootless' : ''}"`;
    const isPlain = repository !== undefined && rest === '';
    const isRootlessDaemon = rest === '-dind-rootless';
    const isTag = image.includes(`:${version}`) && (rest === '' || rest === '-dind' || isRootlessDaemon);
    const orMode = isRootlessDaemon ? ', or "containerMode: dind-rootless"' : '';
    const notThere = `names ${near}, which the runner project has not: write gitea/runner, or gitea/act_runner before 1.0`;
    return oddIf(
      [near !== undefined, path, notThere],
      [TOO_OLD.test(image), path, NEVER_REGISTERS],
      [NO_RUNNER.test(image), path, HOLDS_NO_RUNNER],
      [own !== undefined && !digest && !isTag, path, `has a tag that the runner project has not: write ${right}`],
      [isRootless && (isPlain || rest === '-dind'), path, `${NEEDS_DAEMON}: write ${right}, or "containerMode: dind"`],
      [/^-dind(?:-rootless)?$/.test(rest) && !mayHaveDaemon, path, `${OWN_DAEMON}: write ${right}${orMode}`],
    ).slice(0, 1);
  });
}

const NEEDS_DAEMON = 'has no docker daemon, which containerMode dind-rootless needs';
const OWN_DAEMON = 'starts a docker daemon of its own, which has no rights here, so the runner does not start';
/** With these a container may run a daemon of its own. */
const RIGHTS = /"(?:privileged":true|runtimeClassName")/;

/** Warns of labels that take the place of a label with an image, or nearly have its name. */
export function aboutLabels(group: RunnerGroup): readonly Odd[] {
  if (!hasDocker(group.containerMode)) return [];
  const nameIn = (label: string) => label.split(':')[0] ?? '';
  const images = new Map(DEFAULT_LABELS.map((label) => [nameIn(label), label.slice(nameIn(label).length)]));
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return elementsAt(specOf(group), 'labels').flatMap(({ path, value }) => {
    const label = String(value);
    const name = nameIn(label);
    const near = [...images.keys()].find((each) => plain(each) === plain(name) && each !== name);
    const image = images.get(name);
    const bare = `has no image, so its CI jobs run in the runner's own container, which lacks their tools: write "${name}${image}", or "${name}:host" if that is meant`;
    return oddIf(
      [near !== undefined, path, `is not ${near}, as workflows write it: write "${near}${label.slice(name.length)}"`],
      [image !== undefined && !label.includes(':'), path, bare],
    );
  });
}

/** Values with which the daemon of `dind-rootless` does not start, by field: it is uid 1000 of its image, which it writes to. */
const AGAINST_ROOTLESS: Readonly<Record<string, (value: unknown) => boolean>> = {
  privileged: (value) => value === false,
  runAsUser: (value) => typeof value === 'number' && value !== 1000,
  readOnlyRootFilesystem: (value) => value === true,
};

const NAMED_USER =
  'is true, and the image names its user and no number, so the kubelet refuses it: write "runAsUser: 1000", too';

/**
 * Warns if the rootless daemon gets no privileged container, another user or a file system that it cannot write. Other
 * runtimes may need no privileges.
 */
export function aboutRootless(group: RunnerGroup): readonly Odd[] {
  if (group.containerMode !== 'dind-rootless') return [];
  return podsOf(group).flatMap(({ pod, runners }) => {
    const isOther = ['runtimeClassName', 'hostUsers'].some((field) => valueAt(pod.value, [field]) !== undefined);
    const contexts = [pod, ...runners].map((each) => partAt(each, 'securityContext'));
    const isNamed = contexts.every(({ value }) => typeof valueAt(value, ['runAsUser']) !== 'number');
    return contexts.flatMap((context) => {
      const rootless = Object.entries(isOther ? {} : AGAINST_ROOTLESS).flatMap(([field, isWrong]) => {
        const { path, value } = partAt(context, field);
        const message = `is ${value}, and so the daemon of containerMode dind-rootless does not start: remove it, or write "containerMode: dind"`;
        return oddIf([isWrong(value), path, message]);
      });
      const nonRoot = partAt(context, 'runAsNonRoot');
      return [...rootless, ...oddIf([isNamed && nonRoot.value === true, nonRoot.path, NAMED_USER])];
    });
  });
}

/** Warns of variables that lead docker's client elsewhere: the daemon of a runner has a socket without TLS. */
export function aboutDaemon(group: RunnerGroup): readonly Odd[] {
  const { containerMode } = group;
  const isClient = (name: unknown) => name === 'runner' || (name === 'docker' && hasDocker(containerMode));
  const leads = /^DOCKER_(?:HOST|TLS|TLS_VERIFY|TLS_CERTDIR|CERT_PATH|CONTEXT)$/;
  const variables = variablesOf(group).filter(({ container, name }) => isClient(container) && leads.test(name));
  const daemon = `the daemon of containerMode ${containerMode}, which has a socket without TLS`;
  if (hasDocker(containerMode))
    return variables.map(({ path, name }) => [path, `${name} leads docker away from ${daemon}: remove it`]);
  const host = variables.find(({ name }) => name === 'DOCKER_HOST');
  const tls = variables.find(({ name }) => name !== 'DOCKER_HOST');
  if (tls && !host) return [[tls.path, `${tls.name} means nothing without DOCKER_HOST: write that, too, or remove it`]];
  if (!host || tls || !/:2376\/?$/.test(String(host.value))) return [];
  return [[host.path, 'port 2376 speaks TLS: write DOCKER_TLS_VERIFY: "1" and DOCKER_CERT_PATH, too']];
}

/** Variables of a proxy and of CA certificates, with the field of the spec that gives them to all who need them. */
const OF_ALL = [
  ['proxy', /^(?:https?|no|all)_proxy$/i, 'proxy: {http: …, https: …, noProxy: […]}'],
  ['caBundle', CA_VARIABLE, 'caBundle: {configMapRef: {name: …, key: …}}'],
] as const;

/**
 * Warns of a proxy and of CA certificates that only container `runner` has. In modes without docker it runs the CI jobs,
 * too, and may be the only one that needs them.
 */
export function aboutSharing(group: RunnerGroup): readonly Odd[] {
  if (!hasDocker(group.containerMode)) return [];
  return OF_ALL.flatMap(([field, names, line]) => {
    if (valueAt(group.manifest, ['spec', field]) !== undefined) return [];
    const message = `reaches only container runner, and neither the registration nor CI jobs: write "${line}" below spec in its place`;
    const isMount = (path: unknown) => field === 'caBundle' && CA_PLACES.test(String(path));
    const places = runnersOf(group).flatMap((runner) => [
      ...elementsAt(runner, 'env').filter(({ value }) => names.test(String(valueAt(value, ['name'])))),
      ...elementsAt(runner, 'volumeMounts').filter(({ value }) => isMount(valueAt(value, ['mountPath']))),
    ]);
    return places.slice(0, 1).map(({ path }): Odd => [path, message]);
  });
}
