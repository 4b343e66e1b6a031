/** Prints a completion script for the shell. The script starts no process while a person types. */
import type { ExitCode, Io } from '../../shared/io.ts';
import { COMMANDS, type CommandName, type Flag, helpOf, longName } from '../flags/flag.ts';
import { flagsOf, hasPaths, PATH } from '../flags/flags.ts';
import { HELP, SHELLS } from '../flags/program.ts';

const NAME = 'gitea-runners';

export function completion(shell: (typeof SHELLS)[number], io: Io): ExitCode {
  io.out({ bash: bashScript, zsh: zshScript, fish: fishScript }[shell]());
  return 0;
}

/** Returns the spellings of a flag: `-R`, `--recursive`. */
function spellings([name, { short }]: readonly [string, Flag]): readonly string[] {
  return [...(short === undefined ? [] : [short]), longName(name)];
}

/** Choices of a value, e.g. `auto|off`; none: a file name or anything else. */
function choicesOf({ value = '', choices }: Flag, command: CommandName): readonly string[] {
  if (choices) return choices[command] ?? [];
  return /^[a-z]+(?:\|[a-z]+)+$/.test(value) ? value.split('|') : [];
}

/** The flags of a command as the table has them, and `-f` where files are read. */
function flagsWithPaths(command: CommandName): readonly (readonly [string, Flag])[] {
  const { short, long } = PATH;
  const filename: Flag = { commands: [command], short, value: 'PATH', help: 'the same as PATH' };
  return [...flagsOf(command), ...(hasPaths(command) ? [[long.slice(2), filename] as const] : [])];
}

function wordsOf(command: CommandName): readonly string[] {
  return command === 'completion' ? SHELLS : [...flagsWithPaths(command).flatMap(spellings), '--help'];
}

/** The script for bash, without the package bash-completion. A free value is completed as a file name. */
function bashScript(): string {
  const commands = COMMANDS.map((command) => `    ${command}) words='${wordsOf(command).join(' ')}' ;;`);
  const values = COMMANDS.flatMap((command) =>
    flagsWithPaths(command).flatMap((flag) => {
      if (flag[1].value === undefined) return [];
      const words = choicesOf(flag[1], command);
      const typed = spellings(flag).map((spelling) => `'${command} ${spelling}'`);
      return [`    ${typed.join('|')}) ${words.length === 0 ? 'return' : `words='${words.join(' ')}'`} ;;`];
    }),
  );
  return `# bash: source <(${NAME} completion bash)
_gitea_runners() {
  local current=\${COMP_WORDS[COMP_CWORD]} words=''
  COMPREPLY=()
  case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
  esac
  if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then words='${COMMANDS.join(' ')} help'; fi
  [ -n "$words" ] || case \${COMP_WORDS[1]} in
${commands.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gitea_runners ${NAME}
`;
}

function zshScript(): string {
  const argumentsOf = (command: CommandName) => {
    if (command === 'completion') return [zshQuoted(`1:shell:(${SHELLS.join(' ')})`)];
    return hasPaths(command) ? [zshQuoted('*:path:_files')] : [];
  };
  const lines = COMMANDS.map((command) => {
    const flags = flagsWithPaths(command).map((flag) => zshFlag(flag, command));
    return `    ${command}) _arguments ${[...flags, ...argumentsOf(command)].join(' ')} ;;`;
  });
  const commandLines = COMMANDS.map((command) => zshQuoted(`${command}:${zshEscaped(HELP[command].description)}`));
  return `#compdef ${NAME}
# zsh: source <(${NAME} completion zsh)
_gitea_runners() {
  if (( CURRENT == 2 )); then
    local -a commands=(${commandLines.join(' ')})
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${lines.join('\n')}
  esac
}
compdef _gitea_runners ${NAME}
`;
}

/** The flag as `_arguments` takes it: `'(-o --output)'{-o,--output}'[Format of the output]:FORMAT:(text json)'`. */
function zshFlag([name, flag]: readonly [string, Flag], command: CommandName): string {
  const choices = choicesOf(flag, command);
  const action = choices.length > 0 ? `(${choices.join(' ')})` : '_files';
  const value = flag.value === undefined ? '' : `:${flag.value}:${action}`;
  const text = zshQuoted(`[${zshEscaped(helpOf(flag, command))}]${value}`);
  // A path may be named as often as wanted.
  if (longName(name) === PATH.long) return `'*'{${PATH.short},${PATH.long}}${text}`;
  const [first = '', second] = spellings([name, flag]);
  // `-R` and `--recursive` are one flag: the other is not offered again.
  return second === undefined ? `${first}${text}` : `'(${first} ${second})'{${first},${second}}${text}`;
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function zshEscaped(text: string): string {
  return text.replace(/[[\]:]/g, '\\$&');
}

function fishScript(): string {
  const quoted = (text: string) => `'${text.replace(/['\\]/g, '\\$&')}'`;
  const lineOf = (condition: string, offer: string) => `complete -c ${NAME} -n ${condition} ${offer}\n`;
  const after = (command: CommandName) => `'__fish_seen_subcommand_from ${command}'`;
  const commands = COMMANDS.map((command) =>
    lineOf('__fish_use_subcommand', `-f -a ${command} -d ${quoted(HELP[command].description)}`),
  );
  const flags = COMMANDS.flatMap((command) =>
    flagsWithPaths(command).map(([name, flag]) => {
      const choices = choicesOf(flag, command);
      const oneOf = choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : ' -r';
      const value = flag.value === undefined ? '' : oneOf;
      const short = flag.short === undefined ? '' : `-s ${flag.short.slice(1)} `;
      const offer = `${short}-l ${longName(name).slice(2)}${value} -d ${quoted(helpOf(flag, command))}`;
      return lineOf(after(command), offer);
    }),
  );
  const shells = lineOf(after('completion'), `-f -a ${quoted(SHELLS.join(' '))}`);
  return `# fish: ${NAME} completion fish | source\n${[...commands, ...flags, shells].join('')}`;
}
