/** The final pods of RunnerGroups. Most groups have neither podTemplate nor securityProfile: then nothing is loaded and nothing is done. */
import { MOST_PROBLEMS } from '../config/runnergroup/budget.ts';
import { type LateProblem, placed } from '../config/runnergroup/placed.ts';
import { InputProblems, type Problem } from '../config/runnergroup/problems.ts';
import type { ReadResult } from '../config/runnergroup/read.ts';
import { hasOwnPod, type RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { tokenJudge, tokenSecrets } from '../config/runnergroup/secrets.ts';
import { baseOf, writtenPath } from '../config/runnergroup/sizes.ts';
import type { PodTemplate } from '../manifests/job-manifest.ts';
import { groupBy, keyText } from '../shared/keys.ts';

/** Pods of the groups: the input of the cdk8s app, and the faults of its templates. */
export type Pods = Omit<NonNullable<Awaited<ReturnType<typeof podsOf>>>, 'lateProblems'>;

/** Characters of all podTemplates together, as JSON. All are in memory at once, and aliases make 131,072 of a file of 2 KB. */
const MOST_TEMPLATE_CHARACTERS = 16_777_216;
const TOO_MANY =
  `makes all podTemplates together longer than ${MOST_TEMPLATE_CHARACTERS} characters: shorten them, or spread the RunnerGroups ` +
  'over several Applications';

/** Returns what finishes and checks the pods. Undefined: no group has its own pod, or takes a token of another group into it. */
export async function podsOf({ groups, sources }: Pick<ReadResult, 'groups' | 'sources'>) {
  const lateProblems = [...groupBy(groups, ({ namespace }) => namespace).values()].flatMap(takenTokens);
  if (lateProblems.length === 0 && !groups.some(hasOwnPod)) return undefined;
  const { finalPod } = await import('./final-pods.ts');
  const secrets = secretsByNamespace(groups);
  let characters = 0;
  let isTooLong = false;
  return {
    lateProblems,
    finish: (group: RunnerGroup, ours: PodTemplate): PodTemplate => {
      if (!hasOwnPod(group)) return ours;
      const final = finalPod(group, ours, secrets.get(group.namespace) ?? []);
      if ('pod' in final) {
        characters += JSON.stringify(group.podTemplate ?? {}).length;
        if (characters <= MOST_TEMPLATE_CHARACTERS) return final.pod;
        if (!isTooLong)
          lateProblems.push(late(group, { path: ['spec', 'podTemplate'], message: TOO_MANY, code: 'GR-INPUT-08' }));
        isTooLong = true;
        return ours;
      }
      lateProblems.push(
        // At least one, so that the group counts as faulty.
        ...final.faults.slice(0, Math.max(1, MOST_PROBLEMS - lateProblems.length)).map((fault) => late(group, fault)),
      );
      return ours;
    },
    /** @throws InputProblems (exit 2): what `finish` has found wrong. It has left the pods of such groups as they were. */
    check: async () => {
      if (lateProblems.length > 0) throw new InputProblems(await placed(lateProblems, sources));
    },
    /** Returns the faults by group, once the app is made. @throws InputProblems: all podTemplates are too long */
    faulty: async () => {
      const problems = await placed(lateProblems, sources);
      if (isTooLong) throw new InputProblems(problems);
      const byGroup = new Map<RunnerGroup, Problem[]>(lateProblems.map(({ group }) => [group, []]));
      for (const [index, problem] of problems.entries()) {
        const group = lateProblems[index]?.group;
        if (group) byGroup.get(group)?.push(problem);
      }
      return byGroup;
    },
  };
}

/** Makes the problem of a RunnerGroup from a fault of its size. */
function late(group: RunnerGroup, fault: Omit<LateProblem, 'group'>): LateProblem {
  return { ...fault, group: baseOf(group), path: writtenPath(group, fault.path) };
}

/** Finds groups that take tokens of others into their pods. Their readers have told what is wrong in one alone. @param groups all of one namespace */
function takenTokens(groups: readonly RunnerGroup[]): readonly LateProblem[] {
  const holders = groups.map(({ name, manifest: { spec } }) => ({ spec, of: ` of RunnerGroup ${name}` }));
  const judge = tokenJudge(holders);
  return groups.flatMap((group, index) => {
    const spec = holders[index]?.spec;
    const faults = judge(spec);
    const isOwn = faults.length > 0 && tokenJudge([{ spec, of: '' }])(spec).length > 0;
    return isOwn ? [] : faults.map((fault): LateProblem => ({ group, ...fault, code: 'GR-INPUT-06' }));
  });
}

/** Makes the pods that `generate` would make. Of two groups with one name the first one counts. */
export async function problemsOfPods(
  groups: readonly RunnerGroup[],
  sources: ReadResult['sources'],
  place: typeof placed = placed,
): Promise<readonly Problem[]> {
  const single = [...groupBy(groups, keyText).values()].flatMap(([first]) => first ?? []);
  const pods = await podsOf({ groups: single, sources });
  if (!pods) return [];
  const { RunnersApp } = await import('../manifests/app.ts');
  new RunnersApp(single.filter(hasOwnPod), pods.finish);
  return await place(pods.lateProblems, sources);
}

function secretsByNamespace(groups: readonly RunnerGroup[]): ReadonlyMap<string, readonly string[]> {
  const byNamespace = groupBy(groups, ({ namespace }) => namespace);
  return new Map([...byNamespace].map(([namespace, members]) => [namespace, members.flatMap(tokenSecrets)]));
}
