// What one sync costs: the whole process of `generate` for 0, 50 and 1000 queued jobs, as a ratio to `node -e 0`.
// Runs are interleaved and medians compared, because machines are noisy. `npm run bench` (ROUNDS=21 for more).
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROUNDS = Number(process.env.ROUNDS ?? 11);
const PAGE = 50;

/** A Gitea 1.27 with so many queued jobs and nothing else. */
function serve(count) {
  const job = (i) => ({
    id: 1000 + i,
    run_id: i + 1,
    run_attempt: 1,
    name: `build ${i}`,
    labels: ['ubuntu-latest'],
    status: 'queued',
    url: `https://gitea.example.com/api/v1/repos/acme/web/actions/jobs/${1000 + i}`,
    run_url: `https://gitea.example.com/api/v1/repos/acme/web/actions/runs/${i}`,
    html_url: `https://gitea.example.com/acme/web/actions/runs/${i}/jobs/0`,
    head_sha: '035e298200000000000000000000000000000000',
    steps: [],
    created_at: '2026-11-21T08:00:00Z',
    started_at: '1970-01-01T00:00:00Z',
    completed_at: '1970-01-01T00:00:00Z',
  });
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const queued = url.searchParams.getAll('status').includes('queued');
    const page = Number(url.searchParams.get('page') ?? 1);
    const total = queued ? count : 0;
    const from = (page - 1) * PAGE;
    const jobs = Array.from({ length: Math.max(0, Math.min(PAGE, total - from)) }, (_, i) => job(from + i));
    const body = url.pathname.endsWith('/version')
      ? { version: '1.27.3' }
      : url.pathname.endsWith('/runners')
        ? { runners: [], total_count: 0 }
        : { jobs, total_count: total };
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(body));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** Runs a program and answers its wall time, ms, and the bytes it printed. */
function time(args, env) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let bytes = 0;
    let errors = '';
    child.stdout.on('data', (chunk) => {
      bytes += chunk.length;
    });
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.on('close', (code) => {
      if (code !== 0) return reject(new Error(`${args.join(' ')} ended with ${code}: ${errors}`));
      resolve({ ms: Number(process.hrtime.bigint() - start) / 1e6, bytes });
    });
  });
}

function group(url) {
  return `apiVersion: gitea.bpg.pw/v1alpha1
kind: RunnerGroup
metadata: {name: ci, namespace: runners}
spec:
  scope: org
  org: acme
  gitea: {url: "${url}"}
  maxActiveRunners: 5000
  registrationToken: {name: gitea-runner, key: token}
  authToken: {name: gitea-api, key: token}
`;
}

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const servers = [];
try {
  const cases = [{ name: 'node -e 0', run: () => time(['-e', '0'], {}) }];
  for (const count of [0, 50, 1000]) {
    const server = await serve(count);
    servers.push(server);
    const url = `http://127.0.0.1:${server.address().port}`;
    const file = join(folder, `${count}.yaml`);
    writeFileSync(file, group(url));
    const env = { GITEA_URL: url, GITEA_TOKEN: 'bench' };
    cases.push({ name: `generate, ${count} jobs`, run: () => time(['lib/gitea-runners.cjs', 'generate', file], env) });
  }
  const times = new Map(cases.map(({ name }) => [name, []]));
  let output = new Map();
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { name, run } of cases) {
      const { ms, bytes } = await run();
      if (round > 0) times.get(name).push(ms);
      output = output.set(name, bytes);
    }
  }
  const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
  const base = median(times.get('node -e 0'));
  console.log(`Node ${process.version}, medians of ${ROUNDS} interleaved runs`);
  for (const [name, list] of times) {
    const ms = median(list);
    const cells = [
      name.padEnd(20),
      `${ms.toFixed(0)} ms`.padStart(8),
      `${(ms / base).toFixed(1)} x`.padStart(8),
      `${output.get(name)} bytes`,
    ];
    console.log(cells.join('  '));
  }
} finally {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
}
