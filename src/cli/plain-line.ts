/**
 * Reads the command lines that Argo CD and CI use without commander, because loading commander takes longer than reading them. It
 * reads fewer command lines than commander and reads them in the same way. All other lines are left to commander, so help and errors
 * come from one place. test/cli/plain-line.property.test.ts compares both.
 */
import { longName } from './flags/flag.ts';
import { type FlagsOf, flagsOf } from './flags/flags.ts';

/** A command line that can be read in one way only. */
export type PlainLine =
  | { readonly command: 'generate'; readonly paths: readonly string[]; readonly flags: FlagsOf<'generate'> }
  | { readonly command: 'validate'; readonly paths: readonly string[]; readonly flags: FlagsOf<'validate'> };

/** A flag as it is written: its name in the code, and whether a value follows. */
interface WrittenFlag {
  readonly name: string;
  readonly takesValue: boolean;
}

/** Reads the arguments after the program's name. Undefined: leave them to commander. */
export function plainLine([command, ...args]: readonly string[]): PlainLine | undefined {
  if (command !== 'generate' && command !== 'validate') return undefined;
  const known = new Map(
    flagsOf(command).flatMap(([name, { short, value }]): [string, WrittenFlag][] => {
      const written = { name, takesValue: value !== undefined };
      return [[longName(name), written], ...(short === undefined ? [] : [[short, written] as [string, WrittenFlag]])];
    }),
  );
  const read = readArguments(args, known);
  return read && { command, ...read };
}

function readArguments(
  args: readonly string[],
  known: ReadonlyMap<string, WrittenFlag>,
): { readonly paths: readonly string[]; readonly flags: Readonly<Record<string, string | boolean>> } | undefined {
  const paths: string[] = [];
  const flags: Record<string, string | boolean> = {};
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    const flag = known.get(arg);
    // A dash alone is standard input.
    if (arg === '-' || !arg.startsWith('-')) paths.push(arg);
    else if (flag === undefined) return undefined;
    else if (flag.takesValue) {
      at += 1;
      const value = args[at] ?? '';
      // The value is missing, or it may be a flag whose value was forgotten.
      if (value === '' || value.startsWith('-')) return undefined;
      flags[flag.name] = value;
    } else flags[flag.name] = true;
  }
  return { paths, flags };
}
