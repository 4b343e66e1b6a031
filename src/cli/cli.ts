/** lib/cli.cjs: every command of `gitea-runners`; lib/generate.cjs and lib/validate.cjs: one of them (scripts/build.mjs). */
import { CommanderError } from 'commander';
import type { ExitCode, Io } from '../shared/io.ts';
import type { GivenFlags } from './flags/flags.ts';
import { endOnClosedOutput, exitCodeOf, mainIo, reportFailure } from './process.ts';
import { descriptions, makeProgram, refuseUnknownTopic, withoutEquals } from './program.ts';

/** Runs the command that `process.argv` asks for. */
export function main(): void {
  endOnClosedOutput();
  void runProgram(process.argv.slice(2), mainIo()).then((code) => {
    process.exitCode = code;
  });
}

/** Runs a command line. commander prints help and its own errors itself. */
export async function runProgram(args: readonly string[], io: Io): Promise<ExitCode> {
  let exit: ExitCode = 0;

  /** Runs a command; its code is loaded only when it is called. */
  const run = async (command: () => Promise<ExitCode>, flags: GivenFlags<'verbose'> = {}): Promise<void> => {
    exit = await exitCodeOf(command, flags, io);
  };

  const program = makeProgram({
    generate: (paths, flags) => run(async () => (await import('./generate.ts')).generate(paths, flags, io), flags),
    explain: (paths, flags) => run(async () => (await import('./explain.ts')).explain(paths, flags, io), flags),
    serve: (flags) => run(async () => (await import('./serve.ts')).serveCommand(flags, io), flags),
    sweep: (paths, flags) => run(async () => (await import('./sweep.ts')).sweep(paths, flags, io), flags),
    extend: (pod, flags) => run(async () => (await import('./extend.ts')).extend(pod, flags, io)),
    validate: (paths, flags) =>
      run(async () => {
        const { pathsFrom } = await import('./settings.ts');
        const { validate } = await import('./validate.ts');
        const { policyFrom } = await import('./policy.ts');
        // This is one pass over files of a few lines: what V8 optimises in the background would be ready too late.
        (await import('node:v8')).setFlagsFromString('--no-opt');
        return validate(io, { ...pathsFrom(paths, flags, io), policy: await policyFrom(flags, io) }, flags);
      }),
    schema: (flags) => run(async () => (await import('./schema.ts')).schema(flags, io)),
    demo: (flags) =>
      run(async () => {
        const { ownExplain, ownGenerate } = await import('../../demo/own-generate.ts');
        const { demo } = await import('../../demo/demo.ts');
        const { flagValue } = await import('./flags/flags.ts');
        return demo(io, { speed: flagValue('speed', flags, io), generate: ownGenerate, explain: ownExplain });
      }),
    init: (folder, flags) =>
      run(async () => {
        const { asking } = await import('./init/asking.ts');
        const { init } = await import('./init.ts');
        return asking(io, (ask) => init(folder ?? '.', flags, io, ask));
      }),
    import: (files, flags) => run(async () => (await import('./import.ts')).importGroups(files, flags, io)),
    doctor: (flags) => run(async () => (await import('./doctor.ts')).doctor(flags, io), flags),
    version: (flags) => run(async () => (await import('./version.ts')).version(flags, io)),
    completion: (shell) => run(async () => (await import('./completion.ts')).completion(shell, descriptions(), io)),
  });

  try {
    refuseUnknownTopic(program, args);
    await program.parseAsync(withoutEquals(args), { from: 'user' });
    return exit;
  } catch (error) {
    // commander has printed its own text; help and version are good, everything else is bad input.
    return error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : reportFailure(error, io, false);
  }
}
