/**
 * The secret of a shared cache server. The runner 1.0.8 takes it from its configuration file only. That file stands in an annotation,
 * where a secret must not be. So the init container that registers writes a second file, into a volume that only it and the runner have.
 */
import type { Mount } from './container-mode.ts';
import { CONFIG_FILE } from './runner-config.ts';

/** Where the file with the secret lies. */
export const SECRET_CONFIG: Mount = { name: 'secret-config', path: '/run/gitea-runner', memory: true };
/** Takes the place of `CONFIG_FILE`. */
export const SECRET_CONFIG_FILE = `${SECRET_CONFIG.path}/config.yaml`;
/** Holds the secret of the cache server in the init container. */
export const CACHE_SECRET_VARIABLE = 'GITEA_RUNNER_CACHE_SECRET';

/**
 * Shell lines that append the secret to the file `$1` as `cache.external_secret`, the last key of its last section, and print the result.
 * In a YAML string between single quotes nothing but a single quote is special; it is written twice. The line break that an editor
 * leaves at the end of a Secret is no part of it.
 */
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
