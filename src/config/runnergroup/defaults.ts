/** Defaults that depend on other fields. All others stand with their field in `schema.ts`. */

/**
 * Release of the runner that default images carry: 1.0.8 ran in real pods against Gitea 1.26 and 1.27, and the pod template
 * relies on the layout of its images. A fixed release, because a floating tag changes runners without a commit.
 */
export const RUNNER_RELEASE = '1.0.8';

/** Image per container mode; the basic image reports the runner's real exit code, the dind-rootless one brings dockerd. */
export const DEFAULT_IMAGES = {
  'dind-rootless': `gitea/runner:${RUNNER_RELEASE}-dind-rootless`,
  dind: `gitea/runner:${RUNNER_RELEASE}`,
  host: `gitea/runner:${RUNNER_RELEASE}`,
} as const;

/** The runner project's own default labels (runner 1.0.8, `internal/app/cmd/register.go`). All need docker. */
export const DEFAULT_LABELS: readonly string[] = [
  'ubuntu-latest:docker://docker.gitea.com/runner-images:ubuntu-latest',
  'ubuntu-24.04:docker://docker.gitea.com/runner-images:ubuntu-24.04',
  'ubuntu-22.04:docker://docker.gitea.com/runner-images:ubuntu-22.04',
];

/** 3 hours, after which Gitea ends a CI job on its own (`ENDLESS_TASK_TIMEOUT`): no stop cuts one short (docs/adr/0018). */
export const GRACEFUL_STOP_SECONDS = 10_800;

/** As long as the cluster autoscaler waits for a node that it has asked for (`--max-node-provision-time`). */
export const PENDING_DEADLINE_SECONDS = 900;
