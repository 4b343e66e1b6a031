/**
 * Where the whole product bends: many Jobs in one Application, and the same in several. Real Gitea, API server and stock Argo CD. No node
 * has the processors that the Jobs ask for, so each Job has its pod, and no pod runs.
 *
 *   npm run bench:scale                 one Application
 *   npm run bench:scale -- apps 20      20 Applications of an ApplicationSet
 *   npm run bench:scale -- shards 10    10 Applications that print one folder, and are given the looks of serve
 *   npm run bench:scale -- orders 20    20 Applications: their jobs one Application after the other, then all at once
 *   npm run bench:scale -- ways         one Application of the first size, under other settings of Argo CD
 *
 * SIZES=100,300 sets the numbers of Jobs in all Applications together; `--write` as first word keeps the results and writes the tables
 * of docs/scale.md.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { GROUPS_REPOSITORY, Installation, ORG } from '../test/cluster/install.ts';
import { applyShardSet, askedByGenerate, LOOKS_SETTINGS } from '../test/cluster/shard-set.ts';
import { RUNNER_IMAGE } from '../test/cluster/stack/images.ts';
import { type Stack, startStack } from '../test/cluster/stack/stack.ts';
import { followObjects } from '../test/cluster/world-watch.ts';
import { buildCluster } from '../test/servers/build.ts';
import { sleep } from '../test/servers/process.ts';
import { workflow } from '../test/servers/workflows.ts';
import { BASE, median, once } from './measure.ts';
import { keep, type Part, type Row } from './scale-table.ts';
import { WAYS, type Way } from './scale-ways.ts';

const PART: Part = (['apps', 'ways', 'shards'] as const).find((part) => process.argv.includes(part)) ?? 'one';
const ORDERS = process.argv.includes('orders');
const APPS = PART === 'apps' || PART === 'shards' || ORDERS ? Number(process.argv.at(-1)) : 1;
/** Shards are of one group. */
const GROUPS = PART === 'shards' ? 1 : APPS;
const SIZES = (process.env['SIZES'] ?? '100,300,600,1000,2000').split(',').map(Number);
/** Jobs of one run that fills; Gitea allows no larger matrix. */
const LEGS = Math.min(100, Math.ceil((SIZES[0] ?? 100) / GROUPS));
/** Jobs that are made at once to compare ways. */
const BURST = 25;
/** Single CI jobs that are timed for each row. */
const PROBES = PART === 'ways' ? 2 : 3;
const PATIENCE_MS = 1_800_000;
const LONGEST_SETTLE_MS = 120_000;
/** Files of control groups of version 1 and 2. */
const CPU_FILES = ['/sys/fs/cgroup/cpuacct/cpuacct.usage', '/sys/fs/cgroup/cpu.stat'];
/** Time of a container on a processor, without the process that asks. */
const CPU_SCRIPT = `
  const fs = require('node:fs');
  const [version1, version2] = ${JSON.stringify(CPU_FILES)};
  function cpuMs() {
    const { user, system } = process.cpuUsage();
    const all = fs.existsSync(version1)
      ? Number(fs.readFileSync(version1, 'utf8')) / 1e6
      : Number(/usage_usec (\\d+)/.exec(fs.readFileSync(version2, 'utf8'))[1]) / 1e3;
    return all - (user + system) / 1e3;
  }`;

/** Names of the Jobs in the cluster. */
const jobs = new Set<string>();
let fills = 0;
const stack = await startStack(buildCluster(say), say);
let failed = true;
try {
  await bench(stack);
  failed = false;
} finally {
  await stack.close(failed);
}

async function bench({ gitea, kubernetes }: Stack): Promise<void> {
  const settings = PART === 'shards' ? { GITEA_RUNNERS_TIMEOUT: '50', ...LOOKS_SETTINGS } : {};
  const installation = await Installation.prepare(stack, buildCluster(say), { settings });
  await gitea.admin.createRepo('web', ORG);
  for (let app = 0; app < GROUPS; app += 1) {
    const fill = workflow({ fill: { runsOn: `app-${app}`, seconds: 1, matrix: LEGS } });
    const single = workflow({ single: { runsOn: `app-${app}`, seconds: 1 } });
    await gitea.admin.addWorkflow(`${ORG}/web`, `fill-${app}.yml`, fill);
    await gitea.admin.addWorkflow(`${ORG}/web`, `single-${app}.yml`, single);
    const burst = workflow({ burst: { runsOn: `app-${app}`, seconds: 1, matrix: BURST } });
    if (PART === 'ways') await gitea.admin.addWorkflow(`${ORG}/web`, 'burst.yml', burst);
    // The example of an Application reads the root of the repository, that of an ApplicationSet a folder for each.
    const folder = GROUPS === 1 ? '' : `groups/app-${app}/`;
    await commit(stack, `${folder}group.yaml`, group(`app-${app}`, gitea.url));
  }
  await installation.writeSettings();
  await installation.block('install');
  await kubernetes.refreshDns();
  await installation.block('secrets');
  await installation.shell('applications', applications());
  if (PART === 'shards') {
    await kubernetes.kubectl(['apply', '-f', resolve('install/looks.yaml')]);
    await applyShardSet(stack, APPS, 1);
  }
  await installation.webhook();
  await until('the groups are ready', async () => {
    const ready = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{" "}{end}';
    const text = await kubernetes.kubectl(['get', 'runnergroups', '-n', 'runners', '-o', `jsonpath=${ready}`]);
    return text.split(' ').filter((status) => status === 'True').length === GROUPS;
  });
  const ending = new AbortController();
  const following = followObjects(
    kubernetes.kubeconfig,
    '/apis/batch/v1/namespaces/runners/jobs',
    ending.signal,
    ({ object, gone }) => {
      const { name } = (object as { metadata: { name: string } }).metadata;
      if (gone) jobs.delete(name);
      else jobs.add(name);
    },
  );
  if (ORDERS) await compareOrders();
  else await (PART === 'ways' ? compareWays(SIZES[0] ?? 600) : grow());
  ending.abort();
  await following;
}

async function grow(): Promise<void> {
  for (const size of SIZES) {
    const msPerJob = await fill(size);
    await note('', msPerJob);
  }
}

/**
 * Compares orders with the same number of jobs for each Application, three times. Each time there are more Jobs, so the
 * middle one is compared with both others.
 */
async function compareOrders(): Promise<void> {
  const firstMs = await oneAfterTheOther();
  const before = await outcomes();
  const atOnceMs = (await dispatch('fill', APPS, LEGS)) * APPS * LEGS;
  await settle();
  const wakes = Object.fromEntries([...(await outcomes())].map(([is, n]) => [is, n - (before.get(is) ?? 0)]));
  say(`all at once: ${atOnceMs} ms, wakes: ${JSON.stringify(wakes)}`);
  const lastMs = await oneAfterTheOther();
  const ratio = Number((atOnceMs / ((firstMs + lastMs) / 2)).toFixed(2));
  const { ms: nodeMs } = await once(BASE);
  console.log(JSON.stringify({ applications: APPS, jobsEach: LEGS, firstMs, atOnceMs, lastMs, ratio, wakes, nodeMs }));
}

async function oneAfterTheOther(): Promise<number> {
  const beganMs = Date.now();
  for (let app = 0; app < APPS; app += 1) await dispatch('fill', 1, LEGS);
  const ms = Date.now() - beganMs;
  say(`one Application after the other: ${ms} ms`);
  await settle();
  return ms;
}

async function compareWays(size: number): Promise<void> {
  await fill(size);
  for (const way of WAYS) {
    await use(way);
    await probe();
    await settle();
    const msPerJob = await dispatch('burst.yml', 1, BURST);
    await note(way.name, msPerJob);
  }
}

/** Applies a way. The next way sets everything again. */
async function use({ annotations, env, settings, spec }: Way): Promise<void> {
  const { kubectl } = stack.kubernetes;
  const patch = JSON.stringify({ metadata: { annotations }, spec });
  await kubectl(['patch', 'application', '-n', 'argocd', appName(0), '--type=merge', '-p', patch]);
  await kubectl([
    'patch',
    'configmap',
    '-n',
    'argocd',
    'argocd-cm',
    '--type=merge',
    '-p',
    JSON.stringify({ data: settings }),
  ]);
  const controller = 'statefulset/argocd-application-controller';
  const variables = Object.entries(env).map(([name, value]) => (value === null ? `${name}-` : `${name}=${value}`));
  await kubectl(['set', 'env', '-n', 'argocd', controller, ...variables]);
  await kubectl(['rollout', 'restart', '-n', 'argocd', controller]);
  await kubectl(['rollout', 'status', '-n', 'argocd', '--timeout=120s', controller]);
  await sleep(10_000);
}

/** Starts as many runs as make this many Jobs. @returns ms for each */
async function fill(size: number): Promise<number> {
  return await dispatch('fill', Math.ceil((size - jobs.size) / LEGS), LEGS);
}

/** @returns ms from the first dispatch to the last Job, for each Job. */
async function dispatch(name: string, runs: number, legs: number): Promise<number> {
  const target = jobs.size + runs * legs;
  const beganMs = Date.now();
  for (let run = 0; run < runs; run += 1, fills += 1) {
    const file = name === 'fill' ? `fill-${fills % GROUPS}.yml` : name;
    await stack.gitea.admin.dispatch(`${ORG}/web`, file);
  }
  await until(`${target} Jobs exist`, () => jobs.size >= target);
  return (Date.now() - beganMs) / (runs * legs);
}

/** @returns ms from the dispatch of one CI job to its Job. */
async function probe(app = 0): Promise<number> {
  const had = jobs.size;
  const beganMs = Date.now();
  await stack.gitea.admin.dispatch(`${ORG}/web`, `single-${app}.yml`);
  await until('the Job exists', () => jobs.size > had);
  return Date.now() - beganMs;
}

/**
 * Waits until Argo CD has had nothing to do three times in a row: a wake may follow another, and a comparison a sync.
 */
async function settle(): Promise<void> {
  const { kubectl } = stack.kubernetes;
  const refresh = '{.metadata.annotations.argocd\\.argoproj\\.io/refresh}';
  const look = `jsonpath={range .items[*]}{.status.sync.status}${refresh}{.status.operationState.phase} {end}`;
  const untilMs = Date.now() + LONGEST_SETTLE_MS;
  for (let quiet = 0; quiet < 3 && Date.now() < untilMs; ) {
    await sleep(3_000);
    const states = (await kubectl(['get', 'applications', '-n', 'argocd', '-o', look])).split(' ').filter(Boolean);
    quiet = states.every((state) => state === 'SyncedSucceeded') ? quiet + 1 : 0;
  }
}

/** Times single CI jobs and keeps the row. */
async function note(way: string, msPerJob: number): Promise<void> {
  const { gitea, kubernetes } = stack;
  await settle();
  const since = new Date();
  const asked = await askedByGenerate(stack);
  const before = { ...(await counts()), cpu: await cpu() };
  const waits: number[] = [];
  for (let at = 0; at < PROBES; at += 1) {
    waits.push(await probe(at % GROUPS));
    await settle();
  }
  const after = { ...(await counts()), cpu: await cpu() };
  const generateRequests = ((await askedByGenerate(stack)) - asked) / PROBES;
  const mean = (name: 'wake' | 'shown') =>
    ((after[name].sum - before[name].sum) / (after[name].count - before[name].count)) * 1000;
  const wakes = after.wake.count - before.wake.count;
  const application = await kubernetes.kubectl(['get', 'application', '-n', 'argocd', appName(0), '-o', 'json']);
  const row: Row = {
    way,
    applications: APPS,
    jobs: jobs.size,
    msPerJob,
    queuedToJobMs: median(waits),
    slowestMs: Math.max(...waits),
    wakes,
    generateRequests,
    wakeMs: mean('wake'),
    shownMs: mean('shown'),
    ...(await parts(since)),
    ...(await generateAlone(gitea.url)),
    sidecarCpuMs: (after.cpu.sidecar - before.cpu.sidecar) / wakes,
    argocdCpuMs: (after.cpu.argocd - before.cpu.argocd) / wakes,
    applicationKiB: JSON.stringify(JSON.parse(application)).length / 1024,
    controllerMiB: await controllerMiB(),
    nodeMs: (await once(BASE)).ms,
  };
  console.log(JSON.stringify(row));
  if (process.argv.includes('--write')) keep(PART, row);
}

/** Returns Argo CD's own times of the wakes since then, from the logs of its controller and of the sidecar; medians. */
async function parts(since: Date): Promise<Pick<Row, 'pluginMs' | 'refreshMs' | 'manifestsMs' | 'diffMs' | 'storeMs'>> {
  const log = async (...of: readonly string[]): Promise<readonly Line[]> => {
    const args = ['logs', '-n', 'argocd', `--since-time=${since.toISOString()}`, ...of];
    const text = await stack.kubernetes.kubectl(args);
    return text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));
  };
  const refreshes: Line[] = [];
  const asked = new Set<unknown>();
  for (const line of await log('argocd-application-controller-0')) {
    const { application, msg = '' } = line;
    if (msg.startsWith('Refreshing app status (hard')) asked.add(application);
    else if (msg === 'Reconciliation completed' && asked.delete(application)) refreshes.push(line);
  }
  const plugin = (await log('deployment/argocd-repo-server', '-c', 'gitea-runners')).filter(
    (line) => line['grpc.method'] === 'GenerateManifest' && line.msg === 'finished call',
  );
  const of = (lines: readonly Line[], ...fields: readonly string[]): number =>
    median(lines.map((line) => fields.reduce((sum, field) => sum + Number(line[field] ?? Number.NaN), 0)));
  return {
    pluginMs: of(plugin, 'grpc.time_ms'),
    refreshMs: of(refreshes, 'time_ms'),
    manifestsMs: of(refreshes, 'git_ms'),
    diffMs: of(refreshes, 'diff_ms'),
    storeMs: of(refreshes, 'set_app_managed_resources_ms', 'persist_app_status_ms'),
  };
}

interface Line {
  readonly msg?: string;
  readonly [field: string]: unknown;
}

/** Time on a processor until now, ms. */
interface Cpu {
  /** CPU time of the sidecar, with every `generate`. */
  readonly sidecar: number;
  /** Controller, repo-server and API server. */
  readonly argocd: number;
}

async function cpu(): Promise<Cpu> {
  const inArgoCd = async (of: string): Promise<number> => {
    const command = ['--', 'sh', '-c', `cat ${CPU_FILES.join(' ')} 2>/dev/null || true`];
    const container = of.replace(/^.*\/|-0$/g, '');
    const text = await stack.kubernetes.kubectl(['exec', '-n', 'argocd', of, '-c', container, ...command]);
    const version2 = /usage_usec (\d+)/.exec(text);
    return version2 ? Number(version2[1]) / 1e3 : Number.parseInt(text, 10) / 1e6;
  };
  const [sidecar, ...others] = await Promise.all([
    inSidecar(`${CPU_SCRIPT} console.log(cpuMs());`).then(Number),
    inArgoCd('argocd-application-controller-0'),
    inArgoCd('deployment/argocd-repo-server'),
    inArgoCd('deployment/argocd-server'),
  ]);
  return { sidecar, argocd: others.reduce((sum, each) => sum + each) };
}

async function controllerMiB(): Promise<number> {
  const command = ['--', 'sh', '-c', 'cat /proc/[0-9]*/status'];
  const text = await stack.kubernetes.kubectl(['exec', '-n', 'argocd', 'argocd-application-controller-0', ...command]);
  return Math.max(...[...text.matchAll(/^VmRSS:\s+(\d+) kB$/gm)].map(([, value]) => Number(value))) / 1024;
}

/** Measures `generate` of the first Application in an otherwise idle sidecar: clock and processor, each of five. */
async function generateAlone(gitea: string): Promise<Pick<Row, 'generateMs' | 'generateCpuMs'>> {
  const script = `
    const { spawnSync } = require('node:child_process');
    require('node:fs').writeFileSync('/tmp/bench.yaml', process.argv[1]);
    const from = [performance.now(), cpuMs()];
    for (let run = 0; run < 5; run += 1) {
      const { status, stderr } = spawnSync('gitea-runners', ['generate', '/tmp/bench.yaml'], { maxBuffer: 1e9 });
      if (status !== 0) throw new Error(String(stderr));
    }
    console.log(JSON.stringify({ generateMs: (performance.now() - from[0]) / 5, generateCpuMs: (cpuMs() - from[1]) / 5 }));`;
  return JSON.parse(await inSidecar(CPU_SCRIPT + script, group('app-0', gitea)));
}

function inSidecar(script: string, ...args: readonly string[]): Promise<string> {
  const container = ['-n', 'argocd', 'deployment/argocd-repo-server', '-c', 'gitea-runners'];
  return stack.kubernetes.kubectl(['exec', ...container, '--', '/usr/local/bin/node', '-e', script, ...args]);
}

interface Count {
  readonly count: number;
  readonly sum: number;
}

/** Wakes so far, by how they ended. */
async function outcomes(): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const [, is = '', n] of (await metrics()).matchAll(
    /^gitea_runners_wakes_total\{.*outcome="([a-z-]+)".*\} (\S+)$/gm,
  )) {
    found.set(is, (found.get(is) ?? 0) + Number(n));
  }
  return found;
}

/** Wakes so far: until Argo CD has answered, and until the cluster shows the plan; seconds. */
async function counts(): Promise<{ readonly wake: Count; readonly shown: Count }> {
  const text = await metrics();
  const total = (name: string) =>
    [...text.matchAll(new RegExp(`^gitea_runners_${name}\\{.*\\} (\\S+)$`, 'gm'))]
      .map(([, value]) => Number(value))
      .reduce((a, b) => a + b, 0);
  const count = (name: string): Count => ({ count: total(`${name}_count`), sum: total(`${name}_sum`) });
  return { wake: count('wake_duration_seconds'), shown: count('wake_shown_seconds') };
}

/** Returns the metrics of all replicas of `serve`. */
async function metrics(): Promise<string> {
  const { kubectl } = stack.kubernetes;
  const selector = 'app.kubernetes.io/component=serve,app.kubernetes.io/name=gitea-runners';
  const pods = (await kubectl(['get', 'pods', '-n', 'argocd', '-l', selector, '-o', 'name']))
    .split('\n')
    .filter(Boolean);
  const paths = pods.map((pod) => `/api/v1/namespaces/argocd/pods/${pod.replace('pod/', '')}:9090/proxy/metrics`);
  return (await Promise.all(paths.map((path) => kubectl(['get', '--raw', path])))).join('\n');
}

/** Makes one Application for everything, or one per folder. Shards come after their project. */
function applications(): string {
  const kind = APPS === 1 ? 'application' : 'applicationset';
  const example = PART === 'shards' ? '' : `install/examples/${kind}.yaml`;
  return `sed -e "s|https://gitea.example.com/ops/runners.git|$REPO_URL|" install/examples/project.yaml ${example} | kubectl apply -f -`;
}

function appName(app: number): string {
  if (PART === 'shards') return `runners-${app}`;
  return APPS === 1 ? 'runners' : `runners-app-${app}`;
}

function group(name: string, url: string): string {
  const manifest = parse(readFileSync('install/examples/runnergroup.yaml', 'utf8'));
  manifest.metadata.name = name;
  Object.assign(manifest.spec, {
    containerMode: 'host',
    defaultLabels: false,
    labels: [`${name}:host`],
    image: RUNNER_IMAGE,
    maxActiveRunners: 10_000,
    spawnTimeoutSeconds: 86_400,
    resources: { requests: { cpu: '1000' } },
  });
  manifest.spec.gitea.url = url;
  return stringify(manifest);
}

async function commit({ gitea }: Stack, file: string, text: string): Promise<void> {
  const content = Buffer.from(text).toString('base64');
  const body = { content, message: `Add ${file}`, branch: 'main' };
  await gitea.admin.call('POST', `/repos/${GROUPS_REPOSITORY}/contents/${file}`, body);
}

async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const untilMs = Date.now() + PATIENCE_MS;
  while (!(await check())) {
    if (Date.now() > untilMs) throw new Error(`${what}: not after ${PATIENCE_MS / 1000} s; ${jobs.size} Jobs`);
    await sleep(20);
  }
}

function say(line: string): void {
  console.error(line);
}
