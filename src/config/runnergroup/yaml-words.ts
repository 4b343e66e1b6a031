/** What the YAML parser says, in the words of somebody who writes YAML. */
import type { ErrorCode, YAMLError } from 'yaml';

/** A line of the text: its number from 1, and how many spaces it is indented. */
interface Line {
  readonly number: number;
  readonly indent: number;
  readonly offset: number;
}

/** What Helm writes is YAML only when it is rendered. */
export const TEMPLATE = 'this looks like a template ("{{"): render it first, e.g. with "helm template"';

/** The first error of a document. @returns where it really is, in characters from the start of the text, and what to do */
export function inWords(error: YAMLError, text: string): { readonly offset: number; readonly message: string } {
  const [offset] = error.pos;
  if (error.code !== 'TAB_AS_INDENT' && text.includes('{{')) return { offset, message: TEMPLATE };
  const conflict = CONFLICT.exec(text);
  if (conflict) return { offset: conflict.index, message: 'this is a conflict of Git: resolve it' };
  const space = text.split('\n', lineAt(text, offset).number).join('\n').search(NON_BREAKING);
  if (space >= 0) return { offset: space, message: NON_BREAKING_TEXT };
  return WORDS[error.code]?.(offset, text, error.message) ?? { offset, message: error.message };
}

/** The line with which Git begins what two sides have changed. */
const CONFLICT = /^<{7} /m;

/** What web pages put where spaces were. It looks like one and indents nothing. */
const NON_BREAKING = /(?<=^ *)\u00a0/m;
const NON_BREAKING_TEXT = 'a non-breaking space stands in the indentation: use ordinary spaces';

type Words = (offset: number, text: string, message: string) => { readonly offset: number; readonly message: string };

const WORDS: Readonly<Partial<Record<ErrorCode, Words>>> = {
  TAB_AS_INDENT: (offset) => ({ offset, message: 'a tab stands in the indentation: use spaces' }),
  BLOCK_AS_IMPLICIT_KEY: valueBeforeKeys,
  MULTILINE_IMPLICIT_KEY: valueBeforeKeys,
  BAD_INDENT: (offset, text, message) => {
    const bracket = /with an? ([\]}])/.exec(message)?.[1];
    if (bracket !== undefined) return { offset, message: `a "${bracket}" is missing at the end of a list or mapping` };
    const line = lineAt(text, offset);
    const next = isBlank(text, line) ? neighbour(text, line, 1) : undefined;
    const at = next ? next.offset + next.indent : offset;
    return { offset: at, message: comparedWithLineBefore(next ?? line, text) };
  },
  MISSING_CHAR: (offset, _, message) => {
    const quote = /closing (["'])/.exec(message)?.[1];
    if (quote !== undefined) return { offset, message: `a quote (${quote}) is opened and never closed` };
    return {
      offset,
      message: message.startsWith('Implicit map keys') ? NO_COLON : message,
    };
  },
  BAD_SCALAR_START: (offset, text) => ({
    offset,
    message: `a string that starts with "${text.charAt(offset)}" needs quotes`,
  }),
};

const NO_COLON = 'a key needs a colon and a space after it';

/** A key with a value, and then keys that stand below it; or a second ": " in a value. */
function valueBeforeKeys(offset: number, text: string): { readonly offset: number; readonly message: string } {
  const line = lineAt(text, offset);
  const next = neighbour(text, line, 1);
  if (next && next.indent > line.indent)
    return { offset: next.offset + next.indent, message: comparedWithLineBefore(next, text) };
  const own = text.slice(offset, next?.offset);
  return { offset, message: /:\s/.test(own) ? 'a string with a colon and a space in it needs quotes' : NO_COLON };
}

function comparedWithLineBefore(line: Line, text: string): string {
  const before = neighbour(text, line, -1);
  if (!before || before.indent === line.indent)
    return `line ${line.number} is indented in another way than its neighbours`;
  const how = line.indent > before.indent ? 'more' : 'less';
  return `line ${line.number} is indented ${how} than line ${before.number}, and the two do not fit together`;
}

function lineAt(text: string, offset: number): Line {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const number = text.slice(0, start).split('\n').length;
  return { number, indent: text.slice(start).search(/[^ ]|$/), offset: start };
}

/** The next line before (-1) or after (1) this one that is not empty and no comment. */
function neighbour(text: string, { number }: Line, step: -1 | 1): Line | undefined {
  const lines = text.split('\n');
  for (let at = number - 1 + step; ; at += step) {
    const line = lines[at];
    if (line === undefined) return undefined;
    if (/^ *(?:[\r#]|$)/.test(line)) continue;
    const offset = lines.slice(0, at).reduce((sum, { length }) => sum + length + 1, 0);
    return { number: at + 1, indent: line.search(/[^ ]/), offset };
  }
}

function isBlank(text: string, { offset, indent }: Line): boolean {
  return ['\n', '\r', '#', undefined].includes(text[offset + indent]);
}
