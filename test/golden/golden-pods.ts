import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { readRunnerGroups } from '../../src/config/runnergroup/read.ts';
import { CASES, caseNames } from './case.ts';

const GoldenJob = z.object({
  kind: z.literal('Job'),
  metadata: z.object({ labels: z.record(z.string(), z.string()) }),
  // One with a selector is printed as it lives: its pod is not of our making.
  spec: z.object({
    selector: z.undefined().optional(),
    template: z.object({ metadata: z.looseObject({}), spec: z.looseObject({}) }),
  }),
});

/** Pods of all Jobs that golden cases print, by the level that their group's profile names. */
export async function goldenPods(): Promise<ReadonlyMap<string, readonly object[]>> {
  const pods = new Map<string, object[]>();
  for (const name of caseNames()) {
    const folder = join(CASES, name);
    const output = join(folder, 'expected.yaml');
    if (!existsSync(output)) continue;
    const { groups } = await readRunnerGroups({
      paths: [join(folder, 'groups')],
      recursive: true,
      cwd: process.cwd(),
      defaultNamespace: 'default',
    });
    for (const [index, document] of parseAllDocuments(readFileSync(output, 'utf8')).entries()) {
      const job = GoldenJob.safeParse(document.toJS()).data;
      const group = groups.find((each) => each.name === job?.metadata.labels['gitea.bpg.pw/runnergroup-name']);
      if (!job || !group) continue;
      const level = group.securityProfile ?? (group.containerMode === 'host' ? 'restricted' : 'privileged');
      const { metadata, spec } = job.spec.template;
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
