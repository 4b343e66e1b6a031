/** The parts of a flag. */
import { Failure } from '../../shared/failure.ts';

/** Commands in the order of the manual. */
export const COMMANDS = [
  ...(['generate', 'explain', 'validate', 'serve', 'sweep', 'report', 'extend', 'policy'] as const),
  ...(['schema', 'demo', 'init', 'import', 'doctor', 'version', 'completion'] as const),
] as const;
export type CommandName = (typeof COMMANDS)[number];

/** A flag, e.g. `secretsDir`: on the command line `--secrets-dir`, in the environment `GITEA_RUNNERS_SECRETS_DIR`. */
export interface Flag {
  readonly commands: readonly CommandName[];
  /** Short form with its dash, e.g. `-v`. */
  readonly short?: string;
  /** Placeholder of the value in the help, e.g. `DIR`. Absent: the flag is a switch, on or off. */
  readonly value?: string;
  /** The values that a command takes, for completion, when they are not the same for all. */
  readonly choices?: Readonly<Partial<Record<CommandName, readonly string[]>>>;
  /** Variables of a standard that count, in this order, when ours is not set. */
  readonly standard?: readonly string[];
  readonly default?: string | number;
  /** Behaviour without the flag, for the help. Only if the default is not a constant. */
  readonly defaultNote?: string;
  /** Text for `--help` and the manual: a phrase without a full stop. */
  readonly help: string;
  /** Other text for `--help` of a command in which the flag means less than `help` says. */
  readonly helpIn?: Readonly<Partial<Record<CommandName, string>>>;
  /** Other text for `--help` of a command with another default than `default` or `defaultNote`. */
  readonly defaultIn?: Readonly<Partial<Record<CommandName, string>>>;
  /** Sentences for the manual after `help`. Markdown. */
  readonly more?: string;
  /** Reads the value. Absent: the string as it is. @throws Failure exit 2 */
  readonly read?: (text: string, source: Source) => unknown;
}

/** Place of a value, for error messages. */
export interface Source {
  /** `--timeout` or `GITEA_RUNNERS_TIMEOUT`. */
  readonly name: string;
  readonly isVariable: boolean;
}

/** `secretsDir` → `--secrets-dir`. */
export function longName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `secretsDir` → `GITEA_RUNNERS_SECRETS_DIR`. */
export function variableOf(name: string): string {
  return `GITEA_RUNNERS_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** `--secrets-dir (GITEA_RUNNERS_SECRETS_DIR)`: a missing setting, where people may write it. */
export function namesOf(name: string): string {
  return `${longName(name)} (${variableOf(name)})`;
}

export function helpOf({ help, helpIn }: Flag, command: CommandName): string {
  return helpIn?.[command] ?? help;
}

/** The type of a flag's value: a switch gives a boolean, a flag without a default may be undefined. */
export type ValueOf<F extends Flag> = F extends { readonly value: string }
  ?
      | (F extends { readonly read: (text: string, source: Source) => infer T } ? T : string)
      | (F extends { readonly default: string | number } ? never : undefined)
  : boolean;

/** @param got what came; it is not shown if it may be a secret */
export function flagFailure(code: string, { name }: Pick<Source, 'name'>, must: string, got = ''): Failure {
  return new Failure(code, 2, `read ${name}: it must be ${must}${isShown(got) ? `, not "${got}"` : ''}.`);
}

/** A part of an image, an address or a list is shorter than a token. What stands before @ or behind ? may be a password. */
function isShown(got: string): boolean {
  return got !== '' && got.length <= 100 && got.split(/[.,:+/ ]/).every((part) => /^[\w-]{0,20}$/.test(part));
}

/** A switch in the environment. @throws Failure exit 2 when it is neither true nor false. */
export function isOn(text: string | undefined, variable: string): boolean {
  if (text === undefined || text === 'false' || text === '0') return false;
  if (text === 'true' || text === '1') return true;
  throw flagFailure('GR-FLAG-03', { name: variable }, 'true or false', text);
}
