/**
 * The rules that the API server checks when a RunnerGroup is applied, in CEL. `crd.ts` puts them into the CRD.
 *
 * Each line belongs to a rule of `group-rules.ts` or `words.ts` and says the same or less: what `validate` accepts is never refused here
 * (test/cluster/admission.test.ts asks a real API server). To add a rule, add a line. The CRD has no defaults, so a field may be absent:
 * ask `has(self.field)` first. CEL cannot see `defaultLabels`, which is a list or `false` and so has no type in the CRD.
 *
 * Only what Kubernetes 1.25 knows is used. The API server limits the cost of a rule: a list or map needs a longest size in the schema.
 * From Kubernetes 1.30 on, a group that is in the cluster already still gets its status when a new rule refuses it.
 */
import { NEEDS_ONE_RECEIVER, RECEIVERS } from '../src/config/runnergroup/notify-fields.ts';

/** Where the rule stands (`[]`: items of a list), the rule, and what is wrong when it does not hold. */
type AdmissionRule = readonly [path: string, rule: string, message: string];

/** `activeDeadlineSeconds` without a value: its default in schema.ts. */
const DEADLINE = '(has(self.activeDeadlineSeconds) ? self.activeDeadlineSeconds : 21600)';
/** A URL without what its normal form may change (url.ts). Shorter than the normal form, so that nothing valid is refused. */
const bare = (url: string): string => `${url}.lowerAscii().replace('/', '').replace(':443', '').replace(':80', '')`;
/** Dot segments, percent-encoding, numbers and other letters have more than one spelling: such URLs are left to `validate`. */
const isPlain = (url: string): string =>
  `(${url}.matches('^https?://[a-zA-Z][a-zA-Z0-9:/_-]*([.][a-zA-Z0-9:/_-]+)*$') && !${url}.contains(':0'))`;
const HAS_DOCKER = "!has(self.containerMode) || self.containerMode.startsWith('dind')";
const BY_SERVE = "(has(self.registration) && has(self.registration.by) && self.registration.by == 'serve')";
const BOUND = "has(self.registration) && has(self.registration.for) && self.registration.for == 'repository'";
const OWNER = "self.repo.split('/')[0].lowerAscii()";
const sameOwner = (field: string): string => `(!has(self.${field}) || self.${field}.lowerAscii() == ${OWNER})`;

const ofSpec = (rule: string, message: string): AdmissionRule => ['spec', rule, message];

export const ADMISSION_RULES: readonly AdmissionRule[] = [
  // Scope (ruleScope, ruleRepository).
  ofSpec("self.scope != 'org' || has(self.org)", 'scope org needs org'),
  ofSpec("self.scope != 'user' || has(self.user)", 'scope user needs user'),
  ofSpec("self.scope != 'repo' || has(self.repo)", 'scope repo needs repo'),
  ofSpec("self.scope in ['org', 'repo'] || !has(self.org)", 'org does not go with this scope: remove it'),
  ofSpec("self.scope in ['user', 'repo'] || !has(self.user)", 'user does not go with this scope: remove it'),
  ofSpec("self.scope == 'repo' || !has(self.repo)", 'repo does not go with this scope: remove it'),
  ofSpec(
    "self.scope != 'repo' || !has(self.org) || !has(self.user)",
    'a repository has one owner: set org or user, not both',
  ),
  ofSpec(
    "self.scope != 'repo' || !has(self.repo) || self.repo.contains('/') || has(self.org) || has(self.user)",
    'repo needs its owner: write owner/name, or add org or user',
  ),
  ofSpec(
    `self.scope != 'repo' || !has(self.repo) || !self.repo.contains('/') || (${sameOwner('org')} && ${sameOwner('user')})`,
    'org or user is not the owner in repo: remove it or correct one of them',
  ),
  // Both spellings (ruleGiteaUrl, ruleSecret).
  ofSpec('has(self.gitea) || has(self.giteaURL)', 'gitea.url is required'),
  ofSpec(
    `!has(self.gitea) || !has(self.giteaURL) || !${isPlain('self.gitea.url')} || !${isPlain('self.giteaURL')} || ` +
      `${bare('self.gitea.url')} == ${bare('self.giteaURL')}`,
    'giteaURL differs from gitea.url: remove one of the two spellings',
  ),
  ...['registrationToken', 'authToken'].flatMap(secretRules),
  // ruleRegistration, ruleBound, ruleRegistrationToken.
  ofSpec(`has(self.registrationToken) || ${BY_SERVE}`, 'registrationToken is required: the pods register'),
  ofSpec(`!(${BOUND}) || ${BY_SERVE}`, 'registration for repository needs by: serve'),
  ...['repositories', 'order'].map((field) =>
    ofSpec(`!has(self.${field}) || (${BOUND})`, `${field} needs registration for repository, by serve`),
  ),
  ofSpec(
    `!(${BOUND}) || ((!has(self.minIdleRunners) || self.minIdleRunners == 0) && !has(self.idleDemand) && ` +
      '(!has(self.idleSchedule) || self.idleSchedule.size() == 0))',
    'registration for repository does not go with idle runners, which have no repository',
  ),
  // Labels (ruleLabels, words.ts).
  ofSpec(
    `${HAS_DOCKER} || !has(self.labels) || !self.labels.exists(label, label.matches('^[^:]*:docker:'))`,
    'a label needs docker, which this containerMode does not have: write name:host, or choose another containerMode',
  ),
  ofSpec(
    "has(self.image) || !has(self.labels) || self.labels.all(label, label.matches('^[^:]*(:host|:docker:.*)?$'))",
    'a label is neither name:host nor name:docker://image, and the default runner takes no other: correct it or set image',
  ),
  [
    'spec.labels[]',
    "!self.matches('[\\\\s\\\\v,\\'\"`\\\\\\\\$*?\\\\[\\\\]\\\\p{Z}\\\\p{Cc}\\\\p{Cf}]') && !self.startsWith('-')",
    'must not contain spaces, commas, quotes or what the runner\'s start script would expand, and must not start with "-"',
  ],
  [
    'spec.labels[]',
    "!self.startsWith(':') && !self.matches('^[^:]*:(host:.*|docker(:(//)?)?)$')",
    'must be name, name:host or name:docker://image',
  ],
  [
    'spec.labels',
    // Longer lists would cost more than a rule may.
    "self.size() > 30 || self.map(label, label.split(':')[0]).all(name, self.filter(label, " +
      "label == name || label == name + ':host' || label.startsWith(name + ':docker:')).size() < 2)",
    'the names of labels must differ: remove one',
  ],
  // Names (words.ts).
  ...['spec.org', 'spec.user'].map(
    (path): AdmissionRule => [path, "self != '.' && !self.contains('..')", 'must not be "." and must not contain ".."'],
  ),
  [
    'spec.repo',
    "self.split('/').all(name, name != '.' && !name.contains('..'))",
    'must not be "." and must not contain ".."',
  ],
  // Others (ruleUnlabelled, ruleGracefulStop, ruleRunnerConfig, ruleCap, checkResources).
  ofSpec(
    `${HAS_DOCKER} || !has(self.acceptUnlabelledJobs) || !self.acceptUnlabelledJobs`,
    'acceptUnlabelledJobs does not go with a containerMode without docker: a job without labels runs in docker',
  ),
  ofSpec(
    `!has(self.gracefulStopSeconds) || self.gracefulStopSeconds < ${DEADLINE}`,
    'activeDeadlineSeconds must be greater than gracefulStopSeconds',
  ),
  // notify-fields.ts.
  [
    'spec.notify[]',
    // As controller-gen writes ExactlyOneOf.
    `[${RECEIVERS.map((kind) => `has(self.${kind})`).join(', ')}].filter(is, is == true).size() == 1`,
    NEEDS_ONE_RECEIVER,
  ],
  ofSpec(
    '!has(self.keepFailedSeconds) || self.keepFailedSeconds == 0 || !has(self.runnerConfig) || !has(self.runnerConfig.log) || ' +
      "!has(self.runnerConfig.log.level) || self.runnerConfig.log.level in ['debug', 'trace']",
    'runnerConfig.log.level does not go with keepFailedSeconds, for which it is debug: remove one of them',
  ),
  ...['maxActiveRunners', 'maxWorkers'].map((cap) =>
    ofSpec(
      `!has(self.minIdleRunners) || !has(self.${cap}) || self.minIdleRunners <= self.${cap}`,
      'minIdleRunners must be at most the cap: idle runners count under it',
    ),
  ),
  // ruleSizes. A cap of 0 starts nothing of any size.
  ...['maxActiveRunners', 'maxWorkers'].map((cap) =>
    ofSpec(
      `!has(self.sizes) || !has(self.${cap}) || self.${cap} == 0 || self.sizes.all(size, !has(size.weight) || size.weight <= self.${cap})`,
      'the weight of a size must be at most the cap: its jobs would wait for ever',
    ),
  ),
  ofSpec(
    '!has(self.sizes) || !has(self.limits) || ' +
      'self.sizes.all(size, !has(size.weight) || self.limits.all(limit, size.weight <= limit.max))',
    'the weight of a size must be at most each limit: its jobs would wait for ever',
  ),
  ...['spec.resources.requests', 'spec.resources.limits'].map(
    (path): AdmissionRule => [
      path,
      "self.all(name, name in ['cpu', 'memory', 'ephemeral-storage'] || name.startsWith('hugepages-') || name.contains('/'))",
      'must be cpu, memory, ephemeral-storage or a name with a domain',
    ],
  ),
];

function secretRules(field: string): readonly AdmissionRule[] {
  const inRef =
    '(!has(self.name) || self.name == self.secretRef.name) && (!has(self.key) || self.key == self.secretRef.key)';
  const key = "self != '.' && !self.startsWith('..')";
  const keyMessage = 'must not be "." and must not start with ".."';
  return [
    [
      `spec.${field}`,
      `!has(self.secretRef) || (${inRef})`,
      'name and key differ from secretRef: remove one of the two spellings',
    ],
    [
      `spec.${field}`,
      'has(self.secretRef) || (has(self.name) && has(self.key))',
      'must name a Secret and its key: secretRef',
    ],
    [`spec.${field}.secretRef.key`, key, keyMessage],
    [`spec.${field}.key`, key, keyMessage],
  ];
}
