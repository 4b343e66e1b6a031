import type { RequestLine } from '../clients/http/request.ts';
import type { ClusterChoice } from '../clients/kubernetes/find-cluster.ts';
import type { ClusterSecrets } from '../clients/kubernetes/secrets.ts';
import type { SecretReader, SecretsMode } from '../clients/tokens/api-token.ts';

/** Everything from outside that a look depends on; made from flags and environment in `src/cli/settings.ts`. */
export interface Settings extends ClusterChoice {
  /** Default: `files`. */
  readonly secrets?: SecretsMode;
  /** With `secrets: 'api'`: reads the Secrets of the installation, which may lie elsewhere. Default: those of the groups' own namespaces. */
  readonly secretsIn?: (secrets: ClusterSecrets) => SecretReader;
  readonly secretsDir: string;
  /** For everything, from start to end, ms. */
  readonly timeoutMs: number;
  /** PEM of a private CA. */
  readonly ca?: string;
  readonly instance: string;
  readonly now: () => number;
  /** Told about each request. */
  readonly onRequest?: (line: RequestLine) => void;
  /** Told what the administrator should know although all went well: one line, no line end. */
  readonly onWarning?: (text: string) => void;
}

/** How each server is asked. */
export function requestOptions({ ca, env, onRequest, timeoutMs }: Settings) {
  return { deadlineMs: timeoutMs, env, ...(ca !== undefined && { ca }), ...(onRequest && { onRequest }) };
}
