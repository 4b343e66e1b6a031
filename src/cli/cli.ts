/** Entry of lib/cli.cjs (every command), and of lib/generate.cjs and lib/validate.cjs (one each: scripts/build.mjs). */
import { CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import type { ExitCode, Io } from '../shared/io.ts';
import { jsonText } from '../shared/printable.ts';
import type { CommandName } from './flags/flag.ts';
import { type FlagsOf, flagValue, isJson } from './flags/flags.ts';
import { makeProgram, refuseUnknownTopic, type SHELLS, withoutEquals } from './flags/program.ts';
import { endOnClosedOutput, exitCodeOf, mainIo, reportFailure } from './process.ts';

type Run<C extends CommandName> = (args: readonly string[], flags: FlagsOf<C>, io: Io) => Promise<ExitCode>;

/** The code of a command is loaded when it is called. */
const COMMANDS: { readonly [C in CommandName]: Run<C> } = {
  generate: async (paths, flags, io) => (await import('./commands/generate.ts')).generate(paths, flags, io),
  explain: async (paths, flags, io) => (await import('./commands/explain.ts')).explain(paths, flags, io),
  validate: async (paths, flags, io) => (await import('./commands/validate.ts')).validate(paths, flags, io),
  serve: async (_, flags, io) => (await import('./commands/serve.ts')).serveCommand(flags, io),
  sweep: async (paths, flags, io) => (await import('./commands/sweep.ts')).sweep(paths, flags, io),
  report: async (paths, flags, io) => (await import('./commands/report.ts')).report(paths, flags, io),
  extend: async ([pod = ''], flags, io) => (await import('./commands/extend.ts')).extend(pod, flags, io),
  policy: async (args, flags, io) => (await import('./commands/policy.ts')).policyCommand(args, flags, io),
  schema: async (_, flags, io) => (await import('./commands/schema.ts')).schema(flags, io),
  demo: async (_, flags, io) => {
    const { ownExplain, ownGenerate } = await import('../../demo/own-generate.ts');
    const { demo } = await import('../../demo/demo.ts');
    return demo(io, { speed: flagValue('speed', flags, io), generate: ownGenerate, explain: ownExplain });
  },
  init: async ([folder = '.'], flags, io) => {
    const { asking, init } = await import('./commands/init.ts');
    return asking(io, (ask) => init(folder, flags, io, ask));
  },
  import: async (files, flags, io) => (await import('./commands/import.ts')).importGroups(files, flags, io),
  doctor: async (_, flags, io) => (await import('./commands/doctor.ts')).doctor(flags, io),
  version: async (_, flags, io) => {
    const [node, platform] = [process.version, `${process.platform}/${process.arch}`];
    const text = `gitea-runners ${packageJson.version} (Node ${node}, ${platform})\n`;
    io.out(isJson('version', flags, io) ? jsonText({ version: packageJson.version, node, platform }) : text);
    return 0;
  },
  completion: async ([shell], _, io) =>
    (await import('./commands/completion.ts')).completion(shell as (typeof SHELLS)[number], io),
};

/** Runs the command line of this process, and sets its exit code. */
export function main(): void {
  endOnClosedOutput();
  const args = process.argv.slice(2);
  // `validate` passes once over files of a few lines. Code that V8 optimises in the background would be ready too late.
  if (args[0] === 'validate') process.getBuiltinModule('node:v8').setFlagsFromString('--no-opt');
  void runProgram(args, mainIo()).then((code) => {
    process.exitCode = code;
  });
}

export async function runProgram(args: readonly string[], io: Io): Promise<ExitCode> {
  let exit: ExitCode = 0;
  const program = makeProgram(async (name, words, flags) => {
    const run: Run<CommandName> = COMMANDS[name];
    exit = await exitCodeOf(() => run(words, flags, io), flags, io);
  }, io);
  try {
    refuseUnknownTopic(program, args);
    await program.parseAsync(withoutEquals(args), { from: 'user' });
    return exit;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, io, false);
    // commander has printed its text; help and version are good, everything else is bad input.
    return error.exitCode === 0 ? 0 : 2;
  }
}
