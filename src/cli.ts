/** lib/cli.cjs: every command of `gitea-runners`; lib/generate.cjs and lib/validate.cjs: one of them (scripts/build.mjs). */
import { CommanderError } from 'commander';
import type { GivenFlags } from './cli/flags/flags.ts';
import type { ExitCode } from './cli/io.ts';
import { endOnClosedOutput, exitCodeOf, mainIo, reportFailure } from './cli/process.ts';
import { descriptions, makeProgram, refuseUnknownTopic, withoutEquals } from './cli/program.ts';

/** Runs the command that `process.argv` asks for. */
export function main(): void {
  const io = mainIo();

  /** Runs a command; its code is loaded only when it is called. */
  const run = async (command: () => Promise<ExitCode>, flags: GivenFlags<'verbose'> = {}): Promise<void> => {
    process.exitCode = await exitCodeOf(command, flags, io);
  };

  const program = makeProgram({
    generate: (paths, flags) => run(async () => (await import('./cli/generate.ts')).generate(paths, flags, io), flags),
    explain: (paths, flags) => run(async () => (await import('./cli/explain.ts')).explain(paths, flags, io), flags),
    serve: (flags) => run(async () => (await import('./cli/serve.ts')).serveCommand(flags, io), flags),
    sweep: (paths, flags) => run(async () => (await import('./cli/sweep.ts')).sweep(paths, flags, io), flags),
    extend: (pod, flags) => run(async () => (await import('./cli/extend.ts')).extend(pod, flags, io)),
    validate: (paths, flags) =>
      run(async () => {
        const { pathsFrom } = await import('./cli/settings.ts');
        const { validate } = await import('./cli/validate.ts');
        const { policyFrom } = await import('./cli/policy.ts');
        // This is one pass over files of a few lines: what V8 optimises in the background would be ready too late.
        (await import('node:v8')).setFlagsFromString('--no-opt');
        return validate(io, { ...pathsFrom(paths, flags, io), policy: await policyFrom(flags, io) }, flags);
      }),
    schema: (flags) => run(async () => (await import('./cli/schema.ts')).schema(flags, io)),
    demo: (flags) =>
      run(async () => {
        const { ownExplain, ownGenerate } = await import('./cli/demo/own-generate.ts');
        const { demo } = await import('./cli/demo.ts');
        const { flagValue } = await import('./cli/flags/flags.ts');
        return demo(io, { speed: flagValue('speed', flags, io), generate: ownGenerate, explain: ownExplain });
      }),
    init: (folder, flags) =>
      run(async () => {
        const { asking } = await import('./cli/init/asking.ts');
        const { init } = await import('./cli/init.ts');
        return asking(io, (ask) => init(folder ?? '.', flags, io, ask));
      }),
    import: (files, flags) => run(async () => (await import('./cli/import.ts')).importGroups(files, flags, io)),
    doctor: (flags) => run(async () => (await import('./cli/doctor.ts')).doctor(flags, io), flags),
    version: (flags) => run(async () => (await import('./cli/version.ts')).version(flags, io)),
    completion: (shell) => run(async () => (await import('./cli/completion.ts')).completion(shell, descriptions(), io)),
  });

  endOnClosedOutput();
  const parse = async (): Promise<void> => {
    refuseUnknownTopic(program, process.argv.slice(2));
    await program.parseAsync(withoutEquals(process.argv));
  };
  parse().catch((error: unknown) => {
    // commander has printed its own text; help and version are good, everything else is bad input.
    process.exitCode =
      error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : reportFailure(error, io, false);
  });
}
