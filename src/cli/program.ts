/** Names, flags and help of all commands, for commander. Knows no command's code: that is loaded when it is called (`src/cli.ts`). */
import { Command, Option } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import type { ServeFlags } from './serve.ts';
import type { LookFlags, PathFlags } from './settings.ts';
import type { SweepFlags } from './sweep.ts';

/** What each command does with its arguments. */
export interface Commands {
  readonly generate: (paths: string[], flags: LookFlags & PathFlags) => Promise<void>;
  readonly explain: (paths: string[], flags: LookFlags & PathFlags & { readonly json?: boolean }) => Promise<void>;
  readonly serve: (flags: ServeFlags) => Promise<void>;
  readonly sweep: (paths: string[], flags: SweepFlags) => Promise<void>;
  readonly validate: (paths: string[], flags: PathFlags) => Promise<void>;
  readonly schema: (flags: { readonly crd?: boolean }) => Promise<void>;
  readonly demo: (flags: { readonly speed: string }) => Promise<void>;
}

function withPaths(command: Command): Command {
  return command
    .argument('[PATH...]', 'files and folders with RunnerGroups (default: GITEA_RUNNERS_PATH, else ".")')
    .addOption(new Option('-R, --recursive', 'read folders with all below them (env: GITEA_RUNNERS_RECURSIVE)'));
}

function withLook(command: Command): Command {
  return withLookFlags(withPaths(command))
    .addOption(
      new Option(
        '--cluster <auto|off>',
        'look at live Jobs and Pods when this runs in a cluster (env: GITEA_RUNNERS_CLUSTER; default: auto)',
      ),
    )
    .addOption(
      new Option(
        '--kubeconfig <FILE>',
        'of the cluster of the runners (env: GITEA_RUNNERS_KUBECONFIG; default: the service account of this pod)',
      ),
    );
}

function withLookFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--secrets-dir <DIR>',
        'where API tokens are mounted (env: GITEA_RUNNERS_SECRETS_DIR; default: /var/run/secrets/gitea-runners)',
      ),
    )
    .addOption(new Option('--timeout <SECONDS>', 'for everything (env: GITEA_RUNNERS_TIMEOUT; default: 20)'))
    .addOption(new Option('--ca-file <FILE>', 'PEM of a private CA for Gitea (env: GITEA_RUNNERS_CA_FILE)'))
    .addOption(new Option('-v, --verbose', 'print requests to stderr (env: GITEA_RUNNERS_VERBOSE)'));
}

const EXIT_CODES = `
Exit codes: 0 good, also when no runner is needed; 1 Gitea, cluster or a file failed; 2 bad input; 3 refused.
On any code but 0 stdout is empty.`;

/** The program; its actions are `commands`. Throws `CommanderError` instead of ending the process. */
export function makeProgram(commands: Commands): Command {
  const program = new Command('gitea-runners')
    .description('Gitea Actions runners from zero, from Git, through Argo CD.')
    .version(packageJson.version)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();

  withLook(program.command('generate'))
    .description('print one Kubernetes Job for each runner that is needed right now')
    .addHelpText(
      'after',
      `
Examples:
  gitea-runners generate                       what Argo CD runs: RunnerGroups of the current folder
  gitea-runners generate groups/ | kubectl diff -f -
  GITEA_URL=https://gitea.example.com GITEA_TOKEN=… gitea-runners generate ci.yaml
${EXIT_CODES}`,
    )
    .action(commands.generate);

  withLook(program.command('explain'))
    .description('say for every queued job what happens to it, and why')
    .option('--json', 'the same as JSON')
    .addHelpText(
      'after',
      `
Examples:
  gitea-runners explain                        why has my job no runner?
  gitea-runners explain --json | jq '.jobs[] | select(.verdict == "held")'
${EXIT_CODES}`,
    )
    .action(commands.explain);

  withLookFlags(
    program
      .command('serve')
      .description('wake Argo CD whenever the runners that are needed change; write status; serve metrics')
      .addOption(new Option('--argocd-url <URL>', 'Argo CD API server (env: GITEA_RUNNERS_ARGOCD_URL)'))
      .addOption(
        new Option(
          '--argocd-token-file <FILE>',
          'token of an Argo CD account (env: GITEA_RUNNERS_ARGOCD_TOKEN_FILE; default: /var/run/secrets/argocd/token)',
        ),
      )
      .addOption(new Option('--argocd-ca-file <FILE>', 'PEM of its CA (env: GITEA_RUNNERS_ARGOCD_CA_FILE)'))
      .addOption(
        new Option(
          '--argocd-namespace <NAMESPACE>',
          "Argo CD's own namespace (env: GITEA_RUNNERS_ARGOCD_NAMESPACE; default: argocd)",
        ),
      )
      .addOption(
        new Option(
          '--listen <ADDRESS>',
          'for Gitea webhooks, path /webhook (env: GITEA_RUNNERS_LISTEN; default: :8080)',
        ),
      )
      .addOption(
        new Option(
          '--webhook-secret-file <FILE>',
          'valid webhook secrets, one per line (env: GITEA_RUNNERS_WEBHOOK_SECRET_FILE; default: accept none)',
        ),
      )
      .addOption(
        new Option(
          '--metrics-listen <ADDRESS>',
          'for /metrics, /healthz and /readyz (env: GITEA_RUNNERS_METRICS_LISTEN; default: :9090)',
        ),
      )
      .addOption(
        new Option(
          '--probe-listen <ADDRESS>',
          'for /healthz and /readyz, nothing else (env: GITEA_RUNNERS_PROBE_LISTEN; default: :8081)',
        ),
      )
      .addOption(
        new Option(
          '--kubeconfig <FILE>',
          'of the destination cluster (env: GITEA_RUNNERS_KUBECONFIG; default: the service account of this pod)',
        ),
      )
      .addOption(
        new Option('--namespaces <LIST>', 'serve these, comma-separated (env: GITEA_RUNNERS_NAMESPACES; default: all)'),
      )
      .addOption(
        new Option(
          '--lease <NAMESPACE/NAME|off>',
          'of several replicas one leads (env: GITEA_RUNNERS_LEASE; default: gitea-runners-serve in the own namespace)',
        ),
      )
      .addOption(new Option('--poll <SECONDS>', 'shortest time between looks (env: GITEA_RUNNERS_POLL; default: 5)'))
      .addOption(new Option('--sweep', 'delete dead registrations of our runners (env: GITEA_RUNNERS_SWEEP)'))
      .option('--once', 'one pass, then exit: 0 when all is well'),
  )
    .addHelpText(
      'after',
      `
Examples:
  gitea-runners serve --argocd-url https://argocd-server.argocd.svc
  gitea-runners serve --once --kubeconfig ~/.kube/config --argocd-url https://argocd.example.com \\
    --argocd-token-file token

Exit codes: 0 ended by a signal, with --once: all is well; 1 something failed; 2 bad flags.`,
    )
    .action(commands.serve);

  withLook(program.command('sweep'))
    .description('delete dead registrations of our runners in Gitea')
    .addOption(new Option('--budget <N>', 'deletions per minute (env: GITEA_RUNNERS_BUDGET; default: 60)'))
    .addOption(new Option('--dry-run', 'only say what would be deleted, and why (env: GITEA_RUNNERS_DRY_RUN)'))
    .option('--json', 'the same as JSON')
    .addHelpText(
      'after',
      `
Deleted are ephemeral runners with a name of these RunnerGroups that are offline at two looks 75 s apart, without a CI job in
progress and without a Job in Kubernetes that is not finished. --timeout counts for each look and each deletion.

Examples:
  gitea-runners sweep --dry-run                what is dead, and why the others stay
  gitea-runners sweep --kubeconfig ~/.kube/config groups/
  gitea-runners sweep --json | jq '.registrations[] | select(.outcome.is == "deleted") | .name'

Exit codes: 0 good, also when nothing is dead; 1 Gitea, cluster or a file failed; 2 bad input, or Kubernetes cannot be looked at;
3 refused. On any code but 0 stdout is empty.`,
    )
    .action(commands.sweep);

  withPaths(program.command('validate'))
    .description('check RunnerGroups without asking any server; prints every error')
    .addHelpText(
      'after',
      `
Examples:
  gitea-runners validate
  gitea-runners validate -R clusters/ && git push
${EXIT_CODES}`,
    )
    .action(commands.validate);

  program
    .command('schema')
    .description('print the JSON Schema of a RunnerGroup, for editors')
    .option('--crd', 'print the CustomResourceDefinition instead')
    .addHelpText(
      'after',
      `
Examples:
  gitea-runners schema > runnergroup.schema.json
  gitea-runners schema --crd | kubectl apply -f -`,
    )
    .action(commands.schema);

  program
    .command('demo')
    .description(
      'the whole story on this machine, with a Gitea simulator: a queue appears, runners come, take jobs, go',
    )
    .option('--speed <FACTOR>', 'how many times faster', '1')
    .addHelpText('after', '\nExamples:\n  gitea-runners demo\n  gitea-runners demo --speed 3')
    .action(commands.demo);

  return program;
}
