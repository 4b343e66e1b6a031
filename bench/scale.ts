/**
 * Where the whole product bends: many Jobs in one Application, and the same in several (`npm run bench:scale`, `-- apps 20`).
 * Real Gitea, API server and stock Argo CD. The node is cordoned before the first Job, so each Job has its pod, and no pod runs.
 *
 *   SIZES=100,300,600 npm run bench:scale        Jobs in all Applications together
 */
import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { GROUPS_REPOSITORY, Installation, ORG } from '../test/cluster/install.ts';
import { RUNNER_IMAGE } from '../test/cluster/stack/images.ts';
import { type Stack, startStack } from '../test/cluster/stack/stack.ts';
import { followObjects } from '../test/cluster/world-watch.ts';
import { buildCluster } from '../test/servers/build.ts';
import { sleep } from '../test/servers/process.ts';
import { workflow } from '../test/servers/workflows.ts';
import { median } from './measure.ts';

const APPS = process.argv.includes('apps') ? Number(process.argv.at(-1)) : 1;
const SIZES = (process.env['SIZES'] ?? '100,300,600,1000,2000').split(',').map(Number);
/** Jobs of one run: Gitea allows no larger matrix. */
const LEGS = 100;
/** Single CI jobs that are timed at each size. */
const PROBES = 5;
const PATIENCE_MS = 1_800_000;

/** Names of Jobs in the cluster, by their group. */
const jobs = new Map<string, string>();
const stack = await startStack(buildCluster(say), say);
let failed = true;
try {
  await bench(stack);
  failed = false;
} finally {
  await stack.close(failed);
}

async function bench({ gitea, kubernetes, argocd }: Stack): Promise<void> {
  const installation = await Installation.prepare(stack, buildCluster(say), {});
  await gitea.admin.createRepo('web', ORG);
  for (let app = 0; app < APPS; app += 1) {
    const fill = workflow({ fill: { runsOn: `app-${app}`, seconds: 1, matrix: Math.min(LEGS, SIZES[0] ?? LEGS) } });
    const single = workflow({ single: { runsOn: `app-${app}`, seconds: 1 } });
    await gitea.admin.addWorkflow(`${ORG}/web`, `fill-${app}.yml`, fill);
    await gitea.admin.addWorkflow(`${ORG}/web`, `single-${app}.yml`, single);
    await commit(stack, `groups/app-${app}/group.yaml`, group(`app-${app}`, gitea.url));
  }
  await installation.block('install');
  await kubernetes.refreshDns();
  await installation.block('secrets');
  await installation.shell('applications', applications());
  await installation.webhook();
  await until('the groups are ready', async () => {
    const ready = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{" "}{end}';
    const text = await kubernetes.kubectl(['get', 'runnergroups', '-n', 'runners', '-o', `jsonpath=${ready}`]);
    return text.split(' ').filter((status) => status === 'True').length === APPS;
  });
  await kubernetes.kubectl(['cordon', 'node1']);
  const ending = new AbortController();
  const following = followObjects(
    kubernetes.kubeconfig,
    '/apis/batch/v1/namespaces/runners/jobs',
    ending.signal,
    ({ object, gone }) => {
      const { name } = (object as { metadata: { name: string } }).metadata;
      if (gone) jobs.delete(name);
      else jobs.set(name, name.replace(/-\d+-\d+-[0-9a-f]+$/, ''));
    },
  );
  for (const size of SIZES) await measureAt(size);
  ending.abort();
  await following;
  await argocd.cli('app', 'list').then(say);
}

async function measureAt(size: number): Promise<void> {
  const { gitea, kubernetes } = stack;
  const perRun = Math.min(LEGS, SIZES[0] ?? LEGS);
  const beganMs = Date.now();
  const had = jobs.size;
  for (let more = Math.ceil((size - had) / perRun), run = 0; run < more; run += 1) {
    await gitea.admin.dispatch(`${ORG}/web`, `fill-${run % APPS}.yml`);
  }
  await until(`${size} Jobs exist`, () => jobs.size >= size - (had % perRun));
  const filled = jobs.size - had;
  const fillMs = Date.now() - beganMs;
  await sleep(15_000);
  const before = await wakes();
  const waits: number[] = [];
  for (let probe = 0; probe < PROBES; probe += 1) {
    const known = new Set(jobs.keys());
    const fromMs = Date.now();
    await gitea.admin.dispatch(`${ORG}/web`, `single-${probe % APPS}.yml`);
    await until('the Job exists', () => [...jobs.keys()].some((name) => !known.has(name)));
    waits.push(Date.now() - fromMs);
    await sleep(5_000);
  }
  const after = await wakes();
  const application = await kubernetes.kubectl(['get', 'application', '-n', 'argocd', appName(0), '-o', 'json']);
  const ours = await generateMs();
  const wakeMs = ((after.seconds - before.seconds) / (after.count - before.count)) * 1000;
  const row = {
    applications: APPS,
    jobs: jobs.size,
    createMsPerJob: Math.round(fillMs / filled),
    queuedToJobMs: Math.round(median(waits)),
    wakeMs: Math.round(wakeMs),
    generateMs: Math.round(ours),
    applicationKiB: Math.round(JSON.stringify(JSON.parse(application)).length / 1024),
  };
  console.log(JSON.stringify(row));
}

/** What `generate` of the first Application takes in the sidecar itself, ms, the median of five. */
async function generateMs(): Promise<number> {
  const script = `
    const { spawnSync } = require('node:child_process');
    require('node:fs').writeFileSync('/tmp/bench.yaml', process.argv[1]);
    const times = [];
    for (let run = 0; run < 5; run += 1) {
      const from = performance.now();
      const { status, stderr } = spawnSync('gitea-runners', ['generate', '/tmp/bench.yaml'], { maxBuffer: 1e9 });
      if (status !== 0) throw new Error(String(stderr));
      times.push(performance.now() - from);
    }
    console.log(times.sort((a, b) => a - b)[2]);`;
  const container = ['-n', 'argocd', 'deployment/argocd-repo-server', '-c', 'gitea-runners'];
  const run = ['/usr/local/bin/node', '-e', script, group('app-0', stack.gitea.url)];
  return Number(await stack.kubernetes.kubectl(['exec', ...container, '--', ...run]));
}

/** Wakes so far, and what they took together. */
async function wakes(): Promise<{ readonly count: number; readonly seconds: number }> {
  const { kubectl } = stack.kubernetes;
  const selector = 'app.kubernetes.io/component=serve,app.kubernetes.io/name=gitea-runners';
  const pods = (await kubectl(['get', 'pods', '-n', 'argocd', '-l', selector, '-o', 'name']))
    .split('\n')
    .filter(Boolean);
  const paths = pods.map((pod) => `/api/v1/namespaces/argocd/pods/${pod.replace('pod/', '')}:9090/proxy/metrics`);
  const text = (await Promise.all(paths.map((path) => kubectl(['get', '--raw', path])))).join('\n');
  const sum = (field: string) =>
    [...text.matchAll(new RegExp(`^gitea_runners_wake_duration_seconds_${field}\\{.*\\} (\\S+)$`, 'gm'))]
      .map(([, value]) => Number(value))
      .reduce((a, b) => a + b, 0);
  return { count: sum('count'), seconds: sum('sum') };
}

/** One Application of everything, or one per folder. */
function applications(): string {
  const kind = APPS === 1 ? 'application' : 'applicationset';
  const example = `install/examples/${kind}.yaml`;
  const path = APPS === 1 ? " -e 's|path: [.]$|path: groups/app-0|'" : '';
  return `sed -e "s|https://gitea.example.com/ops/runners.git|$REPO_URL|"${path} install/examples/project.yaml ${example} | kubectl apply -f -`;
}

function appName(app: number): string {
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
