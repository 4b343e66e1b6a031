/** Everything that some case must show. A new kind of decision does not compile until it is here. */
import * as z from 'zod';
import type { ContainerMode, RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import type {
  DroppedBecause,
  EmittedBecause,
  HeldBecause,
  JobDecision,
  ServedBy,
} from '../../src/planner/decisions.ts';
import type { Scope } from '../../src/shared/scope.ts';
import type { Exchange } from './answers.ts';

type Kinds<T extends string> = Readonly<Record<T, true>>;

const VERDICTS: Kinds<JobDecision['verdict']> = { done: true, running: true, served: true, held: true };
const SERVED: Kinds<ServedBy> = { 'own-runner': true, chain: true, 'free-runner': true, 'new-runner': true };
const HELD: Kinds<HeldBecause> = {
  blocked: true,
  'no-labels': true,
  'labels-not-covered': true,
  'repository-not-chosen': true,
  suspended: true,
  cap: true,
  limit: true,
  'backing-off': true,
  'served-elsewhere': true,
};
/** No case shows a group in trouble: `explain` tells of it as an error (test/cli/one-group-in-trouble.test.ts). */
const KEPT: Kinds<Exclude<EmittedBecause, 'group-in-trouble'>> = {
  ...SERVED,
  busy: true,
  finishing: true,
  debugging: true,
  moved: true,
  spare: true,
  warm: true,
  lost: true,
  foreign: true,
  unpinning: true,
  'back-off-record': true,
};
const DROPPED: Kinds<DroppedBecause> = {
  'used-up': true,
  failed: true,
  'never-came': true,
  stuck: true,
  replaced: true,
  disabled: true,
  suspended: true,
  surplus: true,
  drained: true,
  deleting: true,
  gone: true,
  offline: true,
};
const SCOPES: Kinds<Scope['kind']> = { global: true, org: true, user: true, repo: true };
const MODES: Kinds<ContainerMode> = { 'dind-rootless': true, dind: true, buildkit: true, host: true };

/** Every kind that must be seen, as `seenIn` words it. */
export const WANTED: readonly string[] = [
  ...Object.keys(VERDICTS).map((kind) => `job ${kind}`),
  'job running by a stranger',
  ...Object.keys(SERVED).map((kind) => `job served: ${kind}`),
  ...Object.keys(HELD).map((kind) => `job held: ${kind}`),
  ...Object.keys(KEPT).map((kind) => `runner kept: ${kind}`),
  ...Object.keys(DROPPED).map((kind) => `runner dropped: ${kind}`),
  ...Object.keys(SCOPES).map((kind) => `scope ${kind}`),
  ...Object.keys(MODES).map((kind) => `containerMode ${kind}`),
  ...['1.24', '1.25', '1.26', '1.27'].map((version) => `Gitea ${version}`),
  ...[0, 1, 2, 3].map((code) => `exit ${code}`),
  'pod privileged',
  'pod baseline',
  'pod restricted',
];

const Explained = z.object({
  jobs: z.array(
    z.object({
      verdict: z.string(),
      by: z.string().optional(),
      because: z.string().optional(),
      group: z.unknown().optional(),
    }),
  ),
  runners: z.array(z.object({ emit: z.boolean(), because: z.string() })),
});

/** The kinds that `explain --json` shows. */
export function seenInExplanation(json: unknown): readonly string[] {
  const { jobs, runners } = Explained.parse(json);
  return [
    ...jobs.flatMap(({ verdict, by, because, group }) => [
      `job ${verdict}`,
      ...(by === undefined ? [] : [`job served: ${by}`]),
      ...(because === undefined ? [] : [`job held: ${because}`]),
      ...(verdict === 'running' && group === undefined ? ['job running by a stranger'] : []),
    ]),
    ...runners.map(({ emit, because }) => `runner ${emit ? 'kept' : 'dropped'}: ${because}`),
  ];
}

/** The kinds that a case's groups have. */
export function seenInGroups(groups: readonly RunnerGroup[]): readonly string[] {
  return groups.flatMap(({ scope, containerMode }) => [`scope ${scope.kind}`, `containerMode ${containerMode}`]);
}

/** The kinds that Gitea's answers have. Finished jobs are in no explanation: it is enough that one was listed. */
export function seenInAnswers(exchanges: readonly Exchange[]): readonly string[] {
  const versions = exchanges.flatMap(({ request, body }) =>
    request.endsWith('/version') ? [z.object({ version: z.string() }).parse(body).version] : [],
  );
  const done = exchanges.some(
    ({ request, body }) => request.includes('status=completed') && JSON.stringify(body).includes('"completed"'),
  );
  return [
    ...versions.map((version) => `Gitea ${version.split('.').slice(0, 2).join('.')}`),
    ...(done ? ['job done'] : []),
  ];
}
