/** The program `gitea-runners`: one file per command in `src/cli/`; here are only names, flags and the way out. */
import { Command, CommanderError, Option } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import type { ExitCode } from './cli/io.ts';
import { endOnClosedPipe, mainIo, reportFailure } from './cli/process.ts';
import { isVerbose, type LookFlags, type PathFlags } from './cli/settings.ts';

const io = mainIo();

/** Runs a command; whatever it throws becomes one error text and an exit code. Its code is loaded only when it is called. */
function run<Args extends readonly unknown[]>(
  command: (...args: Args) => Promise<ExitCode>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      process.exitCode = await command(...args);
    } catch (error) {
      const flags = args.find((arg): arg is LookFlags => typeof arg === 'object' && arg !== null && 'verbose' in arg);
      process.exitCode = reportFailure(error, io, isVerbose(flags ?? {}, io));
    }
  };
}

function withPaths(command: Command): Command {
  return command
    .argument('[PATH...]', 'files and folders with RunnerGroups (default: GITEA_RUNNERS_PATH, else ".")')
    .addOption(new Option('-R, --recursive', 'read folders with all below them (env: GITEA_RUNNERS_RECURSIVE)'));
}

function withLook(command: Command): Command {
  return withPaths(command)
    .addOption(
      new Option(
        '--secrets-dir <DIR>',
        'where API tokens are mounted (env: GITEA_RUNNERS_SECRETS_DIR; default: /var/run/secrets/gitea-runners)',
      ),
    )
    .addOption(
      new Option(
        '--cluster <auto|off>',
        'look at live Jobs and Pods when this runs in a cluster (env: GITEA_RUNNERS_CLUSTER; default: auto)',
      ),
    )
    .addOption(new Option('--timeout <SECONDS>', 'for everything (env: GITEA_RUNNERS_TIMEOUT; default: 20)'))
    .addOption(new Option('--ca-file <FILE>', 'PEM of a private CA for Gitea (env: GITEA_RUNNERS_CA_FILE)'))
    .addOption(new Option('-v, --verbose', 'print requests to stderr (env: GITEA_RUNNERS_VERBOSE)'));
}

const EXIT_CODES = `
Exit codes: 0 good, also when no runner is needed; 1 Gitea, cluster or a file failed; 2 bad input; 3 refused.
On any code but 0 stdout is empty.`;

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
  .action(
    run(async (paths: string[], flags: LookFlags & PathFlags) => {
      const { generate } = await import('./cli/generate.ts');
      return generate(paths, flags, io);
    }),
  );

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
  .action(
    run(async (paths: string[], flags: LookFlags & PathFlags & { json?: boolean }) => {
      const { explain } = await import('./cli/explain.ts');
      return explain(paths, flags, io);
    }),
  );

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
  .action(
    run(async (paths: string[], flags: PathFlags) => {
      const [{ validate }, { pathsFrom }] = await Promise.all([
        import('./cli/validate.ts'),
        import('./cli/settings.ts'),
      ]);
      return validate(io, pathsFrom(paths, flags, io));
    }),
  );

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
  .action(
    run(async (flags: { crd?: boolean }) => {
      const { schema } = await import('./cli/schema.ts');
      return schema(io, { crd: flags.crd ?? false });
    }),
  );

program
  .command('demo')
  .description('the whole story on this machine, with a Gitea simulator: a queue appears, runners come, take jobs, go')
  .option('--speed <FACTOR>', 'how many times faster', '1')
  .addHelpText('after', '\nExamples:\n  gitea-runners demo\n  gitea-runners demo --speed 3')
  .action(
    run(async (flags: { speed: string }) => {
      const [{ demo }, { ownGenerate }] = await Promise.all([
        import('./cli/demo.ts'),
        import('./cli/demo/own-generate.ts'),
      ]);
      return demo(io, { speed: Number(flags.speed), generate: ownGenerate });
    }),
  );

endOnClosedPipe();
program.parseAsync().catch((error: unknown) => {
  // commander has printed its own text; help and version are good, everything else is bad input.
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : reportFailure(error, io, false);
});
