/** Finds why a parsed document is unusable: syntax, keys that JSON cannot have, aliases without target or too large. */
import * as yaml from 'yaml';
import { MOST_DOCUMENT_WORDS, tooMuchInOne } from './budget.ts';
import { type ProblemCode, quoted } from './problems.ts';

/** A problem at a position of a file's text. `DocumentReader` makes a `Problem` of it. */
export interface TextProblem {
  /** Characters from the start of the file. */
  readonly offset: number;
  readonly message: string;
  /** Absent: GR-INPUT-02. */
  readonly code?: ProblemCode;
}

/** Target of each alias. Asking the package takes a walk through the whole document each time. */
export type Meanings = ReadonlyMap<yaml.Alias, yaml.Node>;

/** Returns the problem of a document. Only the package's first error counts. @param text the whole file */
export function judgeDocument(document: yaml.Document.Parsed, text: string) {
  const [first] = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const meanings = new Map<yaml.Alias, yaml.Node>();
  if (first) return { problems: [inWords(first, text)], meanings };
  const problems: TextProblem[] = [];
  const report = (node: unknown, message: string): undefined => {
    problems.push({ offset: yaml.isNode(node) ? (node.range?.[0] ?? 0) : 0, message });
  };
  const anchors = new Map<string, yaml.Node>();
  const sizes = new Map<yaml.Node, number>();
  let size = 0;
  yaml.visit(document, {
    Alias: (_, alias, path) => {
      const target = anchors.get(alias.source);
      if (!target) return report(alias, 'this alias has no anchor before it in its document');
      meanings.set(alias, target);
      if (path.includes(target)) return report(alias, 'this alias stands inside of what it means');
      const targetSize = sizes.get(target) ?? sizeOf(target, sizes);
      sizes.set(target, targetSize).set(alias, targetSize);
      size += targetSize;
      if (size <= MOST_DOCUMENT_WORDS) return undefined;
      report(alias, tooMuchInOne('with what its aliases stand for, this document has'));
      return yaml.visit.BREAK;
    },
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (!yaml.isMap(node)) return;
      for (const { key, message } of wrongKeys(node, text)) report(key, message);
    },
  });
  return { problems, meanings };
}

/** Returns how many values a node stands for: a merge (`<<: *a`) copies all. @param sizes of aliases and targets */
function sizeOf(node: unknown, sizes: Map<yaml.Node, number>): number {
  if (yaml.isPair(node)) return sizeOf(node.value, sizes);
  if (yaml.isAlias(node)) return sizes.get(node) ?? 1;
  if (!yaml.isMap(node) && !yaml.isSeq(node)) return 1;
  let size = 1;
  for (const item of node.items) size += sizeOf(item, sizes);
  return size;
}

/** Keys that JSON cannot have (collections, and those that stand twice), and keys that are not clear. */
function wrongKeys({ items }: yaml.YAMLMap, text: string) {
  const keys = new Set<string>();
  return items.flatMap(({ key }, index) => {
    if (!yaml.isScalar(key))
      return [
        { key, message: isTemplate(key, text) ? TEMPLATE : 'a key must be a string: no list, no mapping, no alias' },
      ];
    const name = String(key.value);
    if (keys.has(name)) return [{ key, message: `the key ${quoted(name)} is already in its mapping` }];
    keys.add(name);
    const message = unclearKey(key, index, text);
    return message === undefined ? [] : [{ key, message }];
  });
}

/**
 * Finds keys that Kubernetes' reader (go-yaml v2) reads otherwise than YAML says (docs/adr/0024):
 *
 *   kind: A, then <<: {kind: B}   a merge behind other keys overwrites them there
 *   ! "<<": {a: 1}                a merge there; for our package only without quotes, or with a tag
 *   {?a: 1}                       the key "a" there
 *   {a:, b: 1}                    the key "a:" there
 */
function unclearKey(key: yaml.Scalar, index: number, text: string): string | undefined {
  const { source, tag, type, value } = key;
  // The package reads a plain "<<", and every key with that tag, as a symbol.
  const isMerge = typeof value === 'symbol';
  if (isMerge ? source !== '<<' : value === '<<' && tag !== undefined) return 'a merge is written "<<"';
  if (isMerge && index > 0) return '"<<" must come first in its mapping, or readers disagree';
  if (type !== 'PLAIN') return undefined;
  if (source?.startsWith('?')) return `the key ${quoted(source)} needs quotes, or readers disagree about its "?"`;
  return hasTightColon(key, text)
    ? `the key ${quoted(String(source))} needs a space behind its colon, or readers disagree`
    : undefined;
}

/** True when the colon of a key stands directly before a sign of `{…}` or `[…]`. */
function hasTightColon({ range }: yaml.Scalar, text: string): boolean {
  const colon = /\s*:[,[\]{}]/y;
  colon.lastIndex = range?.[1] ?? 0;
  return colon.test(text);
}

/** `{{ .Values.name }}` is YAML: a mapping whose key is a mapping. */
function isTemplate(key: unknown, text: string): boolean {
  const keyOffset = yaml.isMap(key) ? (key.range?.[0] ?? 0) : 0;
  return keyOffset > 0 && text.startsWith('{{', keyOffset - 1);
}

/** A line of the text: its number from 1, how many spaces it is indented, and where it begins. */
type Line = Readonly<Record<'number' | 'indent' | 'offset', number>>;

/** Message for a Helm template: it is YAML only after rendering. */
export const TEMPLATE = 'this looks like a template ("{{"): render it first, e.g. with "helm template"';

/** Describes the first error of a document, and returns the place of its cause. */
function inWords(error: yaml.YAMLError, text: string): { readonly offset: number; readonly message: string } {
  const [offset] = error.pos;
  if (error.code !== 'TAB_AS_INDENT' && text.includes('{{')) return { offset, message: TEMPLATE };
  if (text.startsWith('${', offset - 1)) return { offset: offset - 1, message: TEMPLATE.replace('{{', '${') };
  if (/^ *```/.test(text.slice(lineAt(text, offset).offset)))
    return { offset, message: 'a line of Markdown (```) stands here: remove it' };
  const conflict = CONFLICT.exec(text);
  if (conflict) return { offset: conflict.index, message: 'this is a conflict of Git: resolve it' };
  const space = text.split('\n', lineAt(text, offset).number).join('\n').search(NON_BREAKING);
  if (space >= 0) return { offset: space, message: NON_BREAKING_TEXT };
  return WORDS[error.code]?.(offset, text, error.message) ?? { offset, message: error.message };
}

/** The line with which Git begins what two sides have changed. */
const CONFLICT = /^<{7} /m;

/** Spaces that web pages insert. They look like a space and do not indent. */
const NON_BREAKING = /(?<=^ *|[:-])[\u00a0\u2007\u202f]/m;
const NON_BREAKING_TEXT = 'a non-breaking space stands here: use ordinary spaces';

type Words = (offset: number, text: string, message: string) => { readonly offset: number; readonly message: string };

const WORDS: Readonly<Partial<Record<yaml.ErrorCode, Words>>> = {
  TAB_AS_INDENT: (offset) => ({ offset, message: 'a tab stands in the indentation: use spaces' }),
  BLOCK_AS_IMPLICIT_KEY: valueBeforeKeys,
  MULTILINE_IMPLICIT_KEY: valueBeforeKeys,
  BAD_INDENT: (offset, text, message) => {
    const bracket = /with an? ([\]}])/.exec(message)?.[1];
    const open = text.slice(0, offset).search(bracket === ']' ? /\[[^[\]]*$/ : /\{[^{}]*$/);
    if (bracket !== undefined)
      return {
        offset: open < 0 ? offset : open,
        message: `a "${bracket}" is missing at the end of this list or mapping`,
      };
    const line = lineAt(text, offset);
    const isBlank = ['\n', '\r', '#', undefined].includes(text[line.offset + line.indent]);
    const next = isBlank ? neighbour(text, line, 1) : undefined;
    const problemOffset = next ? next.offset + next.indent : offset;
    return { offset: problemOffset, message: comparedWithLineBefore(next ?? line, text) };
  },
  MISSING_CHAR: (offset, text, message) => {
    const quote = /closing (["'])/.exec(message)?.[1];
    if (quote !== undefined)
      return { offset: startOfToken(offset, text), message: `a quote (${quote}) is opened and never closed` };
    return { offset, message: message.startsWith('Implicit map keys') ? noColon(offset, text) : message };
  },
  BLOCK_IN_FLOW: (offset, text, message) => {
    const isColon = /^[^\s,{}[\]]+:[\]},\s]/.test(text.slice(offset));
    return { offset, message: isColon ? 'a value that ends with a colon needs quotes' : message };
  },
  BAD_SCALAR_START: (offset, text) => ({
    offset,
    message: `a string that starts with "${text.charAt(offset)}" needs quotes`,
  }),
};

/** Returns where the token begins that ends at an offset. */
function startOfToken(end: number, text: string): number {
  let offset = 0;
  for (const token of new yaml.Lexer().lex(text)) {
    // The lexer puts marks between tokens that are not in the text.
    if (['doc-mode', 'flow-error-end', 'scalar'].includes(String(yaml.CST.tokenType(token)))) continue;
    offset += token.length;
    if (offset >= end) return offset - token.length;
  }
  return end;
}

function noColon(offset: number, text: string): string {
  const [, item] = /^-([^\s-]\S*)/.exec(text.slice(offset)) ?? [];
  return item ? `a list needs a space after its dash: write "- ${item}"` : 'a key needs a colon and a space after it';
}

/** A key with a value, and then keys that stand below it; or a second ": " in a value. */
function valueBeforeKeys(offset: number, text: string): { readonly offset: number; readonly message: string } {
  const line = lineAt(text, offset);
  const next = neighbour(text, line, 1);
  if (next && next.indent > line.indent)
    return { offset: next.offset + next.indent, message: comparedWithLineBefore(next, text) };
  const valueText = text.slice(offset, next?.offset);
  return {
    offset,
    message: /:\s/.test(valueText) ? 'a string with a colon and a space in it needs quotes' : noColon(offset, text),
  };
}

function comparedWithLineBefore(line: Line, text: string): string {
  const previousLine = neighbour(text, line, -1);
  if (!previousLine || previousLine.indent === line.indent)
    return `line ${line.number} is indented in another way than its neighbours`;
  const comparison = line.indent > previousLine.indent ? 'more' : 'less';
  return `line ${line.number} is indented ${comparison} than line ${previousLine.number}, and the two do not fit together`;
}

function lineAt(text: string, offset: number): Line {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const number = text.slice(0, start).split('\n').length;
  return { number, indent: text.slice(start).search(/[^ ]|$/), offset: start };
}

/** Returns the next line before (-1) or after (1) this one that is neither empty nor a comment. */
function neighbour(text: string, { number }: Line, step: -1 | 1): Line | undefined {
  const lines = text.split('\n');
  for (let lineIndex = number - 1 + step; ; lineIndex += step) {
    const line = lines[lineIndex];
    if (line === undefined) return undefined;
    if (/^ *(?:[\r#]|$)/.test(line)) continue;
    const offset = lines.slice(0, lineIndex).reduce((sum, { length }) => sum + length + 1, 0);
    return { number: lineIndex + 1, indent: line.search(/[^ ]/), offset };
  }
}
