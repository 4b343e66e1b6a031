/** `status` of a RunnerGroup in a cluster: written by `serve`, read by people. */
import * as z from 'zod';

/** A group with an older `lastCheckTime` is not looked after: `serve` renews it within two and a half minutes. */
export const STALE_CHECK_MS = 300_000;

/** Reason of the condition Ready of a group that the policy denies. */
export const DENIED = 'PolicyDenied';
/** Reason of the condition Ready of a group whose spec `serve` does not accept. */
export const INVALID = 'InvalidSpec';
/** Reason if Jobs wait for credentials of their runners. Of the condition Registered: only in some repositories. */
export const UNREGISTERED = 'RegistrationFailed';

const count = () => z.int().min(0).max(2_147_483_647);
const int64 = (description: string) => z.int().min(0).meta({ format: 'int64', description });
const time = () => z.string().meta({ format: 'date-time' });

/** Kubernetes' `metav1.Condition`. */
const Condition = z.object({
  type: z.string().max(316).meta({ description: 'What is told, e.g. Ready.' }),
  status: z.enum(['True', 'False', 'Unknown']).meta({ description: 'Whether it holds.' }),
  reason: z.string().max(1024).meta({ description: 'One word for programs.' }),
  message: z.string().max(32_768).meta({ description: 'A sentence for people.' }),
  lastTransitionTime: time().meta({ description: 'When `status` last changed.' }),
  observedGeneration: int64('Generation of the spec it is about.').optional(),
});

/** A CI job whose runner was lost. It stays in the status until Gitea has ended it, for the next leader. */
const LostJob = z.object({
  runner: z.string().max(63).meta({ description: 'Name of the lost runner and of its Job.' }),
  repository: z.string().max(255).meta({ description: 'Repository of the CI job: `owner/name`.' }),
  runId: int64("Id of the job's run in Gitea."),
  jobId: int64('Id of the job in Gitea.'),
  attempt: count().meta({ description: 'Which attempt of the job was lost.' }),
  reason: z.string().max(64).meta({ description: 'How the runner was lost, e.g. Evicted.' }),
  lostAt: time().meta({ description: 'When `serve` noticed it.' }),
  runnerEnded: z.boolean().optional().meta({ description: 'Nothing of the runner lives any more.' }),
  endAskedAt: time().optional().meta({ description: 'When `serve` decided to have Gitea end the job.' }),
});
export type LostJob = z.output<typeof LostJob>;

/** Longest `lostJobs`: a group whose nodes all die at once. An entry has about 250 bytes. */
export const MOST_LOST_JOBS = 100;

export const MOST_UNREGISTERED = 20;

export const RunnerGroupStatus = z.object({
  activeRunners: count().optional().meta({ description: 'Runners that exist: starting, idle and busy.' }),
  queuedJobs: count().optional().meta({ description: 'Jobs of the group that wait for a runner.' }),
  heldJobs: count().optional().meta({ description: 'Of these, held back by cap, limit, suspension or back-off.' }),
  debuggingRunners: count().optional().meta({ description: 'Runners whose CI job failed and that stay for a look.' }),
  debugging: z
    .array(
      z.object({
        runner: z.string().max(63).meta({ description: 'Name of the runner and of its Job.' }),
        until: time().meta({ description: 'Until when it stays.' }),
      }),
    )
    .max(20)
    .optional()
    .meta({ description: 'The first 20 of them.' }),
  lastCheckTime: time().optional().meta({ description: 'When Gitea was last looked at.' }),
  observedGeneration: int64('Generation of the spec that this is about.').optional(),
  lostJobs: z
    .array(LostJob)
    .max(MOST_LOST_JOBS)
    .optional()
    .meta({ description: 'CI jobs whose runners were lost, until they are re-run (`maxEvictionRetries`).' }),
  unregistered: z
    .array(
      z.object({
        at: z.string().max(300).meta({ description: 'Where: the scope of the group, or `repo:owner/name`.' }),
        message: z.string().max(1_000).meta({ description: 'Why not.' }),
      }),
    )
    .max(MOST_UNREGISTERED)
    .optional()
    .meta({ description: 'Where `serve` cannot register runners whose Jobs wait for that, the first 20.' }),
  conditions: z
    .array(Condition)
    .max(16)
    .optional()
    .meta({
      description: 'Ready, and why not.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    }),
});
export type RunnerGroupStatus = z.output<typeof RunnerGroupStatus>;
