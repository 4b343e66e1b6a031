/** Volumes and mounts of a podTemplate that are legal and cannot be meant. Pure. */
import { valueAt } from '../../config/runnergroup/paths.ts';
import { hasDocker, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { quantityValue } from '../../config/runnergroup/words.ts';
import { elementsAt, type Odd, oddIf, type Part, partAt, podsOf } from './odd.ts';

/** Volumes of our own pods, for which a podTemplate may name another disk. */
const OURS = /^(?:data|config|credentials|ca|ca-bundle|subordinate-ids|(?:docker|buildkit)-(?:data|socket))$/;
/** Folders of the image that a mount would hide: the runner, its shell and its libraries are there. */
const OF_IMAGE = /^\/(?:|s?bin|lib|lib64|etc|home|home\/rootless|usr|usr\/(?:s?bin|lib|local|local\/(?:bin|lib)))$/;

const NOWHERE = 'is mounted nowhere: add it to volumeMounts of container runner, or remove it';

const NO_FILE = 'is the name of a file, and the whole volume becomes a folder there: write "subPath:';

/** Volumes with what docker stores, and what the smallest image for CI jobs takes there. */
const DISK = /^(?:docker-)?data$/;
const DOCKER_BYTES = quantityValue('2Gi');

/** Returns warnings about the volumes of a group and of its sizes. */
export function oddVolumes(group: RunnerGroup): readonly Odd[] {
  const noCertificates = `holds no certificates: the daemon of containerMode ${group.containerMode} has a socket without TLS. Remove it, and its mounts`;
  return podsOf(group).flatMap(({ owner, pod, containers, runners }) => {
    const mounts = containers.flatMap((each) => [
      ...elementsAt(each, 'volumeMounts'),
      ...elementsAt(each, 'volumeDevices'),
    ]);
    const used = new Set(mounts.map(({ value }) => valueAt(value, ['name'])));
    const limits = [owner, ...runners].map((each) => partAt(each, 'resources', 'limits'));
    const partOf = (name: string) =>
      limits.map((each) => partAt(each, name)).findLast(({ value }) => value !== undefined);
    const limitOf = (name: string) => partOf(name)?.value;
    const volumes = elementsAt(pod, 'volumes');
    const isOwnDisk = volumes.some(
      ({ value }) => DISK.test(`${valueAt(value, ['name'])}`) && !valueAt(value, ['emptyDir']),
    );
    const disk = hasDocker(group.containerMode) && !isOwnDisk ? partOf('ephemeral-storage') : undefined;
    const isSmall = disk !== undefined && quantityValue(String(disk.value)) < DOCKER_BYTES;
    const ofDisk = `is ${disk?.value}, and images and layers of docker count: at that the pod is evicted. Write e.g. 20Gi`;
    const ofVolumes = volumes.flatMap((volume) => {
      const { path, value } = volume;
      const name = String(valueAt(value, ['name']));
      const isCertificates = hasDocker(group.containerMode) && /^(?:docker|dind)-?certs$/.test(name);
      const [odd] = oddIf([isCertificates, path, noCertificates], [!used.has(name) && !OURS.test(name), path, NOWHERE]);
      return odd ? [odd] : aboutEmptyDir(partAt(volume, 'emptyDir'), limitOf);
    });
    const ofMounts = containers.flatMap((each) => aboutMounts(each, volumes));
    return [...oddIf([isSmall, disk?.path ?? [], ofDisk]), ...ofVolumes, ...ofMounts];
  });
}

/** The kubelet counts what is written there against a limit of the pod. */
function aboutEmptyDir({ path, value }: Part, limitOf: (name: string) => unknown): readonly Odd[] {
  const name = valueAt(value, ['medium']) === 'Memory' ? 'memory' : 'ephemeral-storage';
  const [limit, size] = [limitOf(name), valueAt(value, ['sizeLimit'])];
  if (value === undefined || limit === undefined) return [];
  const end = name === 'memory' ? 'the container is killed' : 'the pod is evicted';
  const counts = `counts against limits.${name}, which is ${limit}: at that ${end}`;
  const isTooLarge = quantityValue(String(size)) >= quantityValue(String(limit));
  return oddIf(
    [size === undefined, path, `has no size, and ${counts}. Write a sizeLimit well below it`],
    [isTooLarge, [...path, 'sizeLimit'], `is ${size}, and ${counts}. Write less, or raise limits.${name}`],
  );
}

/** Names of files that programs read, and those of a Secret or of a ConfigMap in a podTemplate. */
const FILE =
  /\/(?:[^/]+\.(?:json|ya?ml|toml|xml|ini|conf|cfg|pem|crt|key|p12|jks|properties|sh|txt|env)|\.?(?:npmrc|netrc|pypirc|gitconfig|git-credentials|yarnrc|dockercfg)|\.(?:kube|aws|ssh)\/[\w.-]+)$/;
const OF_FILES = ['secret', 'configMap', 'projected', 'downwardAPI'];

/** Warns of two mounts at one place, of a folder in place of a file, and of mounts that hide the programs of the runner's image. */
function aboutMounts(container: Part, volumes: readonly Part[]): readonly Odd[] {
  const isRunner = valueAt(container.value, ['name']) === 'runner';
  const mounts = elementsAt(container, 'volumeMounts');
  const folders = mounts.map(({ value }) => String(valueAt(value, ['mountPath'])).replace(/(?<=.)\/+$/, ''));
  return mounts.flatMap((mount, index) => {
    const { path } = partAt(mount, 'mountPath');
    const volume = volumes.find(({ value }) => valueAt(value, ['name']) === valueAt(mount.value, ['name']));
    const hasFiles = OF_FILES.some((source) => valueAt(volume?.value, [source]) !== undefined);
    const isWhole = ['subPath', 'subPathExpr'].every((field) => valueAt(mount.value, [field]) === undefined);
    const folder = folders[index] ?? '';
    const first = folders.indexOf(folder);
    const hides = `hides what the image has in ${folder}, so the runner does not start: mount a folder below /mnt, or one file with subPath`;
    return oddIf(
      [first < index, path, `is the place of volumeMounts[${first}], too: mount one of them elsewhere`],
      [first === index && isRunner && OF_IMAGE.test(folder), path, hides],
      [hasFiles && isWhole && FILE.test(folder), path, `${NO_FILE} ${folder.split('/').at(-1)}", too`],
    );
  });
}
