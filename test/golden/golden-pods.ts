import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { CASES, caseNames, groupsIn } from './case.ts';

const GoldenJob = z.object({
  kind: z.literal('Job'),
  metadata: z.object({ labels: z.record(z.string(), z.string()) }),
  // One with a selector is printed as it lives: its pod is not of our making.
  spec: z.object({
    selector: z.undefined().optional(),
    template: z.object({ metadata: z.looseObject({}), spec: z.looseObject({}) }),
  }),
});

export interface GoldenPod {
  /** The level of the Pod Security Standards that its group's profile names. */
  readonly level: 'privileged' | 'baseline' | 'restricted';
  readonly metadata: object;
  readonly spec: object;
}

/** Pods of all Jobs of ours that a case prints. */
export function podsOf(output: string, groups: readonly RunnerGroup[]): readonly GoldenPod[] {
  return parseAllDocuments(output).flatMap((document) => {
    const job = GoldenJob.safeParse(document.toJS()).data;
    const group = groups.find((each) => each.name === job?.metadata.labels['gitea.bpg.pw/runnergroup-name']);
    if (!job || !group) return [];
    const level = group.securityProfile ?? (group.containerMode === 'host' ? 'restricted' : 'privileged');
    return [{ level, ...job.spec.template }];
  });
}

/** Pods of the cases whose output is kept whole, as somebody may send them to a cluster, by their level. */
export async function goldenPods(): Promise<ReadonlyMap<string, readonly object[]>> {
  const pods = new Map<string, object[]>();
  for (const name of caseNames()) {
    const output = join(CASES, name, 'expected.yaml');
    if (!existsSync(output)) continue;
    const groups = await groupsIn(join(CASES, name, 'groups'));
    for (const [index, { level, metadata, spec }] of podsOf(readFileSync(output, 'utf8'), groups).entries()) {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...metadata, name: `${name.toLowerCase().slice(0, 40)}-${index}` },
        spec: { ...spec, serviceAccountName: 'somebody' },
      };
      pods.set(level, [...(pods.get(level) ?? []), pod]);
    }
  }
  return pods;
}
