/** Runs Gitea's periodic tasks when a test says that the time has come (modules/setting/actions.go has the periods). */
import { mustGet, type State, seconds } from './model.ts';
import { cancelJob, endTask } from './queue.ts';

const ZOMBIE_TASK_TIMEOUT = 10 * 60;
const ENDLESS_TASK_TIMEOUT = 3 * 60 * 60;
const ABANDONED_JOB_TIMEOUT = 24 * 60 * 60;

/** Runs the three checks that real Gitea runs every 5 min, 30 min and 6 h: zombies and endless tasks fail, old queued jobs are cancelled. */
export function expire(state: State): void {
  const now = seconds(state);
  for (const task of [...state.tasks.values()]) {
    const job = mustGet(state.jobs, task.jobId, 'job');
    const silent = now - task.updated > ZOMBIE_TASK_TIMEOUT;
    const endless = task.status === 'running' && now - job.started > ENDLESS_TASK_TIMEOUT;
    if (job.taskId !== task.id || (task.status !== 'running' && task.status !== 'cancelling')) continue;
    if (silent || endless) endTask(state, job, task.status === 'cancelling' ? 'cancelled' : 'failure');
  }
  for (const job of [...state.jobs.values()]) {
    const old = now - job.updated > ABANDONED_JOB_TIMEOUT;
    if (old && (job.status === 'waiting' || job.status === 'blocked')) cancelJob(state, job.id);
  }
}

/**
 * Cron `cleanup_actions`, nightly (services/actions/cleanup.go, CleanupEphemeralRunners): rows of ephemeral runners whose task
 * is over go for good, so completed jobs lose `runner_name`. Rows of runners that never took a job stay for ever.
 */
export function cleanUp(state: State): void {
  for (const task of state.tasks.values()) {
    if (task.status === 'running' || task.status === 'cancelling') continue;
    if (state.runners.get(task.runnerId)?.ephemeral) state.runners.delete(task.runnerId);
  }
}
