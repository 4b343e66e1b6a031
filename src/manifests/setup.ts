/** `setupCommand`: an init container before the one that registers, so that a slow preparation delays no CI job. */
import { withoutExpansion } from './job-manifest.ts';

/** Name of the init container. */
export const SETUP = 'setup';

/**
 * Process 1 of a container ignores SIGTERM unless it handles it, and few commands do. Then the pod of a runner that is not needed any more
 * stays for its whole grace period. So a shell is process 1. When it ends, the kernel ends the command, too.
 */
const SCRIPT = `trap 'exit 143' TERM INT
"$@" &
wait $!
`;

/** What the init container runs. @param words the command and its arguments, handed on as they are */
export function setupCommand(words: readonly string[]): readonly string[] {
  return ['sh', '-c', SCRIPT, SETUP, ...words].map(withoutExpansion);
}
