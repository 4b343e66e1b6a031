/**
 * How fast the whole product is on a real cluster: Gitea, Kubernetes, stock Argo CD and runners in pods, all on this machine.
 *
 *   calm     one CI job every 4 s, 20 of them
 *   burst    12 runs with two jobs of 6 s at cap 5
 *   quiet    what a minute without work costs
 *   events   1000 webhook events in a second that change nothing
 *
 * Calm and burst also print where the seconds go, from the traces.
 *
 * `npm run bench:cluster -- registration` compares, by turns, runners that register themselves with runners that `serve` registers.
 *
 * `npm run bench:cluster -- ways` compares ways of syncing instead: the calm case under other options of the Application.
 */
import { createHmac } from 'node:crypto';
import { APPLICATION, CAP, Rig } from '../test/cluster/scenarios-rig.ts';
import type { CiJob, World } from '../test/cluster/world.ts';
import { buildCluster } from '../test/servers/build.ts';
import { sleep } from '../test/servers/process.ts';
import { startOtlpServer } from '../test/support/otlp-server.ts';
import { percentile, phaseRows } from './phases.ts';

const CALM_JOBS = 20;
/** CI jobs of each compared way. */
const WAY_JOBS = 10;
const CALM_GAP_MS = 4_000;
const BURST_RUNS = 12;
const QUIET_MS = 60_000;
/** Turns of `compareRegistrations`. */
const TURNS = ['pod', 'serve', 'pod', 'serve'] as const;
const EVENTS = 1_000;
const EVENT_LANES = 20;
/** How long after the last event a wake could still come, ms. */
const AFTER_EVENTS_MS = 15_000;
/**
 * Time until the last spans have arrived, ms: serve waits 3 s for the kubelet and sends every second, rounds are at
 * most 5 s apart.
 */
const SPANS_MS = 10_000;

const COUNTED = {
  looks: /^gitea_runners_looks_total\{/,
  giteaRequests: /^gitea_runners_gitea_requests_total\{/,
  argocdRequests: /^gitea_runners_argocd_requests_total\{/,
  wakes: /^gitea_runners_wakes_total\{/,
  accepted: /^gitea_runners_webhook_deliveries_total\{result="accepted"\}/,
  wakeSum: /^gitea_runners_wake_duration_seconds_sum\{/,
  wakeCount: /^gitea_runners_wake_duration_seconds_count\{/,
  shownSum: /^gitea_runners_wake_shown_seconds_sum\{/,
  shownCount: /^gitea_runners_wake_shown_seconds_count\{/,
} as const;

interface Waits {
  /** ms from queued to the Job made for it, of jobs that have one. */
  readonly toJob: readonly number[];
  /** ms from queued to the CI job at work. */
  readonly toRunning: readonly number[];
  /** ms from the Job to the CI job at work, where its own runner took it. */
  readonly startUp: readonly number[];
  /** ms at work. */
  readonly work: readonly number[];
}

const collector = await startOtlpServer({ host: '0.0.0.0' });
const rig = await Rig.open(
  buildCluster(say),
  say,
  (outside) => ({
    GITEA_RUNNERS_TRACING_ENDPOINT: `http://${outside}:${collector.port}`,
    GITEA_RUNNERS_TRACING_INSECURE: 'true',
  }),
  ['write:organization', 'write:repository'],
);
let failed = true;
try {
  if (process.argv.includes('ways')) await compareWays(rig);
  else if (process.argv.includes('registration')) await compareRegistrations(rig);
  else await bench(rig);
  failed = false;
} finally {
  await rig.close(failed);
  await collector.close();
}

async function calmly(rig: Rig, jobs: number): Promise<Counted & Measured> {
  let measured: Measured | undefined;
  const result = await counted(rig, async () => {
    measured = await measure(rig, jobs, async () => {
      for (let job = 0; job < jobs; job += 1) {
        await rig.dispatch('single.yml');
        await sleep(CALM_GAP_MS);
      }
    });
  });
  if (!measured) throw new Error('nothing was measured');
  return { ...result, ...measured };
}

/** JSON merge patches of the Application's `spec.syncPolicy`; `installed` is the one of install/examples. */
function ways(installed: SyncPolicy): readonly (readonly [string, SyncPolicy])[] {
  const without = (option: string): SyncPolicy => ({
    ...installed,
    syncOptions: installed.syncOptions.filter((each) => each !== option),
  });
  return [
    ['as installed', installed],
    ['client-side apply', without('ServerSideApply=true')],
    ['every object is applied', without('ApplyOutOfSyncOnly=true')],
    ['Argo CD may heal by itself', { ...installed, automated: { ...installed.automated, selfHeal: true } }],
    ['as installed, again', installed],
  ];
}

interface SyncPolicy {
  readonly automated: Readonly<Record<string, boolean>>;
  readonly syncOptions: readonly string[];
}

async function compareWays(rig: Rig): Promise<void> {
  const object = ['application', '-n', 'argocd', APPLICATION];
  const installed = JSON.parse(await rig.kubectl('get', ...object, '-o', 'jsonpath={.spec.syncPolicy}')) as SyncPolicy;
  for (const [name, syncPolicy] of ways(installed)) {
    await rig.kubectl('patch', ...object, '--type=merge', '-p', JSON.stringify({ spec: { syncPolicy } }));
    const { waits, wakes, wakeSeconds, shownSeconds } = await calmly(rig, WAY_JOBS);
    row(
      name,
      `${wakes} wakes`,
      `${wakeSeconds.toFixed(2)} s each, ${shownSeconds.toFixed(2)} s until the cluster shows it`,
    );
    row('  queued -> Job exists', spread(waits.toJob), '');
    row('  queued -> CI job running', spread(waits.toRunning), '');
  }
}

/**
 * Compares ways of registration, with all turns of one way together. Each has one burst: its ideal has the start-up of
 * the calm jobs of that way.
 */
async function compareRegistrations(rig: Rig): Promise<void> {
  await rig.installation.shell('credentials', 'kubectl apply -f install/runner-credentials.yaml');
  const calm = { pod: [] as (Counted & Measured)[], serve: [] as (Counted & Measured)[] };
  for (const [turn, by] of TURNS.entries()) {
    await rig.commitGroup({ registration: { by, for: 'scope' } });
    await rig.isReady();
    calm[by].push(await calmly(rig, WAY_JOBS));
    row(`by: ${by}, turn ${turn + 1}: queued -> CI job running`, spread(of(calm[by].slice(-1), 'toRunning')), '');
    if (turn < TURNS.length / 2) continue;
    const burst = await measure(rig, 2 * BURST_RUNS, () => rig.dispatch('pair.yml', BURST_RUNS));
    const rounds = Math.ceil((2 * BURST_RUNS) / CAP);
    const idealMs = rounds * (percentile(burst.waits.work, 0.5) + percentile(of(calm[by], 'startUp'), 0.5));
    row(`by: ${by}, burst: queued -> CI job running`, spread(burst.waits.toRunning), '');
    row('  all done after', seconds(burst.ms), `${(burst.ms / idealMs).toFixed(2)} x its ideal of ${seconds(idealMs)}`);
    const requests = calm[by].reduce((sum, { giteaRequests }) => sum + giteaRequests, 0);
    row(`by: ${by}, calm: queued -> Job exists`, spread(of(calm[by], 'toJob')), `${requests} requests to Gitea`);
    row('  queued -> CI job running', spread(of(calm[by], 'toRunning')), '');
    row('  Job -> CI job running', spread(of(calm[by], 'startUp')), '');
    if (by === 'serve')
      row(
        '  mounts that came before their Secret',
        String(await failedMounts(rig)),
        'the kubelet tries again after 0.5 s',
      );
    await printPhases(`calm, by: ${by}`, new Map(calm[by].flatMap(({ queuedAtMs }) => [...queuedAtMs])));
  }
}

/** As Events of the last hour tell. */
async function failedMounts(rig: Rig): Promise<number> {
  const path = 'jsonpath={range .items[*]}{.message}{"\\n"}{end}';
  const told = await rig.kubectl('get', 'events', '-A', '--field-selector=reason=FailedMount', '-o', path);
  return told.split('\n').filter((line) => line.includes('not found')).length;
}

function of(all: readonly Measured[], which: keyof Waits): readonly number[] {
  return all.flatMap(({ waits }) => waits[which]);
}

async function bench(rig: Rig): Promise<void> {
  const calm = await calmly(rig, CALM_JOBS);
  row(`calm: ${CALM_JOBS} jobs, one every ${CALM_GAP_MS / 1000} s`, '', 'p50 / p95');
  row('  queued -> Job exists', spread(calm.waits.toJob), 'sketch with a polling waker: 1.6 / 2.8 s');
  row(
    '  wake: Argo CD answers / the cluster shows it',
    `${calm.wakeSeconds.toFixed(2)} / ${calm.shownSeconds.toFixed(2)} s`,
    `means of ${calm.wakes} wakes`,
  );
  row(
    '  queued -> CI job running',
    spread(calm.waits.toRunning),
    'sketch: 2.2 / 3.6 s; seed operator: 1.7 / 10.0 s; aim: 1.5 / 2.5 s',
  );
  const ownStart = percentile(calm.waits.startUp, 0.5);
  const times = (share: number): string => (percentile(calm.waits.toRunning, share) / ownStart).toFixed(2);
  row('  … divided by the start-up of the pod', `${times(0.5)} / ${times(0.95)}`, 'aim: 1.7 / 2.2');
  await printPhases('calm', calm.queuedAtMs);

  const burst = await measure(rig, 2 * BURST_RUNS, () => rig.dispatch('pair.yml', BURST_RUNS));
  const rounds = Math.ceil((2 * BURST_RUNS) / CAP);
  const idealMs = rounds * (percentile(burst.waits.work, 0.5) + percentile(calm.waits.startUp, 0.5));
  row(
    `burst: ${BURST_RUNS} runs of two 6 s jobs, cap ${CAP}`,
    `${burst.succeeded} of ${2 * BURST_RUNS} done`,
    'seed operator: 17 of 24 after 240 s',
  );
  row('  queued -> Job exists', spread(burst.waits.toJob), '');
  row(
    '  queued -> CI job running',
    spread(burst.waits.toRunning),
    'seed operator: 10.5 / 20.1 s; sketch: 9.9 / 15.2 s',
  );
  const ratio = (burst.ms / idealMs).toFixed(2);
  row(
    '  all done after',
    seconds(burst.ms),
    `${ratio} x the ideal schedule of ${seconds(idealMs)}: ${rounds} rounds of work and start-up; aim: 1.2`,
  );

  await printPhases('burst', burst.queuedAtMs);

  const quiet = await counted(rig, () => sleep(QUIET_MS));
  row('quiet minute: looks at Gitea', String(quiet.looks), '');
  row('  requests to Gitea per look', (quiet.giteaRequests / quiet.looks).toFixed(2), 'aim: 1');
  row('  requests to Argo CD', String(quiet.argocdRequests), 'aim: 0');

  const events = await counted(rig, async () => {
    const beganMs = Date.now();
    await sendEvents(rig);
    say(`${EVENTS} events were taken in ${seconds(Date.now() - beganMs)}`);
    await sleep(AFTER_EVENTS_MS);
  });
  row(`${EVENTS} webhook events: accepted`, String(events.accepted), '');
  row('  wakes', String(events.wakes), 'aim: at most 3');
  row('  looks at Gitea', String(events.looks), '');
}

interface Measured {
  readonly waits: Waits;
  readonly ms: number;
  readonly succeeded: number;
  /** When each CI job was queued, by id, ms. */
  readonly queuedAtMs: ReadonlyMap<number, number | undefined>;
}

/** Does something and waits until all its CI jobs are over and nothing is left. */
async function measure(rig: Rig, jobs: number, work: () => Promise<void>): Promise<Measured> {
  rig.begin();
  const before = new Set(rig.world.ciJobs.keys());
  const beganMs = Date.now();
  await work();
  const ended = await rig.calm(jobs);
  const own = [...rig.world.ciJobs.values()].filter(({ id }) => !before.has(id));
  const ms = Math.max(...own.map(({ endedAtMs }) => endedAtMs ?? beganMs)) - beganMs;
  const succeeded = ended.filter(({ conclusion }) => conclusion === 'success').length;
  return {
    waits: waitsOf(own, rig.world),
    ms,
    succeeded,
    queuedAtMs: new Map(own.map((job) => [job.id, job.queuedAtMs])),
  };
}

/** Prints phases as the table of docs/performance.md. */
async function printPhases(what: string, queuedAtMs: Measured['queuedAtMs']): Promise<void> {
  await sleep(SPANS_MS);
  console.log(`\n| ${what}: phase | p50 | p95 | CI jobs | whose |\n|---|---|---|---|---|`);
  for (const { phase, owner, p50, p95, jobs } of phaseRows(collector.spans, queuedAtMs))
    console.log(`| ${phase} | ${p50.toFixed(0)} ms | ${p95.toFixed(0)} ms | ${jobs} | ${owner} |`);
  console.log('');
}

function waitsOf(ciJobs: readonly CiJob[], world: World): Waits {
  const createdMs = new Map([...world.jobs.values()].map(({ name, createdAtMs }) => [name, createdAtMs]));
  const madeForMs = new Map<number, number>();
  for (const [name, ms] of createdMs) {
    const id = Number(/-(\d+)-\d+-[0-9a-f]{8}$/.exec(name)?.[1]);
    madeForMs.set(id, Math.min(ms, madeForMs.get(id) ?? Infinity));
  }
  const differences = (pick: (job: CiJob) => readonly [number | undefined, number | undefined]): readonly number[] =>
    ciJobs.flatMap((job) => {
      const [from, to] = pick(job);
      return from !== undefined && to !== undefined ? [to - from] : [];
    });
  return {
    toJob: differences(({ id, queuedAtMs }) => [queuedAtMs, madeForMs.get(id)]),
    toRunning: differences(({ queuedAtMs, startedAtMs }) => [queuedAtMs, startedAtMs]),
    startUp: differences(({ runner = '', id, startedAtMs }) =>
      createdMs.get(runner) === madeForMs.get(id) ? [createdMs.get(runner), startedAtMs] : [undefined, undefined],
    ),
    work: differences(({ startedAtMs, endedAtMs }) => [startedAtMs, endedAtMs]),
  };
}

type Counts = Readonly<Record<keyof typeof COUNTED, number>>;

interface Counted extends Counts {
  /** Means, s. */
  readonly wakeSeconds: number;
  readonly shownSeconds: number;
}

/** Returns the counts of all replicas of serve during some work. */
async function counted(rig: Rig, work: () => Promise<unknown>): Promise<Counted> {
  const before = await counts(rig);
  await work();
  const after = await counts(rig);
  const names = Object.keys(COUNTED) as (keyof Counts)[];
  const grown = Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as Counts;
  const { wakeSum, wakeCount, shownSum, shownCount } = grown;
  return { ...grown, wakeSeconds: wakeSum / wakeCount, shownSeconds: shownSum / shownCount };
}

async function counts(rig: Rig): Promise<Counts> {
  const pods = await rig.podsOf('app.kubernetes.io/component=serve,app.kubernetes.io/name=gitea-runners');
  const paths = pods.map((pod) => `/api/v1/namespaces/argocd/pods/${pod.replace('pod/', '')}:9090/proxy/metrics`);
  const texts = await Promise.all(paths.map((path) => rig.kubectl('get', '--raw', path)));
  const lines = texts.join('\n').split('\n');
  const sum = (pattern: RegExp): number =>
    lines.filter((line) => pattern.test(line)).reduce((all, line) => all + Number(line.split(' ').at(-1)), 0);
  return Object.fromEntries(Object.entries(COUNTED).map(([name, pattern]) => [name, sum(pattern)])) as Counts;
}

/** Signed events of jobs that do not exist. */
async function sendEvents(rig: Rig): Promise<void> {
  const at = (path: string): readonly string[] => ['-o', `jsonpath={${path}}`];
  const encoded = await rig.kubectl(
    'get',
    'secret',
    '-n',
    'argocd',
    'gitea-runners-serve',
    ...at('.data.webhook-secret'),
  );
  const secret = Buffer.from(encoded, 'base64').toString().trim();
  const url = `http://${await rig.kubectl('get', 'service', '-n', 'argocd', 'gitea-runners', ...at('.spec.clusterIP'))}/webhook`;
  const bodies = Array.from({ length: EVENTS }, (_, index) =>
    JSON.stringify({
      action: 'queued',
      workflow_job: { id: 1_000_000 + index, run_id: 1_000_000 + index, run_attempt: 1, status: 'queued' },
      repository: { full_name: 'acme/web' },
    }),
  );
  const lane = async (own: readonly string[]): Promise<void> => {
    for (const body of own) {
      const signature = createHmac('sha256', secret).update(body).digest('hex');
      const headers = {
        'content-type': 'application/json',
        'x-gitea-event': 'workflow_job',
        'x-gitea-signature': signature,
      };
      const response = await fetch(url, { method: 'POST', headers, body });
      if (response.status !== 202)
        throw new Error(`an event was answered with ${response.status}: ${await response.text()}`);
    }
  };
  await Promise.all(
    Array.from({ length: EVENT_LANES }, (_, at) => lane(bodies.filter((_, index) => index % EVENT_LANES === at))),
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function spread(list: readonly number[]): string {
  const at = (share: number): string => (percentile(list, share) / 1000).toFixed(1);
  return `${at(0.5)} / ${at(0.95)} s of ${list.length}`;
}

function row(what: string, value: string, beside: string): void {
  console.log(`${what.padEnd(42)}${value.padEnd(22)}${beside}`);
}

function say(line: string): void {
  console.error(line);
}
