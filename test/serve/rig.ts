/** `serve` between a simulated Gitea, a small cluster and a small Argo CD, all real HTTP; a sync runs the real `generate`. */

import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { Simulator, SimulatorOptions } from '../../simulator/gitea/simulator.ts';
import type { KubeObject } from '../../simulator/kubernetes/objects.ts';
import type { Subscriber } from '../../src/serve/planning/events.ts';
import type { AppVerdict } from '../../src/serve/planning/reconcile.ts';
import { type ServeOptions, serve, serveOnce } from '../../src/serve/serving.ts';
import { INSTALLATION_ID } from '../../src/shared/marks.ts';
import { type Log, logTo } from '../../src/telemetry/log.ts';
import { type ApiServer, kubeconfigOf, startApiServer } from '../support/api-server.ts';
import { makeCertificates } from '../support/certificate.ts';
import {
  application,
  BUSY,
  type FakeArgoCd,
  fakeArgoCd,
  gatewayError,
  json,
  status,
  TOKEN,
} from '../support/fake-argocd.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { type ServeChoice, serveOptions } from '../support/serve-options.ts';
import { startAcme } from '../support/start-acme.ts';
import { startTicks } from '../support/ticks.ts';
import { SECRET } from './deliveries.ts';

export interface Rig {
  readonly simulator: Simulator;
  readonly cluster: ApiServer;
  readonly argocd: FakeArgoCd;
  /** RunnerGroups besides `runners/ci` that Argo CD lists. */
  readonly lists: { readonly namespace: string; readonly name: string }[];
  /** Returns how often a sync was requested. */
  readonly syncs: () => number;
  /** Makes Gitea give this answer to every request from now on. */
  readonly fail: (status: number, headers?: Readonly<Record<string, string>>) => void;
  /** Changes annotations of the group. */
  readonly annotate: (annotations: Readonly<Record<string, string | undefined>>) => void;
  /** Starts a replica and answers how to talk to it; it ends with the test. */
  readonly start: (over?: ServeChoice) => Promise<Replica>;
  readonly once: (over?: ServeChoice) => Promise<readonly string[]>;
  /** Conditions of the group: type -> `status reason`. */
  readonly conditions: () => Readonly<Record<string, string>>;
}

export interface Replica {
  /** Ports. */
  readonly webhooks: number;
  readonly metrics: number;
  readonly probes: number;
  /** Log lines so far. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly end: () => Promise<void>;
  /** Value of a metric, summed over its labels. */
  readonly metric: (name: string) => Promise<number>;
  /** Runners that the last plan has found busy. */
  readonly busy: () => readonly string[];
}

/** How Argo CD tracks objects, as in argocd-cm. */
export interface Tracking {
  readonly method?: 'annotation' | 'label' | 'annotation+label';
  readonly labelKey?: string;
  readonly installationId?: string;
}

/**
 * Adds the marks that Argo CD 3.5 writes on an object of Application `runners` (util/argo/resource_tracking.go,
 * `SetAppInstance`).
 */
function tracked({ method = 'annotation', labelKey, installationId }: Tracking, kind: string, name: string) {
  const id = { 'argocd.argoproj.io/tracking-id': `runners:${kind}:runners/${name}` };
  return {
    annotations: method === 'label' ? {} : { ...id, ...(installationId && { [INSTALLATION_ID]: installationId }) },
    labels: method === 'annotation' ? {} : { [labelKey ?? 'app.kubernetes.io/instance']: 'runners' },
  };
}

/** @param spec more of the RunnerGroup, e.g. `  suspend: true`. With `by: serve` its `generate` sees the cluster, by https. */
export async function startRig(spec = '', gitea: SimulatorOptions = {}, tracking: Tracking = {}): Promise<Rig> {
  const { simulator, env } = await startAcme(gitea);
  const certificates = spec.includes('by: serve') ? makeCertificates() : undefined;
  const cluster = await startApiServer({ groups: {}, ...(certificates && { tls: certificates }) });
  const yaml = groupYaml(simulator.url, spec);
  const folder = folderWith({ 'ci.yaml': yaml });
  const written = parse(yaml) as KubeObject;
  const marks = tracked(tracking, 'gitea.bpg.pw/RunnerGroup', 'ci');
  cluster.put('runnergroups', { ...written, metadata: { ...written.metadata, ...marks } });

  const kubeconfig = certificates && kubeconfigOf(cluster.config.url, certificates.ca);
  const sees = kubeconfig ? ['--kubeconfig', join(folderWith({ kubeconfig }), 'kubeconfig')] : [];
  const lists: Rig['lists'] = [];
  let wanted: readonly KubeObject[] = [];
  let failing = '';
  let working = 0;
  const argocd = await fakeArgoCd(({ line }, response) => {
    const shown = () => {
      const conditions = failing === '' ? [] : [{ type: 'ComparisonError', message: failing }];
      const { resources } = status('Synced') as { readonly resources: readonly { readonly kind: string }[] };
      const own = resources.filter(({ kind }) => kind === 'RunnerGroup');
      const groups = [...own, ...lists.flatMap((group) => own.map((each) => ({ ...each, ...group })))];
      const shownSync = failing ? 'Unknown' : inSync(cluster, wanted) ? 'Synced' : 'OutOfSync';
      return application(status(shownSync, { conditions, resources: [...groups, ...printedJobs(cluster, wanted)] }));
    };
    if (line.includes('refresh=hard')) {
      void generate([folder, ...sees], env).then((made) => {
        if (typeof made === 'string') failing = made;
        else [wanted, failing] = [made, ''];
        json(response, shown());
      });
      return true;
    }
    if (line.startsWith('GET')) return json(response, shown());
    if (working > 0) return gatewayError(response, 400, 9, BUSY);
    working += 1;
    setTimeout(() => {
      working -= 1;
      apply(cluster, wanted, tracking);
    }, 20);
    return json(response, shown());
  });

  const tokenFile = join(folderWith({ token: TOKEN }), 'token');
  const secretFile = join(folderWith({ secret: SECRET }), 'secret');
  const options = (over: ServeChoice, log: Record<string, unknown>[]): ServeOptions =>
    serveOptions({
      env: { ...env },
      cluster: { ...cluster.config, ...(certificates && { ca: certificates.ca }) },
      argocd: { url: argocd.origin, tokenFile, namespace: 'argocd' },
      webhookSecretFile: secretFile,
      ...over,
      subscribers: [logTo(logInto(log)), ...(over.subscribers ?? [])],
    });

  return {
    simulator,
    cluster,
    argocd,
    lists,
    syncs: () => argocd.lines().filter((line) => line.startsWith('POST')).length,
    start: async (over = {}) => {
      const log: Record<string, unknown>[] = [];
      let busy: readonly string[] = [];
      const follow: Subscriber = (event) => {
        if (event.is === 'reconciled') busy = busyOf(event.verdicts);
      };
      const ending = new AbortController();
      const subscribers = [...(over.subscribers ?? []), follow];
      const running = serve(options({ ...over, subscribers }, log), ending.signal);
      const end = async (): Promise<void> => {
        ending.abort();
        await running;
      };
      onTestFinished(end);
      await until('serve listens', () => log.some(({ message }) => message === 'serving'));
      const ports = log.find(({ message }) => message === 'serving') as Pick<
        Replica,
        'webhooks' | 'metrics' | 'probes'
      >;
      const { webhooks, metrics, probes } = ports;
      return { webhooks, metrics, probes, log, end, busy: () => busy, metric: (name) => readMetric(metrics, name) };
    },
    fail: (code, headers = {}) =>
      simulator.intercept((_, response) => {
        response.writeHead(code, headers).end();
        return true;
      }),
    annotate: (more) => {
      const [group] = cluster.all('runnergroups');
      if (!group) throw new Error('no RunnerGroup');
      const annotations = { ...group.metadata.annotations, ...more } as Readonly<Record<string, string>>;
      cluster.put('runnergroups', { ...group, metadata: { ...group.metadata, annotations } });
    },
    once: (over = {}) => serveOnce(options(over, []), new AbortController().signal),
    conditions: () => {
      const [group] = cluster.all('runnergroups');
      const { conditions = [] } = (group?.['status'] ?? {}) as {
        conditions?: { type: string; status: string; reason: string }[];
      };
      return Object.fromEntries(conditions.map(({ type, status: is, reason }) => [type, `${is} ${reason}`]));
    },
  };
}

/**
 * Waits until the check is true.
 * @param seconds time of this process: a busy machine is not a fault
 * @throws after that time
 */
export async function until(what: string, check: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  const ticks = startTicks();
  try {
    while (!(await check())) {
      if (ticks.seconds() > seconds) throw new Error(`not within ${seconds} s: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  } finally {
    ticks.end();
  }
}

async function generate(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly KubeObject[] | string> {
  const { code, stdout, stderr } = await runHere(['generate', ...args], env);
  if (code !== 0) return stderr;
  return parseAllDocuments(stdout).flatMap((document) => (document.contents ? [document.toJS() as KubeObject] : []));
}

/** Makes a sync: creates missing objects, prunes those that are neither wanted nor pinned. */
function apply(cluster: ApiServer, wanted: readonly KubeObject[], tracking: Tracking): void {
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  for (const job of wanted) {
    const marks = tracked(tracking, 'batch/Job', job.metadata.name);
    const annotations = { ...job.metadata.annotations, ...marks.annotations };
    const labels = { ...job.metadata.labels, ...marks.labels };
    cluster.put('jobs', { ...job, metadata: { ...job.metadata, annotations, labels } });
  }
  for (const { metadata } of managed(cluster)) {
    const pinned = JSON.stringify(metadata['annotations']).includes('Prune=false');
    if (!names.has(metadata.name) && !pinned) cluster.remove('jobs', metadata.namespace, metadata.name);
  }
}

function inSync(cluster: ApiServer, wanted: readonly KubeObject[]): boolean {
  const key = (job: KubeObject): string =>
    `${job.metadata.name} ${JSON.stringify(job.metadata['annotations']).includes('Prune=false')}`;
  return JSON.stringify(wanted.map(key).sort()) === JSON.stringify(managed(cluster).map(key).sort());
}

/** Lists Jobs as Argo CD does: those of its copy of the output. */
function printedJobs(cluster: ApiServer, wanted: readonly KubeObject[]): readonly object[] {
  const live = new Set(cluster.all('jobs').map(({ metadata }) => metadata.name));
  return wanted.map(({ metadata: { name, namespace } }) => {
    return { group: 'batch', kind: 'Job', namespace, name, status: live.has(name) ? 'Synced' : 'OutOfSync' };
  });
}

function busyOf(verdicts: readonly AppVerdict[]): readonly string[] {
  const runners = verdicts.flatMap(({ planning }) => (planning.is === 'planned' ? planning.plan.runners : []));
  return runners.filter(({ because }) => because === 'busy').map(({ runner }) => runner);
}

/** Jobs that the Application has made. */
function managed(cluster: ApiServer): readonly KubeObject[] {
  return cluster.all('jobs').filter(({ metadata: { annotations, labels } }) => {
    const isTracked = JSON.stringify(annotations).includes('"runners:');
    return isTracked || Object.values((labels ?? {}) as object).includes('runners');
  });
}

function logInto(log: Record<string, unknown>[]): Log {
  const write = (fields: unknown, message?: unknown): void => {
    log.push(typeof fields === 'string' ? { message: fields } : { ...(fields as object), message });
  };
  return { debug: write, info: write, warn: write, error: write };
}

async function readMetric(port: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  if (!text.includes(`# HELP ${name} `)) throw new Error(`there is no metric ${name}`);
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}
