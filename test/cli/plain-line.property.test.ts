/** The quick reader of command lines reads less than commander, and never otherwise. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PlainLine, plainLine } from '../../src/cli/plain-line.ts';
import { type Commands, makeProgram } from '../../src/cli/program.ts';

/** What commander makes of the arguments; undefined when it refuses them or prints help. */
async function byCommander(args: readonly string[]): Promise<unknown> {
  let read: unknown;
  const note =
    (command: string) =>
    async (paths: unknown, flags: unknown): Promise<void> => {
      read = { command, paths, flags: { ...(flags as object) } };
    };
  const other = async (): Promise<void> => {
    read = 'another command';
  };
  const commands: Commands = {
    generate: note('generate'),
    validate: note('validate'),
    explain: other,
    serve: other,
    sweep: other,
    extend: other,
    schema: other,
    demo: other,
    init: other,
    import: other,
    doctor: other,
    version: other,
    completion: other,
  };
  const program = makeProgram(commands);
  for (const each of [program, ...program.commands]) {
    each.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  }
  await program.parseAsync(['node', 'gitea-runners', ...args]).catch(() => {
    read = undefined;
  });
  return read;
}

const word = fc.oneof(
  fc.constantFrom('ci.yaml', 'groups/', '.', '', 'help', 'generate', 'validate', '0', 'auto', '20', '-5', '5s'),
  fc.constantFrom('-R', '--recursive', '-v', '--verbose', '-Rv', '--no-recursive', '--recursive=true', '-'),
  fc.constantFrom(
    '--secrets-dir',
    '--cluster',
    '--timeout',
    '--ca-file',
    '--kubeconfig',
    '--timeout=5',
    '--cluster=',
    '--secrets',
  ),
  fc.constantFrom('--', '-h', '--help', '-V', '--version', '--json', '--unknown', '__proto__', '--__proto__'),
  fc.string({ maxLength: 6 }),
);

describe('any command line', () => {
  test('that is read quickly is read as commander reads it', async () => {
    const command = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom('generate', 'validate') },
      { weight: 1, arbitrary: word },
    );

    await fc.assert(
      fc.asyncProperty(command, fc.array(word, { maxLength: 6 }), async (first, rest) => {
        const quick = plainLine([first, ...rest]);

        if (quick !== undefined) expect(await byCommander([first, ...rest])).toEqual(quick);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('the command line', () => {
  test.each<[string, readonly string[], PlainLine]>([
    ['of plugin.yaml', ['generate'], { command: 'generate', paths: [], flags: {} }],
    [
      'with every flag',
      ['generate', '-v', '--timeout', '5', 'a', '--cluster', 'off', '-R', '--secrets-dir', '/s', '--ca-file', 'c', 'b'],
      {
        command: 'generate',
        paths: ['a', 'b'],
        flags: { verbose: true, timeout: '5', cluster: 'off', recursive: true, secretsDir: '/s', caFile: 'c' },
      },
    ],
    [
      'of a check in CI',
      ['validate', '-R', 'clusters/'],
      { command: 'validate', paths: ['clusters/'], flags: { recursive: true } },
    ],
  ])('%s is read quickly', (_name, args, expected) => {
    expect(plainLine(args)).toEqual(expected);
  });

  test.each([
    [[]],
    [['--help']],
    [['generate', '--help']],
    [['generate', '--timeout']],
    [['generate', '--timeout', '--cluster']],
    [['generate', '--timeout=5']],
    [['generate', '--', '-x']],
    [['validate', '-v']],
    [['explain']],
    [['serve']],
  ])('%j is left to commander', (args) => {
    expect(plainLine(args)).toBeUndefined();
  });
});
