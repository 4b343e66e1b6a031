// What is mutated, and the tests that must notice it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutantsOf } from './instrument.mjs';

/**
 * @typedef {object} Subject
 * @property {readonly RegExp[]} mutated
 * @property {readonly RegExp[]} cheap tests of one scene each
 * @property {readonly RegExp[]} quick tests that find most of the others
 * @property {readonly RegExp[]} all tests that cost the most
 * @property {readonly string[]} folders where all of these are
 */

/** The planner, and the oracles that judge it: a law that cannot fail proves nothing. @type {Subject} */
const PLANNER = {
  mutated: [/^src\/planner\/.*\.ts$/, /^test\/model\/laws\.ts$/, /^test\/simulation\/tally\.ts$/],
  cheap: [
    /^test\/planner\/.*(?<!\.property)\.test\.ts$/,
    /^test\/model\/laws\.test\.ts$/,
    /^test\/simulation\/tally\.test\.ts$/,
  ],
  quick: [/^test\/planner\/.*\.property\.test\.ts$/, /^test\/simulation\/histories\.test\.ts$/],
  all: [/^test\/golden\/golden\.test\.ts$/, /^test\/model\/histories\.property\.test\.ts$/],
  folders: ['src/planner', 'test/planner', 'test/model', 'test/simulation', 'test/golden'],
};

/** What `serve` must never miss, and how it judges what Gitea, Kubernetes and Argo CD have answered. `-- --serve` @type {Subject} */
const SERVE = {
  mutated: [
    /^src\/serve\/queue\/work-queue\.ts$/,
    /^src\/serve\/applications\.ts$/,
    /^src\/serve\/waking\/.*\.ts$/,
    /^src\/serve\/seen\/(?:live|difference)\.ts$/,
    /^src\/serve\/planning\/(?:group-counts|group-status|reconcile)\.ts$/,
    /^src\/plan\/plan-seen\.ts$/,
    /^src\/serve\/losses\/losses\.ts$/,
    /^src\/serve\/looks\/poll-interval\.ts$/,
    /^src\/tasks\/losses\/rerunning\.ts$/,
    /^src\/clients\/argocd\/app-state\.ts$/,
    /^src\/clients\/kubernetes\/(?:judge-job|kube-pods)\.ts$/,
  ],
  cheap: [
    /^test\/serve\/(?:queue|seen|planning)\/.*\.test\.ts$/,
    /^test\/serve\/applications\.test\.ts$/,
    /^test\/serve\/waking\/(?:wake|wake-state)\.test\.ts$/,
    /^test\/plan\/plan-seen\.test\.ts$/,
    /^test\/serve\/looks\/poll-interval\.test\.ts$/,
    /^test\/serve\/losses\/.*\.test\.ts$/,
    /^test\/tasks\/losses\/decide\.test\.ts$/,
    /^test\/clients\/argocd\/app-state\.test\.ts$/,
    /^test\/clients\/kubernetes\/(?:judge-job|kube-pods|pod-loss|places)\.test\.ts$/,
    /^test\/simulation\/serve\/reruns\.test\.ts$/,
  ],
  quick: [/^test\/serve\/waking\/many-applications\.test\.ts$/],
  all: [/^test\/simulation\/serve\/serve\.test\.ts$/],
  folders: [
    'src/serve',
    'src/plan',
    'src/tasks/losses',
    'src/clients',
    'test/serve',
    'test/plan',
    'test/tasks/losses',
    'test/clients',
    'test/simulation/serve',
  ],
};

/**
 * Pages of Gitea's lists, who leads, what a policy covers, and what people may see. `-- --edges`
 * Mutants of these are not judged yet, and most of their tests wait for sockets: the other files of src/clients/gitea and src/clients/http;
 * platform.ts of src/manifests, made-job.ts and platform-app.ts of src/plan, which tests also start in processes of their own; watch.ts of src/clients/kubernetes; leader.ts, looks/giteas.ts and looks/poller.ts of src/serve; view.ts of src/page.
 * @type {Subject}
 */
const EDGES = {
  mutated: [
    /^src\/clients\/gitea\/paging\.ts$/,
    /^src\/clients\/kubernetes\/lease\.ts$/,
    /^src\/config\/policy\/[\w-]+\.ts$/,
    /^src\/page\/rights\.ts$/,
  ],
  cheap: [
    /^test\/clients\/gitea\/(?:paging|rules)\.test\.ts$/,
    /^test\/clients\/kubernetes\/lease-writes\.test\.ts$/,
    /^test\/config\/policy\/(?!attacks|commands|namespaces|workloads)[\w-]+\.test\.ts$/,
    /^test\/page\/rights\.test\.ts$/,
  ],
  quick: [
    /^test\/config\/policy\/(?:commands|namespaces|workloads)\.test\.ts$/,
    /^test\/cli\/policy-defaults\.test\.ts$/,
    /^test\/serve\/policy\.test\.ts$/,
  ],
  all: [],
  folders: [
    ...['src/clients', 'src/config/policy', 'src/page'],
    ...['test/cli', 'test/clients', 'test/config/policy', 'test/page', 'test/serve'],
  ],
};

const SUBJECT = { serve: SERVE, edges: EDGES }[process.env.MUTANTS_SUBJECT ?? ''] ?? PLANNER;
/** Cheapest first: a mutant that is caught is not tried again. */
const QUICK = [...SUBJECT.cheap, ...SUBJECT.quick];
const TESTS = [...QUICK, ...SUBJECT.all];

/** Files in the order of the patterns. @type {(patterns: readonly RegExp[]) => string[]} */
function filesOf(patterns) {
  const files = SUBJECT.folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
  );
  return patterns.flatMap((pattern) => files.filter((file) => pattern.test(file)).sort());
}

/** @type {(isQuick: boolean) => string[]} */
export const testFiles = (isQuick) => filesOf(isQuick ? QUICK : TESTS);

/** True for a file whose tests are cheap. @type {(file: string) => boolean} */
export const isCheap = (file) => SUBJECT.cheap.some((pattern) => pattern.test(file));

/**
 * All mutants in a fixed order, each with its number; `firstIds` has the number of the first one of each file.
 * @returns {{ mutants: (import('./instrument.mjs').Mutant & { id: number })[], firstIds: Map<string, number> }}
 */
export function allMutants() {
  const mutants = [];
  const firstIds = new Map();
  for (const file of filesOf(SUBJECT.mutated)) {
    firstIds.set(file, mutants.length);
    for (const mutant of mutantsOf(file, readFileSync(file, 'utf8'))) mutants.push({ ...mutant, id: mutants.length });
  }
  return { mutants, firstIds };
}
