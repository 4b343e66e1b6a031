/** A Grafana dashboard. The data source, namespaces and groups are variables. */

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly about: string;
  readonly kind: 'stat' | 'timeseries';
  /** Grafana's name of it, e.g. `s`. */
  readonly unit: string;
  /** Of the 24 columns. */
  readonly width: number;
  readonly stacked?: true;
  readonly queries: readonly Query[];
}

const DATA_SOURCE = { type: 'prometheus', uid: '$datasource' } as const;
const OF_GROUPS = '{namespace=~"$namespace",group=~"$group"}';
const HEIGHT = 8;
const COLUMNS = 24;

/** One series per group of a gauge. */
function gauge(name: string, legend = '{{namespace}}/{{group}}'): Query {
  return { expr: `max by (namespace, group) (gitea_runners_${name}${OF_GROUPS})`, legend };
}

function quantile(name: string, share: number, by: string, filter: string, legend: string): Query {
  const rate = `sum by (le, ${by}) (rate(gitea_runners_${name}_bucket${filter}[5m]))`;
  return { expr: `histogram_quantile(${share}, ${rate})`, legend: `p${share * 100} ${legend}` };
}

function rates(name: string, by: string, legend = `{{${by}}}`): Query {
  return { expr: `sum by (${by}) (rate(gitea_runners_${name}[5m]))`, legend };
}

const PANELS: readonly Panel[] = [
  {
    title: 'serve leads',
    about: '1: a process looks at Gitea and wakes Argo CD. 0 or no data: nobody does.',
    kind: 'stat',
    unit: 'none',
    width: 4,
    queries: [{ expr: 'max(gitea_runners_leader)', legend: 'leading' }],
  },
  {
    title: 'Last look at Gitea',
    about: 'Age of the oldest last look. More than 5 minutes: the groups are not looked after.',
    kind: 'stat',
    unit: 's',
    width: 5,
    queries: [
      {
        expr: `max(time() - max by (namespace, group) (gitea_runners_last_look_timestamp_seconds${OF_GROUPS}))`,
        legend: 'age',
      },
    ],
  },
  {
    title: 'Groups that are not ready',
    about: 'kubectl get runnergroups -A tells why.',
    kind: 'stat',
    unit: 'none',
    width: 5,
    queries: [
      {
        expr: `count(max by (namespace, group) (gitea_runners_group_ready${OF_GROUPS}) == 0) or vector(0)`,
        legend: 'groups',
      },
    ],
  },
  {
    title: 'Jobs without a group',
    about: 'Queued CI jobs whose labels no group has.',
    kind: 'stat',
    unit: 'none',
    width: 5,
    queries: [{ expr: 'sum(max by (application) (gitea_runners_uncovered_jobs))', legend: 'jobs' }],
  },
  {
    title: 'Wakes that failed in the last hour',
    about: 'The log of serve says why.',
    kind: 'stat',
    unit: 'none',
    width: 5,
    queries: [
      { expr: 'sum(increase(gitea_runners_wakes_total{outcome=~"failed|error"}[1h])) or vector(0)', legend: 'wakes' },
    ],
  },
  {
    title: 'Queued CI jobs',
    about: 'Jobs that wait for a runner of the group.',
    kind: 'timeseries',
    unit: 'none',
    width: 12,
    stacked: true,
    queries: [gauge('queued_jobs')],
  },
  {
    title: 'Runners by state',
    about: 'Of the chosen groups together.',
    kind: 'timeseries',
    unit: 'none',
    width: 12,
    stacked: true,
    queries: [
      {
        expr: `sum by (state) (max by (namespace, group, state) (gitea_runners_runner_states${OF_GROUPS}))`,
        legend: '{{state}}',
      },
    ],
  },
  {
    title: 'Wait for a runner',
    about: 'From when a CI job was first seen queued until it was first seen on a runner.',
    kind: 'timeseries',
    unit: 's',
    width: 12,
    queries: [0.5, 0.95].map((share) =>
      quantile('job_wait_seconds', share, 'namespace, group', OF_GROUPS, '{{namespace}}/{{group}}'),
    ),
  },
  {
    title: 'Use of the cap',
    about: '100 %: all slots are taken.',
    kind: 'timeseries',
    unit: 'percentunit',
    width: 12,
    queries: [
      {
        expr:
          `sum by (namespace, group) (gitea_runners_runner_states{namespace=~"$namespace",group=~"$group",state=~"initializing|idle|busy"})` +
          ` / max by (namespace, group) (gitea_runners_max_active_runners${OF_GROUPS})`,
        legend: '{{namespace}}/{{group}}',
      },
    ],
  },
  {
    title: 'Held back',
    about: 'Jobs that wait although a group covers them, by reason.',
    kind: 'timeseries',
    unit: 'none',
    width: 12,
    queries: [
      {
        expr: `max by (namespace, group, reason) (gitea_runners_held_jobs${OF_GROUPS})`,
        legend: '{{namespace}}/{{group}} {{reason}}',
      },
    ],
  },
  {
    title: 'Pods that cannot start',
    about: 'By the reason that Kubernetes gives.',
    kind: 'timeseries',
    unit: 'none',
    width: 12,
    queries: [
      {
        expr: `max by (namespace, group, reason) (gitea_runners_stuck_pods${OF_GROUPS})`,
        legend: '{{namespace}}/{{group}} {{reason}}',
      },
    ],
  },
  {
    title: 'Requests to Gitea per second',
    about: 'By status; 0: no answer.',
    kind: 'timeseries',
    unit: 'reqps',
    width: 8,
    queries: [rates('gitea_requests_total', 'status')],
  },
  {
    title: 'Looks that failed per second',
    about: 'By error code: docs/errors.md.',
    kind: 'timeseries',
    unit: 'ops',
    width: 8,
    queries: [rates('gitea_errors_total', 'code')],
  },
  {
    title: 'Webhooks per second',
    about: 'accepted, forwarded, or why one was refused.',
    kind: 'timeseries',
    unit: 'ops',
    width: 8,
    queries: [rates('webhook_deliveries_total', 'result')],
  },
  {
    title: 'Wakes of Argo CD per second',
    about: 'By outcome.',
    kind: 'timeseries',
    unit: 'ops',
    width: 8,
    queries: [rates('wakes_total', 'outcome')],
  },
  {
    title: 'Wake until the Jobs are there',
    about: 'From the begin of a wake until the cluster shows the plan.',
    kind: 'timeseries',
    unit: 's',
    width: 8,
    queries: [0.5, 0.95].map((share) => quantile('wake_shown_seconds', share, 'application', '', '{{application}}')),
  },
  {
    title: 'Errors of the Kubernetes API per second',
    about: 'By error code: docs/errors.md.',
    kind: 'timeseries',
    unit: 'ops',
    width: 8,
    queries: [rates('cluster_errors_total', 'code')],
  },
];

/** Every expression, for the tests. */
export const DASHBOARD_QUERIES: readonly string[] = PANELS.flatMap(({ queries }) => queries.map(({ expr }) => expr));

/** `install/monitoring/dashboard.json`. */
export function dashboardText(): string {
  const dashboard = {
    uid: 'gitea-runners',
    title: 'Gitea runners',
    tags: ['gitea', 'argocd'],
    timezone: 'browser',
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [dataSource(), labelVariable('namespace'), labelVariable('group')] },
    panels: placed(),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

/** From left to right; a panel that does not fit begins a row. */
function placed(): readonly unknown[] {
  let x = 0;
  let y = 0;
  return PANELS.map((panel, index) => {
    if (x + panel.width > COLUMNS) [x, y] = [0, y + HEIGHT];
    const gridPos = { x, y, w: panel.width, h: HEIGHT };
    x += panel.width;
    return { id: index + 1, gridPos, ...drawn(panel) };
  });
}

function drawn({ title, about, kind, unit, stacked, queries }: Panel): object {
  return {
    type: kind,
    title,
    description: about,
    datasource: DATA_SOURCE,
    fieldConfig: {
      defaults: { unit, min: 0, custom: stacked ? { stacking: { mode: 'normal' }, fillOpacity: 30 } : {} },
      overrides: [],
    },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATA_SOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

function dataSource(): object {
  return { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' };
}

function labelVariable(label: string): object {
  return {
    type: 'query',
    name: label,
    label,
    datasource: DATA_SOURCE,
    query: { query: `label_values(gitea_runners_group_ready, ${label})`, refId: label },
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
    refresh: 2,
  };
}
