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
import { IMAGE_REFERENCE, LONGEST_IMAGE, refinementOf, resourceInstead } from '../runnergroup/words.ts';
import { isRegistryPattern, normalRepository, wrongImagePattern } from './policy-patterns.ts';

/** Entries of a list. Every group is compared with every entry. */
const MOST_ENTRIES = 1_000;
const LONGEST_PATTERN = 512;

const pattern = () =>
  z
    .string()
    .min(1)
    .max(LONGEST_PATTERN)
    .regex(/^[\x21-\x7e]+$/, { error: 'must be visible ASCII characters without spaces' });
const checked = (check: (text: string) => string | undefined) => pattern().superRefine(refinementOf(check));
/** Names of Kubernetes and Argo CD: a capital letter or a slash in a pattern could never fit. */
const namePattern = () =>
  pattern().regex(/^[a-z0-9.*-]+$/, {
    error: 'must be a name, or a pattern like team-*: lower-case letters, digits, dashes, dots and stars',
  });
const giteaBase = () =>
  checked((text) =>
    normalBase(text) === undefined
      ? 'must be the base URL of a Gitea: http or https, without credentials, query or fragment'
      : undefined,
  );
const list = <T extends z.ZodType>(entry: T, description: string) =>
  z.array(entry).max(MOST_ENTRIES).optional().meta({ description });

const SCOPE_PATTERN = /^(?:global|(?:org|user):[A-Za-z0-9._*-]+|repo:[A-Za-z0-9._*-]+\/[A-Za-z0-9._*-]+)$/;
const FIELD_PATTERN = /^(?:metadata|spec)(?:\.[A-Za-z][A-Za-z0-9]*)+$/;

/** Key in `maxResources` for all resources that are not named. */
export const OTHERS = '*';

const level = () => z.enum(['privileged', 'baseline', 'restricted']);

const scopePattern = () =>
  pattern().regex(SCOPE_PATTERN, {
    error: 'must be global, org:NAME, user:NAME or repo:OWNER/NAME; stars are allowed',
  });

/** The rules, as denials name them: fields of a policy, and `scopes` of a namespace as `namespaces.scopes`. */
export const RULE_NAMES = [
  ...(['projects', 'repositories', 'namespaces'] as const),
  ...(['namespaces.destinations', 'namespaces.scopes', 'namespaces.secrets'] as const),
  ...([
    'giteas',
    'images',
    'registries',
    'securityProfile',
    'podTemplateFields',
    'priorityClasses',
    'serviceAccounts',
  ] as const),
  ...(['maxActiveRunners', 'maxResources', 'queues'] as const),
] as const;
export type RuleName = (typeof RULE_NAMES)[number];

const ENFORCEMENT = ['deny', 'warn'] as const;
const ENFORCING = {
  enforcement: z.enum(ENFORCEMENT).optional().meta({
    description:
      '`warn`: denials are reported and not enforced ([how](#try-a-rule-before-it-denies)). It allows nothing that is refused without a policy file. Absent: `deny`.',
  }),
  enforcementOf: z
    .partialRecord(z.enum(RULE_NAMES), z.enum(ENFORCEMENT))
    .optional()
    .meta({ description: 'The same for single rules, by the name that stands behind a denial: `{images: warn}`.' }),
};

/** Rules about the whole Application. An entry of `namespaces` may have them, too: then both must allow it. */
const OF_APPLICATION = {
  projects: list(namePattern(), 'Argo CD projects whose Applications may have runners. An offline check may skip it.'),
  repositories: list(
    checked((text) => {
      const normal = normalRepository(text);
      if (normal === undefined) return 'must be the URL of a git repository, e.g. https://gitea.example.com/ops/*';
      return normal.split('/', 3).at(2)?.includes('**') ? 'must not have ** in its host' : undefined;
    }),
    'Git repositories whose Applications may have runners. `.git` at the end and the two spellings of ssh make no difference. An offline check may skip it.',
  ),
};

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
    checked((text) =>
      isRegistryPattern(text) && text === text.toLowerCase()
        ? undefined
        : 'must be the host of a registry with its port if it has one, e.g. docker.io or *.example.com:5000',
    ),
    'Registries that images of pods may come from. Applies in addition to `images`.',
  ),
  securityProfile: z
    .strictObject({
      highest: level().meta({ description: 'Highest `securityProfile` of a RunnerGroup.' }),
      withReason: level().optional().meta({
        description:
          'Highest `securityProfile` of RunnerGroups that give a reason in their annotation `gitea.bpg.pw/profile-reason`. Absent: the same.',
      }),
    })
    .optional()
    .meta({
      description:
        'Highest `securityProfile`: `restricted` is the lowest, `privileged` the highest. A RunnerGroup without the field counts as `restricted` with containerMode `host`, else as `privileged`. Absent: any, but not `privileged` with a `podTemplate`.',
    }),
  podTemplateFields: list(
    pattern().regex(FIELD_PATTERN, { error: 'must be a path like spec.nodeSelector or spec.containers.env' }),
    'Fields that a `podTemplate` may have, each with all below it: `spec.nodeSelector`, `spec.containers.env`. Names of elements of lists are always allowed on the way. Absent: all but those that `images`, `registries`, `priorityClasses` and `serviceAccounts` forbid.',
  ),
  priorityClasses: list(namePattern(), 'Priority classes that RunnerGroups may name. Absent: none in a `podTemplate`.'),
  queues: list(
    namePattern(),
    'Queues of Kueue: a RunnerGroup must name one of them ([how](recipes/kueue.md)). An empty list: no queue is allowed. Absent: any queue or none.',
  ),
  serviceAccounts: list(namePattern(), 'Service accounts that a `podTemplate` may name. Absent: none.'),
  maxResources: quantities()
    .superRefine((amounts, context) => {
      const names = Object.keys(amounts);
      if (names.length > MOST_ENTRIES)
        context.addIssue({ code: 'custom', message: `has more than ${MOST_ENTRIES} entries` });
      for (const name of names) {
        const instead = name === OTHERS ? undefined : resourceInstead(name);
        if (instead !== undefined)
          context.addIssue({ code: 'custom', path: [name], message: `is no resource of a container; ${instead}` });
      }
    })
    .optional()
    .meta({
      description:
        'Bound of one runner for each resource: `{cpu: 8, memory: 32Gi, nvidia.com/gpu: 0}`. Requests and limits of all containers of its pod count together, in each size too. `"*"` stands for each resource that is not named; without it they are not restricted.',
    }),
};
const IMAGE_RULE = 'must be an image reference, e.g. registry.example.com/gitea/runner:1.0.8';
const image = (subject: string) =>
  described(stringLike(1, LONGEST_IMAGE, IMAGE_REFERENCE, IMAGE_RULE), subject).optional();

/** Fields of a RunnerGroup, as in group-schema.ts: that schema takes time to make, and is not needed here. */
const defaults = z
  .strictObject({
    labels: z.array(runnerLabel).min(1).max(100).optional().meta({ description: '`labels` of groups without.' }),
    resources: z
      .strictObject({
        requests: described(quantities().optional(), 'Its `requests`.'),
        limits: described(quantities().optional(), 'Its `limits`.'),
      })
      .optional()
      .meta({ description: '`resources` of groups without, as a whole.' }),
    securityProfile: level().optional().meta({ description: '`securityProfile` of groups without.' }),
    podTemplate: z
      .record(z.string(), z.unknown())
      .superRefine((template, context) => {
        const value = template as Value;
        const tooLarge = boundFault(value);
        for (const { path, message } of tooLarge ? [tooLarge] : checkShape(value))
          context.addIssue({ code: 'custom', path: [...path], message });
      })
      .optional()
      .meta({ description: 'Base of the `podTemplate` of each group and of each size, which is merged over it.' }),
    images: z
      .strictObject({
        runner: image('With containerMode `dind` and `host`.'),
        rootless: image('With containerMode `dind-rootless` and `buildkit`.'),
        docker: image('Of dockerd with containerMode `dind`.'),
        buildkit: image('Of BuildKit with containerMode `buildkit`.'),
      })
      .optional()
      .meta({ description: 'Images of groups without an image, for example from a mirror.' }),
  })
  .optional()
  .meta({ description: 'Values of fields that a group does not set ([how](#defaults)).' });

const maxActiveRunners = z.int().min(0).max(1_000_000).optional().meta({
  description:
    'Cap over all RunnerGroups of an Application: the sum of their `maxActiveRunners`, suspended ones included.',
});

const OF_PLACE = {
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
};

const OF_ENTRY = { ...OF_PLACE, ...OF_APPLICATION, ...OF_GROUP, maxActiveRunners, ...ENFORCING, defaults };

const NamespaceEntry = z.strictObject({
  name: namePattern().meta({ description: 'Pattern for the namespace of a RunnerGroup.' }),
  ...OF_ENTRY,
});

const GroupEntry = z.strictObject({
  match: z
    .strictObject({
      namespace: namePattern().optional().meta({ description: 'Pattern for its namespace.' }),
      name: namePattern().optional().meta({ description: 'Pattern for its name.' }),
      scope: scopePattern().optional().meta({ description: 'Its scope, as in `scopes`.' }),
      labels: z
        .record(z.string(), z.string())
        .optional()
        .meta({ description: 'Labels of its object, all of them. The author of the group writes them.' }),
    })
    .meta({ description: 'The RunnerGroups that are meant: those that all of these fit.' }),
  ...OF_ENTRY,
});

const Exception = z.strictObject({
  groups: z
    .array(pattern().regex(/^[a-z0-9.*-]+\/[a-z0-9.*-]+$/, { error: 'must be NAMESPACE/NAME; stars are allowed' }))
    .min(1)
    .max(MOST_ENTRIES)
    .meta({ description: 'RunnerGroups: `team-a/ci`, `team-*/*`.' }),
  rules: z
    .array(z.enum(RULE_NAMES))
    .min(1)
    .max(RULE_NAMES.length)
    .meta({ description: 'Rules that deny these groups nothing, by the names that stand behind denials.' }),
  until: checked((text) => (isDay(text) ? undefined : 'must be a day, e.g. 2027-03-31')).meta({
    description: 'Its last day, by UTC. In its last 14 days there is a warning. After it the rules deny.',
  }),
  reason: z.string().min(1).max(500).meta({ description: 'Why, for people.' }),
});

function isDay(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

const TokenBinding = z.strictObject({
  namespace: namePattern().meta({ description: 'Pattern for the namespace of the RunnerGroup.' }),
  secret: pattern()
    .regex(/^[a-z0-9.-]+$/, { error: 'must be the name of a Secret; a pattern is not possible here' })
    .meta({ description: 'Name of the Secret.' }),
  url: giteaBase().meta({ description: 'Base URL of the Gitea.' }),
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
  apiVersion: z.literal(API_VERSION).meta({ description: 'Version of this format.' }),
  kind: z.literal('RunnerPolicy').meta({ description: 'Always RunnerPolicy.' }),
  metadata: z
    .strictObject({ name: z.string().max(253).optional().meta({ description: 'For people.' }) })
    .optional()
    .meta({ description: 'Not used.' }),
  spec: PolicySpec.meta({ description: 'Limits on RunnerGroups.' }),
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
  const around = {
    schema: PolicyDocument,
    value,
    writtenAt,
    schemaCommand: 'gitea-runners schema --kind RunnerPolicy',
  };
  const problems = parsed.error.issues.flatMap((issue) => problemsOfIssue(issue, around));
  return { problems: problems.map(({ path, message }) => line(document.placeOf(path), pathText(path), message)) };
}

function line(place: SourceDocument['place'], path: string, message: string): string {
  return [`${place.file}:${place.line}:${place.column}`, path, message].filter((part) => part !== '').join(': ');
}
