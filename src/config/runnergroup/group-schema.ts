/**
 * The RunnerGroup as people write it: source of checks, JSON Schema, CRD, field table and construct.
 *
 * A schema checks one field at a time; group-rules.ts has the rules over several. Patterns work in ECMAScript and in RE2
 * (the API server), so without lookaround; words.ts adds what they cannot say. The descriptions are the manual.
 * Each start makes these schemas, and zod copies one for each `.min()` or `.meta()` behind it. So all checks of a field
 * stand in one `check`, and `described` keeps a text beside its schema.
 *
 * To add a field: add it to `Spec` and run `npm run generated`. If its normal form differs from what people write, add it
 * to `NormalFields` (runner-group.ts), with a rule.
 */
import * as z from 'zod';
import { wordSet } from '../../shared/keys.ts';
import { API_VERSION, KIND } from '../../shared/marks.ts';
import {
  caBundle,
  clockTime,
  described,
  dnsLabel,
  giteaName,
  giteaUrl,
  listOf,
  objectAnnotations,
  objectLabels,
  objectName,
  proxy,
  quantities,
  repository,
  repositoryPatterns,
  runnerLabel,
  secretRef,
  secretSelector,
  stringLike,
  timeZone,
  url,
  whenWritten,
  wholeNumber,
} from './field-kinds.ts';
import { NOTIFY_HELP, NotifyTargets } from './notify-fields.ts';
import { RunnerConfigKeys } from './runner-config.ts';
import { DAYS, IMAGE_REFERENCE, LONGEST_IMAGE, refinementOf, SECURITY_PROFILES } from './words.ts';

/** Release of the default images. Fixed, because a floating tag would change runners without a commit. */
export const RUNNER_RELEASE = '1.0.8';

/** By container mode. The dind-rootless image brings dockerd, and buildx and compose, which `buildkit` uses. */
export const DEFAULT_IMAGES = {
  'dind-rootless': `gitea/runner:${RUNNER_RELEASE}-dind-rootless`,
  dind: `gitea/runner:${RUNNER_RELEASE}`,
  buildkit: `gitea/runner:${RUNNER_RELEASE}-dind-rootless`,
  host: `gitea/runner:${RUNNER_RELEASE}`,
} as const;

/** The runner project's own default labels (runner 1.0.8, `internal/app/cmd/register.go`). All need docker. */
export const DEFAULT_LABELS: readonly string[] = [
  'ubuntu-latest:docker://docker.gitea.com/runner-images:ubuntu-latest',
  'ubuntu-24.04:docker://docker.gitea.com/runner-images:ubuntu-24.04',
  'ubuntu-22.04:docker://docker.gitea.com/runner-images:ubuntu-22.04',
];

/** 3 hours: then Gitea itself ends a CI job (`ENDLESS_TASK_TIMEOUT`), so no stop cuts one short (docs/adr/0018). */
export const GRACEFUL_STOP_SECONDS = 10_800;

/** Default: the time that the cluster autoscaler waits for a requested node (`--max-node-provision-time`). */
export const PENDING_DEADLINE_SECONDS = 900;

/** Beyond any real installation; each Job costs about 270 bytes of the Application's status, which etcd limits. */
const MOST_RUNNERS = 10_000;
/** Most runners of a pool. A plan reads each of them, and the names that their indexes have used. */
const MOST_IDLE = 500;
const THIRTY_DAYS = 2_592_000;
const ONE_DAY = 86_400;
/** Characters of `setupCommand`: every Job of the group repeats it. */
const LONGEST_COMMAND = 16_384;

function checkCommand(command: readonly string[]): string | undefined {
  const length = command.reduce((sum, word) => sum + word.length, 0);
  if (length <= LONGEST_COMMAND) return undefined;
  return `has ${length} characters, more than ${LONGEST_COMMAND}: put a script into the image`;
}

const IMAGE_RULE =
  'must be an image reference, e.g. gitea/runner:1.0.8-dind-rootless, or name:tag@sha256: with 64 hexadecimal digits';

const SIZE_RULE = 'must be letters, digits, dots, dashes and underscores, with a letter or digit at both ends';

const BRANCH_RULE =
  'must be a branch, or a pattern with one "*" (any characters but "/") or one "**" (any): letters, digits and ._/@#-';

const resources = () =>
  z.strictObject({
    requests: described(quantities().default({}), 'Requests of the runner container.'),
    limits: described(quantities().default({}), 'Limits of the runner container.'),
  });

/** Fields that a server adds to stored objects. Applying them back is refused or undoes newer changes. */
export const OF_THE_SERVER = wordSet(
  'creationTimestamp deletionGracePeriodSeconds deletionTimestamp generation managedFields resourceVersion selfLink uid',
);
const ofTheServer: object = Object.fromEntries([...OF_THE_SERVER].map((name) => [name, z.unknown().optional()]));

/** `metadata`: what we use is checked; the other fields of Kubernetes' ObjectMeta are left alone. */
export const Metadata = z.strictObject({
  name: described(
    dnsLabel(),
    'Name of the group: a DNS label, because it becomes a label value. Runner names start with it.',
  ),
  namespace: described(
    dnsLabel().optional(),
    "Namespace of the runners' Jobs and of the Secrets.",
    "Argo CD's destination namespace (`ARGOCD_APP_NAMESPACE`), else `default`",
  ),
  labels: described(objectLabels.optional(), 'Labels of the RunnerGroup object.'),
  annotations: described(objectAnnotations.optional(), 'Annotations of the RunnerGroup object.'),
  generateName: z.unknown().optional(),
  finalizers: z.unknown().optional(),
  ownerReferences: z.unknown().optional(),
  ...ofTheServer,
});

/** `spec`. The order of the fields is the order of the manual. */
export const Spec = z.strictObject({
  scope: described(
    z.enum(['global', 'org', 'user', 'repo']),
    'The group serves the CI jobs of the whole Gitea, of an organization, of a user, or of a repository.',
  ),
  org: described(
    giteaName().optional(),
    'Organization. Required for scope `org`; for scope `repo` the owner of the repository.',
  ),
  user: described(
    giteaName().optional(),
    'User. Required for scope `user`; for scope `repo` the owner of the repository.',
  ),
  repo: described(
    repository().optional(),
    'Repository. Required for scope `repo`: its name, with `org` or `user` as its owner, or `owner/name`.',
  ),
  gitea: described(
    z
      .strictObject({
        url: described(
          giteaUrl(),
          'Base URL of Gitea: http or https, without credentials, query or fragment. A sub-path is kept, a slash at the end is not.',
        ),
      })
      .optional(),
    'The Gitea that is asked for jobs and that runners register at. Required (or `giteaURL`).',
  ),
  giteaURL: described(giteaUrl().optional(), 'Older spelling of `gitea.url`.'),
  labels: described(
    z.array(runnerLabel).max(100).default([]),
    'Labels of the runners, each `name`, `name:host` or `name:docker://image`. A group serves the jobs whose `runs-on` names are all among its labels.',
  ),
  defaultLabels: described(
    z.union([z.array(runnerLabel).max(100), z.literal(false)]).optional(),
    'Labels that are added to `labels`; `false` adds none. A label in `labels` with the same name wins.',
    `${DEFAULT_LABELS.map((label) => `\`${label}\``).join(', ')}; none with containerMode \`host\``,
  ),
  maxActiveRunners: described(
    wholeNumber(0, MOST_RUNNERS).optional(),
    'Cap: at most this many runners at a time. A runner is over when its CI job is; its pod may take a moment more to end. 0 starts none. Required, or `maxWorkers`, or `priorityTiers`.',
  ),
  maxWorkers: described(wholeNumber(0, MOST_RUNNERS).optional(), 'Another name for `maxActiveRunners`.'),
  priorityTiers: described(
    listOf(10, 'A PriorityClass and the runners that get it.', () => ({
      priorityClassName: described(objectName('PriorityClass'), 'A PriorityClass of the cluster.'),
      threshold: described(
        wholeNumber(1, MOST_RUNNERS),
        'The runners of the group up to this number have the class, unless an earlier tier has given them theirs.',
      ),
    })),
    'PriorityClasses of the runners: the first `threshold` runners get the first class, the runners up to the second threshold the second class. Thresholds ascend; the last one is the cap. A runner keeps its class while it lives. Not with `--cluster off`, because it needs the Jobs of the cluster.',
    'none',
  ),
  minIdleRunners: described(
    wholeNumber(0, MOST_IDLE).default(0),
    'Warm pool: so many idle, registered runners are kept for jobs to come, as far as the cap has slots. At most the cap. They ask Gitea for work every second. `setupCommand` is done before they wait.',
  ),
  idleSchedule: described(
    listOf(20, 'Hours with a warm pool.', () => ({
      runners: described(wholeNumber(1, MOST_IDLE), 'So many idle runners are kept at this time. At most the cap.'),
      from: described(clockTime(), 'First minute, e.g. `07:00`.'),
      to: described(clockTime(), 'The minute after the last one, e.g. `19:00`. Up to `from`: it is on the next day.'),
      days: described(
        z.array(z.enum(DAYS)).max(DAYS.length).default(['Mon', 'Tue', 'Wed', 'Thu', 'Fri']),
        'Days on which it begins.',
      ),
      timeZone: described(timeZone().default('UTC'), 'IANA name, e.g. `Europe/Berlin`. Summer time is followed.'),
    })),
    'The warm pool by the calendar: at these hours it has so many runners, if that is more than `minIdleRunners`.',
    'none',
  ),
  idleDemand: described(
    whenWritten(() =>
      z.strictObject({
        minutes: described(wholeNumber(1, 120).default(10), 'How far back CI jobs are counted.'),
        most: described(wholeNumber(1, MOST_IDLE), 'At most so many idle runners. At most the cap.'),
      }),
    ).optional(),
    'The warm pool by demand: it has as many runners as CI jobs of the group came in the last minutes, if that is more than `minIdleRunners` and `idleSchedule` say. Counted are the jobs that each look shows: queued, running, and the newest ended ones.',
    'none',
  ),
  sizes: described(
    listOf(20, 'A size.', () => ({
      name: described(
        stringLike(1, 63, /^[A-Za-z0-9](?:[-._A-Za-z0-9]*[A-Za-z0-9])?$/, SIZE_RULE),
        'The label of `runs-on` that chooses the size.',
      ),
      weight: described(
        wholeNumber(1, MOST_RUNNERS).default(1),
        'Slots that one runner of this size takes under the cap and under each of `limits`.',
      ),
      resources: described(resources().optional(), 'In place of `spec.resources`.', '`spec.resources`'),
      podTemplate: described(
        z.record(z.string(), z.unknown()).optional(),
        'In place of `spec.podTemplate`.',
        '`spec.podTemplate`',
      ),
    })),
    'Sizes of runners, under one cap ([how](limits.md)). A job chooses one by its name: `runs-on: [ubuntu-latest, large]`. All other jobs get runners without a size, and so does `minIdleRunners`. Not with `priorityTiers`. Not with `--cluster off`, because it needs the Jobs of the cluster.',
    'none',
  ),
  limits: described(
    listOf(20, 'A limit.', () => ({
      name: described(
        dnsLabel().optional(),
        'Groups that name it share it. The lowest `max` of them counts.',
        'it is for this group alone',
      ),
      max: described(
        wholeNumber(1, MOST_RUNNERS),
        'At most this many slots at a time. A runner takes 1, or the `weight` of its size.',
      ),
      per: described(
        z.enum(['repository', 'organization']).optional(),
        'Each repository, or each organization or user, has so many slots. Unless runners are bound (`registration.for: repository`), a job that waits for such a limit also stops the other jobs of its group ([how](limits.md#limits-per-repository)). Not with `minIdleRunners`, `idleSchedule` and `idleDemand`, and with `fairness: per-repository` only for bound runners.',
        'all runners together',
      ),
      branches: described(
        z
          .array(stringLike(1, 255, /^[-\w./@#]*(?:\*{1,2}[-\w./@#]*)?$/, BRANCH_RULE))
          .min(1)
          .max(10)
          .optional(),
        'Only jobs of these branches count: names, or patterns with one star ([how](limits.md#limits-per-branch)). As with `per`, a job that waits for the limit stops the other jobs of its group, or with bound runners the jobs of its repository. Not with `name` and idle runners, and with `fairness: per-repository` only for bound runners.',
        'jobs of all branches',
      ),
    })),
    'Limits besides the cap ([how](limits.md)). Each has `name`, `per`, or both, or `branches` with or without `per`. At most five have `per` or `branches`. Not with `--cluster off`, because it needs the Jobs of the cluster.',
    'none',
  ),
  queue: described(
    dnsLabel().optional(),
    "Kueue's LocalQueue, in the group's namespace: each Job is made suspended, and starts when Kueue admits it ([how](recipes/kueue.md)). A living Job keeps its queue. Not with `--cluster off`, because it needs the Jobs of the cluster.",
    'none: a Job starts at once',
  ),
  groupLabel: described(
    z.boolean().default(false),
    "True: the group's name is one of its runners' labels, so `runs-on: NAME` works. Its jobs run in the image of the first label with a docker image, or on the host if there is none. A label of that name in `labels` or `defaultLabels` wins.",
  ),
  registration: described(
    whenWritten(() =>
      z.strictObject({
        by: described(
          z.enum(['pod', 'serve']).default('pod'),
          '`pod`: an init container of each runner has `registrationToken`. `serve`: `serve` registers each runner before its pod starts, and the pod gets the credentials of this one runner. The API token then needs the right to write to its scope.',
        ),
        for: described(
          z.enum(['scope', 'repository']).default('scope'),
          '`scope`: Gitea gives a runner any job of the scope. `repository`: a runner is bound to the repository of the job that it was made for. Needs `by: serve`.',
        ),
      }),
    ).default({ by: 'pod', for: 'scope' }),
    'The program that registers the runners, and their level ([how](registration.md)). `by: serve` not with `--cluster off`, because it needs the Jobs of the cluster.',
    '`{by: pod, for: scope}`',
  ),
  repositories: described(
    repositoryPatterns(100),
    'Only jobs of these repositories are served: names, or patterns with one `*`. One with `/` is for `owner/name`, one without for the name. Case does not matter. Needs `registration: {by: serve, for: repository}`.',
    'all of the scope',
  ),
  order: described(
    repositoryPatterns(20),
    'Repositories whose jobs come first, as patterns of `repositories`. A repository comes where the first pattern that fits it stands; one that fits none comes last. Needs `registration: {by: serve, for: repository}`.',
    'all alike',
  ),
  registrationToken: described(
    secretSelector().optional(),
    "Secret with the registration token of the scope, in the group's namespace. Only the init container that registers a runner gets it: no CI job can read it, and the generator never does. Not used with `registration.by: serve`.",
    'required with `registration.by: pod`',
  ),
  authToken: described(
    secretSelector(),
    'Secret with the API token that lists jobs and runners. Read by the generator only, never in a pod: mounted as files, or with `--secrets api` in the namespace of the RunnerGroup.',
  ),
  suspend: described(
    z.boolean().default(false),
    'True: no new runners. Busy ones finish; the jobs of the group may go to another group that covers them.',
  ),
  tracing: described(
    z.boolean().default(true),
    'False: the CI jobs of the group have no traces, also if the installation traces ([tracing](tracing.md)).',
  ),
  acceptUnlabelledJobs: described(
    z.boolean().default(false),
    'True: jobs with an empty `runs-on` are served too. Gitea gives them to any runner; since 1.27 such a row can also be a reusable-workflow caller, which no runner ever gets. Not with containerMode `host`.',
  ),
  fairness: described(
    z.enum(['oldest', 'per-repository']).default('oldest'),
    'Order of the jobs when the cap holds some back. `oldest`: the jobs that have been ready longest. `per-repository`: round robin, the repository with the fewest busy runners first. Gitea gives a runner the oldest job that it covers. So the turns are exact only for bound runners (`registration.for: repository`).',
  ),
  image: described(
    stringLike(1, LONGEST_IMAGE, IMAGE_REFERENCE, IMAGE_RULE).optional(),
    'Image of the runner container, and of the init container that registers it, best with its digest (`name:tag@sha256:…`). One of your own must keep the entry point and user of the default one, and have `sh` and `timeout`.',
    `\`${DEFAULT_IMAGES['dind-rootless']}\`; for \`dind\` and \`host\` \`${DEFAULT_IMAGES.dind}\``,
  ),
  containerMode: described(
    z.enum(['dind-rootless', 'dind', 'buildkit', 'host']).default('dind-rootless'),
    'Source of docker. `dind-rootless`: rootless dockerd in the runner container. `dind`: dockerd as a native sidecar (Kubernetes 1.29+). `buildkit`: no docker, but rootless BuildKit as a native sidecar for `docker buildx build`. `host`: no docker, CI steps run in the runner container.',
  ),
  podTemplate: described(
    z.record(z.string(), z.unknown()).optional(),
    "A PodTemplateSpec that is merged over the runner's pod as `kubectl apply` merges: `metadata` (labels, annotations) and `spec`. Container `runner` is the runner's. Reserved are among others `restartPolicy`, `automountServiceAccountToken`, `hostNetwork`, `hostPID`, `hostIPC`, `nodeName`, `terminationGracePeriodSeconds`, the labels and variables of the runner, its folders, and the init container `register`.",
    'none',
  ),
  securityProfile: described(
    z.enum(SECURITY_PROFILES.toReversed()).optional(),
    'Pod Security Standard that the final pod must meet. Each violation is an error that names rule and field.',
    '`restricted` with containerMode `host`, else `baseline` but for what the container of dockerd or BuildKit needs',
  ),
  resources: described(resources().optional(), 'Kubernetes `requests` and `limits` of the runner container.', 'none'),
  proxy: described(
    whenWritten(proxy).optional(),
    "Proxy of runner pods: registration, CI jobs, image pulls. The generator and `serve` do not use it: they have the installation's proxy.",
    'none',
  ),
  caBundle: described(
    whenWritten(caBundle).optional(),
    'CA certificates that runner pods trust besides the public ones. The generator and `serve` do not trust them: they have the CA of the installation.',
    'none',
  ),
  runnerConfig: described(
    RunnerConfigKeys.optional(),
    "Merged over the runner's own `config.yaml`, with its sections and keys. A key that the runner does not know, or that another field sets, is an error. Keys that came after runner 1.0.8 need `image`. At most 16 KiB, and nothing secret: it stands in the Job. `container` does not go with containerMode `host`. Of the mounts in `container.options` the runner keeps those that `container.valid_volumes` lists.",
    'none',
  ),
  cache: described(
    whenWritten(() =>
      z.strictObject({
        url: described(url('http://gitea-runner-cache.runners.svc:8088'), 'Base URL of the cache server.'),
        secretRef: secretRef.meta({ description: 'The secret that the cache server shares with its runners.' }),
      }),
    ).optional(),
    'A shared `gitea-runner cache-server`, so that `actions/cache` works between runners. Each repository sees its own entries only.',
    'none: each runner has a cache of its own, which ends with it',
  ),
  notify: described(NotifyTargets.default([]), NOTIFY_HELP, 'none'),
  commitStatusAfterSeconds: described(
    wholeNumber(0, ONE_DAY).default(0),
    'When a CI job has waited so long, `serve` says why in a commit status, and again when the job has its runner ([how](serve.md#why-a-job-waits-beside-its-commit)). The API token then needs `write:repository`. 0: it says nothing.',
  ),
  setupCommand: described(
    z
      .lazy(() =>
        z
          .array(stringLike(0, LONGEST_COMMAND, /^[^\0]*$/, 'must not have a NUL character'))
          .max(100)
          .superRefine(refinementOf(checkCommand)),
      )
      .default([]),
    "Command and its arguments, at most 16,384 characters, run before the runner registers: in an init container `setup`, with the runner's image, in `/data`. The runner finds there what it leaves. It has no registration token. Its time counts towards `spawnTimeoutSeconds`; if it fails, the runner has failed (`kubectl logs -c setup`).",
  ),
  keepFailedSeconds: described(
    wholeNumber(0, ONE_DAY).default(0),
    'How long a runner whose CI job failed stays, so that people can enter its pod ([how](debugging.md)). It takes a slot under the cap meanwhile. `gitea-runners extend` makes it stay longer, at most 24 hours after the failure. 0: it ends at once. Not with `--cluster off`, because it needs the Jobs of the cluster.',
  ),
  // No pod starts in less than some seconds: a smaller value would only start and prune runners in turn.
  spawnTimeoutSeconds: described(
    wholeNumber(30, ONE_DAY).default(300),
    'How long a runner may take to register. After that its job gets another runner, which may take twice as long. Without live Jobs the other starting runners of the group get more time, too, until one registers. A pod that is starting in Kubernetes has 12 times as long. It is also the highest age of a runner that no job needs while CI goes on.',
  ),
  pendingDeadlineSeconds: described(
    wholeNumber(30, THIRTY_DAYS).optional(),
    'How long a pod that cannot start (no node has room, its image cannot be pulled, a quota refuses it) keeps its slot while other jobs of the group wait for it. Then one of these jobs gets the slot. At least `spawnTimeoutSeconds`. It needs the Jobs of the cluster.',
    `\`${PENDING_DEADLINE_SECONDS}\` (15 minutes), or \`spawnTimeoutSeconds\` if that is longer`,
  ),
  // 6 hours, as agent-stack-k8s. Gitea itself ends CI jobs after 3 h (`ENDLESS_TASK_TIMEOUT`) unless told otherwise.
  activeDeadlineSeconds: described(
    wholeNumber(1, THIRTY_DAYS).default(21_600),
    "Longest life of a runner, waiting included; also the runner's own time limit for a CI job. Greater than `gracefulStopSeconds`. Gitea's `ENDLESS_TASK_TIMEOUT` (3 h) ends CI jobs on its own.",
  ),
  // 10 minutes, as the operator.
  ttlSecondsAfterFinished: described(
    wholeNumber(0, THIRTY_DAYS).default(600),
    'How long a finished Job and its pod stay for a look at them.',
  ),
  maxEvictionRetries: described(
    wholeNumber(0, 10).default(0),
    'How often a run may be re-run because a runner was lost: its pod was evicted, preempted, deleted or OOM-killed, or its node is gone. `serve` asks Gitea (1.26 or newer) to re-run the CI job. Re-runs by people count, too. 0: never. The API token then needs scope `write:repository`.',
  ),
  evictionRetryDelaySeconds: described(
    wholeNumber(1, 3_600).default(5),
    'How long `serve` waits after Gitea shows that a lost CI job has ended, before it asks for the re-run.',
  ),
  gracefulStopSeconds: described(
    wholeNumber(0, ONE_DAY).optional(),
    "How long a stopped runner may finish its CI job: sets the pod's termination grace (30 s more). A CI job that takes longer is killed with its pod, and Gitea shows it as failed. The default is as long as Gitea lets a CI job run. An idle runner stops at once.",
    `\`${GRACEFUL_STOP_SECONDS}\` (3 hours); 1 less than \`activeDeadlineSeconds\` where that is not longer`,
  ),
});

/** The parsed `spec`: defaults filled in, all spellings still apart. */
export type WrittenSpec = z.output<typeof Spec>;

/** The whole document. `status` is ignored: `kubectl get -o yaml` prints it. */
export const RunnerGroupDocument = z.strictObject({
  apiVersion: described(z.literal(API_VERSION), 'Version of this format.'),
  kind: described(z.literal(KIND), 'Always RunnerGroup.'),
  metadata: described(Metadata, "Kubernetes' object metadata."),
  spec: described(Spec, 'The CI jobs that the group serves, and its runners.'),
  status: described(z.unknown().optional(), 'Written by `gitea-runners serve`; ignored in files.'),
});
