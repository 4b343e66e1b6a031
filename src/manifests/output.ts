/** The whole output of a plan, and its objects that are no Jobs of runners. */
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { API_VERSION, KIND, SHARDS } from '../shared/marks.ts';
import type { RunnerParts } from './stamp.ts';

export interface ObjectManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Output {
  /** The runners of a group that have a Job, in output order. */
  readonly runnersOf: (group: RunnerGroup) => readonly RunnerParts[];
  /** Print the RunnerGroup objects too. */
  readonly emitGroups: boolean;
  /** Number of shards, which those objects carry. Undefined: none. */
  readonly shards?: number | undefined;
  /** Groups whose chart is not printed. */
  readonly isLeftOut: (group: RunnerGroup) => boolean;
  /** Output that replaces those charts, in output order. */
  readonly kept: readonly ObjectManifest[];
  /** Documents of other kinds, unchanged. */
  readonly others: readonly string[];
}

/** The object as it was written, with the namespace that was found for it. */
export function groupManifest({ manifest, name, namespace }: RunnerGroup, shards?: number): ObjectManifest {
  const { metadata } = manifest;
  const metadataFields: { readonly annotations?: object } =
    typeof metadata === 'object' && metadata !== null ? metadata : {};
  const annotations = shards !== undefined && {
    annotations: { ...metadataFields.annotations, [SHARDS]: String(shards) },
  };
  return {
    ...manifest,
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: { ...metadataFields, ...annotations, name, namespace },
  };
}
