/**
 * The policy file as an administrator writes it: source of checks, JSON Schema and docs/policy.md. An absent field
 * restricts nothing, unless its description says otherwise. An empty list forbids all that its field is about.
 */
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { systemReason } from '../../shared/failure.ts';
import { API_VERSION } from '../../shared/marks.ts';
import { normalBase } from '../../shared/url.ts';
import { checkShape } from '../pods/check-shape.ts';
import { boundFault, type Value } from '../pods/pod-schema.ts';
import { readAll, type SourceDocument } from '../runnergroup/documents.ts';
import { described, quantities, runnerLabel, stringLike } from '../runnergroup/field-kinds.ts';
import { problemsOfIssue } from '../runnergroup/field-problem.ts';
import { pathText } from '../runnergroup/paths.ts';
import { IMAGE_REFERENCE, LONGEST_IMAGE, resourceInstead, SECURITY_PROFILES } from '../runnergroup/words.ts';
import { isRegistryPattern, normalRepository, wrongImagePattern } from './policy-patterns.ts';

/** Entries of a list. Every group is compared with every entry. */
const MOST_ENTRIES = 1_000;
const LONGEST_PATTERN = 512;

const pattern = (form: RegExp, rule: string) => stringLike(1, LONGEST_PATTERN, form, rule);
const checked = (check: (text: string) => string | undefined) =>
  stringLike(1, LONGEST_PATTERN, /^[\x21-\x7e]+$/, 'must be visible ASCII characters without spaces', check);
/** Names of Kubernetes and Argo CD: a capital letter or a slash in a pattern could never fit. */
const NAME_RULE = 'must be a name, or a pattern like team-*: lower-case letters, digits, dashes, dots and stars';
const namePattern = () => pattern(/^[a-z0-9.*-]+$/, NAME_RULE);
const BASE_RULE = 'must be the base URL of a Gitea: http or https, without credentials, query or fragment';
const giteaBase = () => checked((text) => (normalBase(text) === undefined ? BASE_RULE : undefined));
const scopePattern = () =>
  pattern(
    /^(?:global|(?:org|user):[A-Za-z0-9._*-]+|repo:[A-Za-z0-9._*-]+\/[A-Za-z0-9._*-]+)$/,
    'must be global, org:NAME, user:NAME or repo:OWNER/NAME; stars are allowed',
  );
const level = () => z.enum(SECURITY_PROFILES.toReversed());
/** A field that may be absent, with the manual's text. */
const field = <T extends z.ZodType>(schema: T, description: string) => described(schema.optional(), description);
const list = <T extends z.ZodType>(entry: T, description: string) =>
  field(z.array(entry).max(MOST_ENTRIES), description);

/** Key in `maxResources` for all resources that are not named. */
export const OTHERS = '*';

/** The rules, as denials name them: fields of a policy, and `scopes` of a namespace as `namespaces.scopes`. */
export const RULE_NAMES = [
  ...(['projects', 'repositories', 'namespaces'] as const),
  ...(['namespaces.destinations', 'namespaces.scopes', 'namespaces.secrets'] as const),
  ...(['giteas', 'images', 'registries', 'securityProfile', 'podTemplateFields'] as const),
  ...(['priorityClasses', 'serviceAccounts', 'maxActiveRunners', 'maxResources', 'queues'] as const),
] as const;
export type RuleName = (typeof RULE_NAMES)[number];

const ENFORCEMENT = ['deny', 'warn'] as const;
const ENFORCING = {
  enforcement: field(
    z.enum(ENFORCEMENT),
    '`warn`: denials are reported and not enforced ([how](#try-a-rule-before-it-denies)). It allows nothing that is refused without a policy file. Absent: `deny`.',
  ),
  enforcementOf: field(
    z.partialRecord(z.enum(RULE_NAMES), z.enum(ENFORCEMENT)),
    'The same for single rules, by the name that stands behind a denial: `{images: warn}`.',
  ),
};

/** Rules about the whole Application. An entry of `namespaces` may have them, too: then both must allow it. */
const OF_APPLICATION = {
  projects: list(namePattern(), 'Argo CD projects whose Applications may have runners. An offline check may skip it.'),
  repositories: list(
    checked((text) => {
      const normal = normalRepository(text);
      if (normal === undefined) return 'must be the URL of a git repository, e.g. https://gitea.example.com/ops/*';
      return normal.split('/').at(2)?.includes('**') ? 'must not have ** in its host' : undefined;
    }),
    'Git repositories whose Applications may have runners. `.git` at the end and the two spellings of ssh make no difference. An offline check may skip it.',
  ),
};

const HOST_RULE = 'must be the host of a registry with its port if it has one, e.g. docker.io or *.example.com:5000';

/** Rules of a group. In an entry, each of them replaces the policy's rule. */
const OF_GROUP = {
  giteas: list(
    giteaBase(),
    'Base URLs of the Giteas that RunnerGroups may name, because a runner executes what its Gitea sends. An empty list: none. Absent: any.',
  ),
  images: list(
    checked(wrongImagePattern),
    'Images of pods, each with its registry: `docker.io/gitea/runner`, `registry.example.com/ci/**`. Without a tag every version, with a tag no image by digest, with `@*` only images by digest.',
  ),
  registries: list(
    checked((text) => (isRegistryPattern(text) ? undefined : HOST_RULE)),
    'Registries that images of pods may come from. Applies in addition to `images`.',
  ),
  securityProfile: field(
    z.strictObject({
      highest: described(level(), 'Highest `securityProfile` of a RunnerGroup.'),
      withReason: field(
        level(),
        'Highest `securityProfile` of RunnerGroups that give a reason in their annotation `gitea.bpg.pw/profile-reason`. Absent: the same.',
      ),
    }),
    'Highest `securityProfile`: `restricted` is the lowest, `privileged` the highest. A RunnerGroup without the field counts as `restricted` with containerMode `host`, else as `privileged`. Absent: any, but not `privileged` with a `podTemplate`.',
  ),
  podTemplateFields: list(
    pattern(
      /^(?:metadata|spec)(?:\.[A-Za-z][A-Za-z0-9]*)+$/,
      'must be a path like spec.nodeSelector or spec.containers.env',
    ),
    'Fields that a `podTemplate` may have, each with all below it: `spec.nodeSelector`, `spec.containers.env`. Names of elements of lists are always allowed on the way. Absent: all but those that `images`, `registries`, `priorityClasses` and `serviceAccounts` forbid.',
  ),
  priorityClasses: list(namePattern(), 'Priority classes that RunnerGroups may name. Absent: none in a `podTemplate`.'),
  queues: list(
    namePattern(),
    'Queues of Kueue: a RunnerGroup must name one of them ([how](recipes/kueue.md)). An empty list: no queue is allowed. Absent: any queue or none.',
  ),
  serviceAccounts: list(namePattern(), 'Service accounts that a `podTemplate` may name. Absent: none.'),
  maxResources: field(
    quantities().superRefine((amounts, context) => {
      const names = Object.keys(amounts);
      if (names.length > MOST_ENTRIES)
        context.addIssue({ code: 'custom', message: `has more than ${MOST_ENTRIES} entries` });
      for (const name of names) {
        const message = `is no resource of a container; ${resourceInstead(name)}`;
        if (name !== OTHERS && resourceInstead(name)) context.addIssue({ code: 'custom', path: [name], message });
      }
    }),
    'Bound of one runner for each resource: `{cpu: 8, memory: 32Gi, nvidia.com/gpu: 0}`. Requests and limits of all containers of its pod count together, in each size too. `"*"` stands for each resource that is not named; without it they are not restricted.',
  ),
};
const IMAGE_RULE = 'must be an image reference, e.g. registry.example.com/gitea/runner:1.0.8';
const image = (subject: string) => field(stringLike(1, LONGEST_IMAGE, IMAGE_REFERENCE, IMAGE_RULE), subject);

/** Fields of a RunnerGroup, as in group-schema.ts: that schema takes time to make, and is not needed here. */
const defaults = field(
  z.strictObject({
    labels: field(z.array(runnerLabel).min(1).max(100), '`labels` of groups without.'),
    resources: field(
      z.strictObject({
        requests: field(quantities(), 'Its `requests`.'),
        limits: field(quantities(), 'Its `limits`.'),
      }),
      '`resources` of groups without, as a whole.',
    ),
    securityProfile: field(level(), '`securityProfile` of groups without.'),
    podTemplate: field(
      z.record(z.string(), z.unknown()).superRefine((template, context) => {
        const value = template as Value;
        const tooLarge = boundFault(value);
        for (const { path, message } of tooLarge ? [tooLarge] : checkShape(value))
          context.addIssue({ code: 'custom', path: [...path], message });
      }),
      'Base of the `podTemplate` of each group and of each size, which is merged over it.',
    ),
    images: field(
      z.strictObject({
        runner: image('With containerMode `dind` and `host`.'),
        rootless: image('With containerMode `dind-rootless` and `buildkit`.'),
        docker: image('Of dockerd with containerMode `dind`.'),
        buildkit: image('Of BuildKit with containerMode `buildkit`.'),
      }),
      'Images of groups without an image, for example from a mirror.',
    ),
  }),
  'Values of fields that a group does not set ([how](#defaults)).',
);

const maxActiveRunners = field(
  z.int().min(0).max(1_000_000),
  'Cap over all RunnerGroups of an Application: the sum of their `maxActiveRunners`, suspended ones included.',
);

/** Fields of an entry of `namespaces` or `groups`. */
const OF_ENTRY = {
  destinations: list(
    namePattern(),
    'Destination namespaces of Applications that may have RunnerGroups here, besides this namespace itself. Absent: no others.',
  ),
  scopes: list(
    scopePattern(),
    'Scopes that RunnerGroups here may serve: `global`, `org:NAME`, `user:NAME`, `repo:OWNER/NAME`. `org:` and `user:` cover the repositories of that owner, too.',
  ),
  secrets: list(
    namePattern(),
    'Secrets that RunnerGroups here may name: tokens, every other `secretRef`, and all that a podTemplate names.',
  ),
  ...{ ...OF_APPLICATION, ...OF_GROUP, maxActiveRunners, ...ENFORCING, defaults },
};

const NamespaceEntry = z.strictObject({
  name: described(namePattern(), 'Pattern for the namespace of a RunnerGroup.'),
  ...OF_ENTRY,
});

const MATCH = {
  namespace: field(namePattern(), 'Pattern for its namespace.'),
  name: field(namePattern(), 'Pattern for its name.'),
  scope: field(scopePattern(), 'Its scope, as in `scopes`.'),
  labels: field(
    z.record(z.string(), z.string()),
    'Labels of its object, all of them. The author of the group writes them.',
  ),
};
const GroupEntry = z.strictObject({
  match: described(z.strictObject(MATCH), 'The RunnerGroups that are meant: those that all of these fit.'),
  ...OF_ENTRY,
});

const groupPattern = pattern(/^[a-z0-9.*-]+\/[a-z0-9.*-]+$/, 'must be NAMESPACE/NAME; stars are allowed');
const Exception = z.strictObject({
  groups: described(z.array(groupPattern).min(1).max(MOST_ENTRIES), 'RunnerGroups: `team-a/ci`, `team-*/*`.'),
  rules: described(
    z.array(z.enum(RULE_NAMES)).min(1).max(RULE_NAMES.length),
    'Rules that deny these groups nothing, by the names that stand behind denials.',
  ),
  until: described(
    z.iso.date({ error: 'must be a day, e.g. 2027-03-31' }),
    'Its last day, by UTC. In its last 14 days there is a warning. After it the rules deny.',
  ),
  reason: described(z.string().min(1).max(500), 'Why, for people.'),
});

const TokenBinding = z.strictObject({
  namespace: described(namePattern(), 'Pattern for the namespace of the RunnerGroup.'),
  secret: described(
    pattern(/^[a-z0-9.-]+$/, 'must be the name of a Secret; a pattern is not possible here'),
    'Name of the Secret.',
  ),
  url: described(giteaBase(), 'Base URL of the Gitea.'),
});

/** `spec`. The order of the fields is the order of the manual. */
export const PolicySpec = z.strictObject({
  ...OF_APPLICATION,
  namespaces: list(
    NamespaceEntry,
    'Namespaces that may have RunnerGroups, with rules for them. An entry may have each rule of this table ([how](#one-rule-for-some)). The first matching entry counts.',
  ),
  groups: list(
    GroupEntry,
    'Rules for some RunnerGroups. An entry may have each rule of this table and of `namespaces[]`. The first matching entry counts.',
  ),
  ...OF_GROUP,
  tokenBindings: list(
    TokenBinding,
    'The Gitea that the tokens of a Secret may be sent to. For Secrets without the key `url`. If both exist, both apply. The first matching entry counts.',
  ),
  maxActiveRunners,
  ...ENFORCING,
  defaults,
  exceptions: list(
    Exception,
    'Rules that deny nothing to some RunnerGroups for a time ([how](#an-exception-for-some-time)).',
  ),
});

/** The content of a policy. Every field may be absent. Lists hold patterns (policy-patterns.ts). */
export type Policy = z.output<typeof PolicySpec>;
/** An entry of `namespaces` or `groups`. */
export type PolicyEntry = Omit<z.output<typeof GroupEntry>, 'match'>;
export type GroupMatch = z.output<typeof GroupEntry>['match'];

export const PolicyDocument = z.strictObject({
  apiVersion: described(z.literal(API_VERSION), 'Version of this format.'),
  kind: described(z.literal('RunnerPolicy'), 'Always RunnerPolicy.'),
  metadata: field(z.strictObject({ name: field(z.string().max(253), 'For people.') }), 'Not used.'),
  spec: described(PolicySpec, 'Limits on RunnerGroups.'),
});

/** 1 MiB: no ConfigMap holds more. */
export const MOST_POLICY_BYTES = 1_048_576;

/** Exactly one of both. `problems`: one line each, not yet safe to print; `file:line:column: path: message`. */
export type ReadPolicy = { readonly policy: Policy } | { readonly problems: readonly string[] };

/** Reads the file in one go. Never throws for what stands there, nor for a file that is not there. */
export function readPolicyFile(file: string): ReadPolicy {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > MOST_POLICY_BYTES) return { problems: [`${file}: has more than ${MOST_POLICY_BYTES} bytes`] };
    if (!isUtf8(bytes)) return { problems: [`${file}: is not UTF-8`] };
    return readPolicy(file, new TextDecoder().decode(bytes));
  } catch (error) {
    return { problems: [`${file}: cannot be read: ${systemReason(error)}`] };
  }
}

/** Reads the text of a policy. @param name of the file, for messages */
export function readPolicy(name: string, text: string): ReadPolicy {
  const reads = readAll({ name, text });
  const broken = reads.flatMap((read) => ('problem' in read ? [read.problem] : []));
  if (broken.length > 0) return { problems: broken.map(({ place, message }) => line(place, '', message)) };
  const documents = reads.flatMap((read) => ('document' in read ? [read.document] : []));
  const [document] = documents;
  if (document === undefined || documents.length > 1)
    return { problems: [`${name}: has ${documents.length} documents; a policy is exactly one`] };
  const parsed = PolicyDocument.safeParse(document.value);
  if (parsed.success) return { policy: parsed.data.spec };
  const { value, writtenAt } = document;
  const schemaCommand = 'gitea-runners schema --kind RunnerPolicy';
  const around = { schema: PolicyDocument, value, writtenAt, schemaCommand };
  const problems = parsed.error.issues.flatMap((issue) => problemsOfIssue(issue, around));
  return { problems: problems.map(({ path, message }) => line(document.placeOf(path), pathText(path), message)) };
}

function line(place: SourceDocument['place'], path: string, message: string): string {
  return [`${place.file}:${place.line}:${place.column}`, path, message].filter((part) => part !== '').join(': ');
}
