/** Values that are legal and cannot be meant: another unit, another machine, what a word processor or another tool has left. Pure. */

import { machineOf } from '../../answers/held-back.ts';
import type { Path } from '../../config/runnergroup/documents.ts';
import { isMapping, pathText, valueAt } from '../../config/runnergroup/paths.ts';
import type { LateProblem } from '../../config/runnergroup/placed.ts';
import type { WarningCode } from '../../config/runnergroup/problems.ts';
import { hasDocker, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import {
  DOCKER_IMAGE,
  quantityValue,
  RUNNER_IMAGE,
  shellLine,
  withoutTypography,
} from '../../config/runnergroup/words.ts';
import { cut } from '../../shared/printable.ts';

type Odd = readonly [path: Path, message: string];

export function oddValues(group: RunnerGroup): readonly LateProblem[] {
  const spec = valueAt(group.manifest, ['spec']);
  const odd = [aboutNamespace, aboutGitea, aboutTime, aboutSetup, aboutMachines, aboutNodes, aboutDaemon].flatMap(
    (about) => about(group),
  );
  const told = (code: WarningCode, all: readonly Odd[]) =>
    all.map(([path, message]) => ({ group, path, message, code }));
  return [...told('GR-WARN-14', [...within(spec, ['spec']), ...odd]), ...told('GR-WARN-11', containers(group))];
}

/** What each value says of itself. */
function within(value: unknown, path: Path): readonly Odd[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => within(each, [...path, index]));
  if (isMapping(value)) return Object.entries(value).flatMap(([key, each]) => within(each, [...path, key]));
  const message =
    /^(?:requests|limits)$/.test(String(path.at(-2))) && (typeof value === 'string' || typeof value === 'number')
      ? oddAmount(String(path.at(-1)), String(value))
      : typeof value === 'string' && !path.includes('annotations')
        ? (oddText(value, path[1] === 'labels') ??
          (OF_SERVER.test(pathText(path)) ? oddAddress(value, path[1] === 'proxy') : undefined))
        : undefined;
  return message === undefined ? [] : [[path, message]];
}

function oddText(text: string, isLabel: boolean): string | undefined {
  const typed = withoutTypography(text);
  if (typed === text) return undefined;
  const plain = isLabel ? typed.replace(/["']/g, '') : typed;
  return `holds quotes, dashes or spaces of a word processor: write ${cut(JSON.stringify(plain), 200)}`;
}

const OF_SERVER = /^spec\.(?:gitea\.url|giteaURL|cache\.url|proxy\.\w+)$/;

function oddAddress(text: string, isProxy: boolean): string | undefined {
  if (!/^https?:\/\/(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])(?:[:/]|$)/i.test(text)) return undefined;
  const example = isProxy ? 'http://proxy.example.com:3128' : 'http://gitea-http.gitea.svc:3000';
  return `is this machine, and for a runner its own pod: write the address at which pods reach it, e.g. ${example}`;
}

const MEBIBYTE = 1_048_576;
/** Hardly a node has more. */
const MOST_CORES = 100;

/** @param name of the resource */
function oddAmount(name: string, written: string): string | undefined {
  const amount = quantityValue(written);
  const digits = /^\d+/.exec(written)?.[0] ?? '1';
  if (name === 'cpu' && amount >= MOST_CORES && /^\d+$/.test(written))
    return `is ${written} whole cores: write ${written}m for thousandths of a core`;
  if (!/^(?:memory|ephemeral-storage)$/.test(name) || !(amount > 0 && amount < MEBIBYTE)) return undefined;
  return `is ${amount < 1 ? 'less than a byte' : `${Math.ceil(amount)} bytes`}, which no program can use: write ${digits}Mi`;
}

function aboutNamespace({ namespace, manifest }: RunnerGroup): readonly Odd[] {
  if (!/^argocd$|^kube-/.test(namespace)) return [];
  const path = ['metadata', ...(valueAt(manifest, ['metadata', 'namespace']) === undefined ? [] : ['namespace'])];
  const message = `is ${namespace}: CI jobs would run beside what rules the cluster. Give runners a namespace of their own, e.g. "namespace: runners"`;
  return [[path, message]];
}

/** The address of the organization in a browser, and not of Gitea. */
function aboutGitea({ giteaUrl, manifest, scope }: RunnerGroup): readonly Odd[] {
  const { origin, pathname } = new URL(giteaUrl);
  const { org, user, owner } = { org: '', user: '', owner: '', ...scope };
  const name = org || user || owner;
  const [last = ''] = pathname.split('/').slice(-1);
  if (last === '' || last.toLowerCase() !== name.toLowerCase()) return [];
  const path = valueAt(manifest, ['spec', 'giteaURL']) === undefined ? ['spec', 'gitea', 'url'] : ['spec', 'giteaURL'];
  const base = `${origin}${pathname.slice(0, -last.length - 1)}`;
  return [[path, `ends with ${last}, whose page that is: write the address of Gitea, ${base}`]];
}

const SHORT_SECONDS = 300;

function aboutTime({ manifest }: RunnerGroup): readonly Odd[] {
  const path = ['spec', 'activeDeadlineSeconds'];
  const seconds = valueAt(manifest, path);
  if (typeof seconds !== 'number' || seconds >= SHORT_SECONDS) return [];
  return [
    [path, `is ${seconds} s for all of a runner's life, the wait for a node and the pull included: write e.g. 21600`],
  ];
}

/** Nodes that no runner is for. */
function aboutNodes({ manifest }: RunnerGroup): readonly Odd[] {
  const pod = ['spec', 'podTemplate', 'spec'];
  const selector = [...pod, 'nodeSelector', 'kubernetes.io/os'];
  const system = valueAt(manifest, selector);
  const all = listAt(manifest, [...pod, 'tolerations']).flatMap((each, index): readonly Odd[] =>
    valueAt(each, ['operator']) === 'Exists' && !valueAt(each, ['key'])
      ? [
          [
            [...pod, 'tolerations', index],
            'tolerates every taint, also of nodes that are ill: write the key of the taint that you mean',
          ],
        ]
      : [],
  );
  if (system === undefined || system === 'linux') return all;
  return [[selector, `is ${String(system)}, and runners are Linux programs: write linux, or remove it`], ...all];
}

function aboutSetup({ manifest }: RunnerGroup): readonly Odd[] {
  const path = ['spec', 'setupCommand'];
  const words = listAt(manifest, path).map(String);
  const isSigned = words.some((word) => /^(?:&&?|\|\|?|;|[0-9]?>>?|<)$/.test(word));
  if (!isSigned && !(words.length === 1 && /\s/.test(words[0] ?? ''))) return [];
  return [[path, `is one program with its arguments, and no shell reads it: write ${shellLine(words.join(' '))}`]];
}

/** Labels of other machines, where nothing picks such nodes. */
function aboutMachines({ manifest, labels }: RunnerGroup): readonly Odd[] {
  const pod = valueAt(manifest, ['spec', 'podTemplate', 'spec']);
  if (['nodeSelector', 'affinity'].some((field) => valueAt(pod, [field]) !== undefined)) return [];
  const hasDevice = DEVICE.test(JSON.stringify(manifest));
  const written = listAt(manifest, ['spec', 'labels']).map((text) => String(text).split(':')[0]);
  return labels.flatMap(({ name }): readonly Odd[] => {
    const machine = machineOf(name);
    if (machine === undefined || /Windows|macOS/.test(machine) || (machine === 'GPU' && hasDevice)) return [];
    const arch = /armv[67]|armhf/i.test(name)
      ? 'arm'
      : (/s390x|ppc64le|riscv64/i.exec(name)?.[0].toLowerCase() ?? 'arm64');
    const line = machine === 'GPU' ? DEVICE_LINE : `podTemplate: {spec: {nodeSelector: {kubernetes.io/arch: ${arch}}}}`;
    const index = written.indexOf(name);
    const message = `${name} asks for other machines, and nothing picks them: write "${line}"`;
    return [[['spec', 'labels', ...(index < 0 ? [] : [index])], message]];
  });
}

/** Something that asks for a device, or for nodes that have one. */
const DEVICE = /"(?:[a-z0-9.-]+\/[\w.-]*(?:gpu|mig-|cuda)|runtimeClassName"|tolerations"|resourceClaims")/i;
const DEVICE_LINE = 'resources: {limits: {nvidia.com/gpu: 1}}';

/** Variables of docker's client belong together, and a daemon of ours has a socket without TLS. */
function aboutDaemon({ manifest, containerMode }: RunnerGroup): readonly Odd[] {
  const containers = ['spec', 'podTemplate', 'spec', 'containers'];
  const runner = listAt(manifest, containers).findIndex((each) => valueAt(each, ['name']) === 'runner');
  const [env, envs] = [
    [...containers, runner, 'env'],
    ['spec', 'runnerConfig', 'runner', 'envs'],
  ];
  const variables = [
    ...listAt(manifest, env).map((each, at) => ({ name: valueAt(each, ['name']), path: [...env, at], in: each })),
    ...Object.keys(valueAt(manifest, envs) ?? {}).map((name) => ({ name, path: [...envs, name], in: undefined })),
  ].filter(({ name }) => /^DOCKER_(?:HOST|TLS|TLS_VERIFY|CERT_PATH|CONTEXT)$/.test(String(name)));
  if (hasDocker(containerMode))
    return variables.map(({ path, name }) => [
      path,
      `${name} leads docker away from the daemon of containerMode ${containerMode}, which has a socket without TLS: remove it`,
    ]);
  const host = variables.find(({ name }) => name === 'DOCKER_HOST');
  const tls = variables.find(({ name }) => name !== 'DOCKER_HOST');
  if (tls && !host) return [[tls.path, `${tls.name} means nothing without DOCKER_HOST: write that, too, or remove it`]];
  const address = String(valueAt(host?.in, ['value']) ?? valueAt(manifest, host?.path ?? []));
  if (!host || tls || !/:2376\/?$/.test(address)) return [];
  return [[host.path, 'port 2376 speaks TLS: write DOCKER_TLS_VERIFY: "1" and DOCKER_CERT_PATH, too']];
}

/** Programs that serve until they are stopped, and commands that wait for ever. */
const SERVER =
  /(?:^|\/)(?:nginx|httpd|caddy|traefik|haproxy|redis|valkey|memcached|postgres|mysql|mariadb|mongo|rabbitmq|registry|minio)(?:[:@]|$)/;
const FOR_EVER = /\bsleep (?:infinity|inf\b)|\btail -[fF]|\bwhile (?:true|:)/;

const SECOND_RUNNER: Readonly<Record<string, string>> = {
  containers: 'looks like a Gitea runner, but container `runner` is the runner: rename it to runner',
  initContainers: 'looks like a second Gitea runner, beside container `runner`: remove it',
};
const LASTS =
  'does not end with the CI job, so its pod stays: make it an init container with restartPolicy: Always, or remove it';

/** Containers of the podTemplate that are not `runner`. What the reader read is what JSON can say, and may have any form. */
function containers({ manifest, containerMode }: RunnerGroup): readonly Odd[] {
  const ofOwn = hasDocker(containerMode) ? `: containerMode ${containerMode} has a daemon of its own` : '';
  return ['containers', 'initContainers'].flatMap((list) => {
    const path = ['spec', 'podTemplate', 'spec', list];
    return listAt(manifest, path).flatMap((container, index): readonly Odd[] => {
      const [name, image] = [valueAt(container, ['name']), String(valueAt(container, ['image']) ?? '')];
      if (typeof name !== 'string' || image === '' || OF_OURS.has(name)) return [];
      const ofDaemon = DOCKER_IMAGE.test(image) ? ofOwn : '';
      const other = () => (list === 'containers' ? `${LASTS}${ofDaemon}` : oddBefore(container, image, ofDaemon));
      const message = RUNNER_IMAGE.test(image) ? SECOND_RUNNER[list] : other();
      return message === undefined ? [] : [[[...path, index], message]];
    });
  });
}

/** Of an init container. */
function oddBefore(container: unknown, image: string, ofDaemon: string): string | undefined {
  const [command, args] = [listAt(container, ['command']), listAt(container, ['args'])];
  const said = [...command, ...args].join(' ');
  const isSidecar = valueAt(container, ['restartPolicy']) === 'Always';
  const isServer = said === '' && (DOCKER_IMAGE.test(image) || SERVER.test(image));
  if (ofDaemon !== '' && (isSidecar || isServer)) return `is a second docker daemon: remove it${ofDaemon}`;
  if (isSidecar || !(isServer || FOR_EVER.test(said))) return undefined;
  return 'does not end, so the runner never starts: write "restartPolicy: Always" here';
}

/** These are merged over what our own pod has. */
const OF_OURS: ReadonlySet<string> = new Set(['runner', 'docker', 'buildkit']);

function listAt(value: unknown, path: Path): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}
