import type { GiteaSettings } from '../clients/gitea/observe-gitea.ts';
import type { RequestLine } from '../clients/http/request.ts';
import type { ClusterSecrets } from '../clients/kubernetes/cluster-secrets.ts';
import { type ClusterConfig, type ClusterMode, clusterConfig } from '../clients/kubernetes/config.ts';
import type { LogIn } from '../clients/kubernetes/kubeconfig.ts';
import type { SecretReader, SecretsMode, TokenSources } from '../clients/tokens/api-token.ts';
import type { Policy } from '../config/policy/policy-schema.ts';
import type { GroupDefaults } from '../config/runnergroup/to-runner-group.ts';
import { Failure } from '../shared/failure.ts';
import { TRACKING_SETTING } from '../shared/installed/installed-names.ts';
import { printable } from '../shared/printable.ts';

/** Everything from outside that a look depends on; made from flags and environment in `src/cli/reading/command-settings.ts`. */
export interface Settings extends ClusterChoice, GiteaSettings {
  /** Default: `files`. */
  readonly secrets?: SecretsMode;
  /** Opens the Secrets with `secrets: 'api'`. Default: those in the groups' namespaces. */
  readonly secretsIn?: (secrets: ClusterSecrets) => SecretReader;
  readonly secretsDir: string;
  readonly instance: string;
  /** Absent: none is named. Then the rules under "Without a policy file" in docs/policy.md hold. */
  readonly policy?: InstalledPolicy;
  /** The printed part of the plan. Absent: all of it. */
  readonly shard?: Shard | undefined;
  readonly now: () => number;
  readonly onRequest?: (line: RequestLine) => void;
  /** Called with one line that the administrator should know although all went well. It has no line end. */
  readonly onWarning?: (text: string) => void;
}

export interface InstalledPolicy {
  readonly file: string;
  readonly policy: Policy;
  readonly bounds: Pick<TokenSources, 'boundTo' | 'reachOf'>;
  readonly defaults: GroupDefaults | undefined;
}

/** One of several Applications that print one folder, counted from 0 (docs/adr/0109). */
export type Shard = Readonly<{ index: number; of: number }>;

/** Checks a shard. @throws Failure exit 2: shards see each other by their Jobs alone, and `serve` finds them by their names */
export function refuseShard({ env, shard }: Pick<Settings, 'env' | 'shard'>, seesCluster: boolean): void {
  if (!shard) return;
  const { index, of } = shard;
  const refusal = (why: string): Failure => new Failure('GR-FLAG-28', 2, `print shard ${index}/${of}: ${why}.`);
  if (!seesCluster)
    throw refusal(
      'no cluster is looked at, and shards must see the Jobs of each other. Mount the service account token of gitea-runners, do not use --cluster off, or leave --shard out',
    );
  const name = env['ARGOCD_APP_NAME'] ?? '';
  if (name !== '' && !name.endsWith(`-${index}`))
    throw refusal(
      `the Application is called ${printable(name)}. Give it a name that ends with -${index}, and those of the other shards alike`,
    );
}

export function requestOptions<S extends GiteaSettings>(settings: S) {
  return { ...settings, deadlineMs: settings.timeoutMs };
}

/** Selects the cluster. Only the administrator sets these values, never a repository's author. */
export interface ClusterChoice {
  readonly cluster: ClusterMode;
  /** Path of a kubeconfig; absent: the service account of this pod, when it has one. */
  readonly kubeconfig?: string | undefined;
  /** Starts a program that the kubeconfig names for its login. Absent: such a kubeconfig is refused. */
  readonly logIn?: LogIn;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the cluster. Undefined: none is configured. @throws Failure (exit 1, 2) if it cannot be used */
export async function findCluster(choice: ClusterChoice): Promise<ClusterConfig | undefined> {
  const { cluster, kubeconfig, env, logIn } = choice;
  const config = await (cluster === 'off' || kubeconfig === undefined
    ? clusterConfig(cluster, env)
    : fromFile(kubeconfig, logIn));
  return config && { ...config, trackingLabel: env[TRACKING_SETTING] || undefined };
}

async function fromFile(kubeconfig: string, logIn: LogIn | undefined): Promise<ClusterConfig> {
  const { readKubeconfig } = await import('../clients/kubernetes/kubeconfig.ts');
  const { readOneDocument } = await import('../config/runnergroup/documents.ts');
  return await readKubeconfig(kubeconfig, readOneDocument, logIn);
}
