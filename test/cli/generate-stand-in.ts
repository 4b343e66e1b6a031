import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Generate } from '../../demo/demo.ts';

interface JobRow {
  readonly id: number;
  readonly labels: readonly string[];
  readonly status: string;
  readonly runner_name?: string;
}

interface GroupFile {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly org: string; readonly labels: readonly string[]; readonly maxActiveRunners: number };
}

async function ask(url: string, token: string, query: string): Promise<readonly JobRow[]> {
  const response = await fetch(`${url}/api/v1/orgs/acme/actions/jobs?limit=50&${query}`, {
    headers: { authorization: `token ${token}` },
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const body = (await response.json()) as { readonly jobs: readonly JobRow[] };
  return body.jobs;
}

function manifest(group: GroupFile, name: string, madeFor: number, pinned: boolean): string {
  const annotation = pinned ? `    argocd.argoproj.io/sync-options: Prune=false\n` : '';
  return `---
apiVersion: batch/v1
kind: Job
metadata:
  name: ${name}
  labels: {gitea.bpg.pw/runnergroup-name: ${group.metadata.name}, gitea.bpg.pw/job-id: "${madeFor}"}
  annotations:
    gitea.bpg.pw/repository: acme/web
${annotation}spec:
  template:
    spec:
      containers:
        - name: runner
          env:
            - {name: GITEA_RUNNER_LABELS, value: "${group.spec.labels.join(',')}"}
`;
}

/**
 * A stand-in for the real `generate`, which has its own tests: it remembers its runners, which the real one need not, and
 * emits them until their job is completed.
 * @param greedy true makes it wrong: it ignores the cap.
 * @param forget true makes it wrong: only queued jobs get a Job, so runners at work are pruned.
 */
export function standIn({ forget = false, greedy = false } = {}): Generate {
  const runners = new Map<string, { readonly group: string; readonly madeFor: number }>();
  let made = 0;
  return async (env, cwd) => {
    const secrets = join(env['GITEA_RUNNERS_SECRETS_DIR'] ?? '', 'runners', 'gitea-api');
    const [url, token] = ['url', 'token'].map((key) => readFileSync(join(secrets, key), 'utf8'));
    const open = await ask(url ?? '', token ?? '', 'status=queued&status=in_progress');
    const done = await ask(url ?? '', token ?? '', 'status=completed');
    const busy = new Set(open.flatMap((job) => job.runner_name ?? []));
    for (const { runner_name } of done) if (runner_name) runners.delete(runner_name);
    if (forget) for (const name of busy) runners.delete(name);

    const stdout = readdirSync(cwd).map((file) => {
      const group = parse(readFileSync(join(cwd, file), 'utf8')) as GroupFile;
      const { name } = group.metadata;
      const covered = new Set(group.spec.labels.map((label) => label.split(':')[0]));
      const ready = open.filter((job) => job.status === 'queued' && job.labels.every((label) => covered.has(label)));
      const ours = () => [...runners].filter(([, runner]) => runner.group === name);
      const free = () => ours().filter(([runner]) => !busy.has(runner)).length;
      while (free() < ready.length && (greedy || ours().length < group.spec.maxActiveRunners)) {
        made += 1;
        const madeFor = ready[free()]?.id ?? 0;
        runners.set(`${name}-${madeFor}-1-${String(made).padStart(8, '0')}`, { group: name, madeFor });
      }
      return ours()
        .map(([runner, { madeFor }]) => manifest(group, runner, madeFor, busy.has(runner)))
        .join('');
    });
    return { exitCode: 0, stdout: stdout.join(''), stderr: '' };
  };
}
