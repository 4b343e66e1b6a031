/** How a command prints: `-o FORMAT`, and `--json` of those that have it. */
import { Failure } from '../../shared/failure.ts';
import type { Io } from '../../shared/io.ts';
import { printable } from '../../shared/printable.ts';
import { longName, variableOf } from './flag.ts';
import { flagValue, type GivenFlags } from './flags.ts';
import { OUTPUTS } from './report-flags.ts';

/** A command with `-o`. */
export type PrintingCommand = keyof typeof OUTPUTS;
export type OutputOf<C extends PrintingCommand> = (typeof OUTPUTS)[C][number];

/** What `-o` asks for; undefined: nothing. @throws Failure exit 2 when the command does not print that */
export function askedOutput<C extends PrintingCommand>(
  command: C,
  given: GivenFlags<'output'>,
  io: Pick<Io, 'env'>,
): OutputOf<C> | undefined {
  const text = flagValue('output', given, io);
  if (text === undefined) return undefined;
  const outputs: readonly OutputOf<C>[] = OUTPUTS[command];
  const output = outputs.find((each) => each === text);
  if (output !== undefined) return output;
  // A variable is set once for all commands.
  if (given.output === undefined && Object.values(OUTPUTS).some((each: readonly string[]) => each.includes(text)))
    return undefined;
  const name = given.output === undefined ? variableOf('output') : longName('output');
  const all = outputs.join(', ').replace(/, (\w+)$/, ' or $1');
  throw new Failure(
    'GR-FLAG-16',
    2,
    `read ${name}: ${command} prints ${all}, not "${printable(text)}". Leave it out for text.`,
  );
}

/** Whether a command that prints text or JSON is to print JSON. @throws Failure exit 2 for another format */
export function isJson(command: PrintingCommand, given: GivenFlags<'output' | 'json'>, io: Pick<Io, 'env'>): boolean {
  return askedOutput(command, given, io) === 'json' || flagValue('json', given, io);
}
