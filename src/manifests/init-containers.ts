/**
 * Makes the containers before the runner. Only the one that registers has the registration token (docs/adr/0023).
 *
 *   setup      `setupCommand`, before `register`, so that a slow preparation delays no CI job
 *   register   has the token; writes /data/.runner with a token of this one runner; ends
 *   runner     finds /data/.runner, so `scripts/run.sh` of its image registers nothing; runs CI jobs; has no token
 *
 * Nobody starts a failed init container again (`restartPolicy: Never`): the script itself tries again.
 */
import type { Mount } from './container-mode.ts';
import { withoutExpansion } from './job-manifest.ts';
import { CONFIG_FILE } from './runner-config-file.ts';

/** Holds the registration token. No container but `register` may have it. */
export const TOKEN_VARIABLE = 'GITEA_RUNNER_REGISTRATION_TOKEN';
/** The Gitea that the token is bound to: key `url` of its Secret. Not set when the Secret has no such key. */
export const BOUND_VARIABLE = 'GITEA_RUNNER_REGISTRATION_URL';
export const BOUND_KEY = 'url';

/** Tries and pause are those of the runner's `scripts/run.sh` (1.0.8), where their number has no effect. */
const TRIES = 10;
const PAUSE_SECONDS = 5;
/** Time limit of one try: `register` itself waits for ever. A Gitea that is down gets 10 minutes, a refused token 45 seconds. */
const TRY_SECONDS = 60;

/**
 * - The trap: process 1 ignores SIGTERM unless it handles it, and a deleted pod would stay for its whole grace period. A
 *   shell handles a signal while it waits, not while a program runs in the foreground: hence `&` and `wait`.
 * - `.runner` is there when the kubelet runs the container a second time: no second registration.
 * - A failed try may leave half a file, if the disk is full. The runner would take it for a registration.
 * - A bound token goes to no other Gitea. The group's URL is in normal form (src/shared/url.ts); here the bound one gets
 *   it, as far as people write it: capitals, default port, slashes and line breaks at the end. What differs is refused,
 *   and not repeated: a URL may hold a password.
 *
 * No `bash`, no `tini`: an image of a user's own may lack them.
 */
const registerScript = (program: string, preparation: string) => `trap 'exit 143' TERM INT
cd /data || exit 1
${preparation}[ -s .runner ] && exit 0
bound=$(printf %s "\${${BOUND_VARIABLE}-$GITEA_INSTANCE_URL}")
path=\${bound#*://}
host=\${path%%/*}
path=\${path#"$host"}
bound=$(printf %s "\${bound%%://*}://$host" | tr A-Z a-z)
case $bound in http:*) bound=\${bound%:80} ;; https:*) bound=\${bound%:443} ;; esac
while [ "$path" != "\${path%/}" ]; do path=\${path%/}; done
if [ "$bound$path" != "$GITEA_INSTANCE_URL" ]; then
  echo "Not registered: the registration Secret is for another Gitea. Its key url must be $GITEA_INSTANCE_URL, or correct gitea.url." >&2
  exit 1
fi
for try in ${Array.from({ length: TRIES }, (_, index) => index + 1).join(' ')}; do
  timeout ${TRY_SECONDS} ${program} register --no-interactive --ephemeral --config "$CONFIG_FILE" --instance "$GITEA_INSTANCE_URL" \\
    --token "$${TOKEN_VARIABLE}" --name "$GITEA_RUNNER_NAME" --labels "$GITEA_RUNNER_LABELS" &
  wait $! && exit 0
  rm -f .runner
  echo "Try $try of ${TRIES} to register failed." >&2
  sleep ${PAUSE_SECONDS} &
  wait $!
done
echo "Not registered: the lines above say why. Check that this pod reaches Gitea and that the registration token is valid." >&2
exit 1
`;

/** Returns the command of `register`. @param preparation shell lines that run first, e.g. of proxy-and-ca.ts */
export function registerCommand(program: string, preparation: string): readonly string[] {
  return ['sh', '-c', withoutExpansion(registerScript(program, preparation))];
}

/** Name of the container that replaces `register` if `serve` registers and the pod needs preparation. */
export const PREPARE = 'prepare';

/** Returns the command of the container that prepares a runner which `serve` registers. */
export function prepareCommand(lines: string): readonly string[] {
  return ['sh', '-c', withoutExpansion(`trap 'exit 143' TERM INT\ncd /data || exit 1\n${lines}`)];
}

export const SETUP = 'setup';

/** A shell is process 1, and the kernel ends the command with it: few commands handle SIGTERM. */
const SETUP_SCRIPT = `trap 'exit 143' TERM INT
"$@" &
wait $!
`;

/** Returns the command of `setup`. @param command the command and its arguments, passed on unchanged */
export function setupCommand(command: readonly string[]): readonly string[] {
  return ['sh', '-c', SETUP_SCRIPT, SETUP, ...command].map(withoutExpansion);
}

// The secret of a shared cache server. The runner 1.0.8 reads it from its configuration file only. That file is in an
// annotation, where a secret must not be. So the container that registers writes a second file, into a volume that only
// it and the runner have.

export const SECRET_CONFIG: Mount = { name: 'secret-config', path: '/run/gitea-runner', memory: true };
/** Takes the place of `CONFIG_FILE`. */
export const SECRET_CONFIG_FILE = `${SECRET_CONFIG.path}/config.yaml`;
/** Holds the secret of the cache server in the init container. */
export const CACHE_SECRET_VARIABLE = 'GITEA_RUNNER_CACHE_SECRET';

/** Shell lines that print file `$1` with the secret as its last key. In YAML a single quote is written twice. */
export const PRINT_WITH_SECRET = `with_secret() (
  LC_ALL=C
  secret=$(printf %s "$${CACHE_SECRET_VARIABLE}")
  case $secret in '' | *[![:print:]]*)
    echo "The secret of the cache server must be one line of printable ASCII, and not empty. Correct its Secret." >&2
    exit 1 ;;
  esac
  cat "$1" && printf "  external_secret: '%s'\\n" "$(printf %s "$secret" | sed "s/'/''/g")"
)
`;

/** Lines of the script that registers: writes the file, for its own user only. */
export const WRITE_SECRET_CONFIG = `${PRINT_WITH_SECRET}(umask 077 && with_secret ${CONFIG_FILE} > "$CONFIG_FILE") || exit 1
`;
