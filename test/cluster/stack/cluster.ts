import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Playground } from '../../servers/process.ts';
import { type Kubernetes, type KubernetesBuild, startKubernetes } from './kubernetes.ts';
import { Machine } from './machine.ts';
import { needPackages } from './packages.ts';

/** A control plane in a machine and a folder of its own. Pods run after `kubernetes.startNode`. */
export interface Cluster {
  readonly playground: Playground;
  readonly machine: Machine;
  readonly kubernetes: Kubernetes;
  /** Folder for images that are made. It is removed at the end in any case. */
  readonly images: string;
  /** Ends everything; of the folder the logs stay when `keep` (or KEEP=1 in the environment). */
  readonly close: (keep?: boolean) => Promise<void>;
}

/** @param name of its folder. @param apiServer more of its flags. Leaves nothing when it fails. */
export async function startCluster(
  name: string,
  build: KubernetesBuild,
  apiServer: readonly string[] = [],
): Promise<Cluster> {
  needPackages();
  const playground = new Playground(name);
  let machine: Machine | undefined;
  const close = async (keep = false): Promise<void> => {
    if (keep) process.stdout.write(`logs: ${playground.folder}\n`);
    await machine?.close();
    await playground.close(keep);
  };
  try {
    // Hundreds of MB that nobody will read.
    const images = join(playground.folder, 'images');
    for (const large of [images, join(playground.folder, 'kubernetes')]) playground.removeAtEnd(large);
    mkdirSync(images);
    machine = await Machine.start(playground);
    return { playground, machine, kubernetes: await startKubernetes(machine, build, apiServer), images, close };
  } catch (error) {
    await close();
    throw error;
  }
}
