/** The commands and their help, for commander. It does not read the environment: commander 14 takes `false` for "on". */
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Io } from '../../shared/io.ts';
import { splitIntoLines } from '../../shared/table.ts';
import { COMMANDS, type CommandName, type Flag, helpOf, longName, variableOf } from './flag.ts';
import { flagsOf, hasPaths, PATH } from './flags.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const HELP: Readonly<Record<CommandName, { readonly description: string; readonly after: string }>> = {
  generate: {
    description: 'print one Kubernetes Job for each runner that is needed right now',
    after: `
Examples:
  gitea-runners generate                       what Argo CD runs: RunnerGroups of the current folder
  gitea-runners generate groups/ | kubectl diff -f -
  GITEA_URL=https://gitea.example.com GITEA_TOKEN=… gitea-runners generate ci.yaml

Exit codes: 0 good, also when no runner is needed; 1 Gitea, cluster or a file failed; 2 bad input; 3 refused. On any code but 0 stdout is empty.`,
  },
  explain: {
    description: 'say for every queued job what happens to it, and why',
    after: `
Examples:
  gitea-runners explain                        why has my job no runner?
  gitea-runners explain acme/api#8             run 8 of a repository: cause, evidence, what to do
  gitea-runners explain -A --watch             all groups of the cluster, again and again
  gitea-runners explain --state unserved --exit-code
  kubectl -n argocd exec deploy/gitea-runners -- gitea-runners explain
  gitea-runners explain -o json | jq '.jobs[] | select(.state == "unserved")'

Exit codes: 0 good; 1 Gitea, cluster or a file failed; 2 bad input; 3 refused; with --exit-code 4: a job is unserved. On codes 1 to 3 stdout is empty.`,
  },
  validate: {
    description: 'check RunnerGroups without asking any server; prints every error, and what a merge does to runners',
    after: `
Examples:
  gitea-runners validate
  gitea-runners validate -R clusters/ && git push
  gitea-runners validate --strict -o sarif > runnergroups.sarif
  gitea-runners validate --against ../main/groups groups/     what a merge does to runners

Exit codes: 0 valid; 2 a RunnerGroup is not valid, or there is none; 3 the policy denies one. With --strict a warning is 2. With -o the report is on stdout, whatever the exit code.`,
  },
  serve: {
    description: 'wake Argo CD whenever the runners that are needed change; write status; serve metrics',
    after: `
Examples:
  gitea-runners serve --argocd-url https://argocd-server.argocd.svc
  gitea-runners serve --once --kubeconfig ~/.kube/config --argocd-url https://argocd.example.com \\
    --argocd-token-file token

Exit codes: 0 ended by a signal, with --once: all is well; 1 something failed; 2 bad flags.`,
  },
  sweep: {
    description: 'delete dead registrations of our runners in Gitea',
    after: `
A registration is deleted when its runner is ephemeral, has a name of these RunnerGroups, and at two looks 75 s apart is offline, has no CI job in progress and has no unfinished Job in Kubernetes.

Examples:
  gitea-runners sweep --dry-run                what is dead, and why the others stay
  gitea-runners sweep --kubeconfig ~/.kube/config groups/
  gitea-runners sweep -o json | jq '.registrations[] | select(.outcome.is == "deleted") | .name'

Exit codes: 0 good, also when nothing is dead; 1 Gitea, cluster or a file failed; 2 bad input, or Kubernetes cannot be looked at;
3 refused. On any code but 0 stdout is empty.`,
  },
  report: {
    description: 'say what ran, how long it waited, and what it cost',
    after: `
Figures are those of CI jobs that ended in the period, from Gitea's history and from the Jobs that Kubernetes still shows. ≥ before a figure: Kubernetes shows the runners of some CI jobs no more, so their start-up is missing.

Examples:
  gitea-runners report                         the last 7 days, by RunnerGroup
  gitea-runners report -A --by repository --since 30d
  gitea-runners report --by workflow --prices prices.yaml -o csv > usage.csv
  gitea-runners report -o json | jq '.rows[] | select(.failed > 0) | .name'

Exit codes: 0 good, also when the history is not whole (isWhole in -o json and csv); 1 Gitea, cluster or a file failed; 2 bad input;
3 refused. On any code but 0 stdout is empty.`,
  },
  extend: {
    description: 'make a runner whose CI job failed stay longer for a look',
    after: `
The plan reads the new time at the next sync. A runner stays at most 24 hours after the failure. To end it sooner, delete its Job.

Examples:
  gitea-runners extend ci-7-1-9c31e0aa-x2x4z --for 1h -n runners
  gitea-runners extend job/ci-7-1-9c31e0aa --for 30m

Exit codes: 0 good, also when it stays longer already; 1 there is no such pod or Job, or the cluster failed; 2 bad input, or it is no runner that stays. On any code but 0 stdout is empty.`,
  },
  policy: {
    description: 'test a policy, explain what it says of RunnerGroups, or print one to begin with; asks no server',
    after: `
Examples:
  gitea-runners policy init shared > policy.yaml     open, shared or hostile
  gitea-runners policy explain --policy policy.yaml groups/
  gitea-runners policy test --policy policy.yaml cases/
  gitea-runners policy test --policy policy.yaml -o junit cases/ > policy.xml

Exit codes: 0 good, of explain also when a group is denied; 1 a case failed; 2 bad input: no policy, no RunnerGroup, no case.`,
  },
  schema: {
    description: 'print the JSON Schema of a RunnerGroup, for editors',
    after: `
Examples:
  gitea-runners schema > runnergroup.schema.json
  gitea-runners schema --crd | kubectl apply -f -`,
  },
  demo: {
    description:
      'the whole story on this machine, with a Gitea simulator: a queue appears, runners come, take jobs, go',
    after: '\nExamples:\n  gitea-runners demo\n  gitea-runners demo --speed 3',
  },
  init: {
    description: 'write a RunnerGroup, an Application, and a script for Secrets and webhook; applies nothing',
    after: `
What no flag says is asked on a terminal.

Examples:
  gitea-runners init                           asks, and writes into the current folder
  gitea-runners init new/ --gitea https://gitea.example.com --owner acme --git https://gitea.example.com/ops/runners.git
  gitea-runners init --scope repo --owner acme/web --container-mode host

Exit codes: 0 good; 2 bad answers, or a file is there already (--force).`,
  },
  import: {
    description:
      'make RunnerGroups of objects of the operator or of KEDA, of anything with the pod of a runner, or of its config.yaml',
    after: `
It prints RunnerGroups. What could not be carried over stands above each as a comment. It asks no server and changes none.

Examples:
  gitea-runners import act-runner.yaml --owner acme > groups/ci.yaml
  kubectl -n ci get deployment act-runner -o yaml | gitea-runners import - --scope global
  kubectl get runnergroups -A -o yaml | gitea-runners import -

Exit codes: 0 good; 2 a file cannot be read, nothing was found, or the result would not be valid. Then stdout is empty.`,
  },
  doctor: {
    description: 'check a whole installation: what is good, what is not, and how to mend it; changes nothing',
    after: `
Examples:
  gitea-runners doctor                         the cluster of kubectl's current context
  gitea-runners doctor --kubeconfig runners.kubeconfig -n runners
  gitea-runners doctor -o json | jq '.findings[] | select(.is == "bad")'

Exit codes: 0 nothing is bad; 1 something is, nothing could be looked at, or the cluster does not answer; 2 there is no cluster to look at.`,
  },
  version: {
    description: 'print the version',
    after: '\nExamples:\n  gitea-runners version\n  gitea-runners version -o json',
  },
  completion: {
    description: 'print a script that completes commands and flags in a shell',
    after: `
Examples:
  source <(gitea-runners completion bash)
  source <(gitea-runners completion zsh)
  gitea-runners completion fish | source`,
  },
};

/** Wraps lines. Examples are indented, and stay as they are: people copy them. */
const wrappedHelp = (text: string, columns: number): string =>
  text.replaceAll(/^\S.*$/gm, (line) => splitIntoLines(line, columns).join('\n'));

/** Throws `CommanderError` instead of ending the process. */
export function makeProgram(
  run: (name: CommandName, args: readonly string[], flags: object) => Promise<void>,
  io: Pick<Io, 'out' | 'err' | 'columns'>,
): Command {
  const program = new Command('gitea-runners')
    .description('Ephemeral Gitea Actions runners, autoscaled by Argo CD from Git. Scales to zero.')
    .version(packageJson.version)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) => write(withHabit(text)),
      getOutHelpWidth: () => io.columns,
      getErrHelpWidth: () => io.columns,
    })
    .showHelpAfterError('See "gitea-runners --help".')
    .exitOverride();
  for (const name of COMMANDS) {
    const { description, after } = HELP[name];
    const command = program
      .command(name)
      .description(description)
      .addHelpText('after', () => wrappedHelp(after, io.columns ?? 80));
    command.showHelpAfterError(`See "gitea-runners ${name} --help".`);
    command.action(() => {
      const { filename = [], ...flags }: { readonly filename?: readonly string[] } = command.opts();
      return run(name, [...filename, ...command.args], flags);
    });
    if (name === 'extend') command.addArgument(new Argument('<POD>', 'a pod or Job of a runner'));
    if (name === 'policy')
      command
        .addArgument(new Argument('<DO>', 'test, explain or init').choices(['test', 'explain', 'init']))
        .argument('[WHAT...]', 'cases, files with RunnerGroups, or the level (default: ., or shared)');
    if (name === 'completion') command.addArgument(new Argument('<SHELL>').choices(SHELLS));
    if (hasPaths(name)) addPaths(command, name === 'explain' ? 'WHAT|PATH' : 'PATH');
    if (name === 'init') command.argument('[FOLDER]', 'where the files are written (default: .)');
    if (name === 'import') command.argument('<FILE...>', 'manifests; `-` is standard input');
    for (const [key, flag] of flagsOf(name)) command.addOption(optionOf(key, flag, name));
  }
  return program;
}

/** Commands and words of kubectl and other programs, with our command for each. */
const HABITS = {
  explain: ['get', 'describe', 'status', 'list', 'ls', 'logs', 'top', 'events', 'plan', 'diff', 'why'],
  generate: ['render', 'template', 'synth', 'manifests'],
  validate: ['lint', 'check', 'test', 'verify', 'vet'],
  doctor: ['diagnose', 'preflight'],
  sweep: ['prune', 'clean', 'cleanup', 'gc'],
  report: ['usage', 'cost', 'stats', 'history'],
  init: ['new', 'install', 'bootstrap'],
  import: ['convert', 'migrate'],
} satisfies Partial<Record<CommandName, readonly string[]>>;

/** Adds the command that the person probably meant, if commander finds no similar name. */
function withHabit(text: string): string {
  const word = /^error: unknown command '(.+)'\n$/.exec(text)?.[1];
  const [command] = Object.entries(HABITS).find(([, words]) => words.some((each) => each === word)) ?? [];
  return command === undefined ? text : `${text}(Did you mean ${command}?)\n`;
}

/** Refuses `help WORD` for an unknown command: commander would print the whole help. @throws CommanderError */
export function refuseUnknownTopic(program: Command, [command, topic]: readonly string[]): void {
  if (command !== 'help' || topic === undefined || topic.startsWith('-') || topic === 'help') return;
  if (program.commands.some((each) => each.name() === topic)) return;
  program.error(`error: unknown command '${topic}'`);
}

/** `-o=json` becomes `-ojson`, up to `--`: kubectl takes both, commander only the second one. */
export function withoutEquals(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return args.map((arg, at) => (end >= 0 && at > end ? arg : arg.replace(/^(-[onf])=(?=.)/, '$1')));
}

const WHAT = 'WHAT: a run like acme/api#8, the page of a run or job, a job id, a group or a runner. PATH: ';

/** `-f PATH`, as often as wanted, is the same as PATH. */
function addPaths(command: Command, argument: string): void {
  const { short, long, help, variable, default: byDefault } = PATH;
  const argumentHelp = argument === 'PATH' ? '' : WHAT;
  command.argument(`[${argument}...]`, `${argumentHelp}${help} (env: ${variable}; default: ${byDefault})`);
  const option = new Option(`${short}, ${long} <PATH>`, 'the same as PATH');
  command.addOption(option.argParser((path: string, before: readonly string[] = []) => [...before, path]));
}

function optionOf(name: string, flag: Flag, command: CommandName): Option {
  const { short, value, defaultIn } = flag;
  const long = `${longName(name)}${value === undefined ? '' : ` <${value}>`}`;
  const without = defaultIn?.[command] ?? flag.defaultNote ?? flag.default;
  const note = without === undefined ? '' : `; default: ${without}`;
  const help = `${helpOf(flag, command)} (env: ${variableOf(name)}${note})`;
  const option = new Option(short === undefined ? long : `${short}, ${long}`, help);
  return name === 'policy' ? option.argParser(onlyOnce) : option;
}

/** Refuses a second policy file. Only the last one would count, and the rules of the first would be lost without a message. */
function onlyOnce(file: string, before: string | undefined): string {
  if (before === undefined) return file;
  throw new InvalidArgumentError(`It is given twice, and only one file counts: write all rules into one.`);
}
