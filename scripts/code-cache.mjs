/**
 * Makes the code caches of lib/ (src/cli/start/code-cache.ts) with a given Node: each part is run once, against a stand-in for Gitea.
 *
 *   node scripts/code-cache.mjs [--node PATH] [--lib FOLDER] [--out FOLDER]
 *
 * A part whose run fails gets no cache and the command fails: a start without it is slow, never wrong.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const TRAIN = fileURLToPath(new URL('./train.ts', import.meta.url));

/** Writes `PART.cjs.cache` into `out` (default: `lib`) for each part that is not rare, made by the program `node`. */
export async function makeCodeCache({ lib, node, out = lib }) {
  const folder = mkdtempSync(join(tmpdir(), 'code-cache-'));
  const gitea = await standIn();
  try {
    const train = join(folder, 'train.cjs');
    await build({
      entryPoints: [TRAIN],
      outfile: train,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node20.18',
      logLevel: 'warning',
    });
    const [group, second] = [join(folder, 'group.yaml'), join(folder, 'second.yaml')];
    writeFileSync(group, runnerGroup(gitea.url, 'ci', 'dind-rootless'));
    // Not plain (src/config/runnergroup/plain-yaml.ts), so that the other reader is run too.
    writeFileSync(second, `%YAML 1.1\n---\n${runnerGroup(gitea.url, 'second', 'dind')}`);
    const third = join(folder, 'third.yaml');
    writeFileSync(third, runnerGroup(gitea.url, 'third', 'host') + POD_TEMPLATE);
    const app = join(folder, 'app.cjs');
    writeFileSync(app, APP);
    const policy = join(folder, 'policy.yaml');
    writeFileSync(policy, POLICY);
    const env = { PATH: '/usr/bin:/bin', GITEA_URL: gitea.url, GITEA_TOKEN: 'stand-in' };
    for (const [part, args] of [
      // First: what follows is without an app, as most starts are, and writes its parts again.
      ['generate', ['generate', '--app', app, group]],
      ['generate', ['generate', '--policy', policy, group, second, third]],
      ['validate', ['validate', group]],
      ['cli', ['explain', group]],
    ]) {
      await run(node, [train, resolve(out), join(resolve(lib), `${part}.cjs`), ...args], env);
    }
  } finally {
    gitea.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** So that lib/pods.cjs is run, too. */
const POD_TEMPLATE = `  podTemplate:
    metadata:
      labels: {team: web}
    spec:
      nodeSelector: {disk: ssd}
      tolerations:
        - {key: ci, operator: Exists}
      containers:
        - name: runner
          env:
            - {name: LANG, value: C}
          resources:
            limits: {memory: 2Gi}
`;

/** So that lib/platform.cjs is run, too. */
const APP = `const { ApiObject, Chart, JsonPatch } = require('cdk8s');
exports.platform = (app) => {
  app.with({ supports: ApiObject.isApiObject, applyTo: (job) => job.metadata.addLabel('team', 'web') });
  for (const { job } of app.groupCharts) job.addJsonPatch(JsonPatch.add('/metadata/labels/unit', 'ci'));
  new ApiObject(new Chart(app, 'more'), 'one', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } });
};
`;

const POLICY = `apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerPolicy
spec:
  namespaces: [{name: run*, scopes: ['org:acme'], secrets: ['gitea-*']}]
  images: [docker.io/gitea/*]
`;

function runnerGroup(url, name, containerMode) {
  const spec = {
    scope: 'org',
    org: 'acme',
    gitea: { url },
    labels:
      containerMode === 'host'
        ? ['gpu:host']
        : ['gpu', 'ubuntu-latest:docker://docker.gitea.com/runner-images:ubuntu-latest'],
    containerMode,
    maxActiveRunners: 50,
    registrationToken: { secretRef: { name: 'gitea-runner', key: 'token' } },
    authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
  };
  const metadata = { name, namespace: 'runners' };
  // As people write it: the block style has functions of its own in the reader.
  const lines = Object.entries(spec).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`);
  return [
    'apiVersion: gitea.bpg.pw/v1alpha1',
    'kind: RunnerGroup',
    'metadata:',
    `  name: ${metadata.name}`,
    `  namespace: ${metadata.namespace}`,
    'spec:',
    ...lines,
    '',
  ].join('\n');
}

/** A Gitea 1.27 with one job in each state. */
async function standIn() {
  const at = '2026-01-01T00:00:00Z';
  const api = 'http://localhost/api/v1/repos/acme/web/actions';
  const job = (id, status, more = {}) => ({
    id,
    run_id: id,
    run_attempt: 1,
    name: 'build',
    labels: ['ubuntu-latest'],
    status,
    url: `${api}/jobs/${id}`,
    run_url: `${api}/runs/${id}`,
    html_url: `http://localhost/acme/web/actions/runs/${id}/jobs/0`,
    created_at: at,
    started_at: at,
    completed_at: at,
    ...more,
  });
  const active = [job(1, 'in_progress', { runner_name: 'one' }), job(2, 'queued'), job(3, 'queued')];
  const done = [job(4, 'completed', { runner_name: 'two' })];
  const runner = { id: 1, name: 'one', status: 'online', busy: true, disabled: false, ephemeral: true, labels: [] };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const jobs = searchParams.getAll('status').includes('completed') ? done : active;
    const answer = pathname.endsWith('/version')
      ? { version: '1.27.0' }
      : pathname.endsWith('/runners')
        ? { runners: [runner], total_count: 1 }
        : { jobs, total_count: jobs.length };
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Runs a program; rejects with what it said when it fails. */
function run(program, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      errors += text;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${args.join(' ')} ended with ${code}: ${errors}`));
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      node: { type: 'string', default: process.execPath },
      lib: { type: 'string', default: 'lib' },
      out: { type: 'string' },
    },
  });
  if (!existsSync(join(values.lib, 'gitea-runners.cjs')))
    throw new Error(`${values.lib} is empty. Run "npm run build".`);
  await makeCodeCache(values);
}
