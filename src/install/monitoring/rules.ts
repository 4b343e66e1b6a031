/** Alerts. Each expression holds for several replicas: a follower shows no figures of groups. */

import { ARGOCD_NAMESPACE, SERVE_SELECTOR, serveLogs } from '../names.ts';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: 'critical' | 'warning' };
  readonly annotations: { readonly summary: string; readonly description: string };
}

const GROUP = '{{ $labels.namespace }}/{{ $labels.group }}';
/** What a person on call types first. */
const DESCRIBE = 'kubectl describe runnergroup -n {{ $labels.namespace }} {{ $labels.group }}';
const PODS = `kubectl -n ${ARGOCD_NAMESPACE} describe pods -l ${SERVE_SELECTOR}`;
const LOG = serveLogs(ARGOCD_NAMESPACE);
const EXPLAIN = 'kubectl -n argocd exec deploy/gitea-runners -- gitea-runners explain';
const RUNNER_LOGS =
  'kubectl -n {{ $labels.namespace }} logs -l gitea.bpg.pw/runnergroup-name={{ $labels.group }} --prefix -c register';

export const ALERTS: readonly AlertRule[] = [
  rule('GiteaRunnersServeDown', 'critical', 'absent(gitea_runners_leader == 1)', '5m', {
    summary: 'No gitea-runners serve leads',
    description: `No process of gitea-runners serve leads, or Prometheus cannot reach one. Nobody wakes Argo CD: new CI jobs get no runners. Runners that work go on. See: ${PODS}`,
  }),
  rule(
    'GiteaRunnersGroupNotChecked',
    'critical',
    'time() - max by (namespace, group) (gitea_runners_last_look_timestamp_seconds) > 300',
    '1m',
    {
      summary: `Nobody looks at Gitea for RunnerGroup ${GROUP}`,
      description: `The last look is older than 5 minutes. See: ${LOG}`,
    },
  ),
  rule('GiteaRunnersGroupNotReady', 'warning', 'max by (namespace, group) (gitea_runners_group_ready) == 0', '5m', {
    summary: `RunnerGroup ${GROUP} is not ready`,
    description: `The reason is in its condition Ready: ${DESCRIBE}`,
  }),
  rule(
    'GiteaRunnersRateLimited',
    'critical',
    'max by (namespace, group) (gitea_runners_gitea_failing{reason="RateLimited"}) > 0',
    '10m',
    {
      summary: `Gitea has refused looks for RunnerGroup ${GROUP} for 10 minutes, because there are too many`,
      description:
        'New CI jobs get no runners meanwhile. Raise the limit of what stands before Gitea, or lower --gitea-requests.',
    },
  ),
  rule('GiteaRunnersJobsNotCovered', 'warning', 'max by (application) (gitea_runners_uncovered_jobs) > 0', '15m', {
    summary: '{{ $value }} CI jobs wait for labels that no RunnerGroup has',
    description: `Probably a typing mistake in runs-on. The jobs, and the label that was perhaps meant: ${EXPLAIN} --state unserved`,
  }),
  rule(
    'GiteaRunnersCapReached',
    'warning',
    'max by (namespace, group) (gitea_runners_held_jobs{reason="cap"}) > 0',
    '1h',
    {
      summary: `RunnerGroup ${GROUP} has been at its cap for an hour`,
      description: `CI jobs wait because maxActiveRunners is reached. Raise it, or look for jobs that hang: ${EXPLAIN} --group ${GROUP}`,
    },
  ),
  rule('GiteaRunnersPodsStuck', 'warning', 'max by (namespace, group, reason) (gitea_runners_stuck_pods) > 0', '15m', {
    summary: `Pods of RunnerGroup ${GROUP} cannot start: {{ $labels.reason }}`,
    description: `The condition PodsStuck has the words of Kubernetes: ${DESCRIBE}`,
  }),
  rule(
    'GiteaRunnersFail',
    'warning',
    'sum by (namespace, group) (gitea_runners_runner_states{state=~"failed|retryable"}) > 0',
    '30m',
    {
      summary: `Runners of RunnerGroup ${GROUP} fail`,
      description: `Runners ended before their CI jobs ran. Look at the logs of their pods, first of the init container register: ${RUNNER_LOGS}`,
    },
  ),
  rule('GiteaRunnersClockSkew', 'warning', 'max by (origin) (abs(gitea_runners_clock_skew_seconds)) > 10', '10m', {
    summary: 'The clocks of Kubernetes and of {{ $labels.origin }} differ by {{ $value }} s',
    description: 'Times are corrected by what the servers tell. Synchronize the clocks all the same.',
  }),
];

function rule(
  alert: string,
  severity: AlertRule['labels']['severity'],
  expr: string,
  duration: string,
  annotations: AlertRule['annotations'],
): AlertRule {
  return { alert, expr, for: duration, labels: { severity }, annotations };
}
