/** The ApplicationSet of the manual with shards of one folder, and how often their `generate` asks Gitea. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { GROUPS_REPOSITORY } from './install.ts';
import { apply } from './migrate-old.ts';
import type { Stack } from './stack/stack.ts';

const EXAMPLE = 'install/examples/applicationset-shards.yaml';
const LOOKS_PORT = 8083;
const ACCESS_LOG = ['gitea', 'log', 'access.log'];

/**
 * Settings of `serve` and the sidecar with which `generate` asks `serve` before Gitea. They need install/looks.yaml.
 */
export const LOOKS_SETTINGS: Readonly<Record<string, string>> = {
  GITEA_RUNNERS_LOOKS_LISTEN: `:${LOOKS_PORT}`,
  GITEA_RUNNERS_LOOKS: `http://gitea-runners-looks.argocd.svc:${LOOKS_PORT}`,
};

/**
 * Applies the example with so many shards, of the repository with the RunnerGroups.
 * @param change each change of the number has its own, as the manual says
 * @param broken a shard that follows a missing branch
 */
export async function applyShardSet(stack: Stack, shards: number, change: number, broken = ''): Promise<void> {
  const set = parse(readFileSync(EXAMPLE, 'utf8').replace('"{{.shard}}/4"', `"{{.shard}}/${shards}"`));
  set.spec.generators[0].list.elements = Array.from({ length: shards }, (_, shard) => ({ shard: String(shard) }));
  const { source } = set.spec.template.spec;
  source.targetRevision = `{{if eq .shard "${broken}"}}none{{else}}HEAD{{end}}`;
  source.repoURL = `${stack.gitea.url}/${GROUPS_REPOSITORY}.git`;
  source.plugin.env.find(({ name }: { readonly name: string }) => name === 'SHARDS_CHANGED').value = String(change);
  await apply(stack, set);
}

/** Matches requests to Gitea's API in its log. */
const REQUESTS = /(\d+\.\d+\.\d+\.\d+) - .*"[A-Z]+ \/api\/v1\//g;

/** Requests to Gitea's API so far that came from Argo CD's repo-server, where `generate` runs. */
export async function askedByGenerate({ kubernetes, playground }: Stack): Promise<number> {
  const selector = ['-n', 'argocd', '-l', 'app.kubernetes.io/name=argocd-repo-server'];
  const ips = new Set((await kubernetes.field('{.items[*].status.podIP}', 'pods', ...selector)).split(' '));
  const lines = readFileSync(join(playground.folder, ...ACCESS_LOG), 'utf8').matchAll(REQUESTS);
  return [...lines].filter(([, ip = '']) => ips.has(ip)).length;
}
