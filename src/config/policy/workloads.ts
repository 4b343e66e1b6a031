/**
 * Documents that pass through `generate` unread by its rules. Those that would start pods are refused (docs/adr/0024). Otherwise the
 * people who commit RunnerGroups could run any pod where only runners should be, privileged ones too.
 */
import { Failure } from '../../shared/failure.ts';
import { firstNames } from '../../shared/printable.ts';
import type { FilePlace } from '../runnergroup/runner-group.ts';

/** A document of another kind, as it was read. */
export interface OtherDocument {
  readonly place: FilePlace;
  readonly text: string;
  /** Its kind and those of all objects below `items`. */
  readonly kinds: ReadonlySet<string>;
}

/** Setting of the sidecar that lets workloads through. */
export const PASS_WORKLOADS = 'GITEA_RUNNERS_PASS_WORKLOADS';

/** Kinds that start pods or hold a template for them, of any API group: other groups have a Job or Deployment of the same nature. */
const WORKLOADS: ReadonlySet<string> = new Set([
  'CronJob',
  'DaemonSet',
  'Deployment',
  'Job',
  'Pod',
  'PodTemplate',
  'ReplicaSet',
  'ReplicationController',
  'StatefulSet',
]);
/**
 * What Argo CD's reader divides otherwise than ours. Line breaks of YAML 1.1: what follows one is a comment here and a field there. And
 * `---` at the start of a line, which ends a document there even when other than ASCII spaces follow. And a byte order mark: before a
 * key it is a part of the key here, and nothing there.
 */
const HIDING = /\r(?!\n)|[\u0085\u2028\u2029\ufeff]|^---/m;
/** Problems that the message names. */
const MOST_NAMED = 5;

/** A document that is refused. */
export interface RefusedDocument {
  readonly place: FilePlace;
  /** Its kind, if that is the reason. Absent: it hides a part of itself from some readers. */
  readonly workload?: string;
}

/** Those that `refuseWorkloads` refuses. */
export function refusedDocuments(documents: readonly OtherDocument[]): readonly RefusedDocument[] {
  return documents.flatMap(({ place, text, kinds }) => {
    if (HIDING.test(text)) return [{ place }];
    const workload = [...kinds].find((kind) => WORKLOADS.has(kind));
    return workload === undefined ? [] : [{ place, workload }];
  });
}

/** @throws Failure exit 3: a document would start pods, or hides a part of itself from some readers. */
export function refuseWorkloads(documents: readonly OtherDocument[]): void {
  const hiding = 'with a line break, "---" or byte order mark that YAML readers disagree about';
  const found = refusedDocuments(documents).map(
    ({ place, workload = hiding }) => `${place.file}:${place.line} (${workload})`,
  );
  if (found.length === 0) return;
  throw new Failure(
    'GR-POLICY-02',
    3,
    `pass on the documents at ${firstNames(found, MOST_NAMED)}: only RunnerGroups start pods here. Remove them, or let ` +
      `an Application without this plugin deploy them. To let workloads through, set ${PASS_WORKLOADS}=true for gitea-runners.`,
    'policy',
  );
}
