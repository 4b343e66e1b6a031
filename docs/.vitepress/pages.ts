/** The pages of the manual by kind, as the sidebar shows them. test/docs/site.test.ts: each page is here once, and each entry has a page. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Part {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

const DOCS = join(import.meta.dirname, '..');

/** Entries in the order of `pages`, each a path below docs/ without `.md` and what the sidebar says. */
function part(text: string, pages: Readonly<Record<string, string>>, collapsed = false): Part {
  const items = Object.entries(pages).map(([page, title]) => ({ text: title, link: `/${page}` }));
  return { text, collapsed, items };
}

/** Decisions on record, with the title that each has. */
function decisions(): Readonly<Record<string, string>> {
  const files = readdirSync(join(DOCS, 'adr'))
    .filter((file) => file.endsWith('.md'))
    .sort();
  return Object.fromEntries(
    files.map((file) => {
      const [title = file] = readFileSync(join(DOCS, 'adr', file), 'utf8').split('\n', 1);
      return [`adr/${file.replace('.md', '')}`, title.replace(/^# /, '')];
    }),
  );
}

export const SIDEBAR: readonly Part[] = [
  part('Start', {
    index: 'The manual',
    tutorial: 'Tutorial: the first runner',
    faq: 'Questions and answers',
  }),
  part('How to', {
    install: 'Install',
    helm: 'Install with Helm',
    upgrade: 'Upgrade',
    'beside-argo-cd': 'Beside what you have',
    migrate: 'Migrate from other runners',
    symptoms: 'By symptom: what you see, why, what to do',
    debugging: 'Look at a failed CI job',
    limits: 'Sizes and limits',
    registration: 'Who registers the runners',
    cache: 'Share a cache',
    monitoring: 'Alerts and dashboard',
    report: 'What ran, and what it cost',
    page: 'A page for developers',
    notifications: 'Tell people how CI jobs ended',
    tracing: 'Trace CI jobs',
    construct: 'RunnerGroups with cdk8s',
    platform: "A platform's own cdk8s app",
  }),
  part('Recipes', {
    'recipes/index': 'All recipes',
    'recipes/builds': 'Builds without privilege',
    'recipes/docker': 'Docker builds',
    'recipes/daemon': 'MTU and mirror of docker',
    'recipes/buildkit': 'A builder elsewhere',
    'recipes/gpu': 'GPU with a CUDA image',
    'recipes/machines': 'arm64 and sizes',
    'recipes/capacity': 'How many nodes, spot nodes, autoscalers',
    'recipes/teams': 'Limit a team or a repository',
    'recipes/kueue': 'Quota by Kueue',
    'recipes/repository-cache': 'A cache of one repository',
    'recipes/network': 'Private registry, proxy, private CA',
    'recipes/images': 'Images that are there already',
    'recipes/gitops': 'kustomize and ApplicationSet',
    'recipes/clusters': 'More than one cluster',
    'recipes/without-argo-cd': 'Without Argo CD',
    'recipes/tokens': 'Rotate each token',
    'recipes/disaster': 'Roll back, restore, recover',
  }),
  part('Reference', {
    runnergroup: 'RunnerGroup: all fields',
    commands: 'Commands and flags',
    explain: 'explain',
    serve: 'serve: conditions, endpoints, metrics',
    policy: 'RunnerPolicy',
    errors: 'Error codes',
    compatibility: 'Compatibility',
    glossary: 'Glossary',
  }),
  part('Explanation', {
    planner: 'How it decides',
    losses: 'Lost runners and refused pods',
    security: 'Security: who can do what',
    scale: 'How many runners',
    performance: 'How fast',
  }),
  part('For contributors', {
    spec: 'Laws and their tests',
    simulations: 'What simulations show of the planner',
    parity: 'Compared with its predecessors',
  }),
  part('Decisions on record', decisions(), true),
];
