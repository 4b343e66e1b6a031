/**
 * The RunnerGroup as people write it: the single source of checks, JSON Schema, CRD, field table and construct.
 *
 * A schema checks one field at a time; rules over several fields are in `rules.ts`. Patterns must work in ECMAScript and in RE2 (the
 * Kubernetes API server), so they have no lookaround; `words.ts` adds what they cannot say. The descriptions are the manual.
 *
 * To add a field: add its entry to `Spec`, with default and description, and run `npm run generated`. The model has it then. A field
 * whose normal form differs from what people write also needs a line in `NormalFields` (runner-group.ts) and a rule (rules.ts).
 */
import * as z from 'zod';
import * as defaults from './defaults.ts';
import { isQuantity } from './quantity.ts';
import { checkGiteaName, checkLabel, checkObjectLabel, checkRepository, checkSecretKey, checkUrl } from './words.ts';

export const API_VERSION = 'gitea.bpg.pw/v1alpha1';
export const KIND = 'RunnerGroup';

/** Told beside a field when its default is no constant. Never part of the generated schemas. */
export const DEFAULT_NOTE = 'defaultNote';

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_RULE = 'must be lower-case letters, digits and dashes, with a letter or digit at both ends';
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
/** Beyond any real installation; each Job costs about 270 bytes of the Application's status, which etcd limits. */
const MOST_RUNNERS = 10_000;
const THIRTY_DAYS = 2_592_000;
const ONE_DAY = 86_400;

const dnsLabel = () => z.string().min(1).max(63).regex(DNS_LABEL, { error: DNS_LABEL_RULE });
const giteaName = () =>
  z
    .string()
    .min(1)
    .max(255)
    .regex(/^[A-Za-z0-9._-]+$/, { error: 'must be a name in Gitea: letters, digits, dots, dashes and underscores' })
    .superRefine(words(checkGiteaName));
const seconds = (least: number, most: number) => z.int().min(least).max(most);

const secretName = z.string().min(1).max(253).regex(DNS_SUBDOMAIN, {
  error:
    'must be the name of a Secret: lower-case letters, digits, dashes and dots, with a letter or digit at both ends',
});
const secretKey = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._a-zA-Z0-9]+$/, { error: 'must be a key of a Secret: letters, digits, dots, dashes and underscores' })
  .superRefine(words(checkSecretKey));

const secretSelector = () =>
  z.strictObject({
    secretRef: z
      .strictObject({
        name: secretName.meta({ description: 'Name of the Secret, in the namespace of the RunnerGroup.' }),
        key: secretKey.meta({ description: 'Key in the Secret.' }),
      })
      .optional()
      .meta({ description: 'The Secret and its key.' }),
    name: secretName.optional().meta({ description: 'Older spelling of `secretRef.name`.' }),
    key: secretKey.optional().meta({ description: 'Older spelling of `secretRef.key`.' }),
  });

const giteaUrl = () =>
  z
    .string()
    .max(2048)
    .regex(/^https?:\/\/[^\s\\?#@]+$/, {
      error: 'must be an http or https URL without credentials, query or fragment, e.g. https://gitea.example.com',
    })
    .superRefine(words(checkUrl));

const runnerLabel = z.string().min(1).max(512).superRefine(words(checkLabel));

const quantity = z
  .union([z.string(), z.int().min(0)])
  .superRefine((value, context) => {
    if (!isQuantity(String(value)))
      context.addIssue({ code: 'custom', message: 'must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"' });
  })
  .meta({ description: 'Kubernetes quantity.' });
const quantities = () => z.record(z.string().max(317), quantity);

const objectLabels = z.record(z.string(), z.string()).superRefine((labels, context) => {
  for (const [key, value] of Object.entries(labels)) {
    const wrong = checkObjectLabel(key, value);
    if (wrong)
      context.addIssue({ code: 'custom', path: [key], message: wrong.message, params: { ofKey: wrong.ofKey } });
  }
});

/** `metadata`: what we use is checked; the other fields of Kubernetes' ObjectMeta are left alone. */
export const Metadata = z.strictObject({
  name: dnsLabel().meta({
    description: 'Name of the group: a DNS label, because it becomes a label value. Runner names start with it.',
  }),
  namespace: dnsLabel()
    .optional()
    .meta({
      description: "Where the runners' Jobs and the Secrets are.",
      [DEFAULT_NOTE]: "Argo CD's destination namespace (`ARGOCD_APP_NAMESPACE`), else `default`",
    }),
  labels: objectLabels.optional().meta({ description: 'Labels of the RunnerGroup object.' }),
  annotations: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: 'Annotations of the RunnerGroup object.' }),
  generateName: z.unknown().optional(),
  finalizers: z.unknown().optional(),
  ownerReferences: z.unknown().optional(),
  creationTimestamp: z.unknown().optional(),
  deletionGracePeriodSeconds: z.unknown().optional(),
  deletionTimestamp: z.unknown().optional(),
  generation: z.unknown().optional(),
  managedFields: z.unknown().optional(),
  resourceVersion: z.unknown().optional(),
  selfLink: z.unknown().optional(),
  uid: z.unknown().optional(),
});

/** `spec`. The order of the fields is the order of the manual. */
export const Spec = z.strictObject({
  scope: z.enum(['global', 'org', 'user', 'repo']).meta({
    description: 'Whose CI jobs the group serves: of the whole Gitea, of an organisation, of a user, of a repository.',
  }),
  org: giteaName().optional().meta({
    description: 'Organisation. Required for scope `org`; for scope `repo` the owner of the repository.',
  }),
  user: giteaName().optional().meta({
    description: 'User. Required for scope `user`; for scope `repo` the owner of the repository.',
  }),
  repo: z
    .string()
    .min(1)
    .max(511)
    .regex(/^(?:[A-Za-z0-9._-]+\/)?[A-Za-z0-9._-]+$/, {
      error: 'must be a repository in Gitea: "name" or "owner/name"',
    })
    .superRefine(words(checkRepository))
    .optional()
    .meta({
      description:
        'Repository. Required for scope `repo`: its name, with `org` or `user` as its owner, or `owner/name`.',
    }),
  gitea: z
    .strictObject({
      url: giteaUrl().meta({
        description:
          'Base URL of Gitea: http or https, without credentials, query or fragment. A sub-path is kept, a slash at the end is not.',
      }),
    })
    .optional()
    .meta({ description: 'The Gitea that is asked for jobs and that runners register at. Required (or `giteaURL`).' }),
  giteaURL: giteaUrl().optional().meta({ description: 'Older spelling of `gitea.url`.' }),
  labels: z.array(runnerLabel).max(100).default([]).meta({
    description:
      'Labels of the runners, each `name`, `name:host` or `name:docker://image`. A group serves the jobs whose `runs-on` names are all among its labels.',
  }),
  defaultLabels: z
    .union([z.array(runnerLabel).max(100), z.literal(false)])
    .optional()
    .meta({
      description: 'Labels that are added to `labels`; `false` adds none. A label in `labels` with the same name wins.',
      [DEFAULT_NOTE]: `${defaults.DEFAULT_LABELS.map((label) => `\`${label}\``).join(', ')}; none with containerMode \`host\``,
    }),
  maxActiveRunners: z.int().min(0).max(MOST_RUNNERS).meta({
    description:
      'Cap: at most this many runners at a time. A runner is over when its CI job is; its pod may take a moment more to end. 0 starts none.',
  }),
  registrationToken: secretSelector().meta({
    description:
      "Secret with the registration token of the scope, in the group's namespace. Only the init container that registers a runner gets it: no CI job can read it, and the generator never does.",
  }),
  authToken: secretSelector().meta({
    description: 'Secret with the API token that lists jobs and runners. Read by the generator only, never in a pod.',
  }),
  suspend: z.boolean().default(false).meta({
    description:
      'True: no new runners. Busy ones finish; the jobs of the group may go to another group that covers them.',
  }),
  acceptUnlabelledJobs: z.boolean().default(false).meta({
    description:
      'True: jobs with an empty `runs-on` are served too. Gitea gives them to any runner; since 1.27 such a row can also be a reusable-workflow caller, which no runner ever gets. Not with containerMode `host`.',
  }),
  fairness: z.enum(['oldest', 'per-repository']).default('oldest').meta({
    description:
      'Whose jobs get runners when the cap holds some back. `oldest`: those that have been ready longest. `per-repository`: round robin, the repository with the fewest runners at work first. Gitea gives a runner the oldest job that it covers, whoever it was started for.',
  }),
  image: z
    .string()
    .min(1)
    .max(512)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/:-]*(?:@sha256:[0-9a-f]{64})?$/, {
      error:
        'must be an image reference, e.g. gitea/runner:1.0.8-dind-rootless, or name:tag@sha256: with 64 hexadecimal digits',
    })
    .optional()
    .meta({
      description:
        'Image of the runner container, and of the init container that registers it, best with its digest (`name:tag@sha256:…`). One of your own must keep the entry point and user of the default one, and have `sh` and `timeout`.',
      [DEFAULT_NOTE]: `\`${defaults.DEFAULT_IMAGES['dind-rootless']}\`; for \`dind\` and \`host\` \`${defaults.DEFAULT_IMAGES.dind}\``,
    }),
  containerMode: z.enum(['dind-rootless', 'dind', 'host']).default('dind-rootless').meta({
    description:
      'Where docker comes from. `dind-rootless`: rootless dockerd in the runner container. `dind`: dockerd as a native sidecar (Kubernetes 1.29+). `host`: no docker, CI steps run in the runner container.',
  }),
  resources: z
    .strictObject({
      requests: quantities().default({}).meta({ description: 'Requests of the runner container.' }),
      limits: quantities().default({}).meta({ description: 'Limits of the runner container.' }),
    })
    .optional()
    .meta({
      description: 'Kubernetes `requests` and `limits` of the runner container.',
      [DEFAULT_NOTE]: 'none',
    }),
  // No pod starts faster than in some seconds: a smaller value would only start and prune runners in turn.
  spawnTimeoutSeconds: seconds(30, ONE_DAY).default(300).meta({
    description:
      'How long a runner may take to register. After that its job gets another one, which may take twice as long. Without live Jobs the other runners of the group that are on their way get more time, too, until one comes. A pod that Kubernetes shows to be on its way is waited for 12 times as long. Also how old a runner that no job needs may become while CI goes on.',
  }),
  // 6 hours, as agent-stack-k8s. Gitea itself ends CI jobs after 3 h (`ENDLESS_TASK_TIMEOUT`) unless told otherwise.
  activeDeadlineSeconds: seconds(1, THIRTY_DAYS).default(21_600).meta({
    description:
      "Longest life of a runner, waiting included; also the runner's own time limit for a CI job. Greater than `gracefulStopSeconds`. Gitea's `ENDLESS_TASK_TIMEOUT` (3 h) ends CI jobs on its own.",
  }),
  // 10 minutes, as the operator.
  ttlSecondsAfterFinished: seconds(0, THIRTY_DAYS).default(600).meta({
    description: 'How long a finished Job and its pod stay for a look at them.',
  }),
  gracefulStopSeconds: seconds(0, ONE_DAY)
    .optional()
    .meta({
      description:
        "How long a stopped runner may finish its CI job: sets the pod's termination grace (30 s more) and the runner's `shutdown_timeout`. The default is as long as Gitea lets a CI job run. An idle runner stops at once.",
      [DEFAULT_NOTE]: `\`${defaults.GRACEFUL_STOP_SECONDS}\` (3 hours); 1 less than \`activeDeadlineSeconds\` where that is not longer`,
    }),
});

/** The parsed `spec`: defaults filled in, all spellings still apart. */
export type WrittenSpec = z.output<typeof Spec>;

/** The whole document. `status` is ignored: `kubectl get -o yaml` prints it. */
export const RunnerGroupDocument = z.strictObject({
  apiVersion: z.literal(API_VERSION).meta({ description: 'Version of this format.' }),
  kind: z.literal(KIND).meta({ description: 'Always RunnerGroup.' }),
  metadata: Metadata.meta({ description: "Kubernetes' object metadata." }),
  spec: Spec.meta({ description: 'What the group serves and what its runners are like.' }),
  status: z.unknown().optional().meta({ description: 'Written by `gitea-runners serve`; ignored in files.' }),
});

/** A check of `words.ts` as zod wants it: it answers what is wrong, or nothing. */
function words<T>(check: (value: T) => string | undefined): (value: T, context: z.RefinementCtx) => void {
  return (value, context) => {
    const message = check(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  };
}
