/**
 * All flags. What commander reads, the environment variables and the tables of docs/commands.md follow from this table.
 * To add a flag: add its entry, use it with `flagValue('name', flags, io)`, and run `npm run generated`.
 */
import { DEFAULT_IMAGES } from '../../config/runnergroup/group-schema.ts';
import { Failure } from '../../shared/failure.ts';
import { SHARD_SETTING } from '../../shared/installed/installed-names.ts';
import type { Io } from '../../shared/io.ts';
import { printable } from '../../shared/printable.ts';
import { readAllowedUrls } from '../../tasks/notify/allowed-urls.ts';
import { DEFAULT_BUDGET } from '../../tasks/sweep/choose.ts';
import { SAMPLERS } from '../../telemetry/tracing/span.ts';
import { type CommandName, type Flag, isOn, longName, type ValueOf, variableOf } from './flag.ts';
import * as readers from './readers.ts';

/** The arguments of the commands that read files. */
export const PATH = {
  commands: ['generate', 'explain', 'validate', 'sweep', 'report'],
  variable: 'GITEA_RUNNERS_PATH',
  default: '.',
  help: 'files and folders with RunnerGroups; `-` is standard input',
  short: '-f',
  long: '--filename',
} as const;

export function hasPaths(command: CommandName): boolean {
  return (PATH.commands as readonly CommandName[]).includes(command);
}

/** Commands that ask Gitea with the tokens of the installation, and those whose pods have the images of the installation. */
const ASKING = ['generate', 'explain', 'serve', 'sweep', 'report', 'doctor'] as const;
const PLANNING = ['generate', 'explain', 'validate', 'serve'] as const;
const TRACED = ['generate', 'serve'] as const;

const OF_RUN = 'time limit of the run';
const OF_LOOK = 'time limit of each look and each deletion';
const OWN = 'the service account of this pod';
const KUBECTL = `${OWN}, else that of kubectl`;
const NAMESPACE_READ = 'namespace of the RunnerGroups that are read from the cluster';

const IMAGE = { value: 'IMAGE', read: readers.readImage } as const;
const BASE_URL = { value: 'URL', read: readers.readBaseUrl } as const;
const ADDRESS = { value: 'ADDRESS', read: readers.readAddress } as const;
const ASKED = { defaultNote: 'asked', defaultIn: { import: 'what the files say' } } as const;
const TRUSTED_FILE = { value: 'FILE', read: readers.readTrustedPath } as const;

/** Formats that each command prints beside text for people. */
const OUTPUTS = {
  explain: ['json', 'wide'],
  validate: ['json', 'sarif', 'github', 'markdown'],
  sweep: ['json'],
  report: ['json', 'csv'],
  doctor: ['json'],
  version: ['json'],
  policy: ['junit'],
} as const satisfies Readonly<Partial<Record<CommandName, readonly string[]>>>;

/** `json, sarif or github` */
function anyOf(choices: readonly string[]): string {
  return choices.join(', ').replace(/, (\w+)$/, ' or $1');
}

type Row = Omit<Flag, 'commands'>;
/** A misspelt key of a row does not compile. */
type Only<F> = { readonly [K in keyof F]: { readonly [P in Exclude<keyof F[K], keyof Row>]: never } };

function flagsFor<const C extends readonly CommandName[], const F extends Readonly<Record<string, Row>>>(
  commands: C,
  flags: F & Only<F>,
) {
  const entries = Object.entries(flags).map(([name, flag]) => [name, { commands, ...flag }]);
  return Object.fromEntries(entries) as { readonly [K in keyof F]: F[K] & { readonly commands: C } };
}

/** All flags, in the order of `--help` and of the manual. */
export const FLAGS = {
  recursive: { commands: [...PATH.commands, 'policy'], short: '-R', help: 'read folders with all below them' },
  ...flagsFor(ASKING, {
    secrets: {
      value: 'files|api',
      default: 'files',
      help: 'source of the Secrets of RunnerGroups',
      more: '`files`: mounted below `--secrets-dir`. `api`: in the namespace of the group, through the Kubernetes API ([how](install.md#secrets-through-the-kubernetes-api)).',
      read: readers.readSecretsMode,
    },
    secretsDir: { value: 'DIR', default: '/var/run/secrets/gitea-runners', help: 'folder with the mounted API tokens' },
  }),
  timeout: {
    commands: ['generate', 'explain', 'validate', 'serve', 'sweep', 'report', 'doctor', 'extend'],
    value: 'SECONDS',
    default: 20,
    help: 'time limit of a run; in serve and sweep, of each look and each deletion',
    helpIn: {
      ...{ generate: OF_RUN, explain: OF_RUN, report: OF_RUN, doctor: OF_RUN, extend: OF_RUN },
      ...{ validate: 'time limit of the look at the cluster', serve: OF_LOOK, sweep: OF_LOOK },
    },
    more: 'A plan that comes later is not printed (exit 1). Argo CD ends a plugin after 60 s.',
    read: readers.readSeconds,
  },
  caFile: { commands: ASKING, value: 'FILE', help: 'PEM of a private CA for Gitea' },
  verbose: { commands: ASKING, short: '-v', help: 'print requests to stderr: method, path, status, time' },
  cluster: {
    commands: ['generate', 'explain', 'sweep', 'report', 'doctor'],
    value: 'auto|off',
    default: 'auto',
    help: 'look at live Jobs and Pods when this runs in a cluster',
    more: '`auto`: when a service account token is mounted or a kubeconfig is given; then Kubernetes must answer. `off`: never.',
    read: readers.readClusterMode,
  },
  kubeconfig: {
    commands: ['generate', 'explain', 'validate', 'serve', 'sweep', 'report', 'doctor', 'extend'],
    ...TRUSTED_FILE,
    defaultNote:
      'the service account of this pod; in explain, report, doctor and extend also that of kubectl; in validate none',
    defaultIn: {
      ...{ generate: OWN, serve: OWN, sweep: OWN },
      ...{ explain: KUBECTL, report: KUBECTL, doctor: KUBECTL, extend: KUBECTL, validate: 'none' },
    },
    help: 'the cluster in which the runners run',
    more: 'The variable must hold an absolute path. In generate and serve it needs a token or a client certificate; the other commands also log in with the program that it names (`exec`).',
  },
  policy: {
    commands: ['generate', 'explain', 'validate', 'serve', 'sweep', 'report', 'doctor', 'policy'],
    ...TRUSTED_FILE,
    defaultNote: 'none',
    help: 'limits on RunnerGroups: a RunnerPolicy',
    more: 'The variable must hold an absolute path. All fields: [policy.md](policy.md).',
  },
  ...flagsFor(PLANNING, {
    runnerImage: {
      ...IMAGE,
      defaultNote: DEFAULT_IMAGES.dind,
      help: 'image of runners in dind and host mode, for groups that name none',
      more: 'Best with its digest. Set it for the sidecar and for `serve` alike: the image is part of what names a runner.',
    },
    runnerImageRootless: {
      ...IMAGE,
      defaultNote: DEFAULT_IMAGES['dind-rootless'],
      help: 'the same for dind-rootless and buildkit mode',
    },
    dockerImage: { ...IMAGE, defaultNote: 'docker 29.5.2 by digest', help: 'image of dockerd in dind mode' },
    buildkitImage: {
      ...IMAGE,
      defaultNote: 'BuildKit 0.34.2, rootless',
      help: 'image of BuildKit in buildkit mode',
      more: 'It must be a rootless one.',
    },
    app: {
      ...TRUSTED_FILE,
      defaultNote: 'none',
      help: "a platform's own cdk8s app, as CommonJS",
      more: '[How](platform.md). The variable must hold an absolute path, and in a sync the file may not lie in the repository. Set it for the sidecar and for `serve` alike.',
    },
  }),
  looks: {
    commands: ['generate'],
    value: 'URL',
    defaultNote: 'ask Gitea',
    help: '`serve`, which is asked for its looks before Gitea is',
    more: '[How](serve.md#one-look-for-many-applications). http without a path.',
    read: readers.readLooksUrl,
  },
  shard: {
    commands: ['generate'],
    value: 'K/N',
    standard: [`ARGOCD_ENV_${SHARD_SETTING}`],
    defaultNote: 'all of the folder',
    help: 'print only part K of N of the folder, e.g. 0/4: one of N Applications',
    more: '[How](scale.md#shards). It is the only variable that an Application may set (`spec.source.plugin.env`). It needs access to the cluster.',
    read: readers.readShard,
  },
  ...flagsFor(['serve'], {
    looksListen: {
      ...ADDRESS,
      defaultNote: 'give no looks',
      help: 'for `generate`, which is given looks here',
      more: '[How](serve.md#one-look-for-many-applications).',
    },
    argocdUrl: { value: 'URL', defaultNote: 'none, it is required', help: 'Argo CD API server' },
    argocdTokenFile: {
      value: 'FILE',
      default: '/var/run/secrets/argocd/token',
      help: 'token of an Argo CD account',
      more: 'The account needs `applications, get` and `applications, sync`. The file is read again before each wake.',
    },
    argocdCaFile: { value: 'FILE', help: 'PEM of the CA of Argo CD' },
  }),
  argocdNamespace: {
    commands: ['explain', 'serve', 'report', 'doctor'],
    value: 'NAMESPACE',
    default: 'argocd',
    help: 'namespace of Argo CD itself',
    read: readers.readNamespace,
  },
  ...flagsFor(['serve'], {
    listen: { ...ADDRESS, default: ':8080', help: 'for Gitea webhooks, path /webhook' },
    webhookSecretFile: {
      value: 'FILE',
      defaultNote: 'refuse every webhook',
      help: 'valid webhook secrets, one per line',
    },
    notifyFile: {
      ...TRUSTED_FILE,
      defaultNote: 'none',
      help: 'YAML: what `spec.notify` is for RunnerGroups that have none',
      more: '[Notifications](notifications.md).',
    },
    notifyUrls: {
      value: 'LIST',
      defaultNote: 'none',
      help: 'webhooks of `spec.notify` may begin with these URLs, comma-separated',
      read: readAllowedUrls,
    },
    notifySecretFile: { value: 'FILE', defaultNote: 'do not sign', help: 'the secret that signs these webhooks' },
    slackTokenFile: { value: 'FILE', defaultNote: 'nothing is posted to Slack', help: 'bot token of a Slack app' },
    slackSigningSecretFile: {
      value: 'FILE',
      defaultNote: 'no buttons',
      help: 'signing secret of the Slack app: messages get the button "Keep 1 h longer"',
    },
    slackAppTokenFile: {
      value: 'FILE',
      defaultNote: 'no socket mode',
      help: 'app-level token of the Slack app: the button works without a way into the cluster',
    },
    pageListen: {
      ...ADDRESS,
      defaultNote: 'no page',
      help: 'for the page for developers',
      more: '[The page](page.md). It needs `--page-url`, `--page-gitea` and `--page-client-id`.',
    },
    pageUrl: {
      value: 'URL',
      defaultNote: 'none',
      help: 'the page, as browsers reach it',
      more: 'https, or http on `localhost`, without a path.',
      read: readers.readPageUrl,
    },
    pageGitea: { ...BASE_URL, defaultNote: 'none', help: 'Gitea whose people sign in, as RunnerGroups write it' },
    pageGiteaPublic: { ...BASE_URL, defaultNote: 'as `--page-gitea`', help: 'the same Gitea, as browsers reach it' },
    pageClientId: { value: 'ID', defaultNote: 'none', help: 'id of the OAuth2 application in Gitea' },
    pageClientSecretFile: {
      value: 'FILE',
      default: '/var/run/secrets/gitea-runners-serve/page-client-secret',
      help: 'secret of the OAuth2 application',
    },
    pageKeyFile: {
      value: 'FILE',
      default: '/var/run/secrets/gitea-runners-serve/page-key',
      help: 'keys of the cookies, one per line',
      more: 'The first line encrypts, all decrypt. A line has at least 32 characters.',
    },
    pageLogUrl: {
      value: 'URL',
      defaultNote: 'no link',
      help: 'where the log of a pod is, with {namespace}, {pod}, {node} and {runner}',
      read: readers.readLogUrl,
    },
    metricsListen: { ...ADDRESS, default: ':9090', help: 'for /metrics, /healthz and /readyz' },
    probeListen: { ...ADDRESS, default: ':8081', help: 'for /healthz and /readyz, nothing else' },
    namespaces: {
      value: 'LIST',
      defaultNote: 'all',
      help: 'serve the RunnerGroups of these namespaces, comma-separated',
      read: readers.readNamespaces,
    },
    lease: {
      value: 'NAMESPACE/NAME|off',
      defaultNote: 'gitea-runners-serve in the namespace of this pod',
      help: 'the Lease by which one of several replicas leads',
      more: '`off`: this replica always leads.',
      read: readers.readLease,
    },
    poll: { value: 'SECONDS', default: 5, help: 'shortest time between two looks', read: readers.readSeconds },
    giteaRequests: {
      value: 'N',
      default: 1200,
      help: 'requests per minute to one Gitea, 60 to 60000',
      more: '[All groups share them](serve.md#requests-to-gitea).',
      read: readers.readCount(60, 60_000),
    },
    wakes: {
      value: 'N',
      default: 4,
      help: 'Applications that are woken at the same time, 1 to 100',
      more: '[How many Argo CD can do](scale.md#advice).',
      read: readers.readCount(1, 100),
    },
  }),
  // The standard OpenTelemetry variables count where ours are not set.
  ...flagsFor(TRACED, {
    tracingEndpoint: {
      value: 'URL',
      standard: ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
      defaultNote: 'trace nothing',
      help: 'OpenTelemetry collector, OTLP over HTTP: spans are sent there',
      more: '[Tracing](tracing.md). `/v1/traces` is added.',
    },
    tracingInsecure: {
      standard: ['OTEL_EXPORTER_OTLP_TRACES_INSECURE', 'OTEL_EXPORTER_OTLP_INSECURE'],
      help: 'the endpoint may be http',
    },
    tracingSampler: {
      value: 'SAMPLER',
      standard: ['OTEL_TRACES_SAMPLER'],
      default: 'parentbased_always_on',
      help: `which traces are kept: ${SAMPLERS.join(', ')}`,
      read: readers.readSampler,
    },
    tracingSamplerArg: {
      value: 'RATIO',
      standard: ['OTEL_TRACES_SAMPLER_ARG'],
      default: 1,
      help: 'share of the traces that the ratio samplers keep, 0 to 1',
      read: readers.readRatio,
    },
    tracingResourceAttributes: {
      value: 'LIST',
      standard: ['OTEL_RESOURCE_ATTRIBUTES'],
      defaultNote: 'none',
      help: `about the process, on each span: KEY=VALUE, comma-separated, at most ${readers.MOST_ATTRIBUTES}`,
      read: readers.readAttributes,
    },
  }),
  ...flagsFor(['serve'], {
    sweep: {
      help: 'delete dead registrations of our runners',
      more: '[Sweeps](#sweep) once a minute. The API token then needs write rights.',
    },
    registrationSecrets: {
      value: 'LIST',
      defaultNote: 'none',
      help: "names of Secrets that are kept filled with Gitea's registration token, comma-separated",
      more: '[How](install.md#registration-tokens-by-themselves). The API token then needs write rights.',
      read: readers.readSecretNames,
    },
    once: { help: 'one pass, then exit: 0 when all is well' },
  }),
  for: {
    commands: ['extend'],
    value: 'DURATION',
    default: '1h',
    help: 'how long the runner stays from now on, e.g. 90s, 30m, 1h30m; at most 24h',
    read: readers.readDuration,
  },
  ...flagsFor(['sweep'], {
    budget: { value: 'N', default: DEFAULT_BUDGET, help: 'deletions per minute, 1 to 600', read: readers.readBudget },
  }),
  ...flagsFor(['report'], {
    since: {
      value: 'TIME',
      default: '7d',
      help: 'how far back, e.g. 24h, 7d or 30d; from 1m to 90d',
      read: readers.readSince,
    },
    by: {
      value: 'WHAT',
      default: 'group',
      help: 'kind of each row: group, organization, repository or workflow',
      choices: { report: readers.DIMENSIONS },
      read: readers.readDimension,
    },
    prices: {
      ...TRUSTED_FILE,
      defaultNote: 'no costs',
      help: 'YAML with prices per hour',
      more: '[Prices](report.md#prices).',
    },
  }),
  dryRun: { commands: ['sweep'], help: 'only say what would be deleted, and why' },
  // Flags that select and format an answer or a report.
  output: {
    commands: ['explain', 'validate', 'sweep', 'report', 'doctor', 'version', 'policy'],
    short: '-o',
    value: 'FORMAT',
    defaultNote: 'text',
    help: 'how to print: json; explain also wide; validate also sarif, github or markdown; report also csv; policy test junit',
    helpIn: Object.fromEntries(Object.entries(OUTPUTS).map(([name, all]) => [name, `how to print: ${anyOf(all)}`])),
    more: '`wide` adds columns and cuts nothing. `sarif` is SARIF 2.1.0. `github` prints annotations, which Gitea Actions shows too. `markdown` is a comment for a pull request. The variable counts for the commands that have its format.',
    choices: OUTPUTS,
  },
  namespace: {
    commands: ['explain', 'report', 'doctor', 'extend'],
    short: '-n',
    value: 'NAMESPACE',
    defaultNote: "from the kubeconfig's context",
    help: `${NAMESPACE_READ}; in extend, of the runner`,
    helpIn: {
      ...{ explain: NAMESPACE_READ, report: NAMESPACE_READ, doctor: NAMESPACE_READ },
      extend: 'namespace of the runner',
    },
    read: readers.readNamespace,
  },
  allNamespaces: {
    commands: ['explain', 'report', 'doctor'],
    short: '-A',
    help: 'read the RunnerGroups of all namespaces from the cluster',
  },
  group: {
    commands: ['explain', 'policy'],
    value: 'NAME',
    defaultNote: 'all',
    help: 'only this RunnerGroup, as NAME or NAMESPACE/NAME',
  },
  ...flagsFor(['explain'], {
    repository: {
      value: 'OWNER/NAME',
      defaultNote: 'all',
      help: 'only jobs of this repository',
      read: readers.readRepository,
    },
    state: {
      value: 'LIST',
      defaultNote: 'all',
      help: 'only jobs in these states, comma-separated: unserved, held, starting, blocked, running',
      read: readers.readStates,
    },
    watch: { short: '-w', help: 'look again every 5 s until Ctrl-C' },
    exitCode: { help: 'end with exit code 4 when a job that is shown is unserved' },
  }),
  against: {
    commands: ['validate'],
    value: 'PATH',
    defaultNote: 'no comparison',
    help: 'say what happens to runners when PATH becomes these RunnerGroups',
    more: '[Before a merge](commands.md#what-a-merge-does).',
  },
  show: {
    commands: ['validate'],
    help: 'print what the policy says of each RunnerGroup, as `policy explain` does',
    more: 'It needs `--policy`.',
  },
  strict: { commands: ['validate'], help: 'warnings are errors: they end with exit code 2' },
  json: { commands: ['explain', 'sweep', 'version', 'doctor'], help: 'the same as `-o json`' },
  pre: { commands: ['doctor'], help: 'check before the installation what it needs' },
  crd: { commands: ['schema'], help: 'print the CustomResourceDefinition instead' },
  kind: {
    commands: ['schema'],
    value: 'KIND',
    default: 'RunnerGroup',
    help: 'RunnerGroup, or RunnerPolicy for a policy file',
    read: readers.readKind,
  },
  speed: { commands: ['demo'], value: 'FACTOR', default: 1, help: 'how many times faster', read: readers.readSpeed },
  // Flags with the values of a new installation.
  ...flagsFor(['init', 'import'], {
    gitea: { value: 'URL', ...ASKED, help: 'Gitea, as pods of the cluster reach it' },
    scope: {
      value: 'global|org|user|repo',
      default: 'org',
      defaultIn: { import: 'what the files say, or org with --owner' },
      help: 'scope of the CI jobs that get runners',
    },
    owner: { value: 'NAME', ...ASKED, help: 'the organization, the user, or `owner/name` of the repository' },
  }),
  groupName: { commands: ['init'], value: 'NAME', default: 'ci', help: 'name of the RunnerGroup' },
  groupNamespace: {
    commands: ['init', 'import'],
    value: 'NAMESPACE',
    default: 'runners',
    defaultIn: { import: 'that of the files, else runners' },
    help: 'namespace of its runners',
  },
  ...flagsFor(['init'], {
    cap: { value: 'N', default: 10, help: 'how many runners at most' },
    containerMode: {
      value: 'MODE',
      default: 'dind-rootless',
      help: 'where docker comes from: dind-rootless, dind, buildkit for image builds only, or host for no docker',
      choices: { init: ['dind-rootless', 'dind', 'buildkit', 'host'] },
    },
    registration: {
      value: 'WAY',
      default: 'pod',
      help: 'who registers the runners: pod, serve, or bound for serve and one repository each',
      choices: { init: ['pod', 'serve', 'bound'] },
    },
    git: { value: 'URL', defaultNote: 'asked', help: 'git repository with the RunnerGroups, as Argo CD reaches it' },
    gitPath: { value: 'FOLDER', default: 'groups', help: 'folder of the RunnerGroups in it' },
    secretTool: {
      value: 'TOOL',
      default: 'kubectl',
      help: 'what makes the Secrets: kubectl, external-secrets or sealed-secrets',
      choices: { init: readers.SECRET_TOOLS },
      read: readers.readSecretTool,
    },
    secretStore: { value: 'NAME', default: 'gitea-runners', help: 'ClusterSecretStore of External Secrets' },
    webhookUrl: {
      value: 'URL',
      default: 'http://gitea-runners.argocd.svc/webhook',
      help: 'where Gitea reaches `serve`',
    },
    force: { help: 'write over files that are there' },
  }),
} as const satisfies Readonly<Record<string, Flag>>;

type Flags = typeof FLAGS;
export type FlagName = keyof Flags;

/** Flags as the command line gives them. Flags that it does not name are absent. */
export type GivenFlags<N extends FlagName> = {
  readonly [K in N]?: Flags[K] extends { readonly value: string } ? string : boolean;
};

export type FlagsOf<C extends CommandName> = GivenFlags<
  { [K in FlagName]: C extends Flags[K]['commands'][number] ? K : never }[FlagName]
>;

/** The value of a flag: from the command line, else from its variable, else its default. @throws Failure exit 2 */
export function flagValue<N extends FlagName>(name: N, flags: GivenFlags<N>, io: Pick<Io, 'env'>): ValueOf<Flags[N]>;
export function flagValue(name: FlagName, flags: GivenFlags<FlagName>, { env }: Pick<Io, 'env'>): unknown {
  const flag: Flag = FLAGS[name];
  const commandLineValue = flags[name];
  // An empty variable counts as not set.
  const ownVariable = variableOf(name);
  const variable = env[ownVariable] ? ownVariable : (flag.standard?.find((other) => env[other]) ?? ownVariable);
  const fromEnv = env[variable] || undefined;
  if (flag.value === undefined) return commandLineValue ?? isOn(fromEnv, variable);
  const text = commandLineValue ?? fromEnv ?? flag.default;
  if (text === undefined || !flag.read) return text;
  const isVariable = commandLineValue === undefined && fromEnv !== undefined;
  return flag.read(String(text), { name: isVariable ? variable : longName(name), isVariable });
}

export function flagsOf(command: CommandName): readonly (readonly [string, Flag])[] {
  return Object.entries<Flag>(FLAGS).filter(([, { commands }]) => commands.includes(command));
}

type PrintingCommand = keyof typeof OUTPUTS;
type OutputOf<C extends PrintingCommand> = (typeof OUTPUTS)[C][number];

/** Returns the format of `-o`. Undefined: none. @throws Failure exit 2 if the command does not print this format */
export function askedOutput<C extends PrintingCommand>(
  command: C,
  givenFlags: GivenFlags<'output'>,
  io: Pick<Io, 'env'>,
): OutputOf<C> | undefined {
  const text = flagValue('output', givenFlags, io);
  if (text === undefined) return undefined;
  const outputs: readonly OutputOf<C>[] = OUTPUTS[command];
  const output = outputs.find((each) => each === text);
  if (output !== undefined) return output;
  // A variable is set once for all commands.
  if (givenFlags.output === undefined && Object.values(OUTPUTS).some((each: readonly string[]) => each.includes(text)))
    return undefined;
  const name = givenFlags.output === undefined ? variableOf('output') : longName('output');
  const message = `read ${name}: ${command} prints ${anyOf(outputs)}, not "${printable(text)}". Leave it out for text.`;
  throw new Failure('GR-FLAG-16', 2, message);
}

/** True if a command with text and JSON should print JSON. @throws Failure exit 2 for another format */
export function isJson(command: PrintingCommand, givenFlags: GivenFlags<'output' | 'json'>, io: Pick<Io, 'env'>) {
  return askedOutput(command, givenFlags, io) === 'json' || flagValue('json', givenFlags, io);
}
