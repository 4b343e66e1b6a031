/** Characters that steer a terminal, hide text, turn its direction or pile up over other lines. U+FE0F, which colours an emoji, stays. */
const unprintable = (): RegExp =>
  // Made when it is needed: the tables of Unicode cost every start half a millisecond.
  /(?!\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]|(?<=\p{M}{3})\p{M}/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One line that is safe to print. Unprintable characters become `\n`, `\r`, `\t` or `\u{hex}`. */
export function printable(text: string): string {
  return text.replace(
    unprintable(),
    (character) => SHORT[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** JSON with a newline. Characters that `printable` escapes are written as `\uXXXX`, which means the same. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  return `${text.replace(unprintable(), (character) => (character === '\n' ? character : unitsOf(character)))}\n`;
}

/** JSON writes a character beyond U+FFFF as two. */
function unitsOf(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** `1 file`, `2 files`: for nouns that take an s. */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

/** Cuts a string. It never splits a surrogate pair: half of one is not Unicode, and a receiver may refuse it. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).replace(/\p{Cs}$/u, '')}…` : text;
}

/** Makes one printable line. A long string is cut in the middle: the words around a cause come before it. */
export function oneLine(text: string, most: number): string {
  // It is cut before escaping, so that an endless string costs nothing, and again after it, because escapes are long.
  return cutMiddle(printable(cutMiddle(text.trim().replace(/\s+/g, ' '), most)), most);
}

function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.floor(most / 3);
  return `${text.slice(0, head)} … ${text.slice(text.length - (most - head - 3))}`;
}

/** A line in a log or in Argo CD's error message should not carry a whole file. */
export function shortLine(text: string): string {
  return cut(printable(text), 600);
}

/** `a, b and 3 more` */
export function firstNames(names: readonly string[], most: number): string {
  const rest = names.length - most;
  return `${names.slice(0, most).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** Returns the first lines, and a line for the rest: `… and 3 more`. @param place ends that line */
export function firstLines(lines: readonly string[], most: number, place?: string): readonly string[] {
  const rest = lines.length - most;
  return rest > 0 ? [...lines.slice(0, most), `… and ${rest} more${place === undefined ? '' : `: ${place}`}`] : lines;
}

/** A round number: a status is written when its words change. */
export function unreadText(jobs: number): string {
  return `about ${Number(jobs.toPrecision(1))} queued jobs were not read, because there are too many`;
}

export const UNREAD_ADVICE =
  'cancel the runs that nobody needs, in Gitea under Actions of the repository that has most of them';

/** Formats seconds: `19.4 s`. Time limits may be the rest of others, with many digits. */
export function secondsText(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

/** `12s..3m00s`: the true value is between both. In seconds. */
export function rangeText(range: Readonly<Record<'atLeast' | 'atMost', number>> | undefined): string {
  if (!range) return '?';
  const [least, most] = [duration(range.atLeast * 1000), duration(range.atMost * 1000)];
  return least === most ? least : `${least}..${most}`;
}

/** `3m12s`, `2h05m`, `4d03h`: two units, as kubectl shows ages. Never negative. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h${two(Math.floor((seconds % 3_600) / 60))}m`;
  return `${Math.floor(seconds / 86_400)}d${two(Math.floor((seconds % 86_400) / 3_600))}h`;
}
