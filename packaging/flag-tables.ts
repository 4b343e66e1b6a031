/** The tables of flags in docs/commands.md. */
import { type CommandName, type Flag, longName, variableOf } from '../src/cli/flags/flag.ts';
import { FLAGS, PATH } from '../src/cli/flags/flags.ts';
import { type GeneratedPart, markdownTable } from './generated-part.ts';

const SOURCE = 'src/cli/flags/flags.ts';
const HEAD = ['flag', 'environment', 'default', 'meaning'];

/** One table for the flags that several commands share or that small commands have, and one each for `serve`, `sweep` and `init`. */
export function flagTables(): readonly GeneratedPart[] {
  const all = Object.entries<Flag>(FLAGS);
  const onlyOf = (...commands: readonly CommandName[]) =>
    all.filter(([, flag]) => flag.commands.join() === commands.join());
  const own = [...onlyOf('serve'), ...onlyOf('sweep'), ...onlyOf('init'), ...onlyOf('init', 'import')];
  const shared = all.filter((flag) => !own.includes(flag));
  const paths = [
    `PATH, \`${PATH.short} PATH\``,
    `\`${PATH.variable}\``,
    `\`${PATH.default}\``,
    sentence(PATH.help),
    PATH.commands.join(', '),
  ];
  return [
    {
      name: 'flags',
      source: SOURCE,
      text: markdownTable(
        [...HEAD, 'commands'],
        [paths, ...shared.map(([name, flag]) => [...cellsOf(name, flag), flag.commands.join(', ')])],
      ),
    },
    tableOf('serve', onlyOf('serve')),
    tableOf('sweep', onlyOf('sweep')),
    tableOf('init', [...onlyOf('init', 'import'), ...onlyOf('init')]),
  ];
}

function tableOf(command: CommandName, flags: readonly (readonly [string, Flag])[]): GeneratedPart {
  const rows = flags.map(([name, flag]) => cellsOf(name, flag));
  return { name: `flags of ${command}`, source: SOURCE, text: markdownTable(HEAD, rows) };
}

function cellsOf(name: string, flag: Flag): readonly string[] {
  const { short, value, help, more } = flag;
  const long = `\`${longName(name)}${value === undefined ? '' : ` ${value}`}\``;
  return [
    short === undefined ? long : `\`${short}\`, ${long}`,
    [variableOf(name), ...(flag.standard ?? [])].map((variable) => `\`${variable}\``).join(', '),
    defaultText(flag),
    more === undefined ? sentence(help) : `${sentence(help)} ${more}`,
  ];
}

function defaultText({ value, default: byDefault, defaultNote }: Flag): string {
  if (defaultNote !== undefined) return defaultNote;
  if (byDefault !== undefined) return `\`${byDefault}\``;
  return value === undefined ? 'off' : '';
}

/** `where tokens are` → `Where tokens are.` */
function sentence(phrase: string): string {
  return `${phrase.slice(0, 1).toUpperCase()}${phrase.slice(1)}.`;
}
