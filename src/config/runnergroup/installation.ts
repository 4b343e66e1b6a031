/** Images for the whole installation, e.g. from a private registry. They are for groups that name none. */
import { isMapping } from './paths.ts';
import { imageInTemplate } from './rules.ts';
import type { RunnerGroup } from './runner-group.ts';

/** Absent: the default of docs/runnergroup.md. */
export interface InstallationImages {
  /** Of runners with containerMode `dind` and `host`. */
  readonly runner?: string | undefined;
  /** Of runners with containerMode `dind-rootless`. */
  readonly rootless?: string | undefined;
  /** Of dockerd in containerMode `dind`. */
  readonly docker?: string | undefined;
}

/** The group with the images of the installation. The same object if they change nothing. */
export function withImages(group: RunnerGroup, { runner, rootless, docker }: InstallationImages): RunnerGroup {
  const written = group.manifest['spec'];
  const isNamed =
    (isMapping(written) && written['image'] !== undefined) || imageInTemplate(group.podTemplate) !== undefined;
  const ofMode = group.containerMode === 'dind-rootless' ? rootless : runner;
  const image = isNamed ? undefined : ofMode;
  const dockerImage = group.containerMode === 'dind' ? docker : undefined;
  if (image === undefined && dockerImage === undefined) return group;
  return { ...group, ...(image !== undefined && { image }), ...(dockerImage !== undefined && { dockerImage }) };
}
