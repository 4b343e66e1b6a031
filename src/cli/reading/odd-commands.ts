/** Commands that no shell reads, and containers that never end. Pure. */
import type { Path } from '../../config/runnergroup/documents.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import { hasDocker, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { DOCKER_IMAGE, ONLY_DATA, OUTSIDE_DATA, RUNNER_IMAGE, shellLine } from '../../config/runnergroup/words.ts';
import { containersOf, listAt, type Odd, oddIf, partAt, specOf, variablesOf } from './odd.ts';

const NO_DAEMON =
  'runs in an init container, where no docker daemon answers: do this in the workflow. For images, see the Helm value prePull';

/** Signs of a shell as words of their own, and words that only a shell replaces. */
const SIGN = /^(?:&&?|\|\|?|;|\d?>>?(?:\/.*|&\d)?|<|~\/.*|\$\{?[A-Z_]+\}?(?:\/.*)?|[\w./-]+;)$/;
/** Programs that read such signs themselves. */
const READS_SIGNS = /^(?:\S*\/)?(?:find|expr|test|\[|env|awk|sed|jq|python3?|node|perl)$/;
/** Commands that are no programs, and variables before a command. */
const BUILT_IN = /^(?:cd|source|\.|export|set|unset|eval|exec|alias|trap|ulimit|umask|if|for|while|[A-Za-z_]\w*=.*)$/s;
const SHELL = /(?:^|\/)(?:ba|da|a|k|z)?sh$/;

/** Returns the script that was meant by words which are no program with its arguments. Undefined: they are one. */
function scriptMeantBy(words: readonly string[]): string | undefined {
  const isShell = SHELL.test(words[0] ?? '');
  const start = isShell ? words.findIndex((word, at) => at > 0 && !/^[-+]/.test(word)) : 0;
  const parts = words.slice(start);
  const [first = '', ...more] = parts;
  const isLine = /\s/.test(first);
  const hasOption = words.slice(1, start).some((word) => /^-\w*c/.test(word));
  const isCut = more.length > (isLine ? 1 : 0) && !first.includes('$');
  const isSigned = !READS_SIGNS.test(first) && parts.some((word) => SIGN.test(word));
  const ofShell = start > 0 && (hasOption ? isCut : isLine);
  if (!(isShell ? ofShell : isLine || isSigned || BUILT_IN.test(first))) return undefined;
  // A list of commands, as in a workflow.
  const areCommands = isLine && parts.every((part) => /^[A-Za-z][\w.-]*(?:\s|$)/.test(part));
  return parts.join(areCommands ? ' && ' : ' ');
}

export function aboutSetup(group: RunnerGroup): readonly Odd[] {
  const { path, value } = partAt(specOf(group), 'setupCommand');
  const words = listAt(value, []).map(String);
  if (OUTSIDE_DATA.test(words.join(' '))) return [[path, ONLY_DATA]];
  const hasHost = variablesOf(group).some(({ name }) => name === 'DOCKER_HOST');
  if (!hasHost && /^(?:\S*\/)?docker$/.test(words[0] ?? '')) return [[path, NO_DAEMON]];
  // Without a command, the image of a container says what reads its arguments.
  const ofContainers = containersOf(group).flatMap((container) => {
    const command = listAt(container.value, ['command']);
    const all = command.length > 0 ? [...command, ...listAt(container.value, ['args'])] : [];
    return withoutShell([...container.path, 'command'], all.map(String), all.length > command.length);
  });
  return [...withoutShell(path, words), ...ofContainers];
}

/** Warns of words that only a shell reads. @param hasArgs some of them stand in `args` */
function withoutShell(path: Path, words: readonly string[], hasArgs = false): readonly Odd[] {
  const script = scriptMeantBy(words);
  const line = shellLine(script ?? '', String(path.at(-1)));
  const message = `is one program with its arguments, and no shell reads it: write ${line}${hasArgs ? ', without args' : ''}`;
  return oddIf([script !== undefined, path, message]);
}

/** Programs that serve until they are stopped, and commands that wait for ever. */
const SERVER =
  /(?:^|\/)(?:nginx|httpd|caddy|traefik|haproxy|redis|valkey|memcached|postgres|mysql|mariadb|mongo|rabbitmq|registry|minio)(?:[:@]|$)/;
/** Commands that wait for ever, at the begin of a command line, and a loop without a condition. */
const WAITS =
  /(?:^|[;\n]|&&|\bdo\b|\b(?:exec|--)\s)\s*(?:\/\S*\/)?(?:sleep inf(?:inity)?\b|tail (?:-\S+ (?:\d+ )?)*?-\w*[fF]\b)/;
const LOOPS = /(?:^|[;\n]|&&)\s*while (?:true|:|\[ 1 \])/;
/** What may end a loop, and what else may end a line: a choice, a signal, a job in the background, a pipe. */
const BREAKS = /\b(?:break|exit|return|kill|timeout|trap)\b|\bset -\w*e|(?<![&>|])&(?![&\d>])/;
const MAY_END = /\|\|?|\b(?:if|case|until)\b|--pid/;

/** True for a command that cannot end. The script of a shell is judged, and of other programs the whole line. */
function neverEnds(words: readonly string[]): boolean {
  const [program = '', option = '', script] = words;
  const isScript = SHELL.test(program) && /^-\w*c$/.test(option) && script !== undefined;
  const line = isScript ? script : words.join(' ');
  if (BREAKS.test(line)) return false;
  return (LOOPS.test(line) && isScript && !option.includes('e')) || (WAITS.test(line) && !MAY_END.test(line));
}

const SECOND_RUNNER: Readonly<Record<string, string>> = {
  containers: 'looks like a Gitea runner, but container `runner` is the runner: rename it to runner',
  initContainers: 'looks like a second Gitea runner, beside container `runner`: remove it',
};
const LASTS =
  'does not end with the CI job, so its pod stays: make it an init container with restartPolicy: Always, or remove it';

/** Warns of containers of the podTemplate except `runner`. The parsed template has only JSON values, in any form. */
export function oddContainers(group: RunnerGroup): readonly Odd[] {
  const { containerMode } = group;
  const ofOwn = hasDocker(containerMode) ? `: containerMode ${containerMode} has a daemon of its own` : '';
  return containersOf(group).flatMap(({ path, value: container }): readonly Odd[] => {
    const [name, image] = [valueAt(container, ['name']), String(valueAt(container, ['image']) ?? '')];
    if (typeof name !== 'string' || image === '' || OF_OURS.has(name)) return [];
    const list = String(path.at(-2));
    const ofDaemon = DOCKER_IMAGE.test(image) ? ofOwn : '';
    const faultOfOther = () => (list === 'containers' ? `${LASTS}${ofDaemon}` : oddBefore(container, image, ofDaemon));
    const message = RUNNER_IMAGE.test(image) ? SECOND_RUNNER[list] : faultOfOther();
    return message === undefined ? [] : [[path, message]];
  });
}

/** Returns the fault of an init container. */
function oddBefore(container: unknown, image: string, ofDaemon: string): string | undefined {
  const [command, args] = [listAt(container, ['command']), listAt(container, ['args'])];
  const words = [...command, ...args].map(String);
  const isSidecar = valueAt(container, ['restartPolicy']) === 'Always';
  const isServer = words.length === 0 && (DOCKER_IMAGE.test(image) || SERVER.test(image));
  if (ofDaemon !== '' && (isSidecar || isServer)) return `is a second docker daemon: remove it${ofDaemon}`;
  if (isSidecar || !(isServer || neverEnds(words))) return undefined;
  return 'does not end, so the runner never starts: write "restartPolicy: Always" here';
}

/** Containers that are merged over those of our own pod. */
const OF_OURS: ReadonlySet<string> = new Set(['runner', 'docker', 'buildkit']);
