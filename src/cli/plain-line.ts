/**
 * The command lines that Argo CD and CI use, read without commander, whose loading costs more than reading them. Reads less than
 * commander does and never otherwise: what is not plain is left to it, so help and errors are its own
 * (test/cli/plain-line.property.test.ts compares both).
 */
import type { LookFlags, PathFlags } from './settings.ts';

/** A command line whose meaning is beyond doubt. */
export type PlainLine =
  | { readonly command: 'generate'; readonly paths: readonly string[]; readonly flags: LookFlags & PathFlags }
  | { readonly command: 'validate'; readonly paths: readonly string[]; readonly flags: PathFlags };

type Flags = Record<string, string | boolean>;

const PATH_SWITCHES: Readonly<Record<string, string>> = { '-R': 'recursive', '--recursive': 'recursive' };
const LOOK_SWITCHES: Readonly<Record<string, string>> = { ...PATH_SWITCHES, '-v': 'verbose', '--verbose': 'verbose' };
const LOOK_VALUES: Readonly<Record<string, string>> = {
  '--secrets-dir': 'secretsDir',
  '--cluster': 'cluster',
  '--kubeconfig': 'kubeconfig',
  '--timeout': 'timeout',
  '--ca-file': 'caFile',
};

/** Reads the arguments behind the program's name; undefined when commander should. */
export function plainLine([command, ...args]: readonly string[]): PlainLine | undefined {
  switch (command) {
    case 'generate': {
      const read = readArguments(args, LOOK_SWITCHES, LOOK_VALUES);
      return read && { command, ...read };
    }
    case 'validate': {
      const read = readArguments(args, PATH_SWITCHES, {});
      return read && { command, ...read };
    }
    default:
      return undefined;
  }
}

function readArguments(
  args: readonly string[],
  switches: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): { readonly paths: readonly string[]; readonly flags: Flags } | undefined {
  const paths: string[] = [];
  const flags: Flags = {};
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    const isSwitch = own(switches, arg);
    const takesValue = own(values, arg);
    if (!arg.startsWith('-')) paths.push(arg);
    else if (isSwitch !== undefined) flags[isSwitch] = true;
    else if (takesValue !== undefined) {
      at += 1;
      const value = args[at] ?? '';
      // Absent, or perhaps a flag whose value was forgotten.
      if (value === '' || value.startsWith('-')) return undefined;
      flags[takesValue] = value;
    } else return undefined;
  }
  return { paths, flags };
}

function own(names: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(names, name) ? names[name] : undefined;
}
