/** What helps against what keeps a pod from starting, or has ended its runner: one remedy for each reason, as in docs/symptoms.md. Pure. */
import type { GroupKey } from '../../planner/decisions.ts';
import { NO_POD, type PodTrouble } from '../../planner/evidence.ts';
import { manual } from '../../shared/installed/names.ts';
import { REGISTER, timeText } from '../../shared/marks.ts';
import { duration, firstNames } from '../../shared/printable.ts';
import type { Holder } from './model.ts';

const IMAGE =
  'correct the image (spec.image, or that of spec.podTemplate), or give its registry a login: imagePullSecrets';
const VOLUME = 'make the Secret, ConfigMap or claim that it names, or correct spec.podTemplate';
const NODE = 'look at that node: kubectl describe node. If no other has this, kubectl cordon it and delete the pod';

/** By Kubernetes' word, or ours. */
const REMEDIES: Readonly<Record<string, string>> = {
  ImagePullBackOff: IMAGE,
  InvalidImageName: IMAGE,
  ErrImageNeverPull: IMAGE,
  RegistryUnavailable: IMAGE,
  CreateContainerConfigError: `make the Secret, or its key, that it names: step 2 of ${manual('install.md#install-three-steps')}`,
  Unschedulable:
    'add or label a node, or correct requests, nodeSelector and tolerations: gitea-runners doctor says what each node lacks',
  FailedMount: VOLUME,
  FailedAttachVolume: VOLUME,
  FailedCreatePodSandBox: `the network of pods fails: ${NODE}`,
  ContainerCreating: NODE,
  PodInitializing: NODE,
  Suspended: 'ask who suspends Jobs here: kubectl get localqueues,workloads -A shows the queues of Kueue and who waits',
  RegistrationFailed: 'check that the registration token is valid for this scope, and that pods reach Gitea',
  OOMKilled: 'give container runner a higher memory limit in spec.podTemplate, or let the CI job need less',
  Evicted:
    'give the pod requests for what its node ran out of, in spec.podTemplate: pods without them are evicted first',
  Preempted: 'give the group a higher priority: spec.priorityTiers, or priorityClassName in spec.podTemplate',
  DeadlineExceeded: 'raise spec.activeDeadlineSeconds, or make the CI job shorter',
};

/** Why there is no pod, in the words of the API server, and what helps. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [
    /exceeded quota|LimitRange/,
    `raise that quota, or let fewer runners run: ${manual('losses.md#pods-that-a-quota-refuses')}`,
  ],
  [
    /PodSecurity/,
    'use a lower spec.securityProfile or another containerMode, or label the namespace: gitea-runners doctor has the command',
  ],
  [/admission webhook/, 'ask who runs that admission webhook, or correct spec.podTemplate'],
];

/** Undefined: its logs, or its events, tell. */
export function remedyOf({ container, message = '', reason }: PodTrouble): string | undefined {
  if (container === REGISTER) return 'see that pods reach Gitea: NetworkPolicy, DNS, proxy';
  if (reason === NO_POD) return REFUSED.find(([words]) => words.test(message))?.[1];
  return REMEDIES[reason];
}

/** The remedy, and how to see more. @param runner one of those that have this trouble */
export function podAdvice(trouble: PodTrouble, group: GroupKey, runner: string): string {
  const { namespace } = group;
  const { container, isSuspended, reason } = trouble;
  const kubectl = `kubectl -n ${namespace}`;
  const ofJob = reason === NO_POD || isSuspended ? `job/${runner}` : `pods -l job-name=${runner}`;
  const see = container ? `${kubectl} logs job/${runner} -c ${container}` : `${kubectl} describe ${ofJob}`;
  const remedy = remedyOf(trouble);
  if (remedy !== undefined) return `${reason}: ${remedy}; ${see}`;
  return container ? `see what it waits for: ${see}` : seeWhy(group, runner, ofJob);
}

/** @param what as `kubectl describe` takes it */
export function seeWhy({ namespace }: GroupKey, runner: string, what: string): string {
  return `see why ${runner} cannot start: kubectl -n ${namespace} describe ${what}`;
}

const MOST_HOLDERS = 3;

export function holdersText(holders: readonly Holder[]): string {
  return firstNames(holders.map(holderText), MOST_HOLDERS);
}

function holderText({ id, overtime, endsByMs }: Holder): string {
  const ran = overtime && `has run ${duration(overtime.ranMs)}, usually ${duration(overtime.usualMs)}`;
  const ends =
    endsByMs !== undefined && `is on a pod that is being deleted, and may finish until ${timeText(endsByMs)}`;
  return `job ${id} ${[ran || [], ends || []].flat().join(', and ')}`;
}

/** Before a higher cap: that would only be filled, too. */
export function holderAdvice(holders: readonly Holder[]): readonly string[] {
  const idsOf = (some: readonly Holder[]): string =>
    firstNames(
      some.map(({ id }) => String(id)),
      MOST_HOLDERS,
    );
  const long = holders.filter(({ overtime }) => overtime);
  const leaving = holders.filter(({ endsByMs }) => endsByMs !== undefined);
  const untilMs = Math.max(...leaving.map(({ endsByMs = 0 }) => endsByMs));
  return [
    ...(long.length > 0 ? [`look at ${idsOf(long)} in Gitea, and cancel what hangs`] : []),
    ...(leaving.length > 0
      ? [
          `wait for ${idsOf(leaving)}, until ${timeText(untilMs)} at most, or cancel them in Gitea: their pods are deleted, as when a node is drained`,
        ]
      : []),
  ];
}
