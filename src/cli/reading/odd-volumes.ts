/** Volumes and mounts of a podTemplate that are legal and cannot be meant. Pure. */
import type { Path } from '../../config/runnergroup/documents.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import { hasDocker, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { quantityValue } from '../../config/runnergroup/words.ts';
import { listAt, type Odd, oddIf, podsOf } from './odd-values.ts';

/** Volumes of our own pods, for which a podTemplate may name another disk. */
const OURS = /^(?:data|config|credentials|ca|ca-bundle|subordinate-ids|(?:docker|buildkit)-(?:data|socket))$/;
/** Folders of the image that a mount would hide: the runner, its shell and its libraries are there. */
const OF_IMAGE = /^\/(?:|s?bin|lib|lib64|etc|home|home\/rootless|usr|usr\/(?:s?bin|lib|local|local\/(?:bin|lib)))$/;

/** Returns warnings about the volumes of a group and of its sizes. */
export function oddVolumes({ manifest, containerMode }: RunnerGroup): readonly Odd[] {
  return podsOf(manifest).flatMap(({ path, spec, containers, runners }) => {
    const mounts = containers.flatMap(({ path: place, container }) =>
      ['volumeMounts', 'volumeDevices'].flatMap((field) =>
        listAt(container, [field]).map((mount, index) => ({ mount, place: [...place, field, index] })),
      ),
    );
    const used = new Set(mounts.map(({ mount }) => valueAt(mount, ['name'])));
    const limitsOf = [
      valueAt(manifest, [...path.slice(0, -2), 'resources', 'limits']),
      ...runners.map(({ container }) => valueAt(container, ['resources', 'limits'])),
    ];
    const limitOf = (name: string) =>
      limitsOf.map((limits) => valueAt(limits, [name])).findLast((limit) => limit !== undefined);
    const ofVolumes = listAt(spec, ['volumes']).flatMap((volume, index): readonly Odd[] => {
      const [name, at] = [String(valueAt(volume, ['name'])), [...path, 'volumes', index]];
      if (hasDocker(containerMode) && /^(?:docker|dind)-?certs$/.test(name))
        return [
          [
            at,
            `holds no certificates: the daemon of containerMode ${containerMode} has a socket without TLS. Remove it, and its mounts`,
          ],
        ];
      if (!used.has(name) && !OURS.test(name))
        return [[at, `is mounted nowhere: add it to volumeMounts of container runner, or remove it`]];
      return aboutEmptyDir(valueAt(volume, ['emptyDir']), [...at, 'emptyDir'], limitOf);
    });
    return [...ofVolumes, ...containers.flatMap(aboutMounts)];
  });
}

/** The kubelet counts what is written there against a limit of the pod. */
function aboutEmptyDir(emptyDir: unknown, path: Path, limitOf: (name: string) => unknown): readonly Odd[] {
  if (emptyDir === undefined) return [];
  const name = valueAt(emptyDir, ['medium']) === 'Memory' ? 'memory' : 'ephemeral-storage';
  const [limit, size] = [limitOf(name), valueAt(emptyDir, ['sizeLimit'])];
  if (limit === undefined) return [];
  const end = name === 'memory' ? 'the container is killed' : 'the pod is evicted';
  if (size === undefined)
    return [
      [
        path,
        `has no size, and counts against limits.${name}, which is ${limit}: at that ${end}. Write a sizeLimit well below it`,
      ],
    ];
  const isTooLarge = quantityValue(String(size)) >= quantityValue(String(limit));
  const message = `is ${size}, and counts against limits.${name}, which is ${limit}: at that ${end}. Write less, or raise limits.${name}`;
  return oddIf(isTooLarge, [...path, 'sizeLimit'], message);
}

/** Warns of two mounts at one place, and of mounts that hide the programs of the runner's image. */
function aboutMounts({ path, container }: { readonly path: Path; readonly container: unknown }): readonly Odd[] {
  const folders = listAt(container, ['volumeMounts']).map((mount) =>
    String(valueAt(mount, ['mountPath'])).replace(/(?<=.)\/+$/, ''),
  );
  return folders.flatMap((folder, index): readonly Odd[] => {
    const place = [...path, 'volumeMounts', index, 'mountPath'];
    const first = folders.indexOf(folder);
    if (first < index) return [[place, `is the place of volumeMounts[${first}], too: mount one of them elsewhere`]];
    const isHidden = valueAt(container, ['name']) === 'runner' && OF_IMAGE.test(folder);
    return oddIf(
      isHidden,
      place,
      `hides what the image has in ${folder}, so the runner does not start: mount a folder below /mnt, or one file with subPath`,
    );
  });
}
