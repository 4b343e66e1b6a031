/**
 * `keepFailedSeconds`: makes the pod of a runner wait after a failed CI job (docs/adr/0037).
 *
 *     command ─► writes the script below as run.sh, first in PATH ─► the image's own entry point (tini, or s6)
 *             ─► our run.sh ─► the image's run.sh, whose standard output is read ─► success: ends · anything else: waits
 *
 * The runner (1.0.8) exits with 0 however its CI job ended. It says how on standard output only, at level debug
 * (`Runner.run`). Its own log is on standard error and stays that of the container.
 */
import type { JobGroup } from '../config/runnergroup/runner-group.ts';
import { ROOTLESS_COMMAND } from './container-mode.ts';
import { withoutExpansion } from './job-manifest.ts';

/** Longest stay of a pod, seconds: the longest that `gitea-runners extend` can give (`LONGEST_KEEP_MS`). */
export const LONGEST_KEEP_SECONDS = 86_400;

const FOLDER = '/data/.keep';

/**
 * - Lines of the CI job itself have `]   | ` in them. The other lines are the runner's.
 * - A shell handles a signal while it waits, not while a program runs in the foreground. `wait` ends with each signal, so
 *   it is called until the runner is gone. A signal between two lines counts, too: hence `ended`.
 * - SIGTERM while it waits ends it at once: the trap itself exits. A new `sleep` may not hear `kill`, and a signal just
 *   before `wait` does not end `wait`: together they made a pod wait for its grace period.
 * - A runner that was told to stop, or that has failed, ends as ever.
 * - Without a pipe (a full disk) or a reader the runner runs as ever: writing to a pipe without a reader kills.
 */
const RUN = `#!/bin/sh
PATH=\${PATH#${FOLDER}:}
runner= pause= ended=
stop() {
  ended=1
  [ -z "$runner" ] || kill -TERM "$runner" 2>/dev/null
}
command -v awk > /dev/null && mkfifo ${FOLDER}/output || exec run.sh
trap stop TERM INT
awk '/\\] ([^[:alnum:]]+ )?Job succeeded$/ && !/\\]   \\| / { ok = 1 } END { exit !ok }' < ${FOLDER}/output &
reader=$!
run.sh > ${FOLDER}/output &
runner=$!
[ -z "$ended" ] || kill -TERM "$runner"
wait "$runner"
code=$?
while kill -0 "$runner" 2>/dev/null; do
  wait "$runner"
  code=$?
done
runner=
if wait "$reader" || [ -n "$ended" ] || [ "$code" != 0 ]; then exit "$code"; fi
trap '[ -z "$pause" ] || kill "$pause"; exit 0' TERM INT
[ -z "$ended" ] || exit 0
echo "The CI job did not succeed. This pod waits for people to look at it, until its Job is deleted." >&2
sleep ${LONGEST_KEEP_SECONDS} &
pause=$!
wait "$pause"
exit 0
`;

/** Writes the script ($0) as run.sh, and starts the entry point of the image ($@). */
const COMMAND = `mkdir -p ${FOLDER} && printf %s "$0" > ${FOLDER}/run.sh && chmod 755 ${FOLDER}/run.sh && export PATH="${FOLDER}:$PATH"
exec "$@"
`;

/** Entry point for mode `buildkit`. The image's own entry point would start dockerd if the image has it. */
const WITHOUT_DOCKER: readonly string[] = [
  'sh',
  '-c',
  'for init in docker-init tini; do command -v $init > /dev/null && exec $init -- run.sh; done; exec run.sh',
];

/** Entry points of the runner's images (1.0.8, Dockerfile). All find `run.sh` in PATH. */
const ENTRY_POINTS: Readonly<Record<JobGroup['containerMode'], readonly string[]>> = {
  'dind-rootless': ROOTLESS_COMMAND,
  dind: ['/sbin/tini', '--', 'run.sh'],
  buildkit: WITHOUT_DOCKER,
  host: ['/sbin/tini', '--', 'run.sh'],
};

/** Returns the command of container `runner`. Undefined: the entry point of its image. */
export function runnerCommand({ containerMode, keepFailedSeconds }: JobGroup): readonly string[] | undefined {
  const entryPoint = ENTRY_POINTS[containerMode];
  if (keepFailedSeconds > 0) return ['sh', '-c', COMMAND, RUN, ...entryPoint].map(withoutExpansion);
  const isOfImage = containerMode === 'dind' || containerMode === 'host';
  return isOfImage ? undefined : entryPoint.map(withoutExpansion);
}

/** Returns the Job's own deadline, in seconds: that of the runner, plus the longest stay after it. */
export function jobDeadlineSeconds({ activeDeadlineSeconds, keepFailedSeconds }: JobGroup): number {
  return activeDeadlineSeconds + (keepFailedSeconds > 0 ? LONGEST_KEEP_SECONDS : 0);
}
