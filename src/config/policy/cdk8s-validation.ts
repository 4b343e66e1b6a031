/** The policy as a plugin of the cdk8s command (docs/construct.md), for what any app wrote. See lib/validation.cjs. */
import { readFileSync } from 'node:fs';
import { systemClock } from '../../shared/clock.ts';
import { API_VERSION, KIND } from '../../shared/marks.ts';
import { firstNames, printable } from '../../shared/printable.ts';
import type { Mapping } from '../pods/pod-schema.ts';
import { securityViolations } from '../pods/pod-security.ts';
import { readAll } from '../runnergroup/documents.ts';
import { isMapping, valueAt } from '../runnergroup/paths.ts';
import { objectsBelow, readRunnerGroups } from '../runnergroup/read.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { podOnly } from '../runnergroup/to-runner-group.ts';
import { SECURITY_PROFILES } from '../runnergroup/words.ts';
import { partsOf, startsPods } from '../runnergroup/workloads.ts';
import { judge, skippedRules } from './check.ts';
import { defaultsOf } from './defaults.ts';
import { type Denial, denialLine, unusablePolicy } from './denial.ts';
import { type Policy, readPolicyFile } from './policy-schema.ts';

/** The used part of cdk8s-cli's context. */
interface Context {
  readonly manifests: readonly string[];
  readonly report: { readonly addViolation: (violation: object) => void; readonly submit: (status: string) => void };
  readonly logger: { readonly log: (text: string) => void };
}

/** The plugin that cdk8s.yaml names. cdk8s calls `validate` after it has written the manifests. */
export class RunnerPolicyValidation {
  readonly #file: string;

  /** @param properties as they stand in cdk8s.yaml. `policy`: the file of a RunnerPolicy */
  constructor({ policy = '' }: { readonly policy?: string }) {
    this.#file = policy;
  }

  /** @throws Failure if the policy or a RunnerGroup cannot be read */
  async validate({ manifests, report, logger }: Context): Promise<void> {
    const read = readPolicyFile(this.#file);
    if ('problems' in read) throw unusablePolicy(this.#file, read.problems);
    const { policy } = read;
    const asker = { isArgoCd: false, nowMs: systemClock.now() };
    for (const rule of skippedRules(policy, asker)) logger.log(`not checked, because Argo CD does not ask: ${rule}`);
    const objects = manifests.flatMap(objectsIn);
    const otherNames = objects.flatMap(otherWorkload);
    if (otherNames.length > 0)
      logger.log(`warning: a policy judges RunnerGroups, Jobs and CronJobs, and not ${firstNames(otherNames, 10)}`);
    const files = { paths: manifests, recursive: false, cwd: process.cwd() };
    const reading = { ...files, defaultNamespace: 'default', defaults: defaultsOf(policy) };
    // With an empty list of paths, the reader would read the current folder.
    const { groups } = manifests.length === 0 ? { groups: [] } : await readRunnerGroups(reading);
    const pods = new Map(objects.flatMap(podAsGroup));
    const ofGroups = judge(policy, groups, asker);
    const ofPods = judge(policyForPods(policy), [...pods.keys()], asker);
    const all = (word: 'denials' | 'warnings') => [
      ...ofGroups[word],
      ...ofPods[word].flatMap((each) => denialOfPod(each, pods)),
    ];
    for (const each of all('warnings')) logger.log(`warning: ${denialLine(each)}`);
    const denials = all('denials');
    for (const each of denials)
      report.addViolation({
        ruleName: each.rule,
        recommendation: denialLine(each),
        fix: 'change the field, or ask for another policy',
        violatingResources: (each.group ? [each.group] : groups).map(({ name, place }) => ({
          resourceName: printable(name),
          manifestPath: place.file,
          locations: [printable(each.path)],
        })),
      });
    report.submit(denials.length > 0 ? 'failure' : 'success');
  }
}

type ReadObject = ReturnType<typeof objectsIn>[number];

/** Returns the name of another object that starts pods, or has an image in its spec. */
function otherWorkload({ object }: ReadObject): readonly string[] {
  const [kind = '', name] = [valueAt(object, ['kind']), valueAt(object, ['metadata', 'name'])].map(String);
  const mayStartPods = isMapping(object) && (startsPods(object) || hasImage(object['spec']));
  return mayStartPods && kind !== KIND && podPathOf(object) === undefined ? [printable(`${kind} ${name}`)] : [];
}

function hasImage(spec: unknown): boolean {
  return isMapping(spec) && partsOf(spec).some((part) => 'image' in part && typeof part.image === 'string');
}

/** Path of the pod template in each kind that starts Jobs. */
const POD_OF: ReadonlyMap<unknown, string> = new Map([
  ['Job', 'spec.template'],
  ['CronJob', 'spec.jobTemplate.spec.template'],
]);

/** Returns a group with the pod as its podTemplate and the profile that the pod meets, and the pod's path. */
function podAsGroup({ document, file, object }: ReadObject) {
  const path = podPathOf(object);
  if (path === undefined) return [];
  const podTemplate = valueAt(object, path.split('.')) as Mapping;
  const securityProfile = SECURITY_PROFILES.find((level) => securityViolations(podTemplate, level).length === 0);
  const spec = { containerMode: 'host', podTemplate, securityProfile };
  const source = { document, base: [], value: { apiVersion: API_VERSION, kind: KIND, spec } };
  const group = podOnly(source, { problems: [], wrong: [] }, 'job');
  if (!group) throw new Error(`${file} has a ${path} that cannot be judged`);
  const metadataOf = (field: string) => String(valueAt(object, ['metadata', field]) ?? 'default');
  const manifest = { metadata: valueAt(object, ['metadata']) };
  return [[{ ...group, name: metadataOf('name'), namespace: metadataOf('namespace'), manifest }, path] as const];
}

function podPathOf(object: unknown): string | undefined {
  const isOfBatch = String(valueAt(object, ['apiVersion'])).startsWith('batch/');
  return isOfBatch ? POD_OF.get(valueAt(object, ['kind'])) : undefined;
}

function objectsIn(file: string) {
  const read = readAll({ name: file, text: readFileSync(file, 'utf8') });
  const documents = read.flatMap((each) => ('document' in each ? [each.document] : []));
  return documents.flatMap((document) => objectsBelow(document.value).map((object) => ({ object, document, file })));
}

/** Returns the policy for other pods: they have no scope, and fields that a podTemplate cannot have. */
function policyForPods({ namespaces, groups, ...policy }: Policy): Policy {
  const unlisted = <T extends object>(level: T): T => ({ ...level, podTemplateFields: undefined });
  const fitting = groups?.filter(({ match }) => match.scope === undefined);
  return { ...unlisted(policy), namespaces: namespaces?.map(unlisted), groups: fitting?.map(unlisted) };
}

/** Returns the denial for a pod, and none if it is about other fields of a RunnerGroup. */
function denialOfPod(denial: Denial, pods: ReadonlyMap<RunnerGroup | undefined, string>): readonly Denial[] {
  const [, field, below] = /^spec\.(podTemplate|securityProfile)(.*)/.exec(denial.path) ?? [];
  if (field === undefined) return [];
  // The sentences after the first name fields of a RunnerGroup to change.
  const message = denial.rule === 'securityProfile' ? denial.message.split('. ', 1).join('') : denial.message;
  return [{ ...denial, path: `${pods.get(denial.group)}${below}`, message }];
}
