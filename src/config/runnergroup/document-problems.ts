/** What makes a parsed document unusable: problems of the syntax, keys that JSON cannot have, aliases that mean nothing or too much. */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import { MOST_DOCUMENT_WORDS, tooMuchInOne } from './budget.ts';
import { type ProblemCode, quoted } from './problems.ts';
import { inWords, TEMPLATE } from './yaml-words.ts';

/** A problem at a place in the text of a file. `DocumentReader` makes a `Problem` of it. */
export interface TextProblem {
  /** Characters from the start of the file. */
  readonly offset: number;
  readonly message: string;
  /** Absent: GR-INPUT-02. */
  readonly code?: ProblemCode;
}

/** What each alias means. Asking the package costs a walk through the whole document each time. */
export type Meanings = ReadonlyMap<Alias, Node>;

/**
 * What is wrong in a document that the package could parse, and what its aliases mean. Of what the package says only the first counts:
 * the others follow from it.
 * @param text the whole file
 */
export function judgeDocument(
  document: Document.Parsed,
  text: string,
): {
  readonly problems: readonly TextProblem[];
  readonly meanings: Meanings;
} {
  const [first] = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const meanings = new Map<Alias, Node>();
  if (first) return { problems: [inWords(first, text)], meanings };
  const problems: TextProblem[] = [];
  const report = (node: unknown, message: string) => {
    problems.push({ offset: isNode(node) ? (node.range?.[0] ?? 0) : 0, message });
  };
  const anchors = new Map<string, Node>();
  const sizes = new Sizes();
  visit(document, {
    Alias: (_, alias, path) => {
      const target = anchors.get(alias.source);
      if (target) meanings.set(alias, target);
      if (!target) report(alias, 'this alias has no anchor before it in its document');
      else if (path.includes(target)) report(alias, 'this alias stands inside of what it means');
      else if (sizes.addAlias(alias, target) > MOST_DOCUMENT_WORDS) {
        report(alias, tooMuchInOne('with what its aliases stand for, this document has'));
        return visit.BREAK;
      }
      return undefined;
    },
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (!isMap(node)) return;
      for (const { key, message } of wrongKeys(node, text)) report(key, message);
    },
  });
  return { problems, meanings };
}

/** How many values aliases stand for. A merge (`<<: *a`) copies them all. */
class Sizes {
  /** Of aliases, and of what they mean. */
  readonly #known = new Map<Node, number>();
  #sum = 0;

  /** @returns what all aliases up to this one stand for */
  addAlias(alias: Alias, target: Node): number {
    const size = this.#known.get(target) ?? this.#sizeOf(target);
    this.#known.set(target, size).set(alias, size);
    this.#sum += size;
    return this.#sum;
  }

  #sizeOf(node: unknown): number {
    if (isPair(node)) return this.#sizeOf(node.value);
    if (isAlias(node)) return this.#known.get(node) ?? 1;
    if (!isMap(node) && !isSeq(node)) return 1;
    let size = 1;
    for (const item of node.items) size += this.#sizeOf(item);
    return size;
  }
}

/** Keys that JSON cannot have: collections, and those that stand twice (`1` and `"1"` are one key). And keys that are not clear. */
function wrongKeys({ items }: YAMLMap, text: string): readonly { readonly key: unknown; readonly message: string }[] {
  const seen = new Set<string>();
  return items.flatMap(({ key }, index) => {
    if (!isScalar(key)) return [{ key, message: isTemplate(key, text) ? TEMPLATE : 'a key must be a word' }];
    const name = String(key.value);
    if (seen.has(name)) return [{ key, message: `the key ${quoted(name)} is already in its mapping` }];
    seen.add(name);
    const message = unclearKey(key, index, text);
    return message === undefined ? [] : [{ key, message }];
  });
}

/**
 * Where Kubernetes' own reader (go-yaml v2) finds other keys than YAML says, so that the meaning is not clear (docs/adr/0024):
 *
 *   kind: A, then <<: {kind: B}   a merge behind other keys overwrites them there
 *   ! "<<": {a: 1}                a merge there. Without quotes a merge for the package only, if it has a tag
 *   {?a: 1}                       the key "a" there
 *   {a:, b: 1}                    the key "a:" there
 */
function unclearKey(key: Scalar, index: number, text: string): string | undefined {
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
function hasTightColon({ range }: Scalar, text: string): boolean {
  const colon = /\s*:[,[\]{}]/y;
  colon.lastIndex = range?.[1] ?? 0;
  return colon.test(text);
}

/** `{{ .Values.name }}` is YAML: a mapping whose key is a mapping. */
function isTemplate(key: unknown, text: string): boolean {
  const at = isMap(key) ? (key.range?.[0] ?? 0) : 0;
  return at > 0 && text.startsWith('{{', at - 1);
}
