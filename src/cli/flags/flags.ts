/**
 * All flags. From this table follow: what commander reads and prints (`program.ts`), the environment variables (`flag.ts`), and the
 * tables in docs/commands.md (`packaging/flag-tables.ts`).
 *
 * To add a flag: add its entry here, use it with `flagValue('name', flags, io)`, and run `npm run generated`.
 */
import { DEFAULT_IMAGES } from '../../config/runnergroup/defaults.ts';
import type { Io } from '../../shared/io.ts';
import { readAllowedUrls } from '../../tasks/notify/allowed-urls.ts';
import { DEFAULT_BUDGET } from '../../tasks/sweep/budget.ts';
import { type CommandName, type Flag, readFlag, type ValueOf } from './flag.ts';
import { INIT_FLAGS } from './init-flags.ts';
import {
  readAddress,
  readBudget,
  readClusterMode,
  readCount,
  readDuration,
  readImage,
  readKind,
  readLease,
  readList,
  readSeconds,
  readSecretNames,
  readSecretsMode,
  readSpeed,
  readTrustedPath,
} from './readers.ts';
import { REPORT_FLAGS } from './report-flags.ts';
import { TRACING_FLAGS } from './tracing-flags.ts';

/** The arguments of the commands that read files. */
export const PATH = {
  of: ['generate', 'explain', 'validate', 'sweep'],
  variable: 'GITEA_RUNNERS_PATH',
  default: '.',
  help: 'files and folders with RunnerGroups; `-` is standard input',
  short: '-f',
  long: '--filename',
} as const;

/** Whether a command reads files. */
export function hasPaths(command: CommandName): boolean {
  return (PATH.of as readonly CommandName[]).includes(command);
}

const OWN_ACCOUNT = 'the service account of this pod';

/** The order is that of `--help` and of the manual. */
export const FLAGS = {
  recursive: {
    of: ['generate', 'explain', 'validate', 'sweep'],
    short: '-R',
    help: 'read folders with all below them',
  },
  secrets: {
    of: ['generate', 'explain', 'serve', 'sweep', 'doctor'],
    value: 'files|api',
    default: 'files',
    help: 'where the Secrets of RunnerGroups are read',
    more: '`files`: mounted below `--secrets-dir`. `api`: in the namespace of the group, through the Kubernetes API ([how](install.md#secrets-through-the-kubernetes-api)).',
    read: readSecretsMode,
  },
  secretsDir: {
    of: ['generate', 'explain', 'serve', 'sweep', 'doctor'],
    value: 'DIR',
    default: '/var/run/secrets/gitea-runners',
    help: 'where API tokens are mounted',
  },
  timeout: {
    of: ['generate', 'explain', 'serve', 'sweep', 'doctor', 'extend'],
    value: 'SECONDS',
    default: 20,
    help: 'time limit of a run; in serve and sweep, of each look and each deletion',
    helpIn: {
      generate: 'time limit of the run',
      explain: 'time limit of the run',
      doctor: 'time limit of the run',
      extend: 'time limit of the run',
      serve: 'time limit of each look and each deletion',
      sweep: 'time limit of each look and each deletion',
    },
    more: 'A plan that comes later is not printed (exit 1). Argo CD ends a plugin after 60 s.',
    read: readSeconds,
  },
  caFile: {
    of: ['generate', 'explain', 'serve', 'sweep', 'doctor'],
    value: 'FILE',
    help: 'PEM of a private CA for Gitea',
  },
  verbose: {
    of: ['generate', 'explain', 'serve', 'sweep', 'doctor'],
    short: '-v',
    help: 'print requests to stderr: method, path, status, time',
  },
  cluster: {
    of: ['generate', 'explain', 'sweep', 'doctor'],
    value: 'auto|off',
    default: 'auto',
    help: 'look at live Jobs and Pods when this runs in a cluster',
    more: '`auto`: when a service account token is mounted or a kubeconfig is given; then Kubernetes must answer. `off`: never.',
    read: readClusterMode,
  },
  kubeconfig: {
    of: ['generate', 'explain', 'serve', 'sweep', 'doctor', 'extend'],
    value: 'FILE',
    defaultNote: 'the service account of this pod; in explain, doctor and extend also that of kubectl',
    defaultIn: {
      generate: OWN_ACCOUNT,
      serve: OWN_ACCOUNT,
      sweep: OWN_ACCOUNT,
      explain: `${OWN_ACCOUNT}, else that of kubectl`,
      doctor: `${OWN_ACCOUNT}, else that of kubectl`,
      extend: `${OWN_ACCOUNT}, else that of kubectl`,
    },
    help: 'the cluster in which the runners run',
    more: 'The variable must hold an absolute path. In generate and serve it needs a token or a client certificate; the other commands also log in with the program that it names (`exec`).',
    read: readTrustedPath,
  },
  policy: {
    of: ['generate', 'explain', 'validate', 'serve', 'sweep', 'doctor'],
    value: 'FILE',
    defaultNote: 'none',
    help: 'what RunnerGroups may do: a RunnerPolicy',
    more: 'The variable must hold an absolute path. All fields: [policy.md](policy.md).',
    read: readTrustedPath,
  },
  runnerImage: {
    of: ['generate', 'explain', 'validate', 'serve'],
    value: 'IMAGE',
    defaultNote: DEFAULT_IMAGES.dind,
    help: 'image of runners in dind and host mode, for groups that name none',
    more: 'Best with its digest. Set it for the sidecar and for `serve` alike: the image is part of what names a runner.',
    read: readImage,
  },
  runnerImageRootless: {
    of: ['generate', 'explain', 'validate', 'serve'],
    value: 'IMAGE',
    defaultNote: DEFAULT_IMAGES['dind-rootless'],
    help: 'the same for dind-rootless mode',
    read: readImage,
  },
  dockerImage: {
    of: ['generate', 'explain', 'validate', 'serve'],
    value: 'IMAGE',
    defaultNote: 'docker 29.5.2 by digest',
    help: 'image of dockerd in dind mode',
    read: readImage,
  },
  argocdUrl: {
    of: ['serve'],
    value: 'URL',
    defaultNote: 'none, it is required',
    help: 'Argo CD API server',
  },
  argocdTokenFile: {
    of: ['serve'],
    value: 'FILE',
    default: '/var/run/secrets/argocd/token',
    help: 'token of an Argo CD account',
    more: 'The account needs `applications, get` and `applications, sync`. The file is read again before each wake.',
  },
  argocdCaFile: {
    of: ['serve'],
    value: 'FILE',
    help: 'PEM of the CA of Argo CD',
  },
  argocdNamespace: {
    of: ['explain', 'serve', 'doctor'],
    value: 'NAMESPACE',
    default: 'argocd',
    help: 'where Argo CD itself runs',
  },
  listen: {
    of: ['serve'],
    value: 'ADDRESS',
    default: ':8080',
    help: 'for Gitea webhooks, path /webhook',
    read: readAddress,
  },
  webhookSecretFile: {
    of: ['serve'],
    value: 'FILE',
    defaultNote: 'refuse every webhook',
    help: 'valid webhook secrets, one per line',
  },
  notifyFile: {
    of: ['serve'],
    value: 'FILE',
    defaultNote: 'none',
    help: 'YAML: what `spec.notify` is for RunnerGroups that have none',
    more: '[Notifications](notifications.md).',
    read: readTrustedPath,
  },
  notifyUrls: {
    of: ['serve'],
    value: 'LIST',
    defaultNote: 'none',
    help: 'webhooks of `spec.notify` may begin with these URLs, comma-separated',
    read: readAllowedUrls,
  },
  notifySecretFile: {
    of: ['serve'],
    value: 'FILE',
    defaultNote: 'do not sign',
    help: 'the secret that signs these webhooks',
  },
  slackTokenFile: {
    of: ['serve'],
    value: 'FILE',
    defaultNote: 'nothing is posted to Slack',
    help: 'bot token of a Slack app',
  },
  slackSigningSecretFile: {
    of: ['serve'],
    value: 'FILE',
    defaultNote: 'no buttons',
    help: 'signing secret of the Slack app: messages get the button "Keep 1 h longer"',
  },
  slackAppTokenFile: {
    of: ['serve'],
    value: 'FILE',
    defaultNote: 'no socket mode',
    help: 'app-level token of the Slack app: the button works without a way into the cluster',
  },
  metricsListen: {
    of: ['serve'],
    value: 'ADDRESS',
    default: ':9090',
    help: 'for /metrics, /healthz and /readyz',
    read: readAddress,
  },
  probeListen: {
    of: ['serve'],
    value: 'ADDRESS',
    default: ':8081',
    help: 'for /healthz and /readyz, nothing else',
    read: readAddress,
  },
  namespaces: {
    of: ['serve'],
    value: 'LIST',
    defaultNote: 'all',
    help: 'serve the RunnerGroups of these namespaces, comma-separated',
    read: readList,
  },
  lease: {
    of: ['serve'],
    value: 'NAMESPACE/NAME|off',
    defaultNote: 'gitea-runners-serve in the namespace of this pod',
    help: 'the Lease by which one of several replicas leads',
    more: '`off`: this replica always leads.',
    read: readLease,
  },
  poll: {
    of: ['serve'],
    value: 'SECONDS',
    default: 5,
    help: 'shortest time between two looks',
    read: readSeconds,
  },
  giteaRequests: {
    of: ['serve'],
    value: 'N',
    default: 1200,
    help: 'requests per minute to one Gitea, 60 to 60000',
    more: '[All groups share them](serve.md#a-good-guest).',
    read: readCount(60, 60_000),
  },
  wakes: {
    of: ['serve'],
    value: 'N',
    default: 4,
    help: 'Applications that are woken at the same time, 1 to 100',
    more: '[How many Argo CD can do](scale.md#advice).',
    read: readCount(1, 100),
  },
  ...TRACING_FLAGS,
  sweep: {
    of: ['serve'],
    help: 'delete dead registrations of our runners',
    more: '[Sweeps](#sweep) once a minute. The API token then needs write rights.',
  },
  registrationSecrets: {
    of: ['serve'],
    value: 'LIST',
    defaultNote: 'none',
    help: "names of Secrets that are kept filled with Gitea's registration token, comma-separated",
    more: '[How](install.md#registration-tokens-by-themselves). The API token then needs write rights.',
    read: readSecretNames,
  },
  once: {
    of: ['serve'],
    help: 'one pass, then exit: 0 when all is well',
  },
  for: {
    of: ['extend'],
    value: 'DURATION',
    default: '1h',
    help: 'how long the runner stays from now on, e.g. 90s, 30m, 1h30m; at most 24h',
    read: readDuration,
  },
  budget: {
    of: ['sweep'],
    value: 'N',
    default: DEFAULT_BUDGET,
    help: 'deletions per minute, 1 to 600',
    read: readBudget,
  },
  dryRun: {
    of: ['sweep'],
    help: 'only say what would be deleted, and why',
  },
  ...REPORT_FLAGS,
  json: {
    of: ['explain', 'sweep', 'version', 'doctor'],
    help: 'the same as `-o json`',
  },
  crd: {
    of: ['schema'],
    help: 'print the CustomResourceDefinition instead',
  },
  kind: {
    of: ['schema'],
    value: 'KIND',
    default: 'RunnerGroup',
    help: 'RunnerGroup, or RunnerPolicy for a policy file',
    read: readKind,
  },
  speed: {
    of: ['demo'],
    value: 'FACTOR',
    default: 1,
    help: 'how many times faster',
    read: readSpeed,
  },
  ...INIT_FLAGS,
} as const satisfies Readonly<Record<string, Flag>>;

type Flags = typeof FLAGS;
export type FlagName = keyof Flags;

/** Some flags as the command line gives them: those that it does not name are absent. */
export type GivenFlags<N extends FlagName> = {
  readonly [K in N]?: Flags[K] extends { readonly value: string } ? string : boolean;
};

/** The flags of a command as the command line gives them. */
export type FlagsOf<C extends CommandName> = GivenFlags<
  { [K in FlagName]: C extends Flags[K]['of'][number] ? K : never }[FlagName]
>;

/** The value of a flag: from the command line, else from its variable, else its default. @throws Failure exit 2 */
export function flagValue<N extends FlagName>(name: N, given: GivenFlags<N>, io: Pick<Io, 'env'>): ValueOf<Flags[N]> {
  return readFlag<Flags[N]>(name, FLAGS[name], given[name], io.env);
}

/** The flags of a command, in order. */
export function flagsOf(command: CommandName): readonly (readonly [string, Flag])[] {
  return Object.entries<Flag>(FLAGS).filter(([, { of }]) => of.includes(command));
}
