/**
 * From text to documents with places, read as kubectl reads them: YAML 1.1 (`yes` is a boolean) without the types that JSON
 * lacks, no duplicate keys, no unknown tags; JSON is a part of it.
 */
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  visit,
  type YAMLMap,
} from 'yaml';
import type { SourceFile } from './files.ts';
import type { Problem } from './problems.ts';
import type { Place } from './runner-group.ts';

/** Keys and indices from a document's root to a value. */
export type Path = readonly (string | number)[];

/** One document that is not empty. */
export interface SourceDocument {
  readonly place: Place;
  /** Plain data. */
  readonly value: unknown;
  /** The document's own text, without markers and directives, ending in a newline. */
  readonly text: string;
  /** Where the key (else the item) at `path` stands; for a missing one, what is around it. */
  readonly placeOf: (path: Path) => Place;
  /** The scalar at `path` as it is written, without quotes; undefined when it is none. */
  readonly writtenAt: (path: Path) => string | undefined;
}

/** What a file holds. */
export interface SourceDocuments {
  readonly documents: readonly SourceDocument[];
  readonly problems: readonly Problem[];
}

/** YAML 1.1 types that have no JSON form, or that go-yaml (so kubectl) reads as text. */
const LEFT_OUT = /^tag:yaml\.org,2002:(?:timestamp|binary|omap|pairs|set)$/;
/** Not allowed in YAML (1.2.2, production 1) and refused by kubectl. */
const CONTROL = /(?![\t\n\r\u0085])\p{Cc}/u;
/** Far beyond any manifest: code that calls itself per level must not run out of stack. */
const DEEPEST = 200;
/** Signs, words and spaces of a file: 4 MiB of our CRD have 0.7 million. A file of 4 million commas takes 4 GB (measured). */
const MOST_LEXEMES = 1_500_000;
const MOST_DOCUMENTS = 10_000;
/** Faults shown of one document: the parser finds thousands in what is no YAML at all. */
const MOST_FAULTS = 100;
/** The version that is read in any case; 1.2 would make a text of `yes`, for us but not for kubectl. */
const ONLY_DIRECTIVE = /^%YAML\s+1\.1\s*$/;

/** Reads all documents of a file. Never throws for what is written there. */
export function parseDocuments(file: SourceFile): SourceDocuments {
  const reader = new Reader(file);
  const control = CONTROL.exec(file.text);
  if (control) return reader.refuse(control.index, 'holds a control character: remove it');
  const tokens = reader.tokens();
  if ('wrong' in tokens) return reader.refuse(tokens.offset, tokens.wrong);
  for (const token of tokens.tokens) {
    if (token.type !== 'directive' || ONLY_DIRECTIVE.test(token.source)) continue;
    return reader.refuse(token.offset, 'holds a YAML directive: leave it out');
  }
  return reader.documents(tokens.tokens);
}

class Reader {
  readonly #file: SourceFile;
  readonly #lines = new LineCounter();

  constructor(file: SourceFile) {
    this.#file = file;
  }

  placeAt(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file.name, line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  problem(offset: number, message: string): Problem {
    return { place: this.placeAt(offset), path: '', message, code: 'GR-INPUT-02' };
  }

  /** Nothing is read from this file. Counts lines itself: the lexer may not have come this far. */
  refuse(offset: number, message: string): SourceDocuments {
    const before = this.#file.text.slice(0, offset).split('\n');
    const place = { file: this.#file.name, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    return { documents: [], problems: [{ place, path: '', message, code: 'GR-INPUT-02' }] };
  }

  /** All tokens, or where there is too much of something. */
  tokens(): { readonly tokens: readonly CST.Token[] } | { readonly wrong: string; readonly offset: number } {
    const parser = new Parser(this.#lines.addNewLine);
    const tokens: CST.Token[] = [];
    let lexemes = 0;
    this.#lines.addNewLine(0);
    for (const lexeme of new Lexer().lex(this.#file.text)) {
      for (const token of parser.next(lexeme)) tokens.push(token);
      lexemes++;
      const { offset } = parser;
      if (parser.stack.length > DEEPEST) return { wrong: `is nested more than ${DEEPEST} levels deep`, offset };
      if (lexemes > MOST_LEXEMES) return { wrong: `has more than ${MOST_LEXEMES} words and signs: divide it`, offset };
    }
    for (const token of parser.end()) tokens.push(token);
    const one = tokens.filter(({ type }) => type === 'document')[MOST_DOCUMENTS];
    if (one) return { wrong: `has more than ${MOST_DOCUMENTS} documents: divide it`, offset: one.offset };
    return { tokens };
  }

  documents(tokens: readonly CST.Token[]): SourceDocuments {
    const composer = new Composer({
      version: '1.1',
      customTags: (tags) =>
        tags.filter((tag) => typeof tag === 'string' || !(LEFT_OUT.test(tag.tag) || tag.format === 'TIME')),
      prettyErrors: false,
      // The package compares each key with all others: 20,000 keys take 3 s (measured). See repeatedKeys.
      uniqueKeys: false,
    });
    const starts = new Map(tokens.flatMap((token) => (token.type === 'document' ? [[token.offset, token]] : [])));
    const problems: Problem[] = [];
    const documents: SourceDocument[] = [];
    for (const document of composer.compose(tokens, false, this.#file.text.length)) {
      const faults = faultsOf(document);
      for (const { offset, message } of faults.slice(0, MOST_FAULTS)) {
        problems.push(this.problem(offset, `is no valid YAML: ${message}`));
      }
      if (faults.length > 0 || isEmpty(document)) continue;
      const read = toValue(document);
      const start = contentStart(document, starts.get(document.range[0]));
      if ('wrong' in read) problems.push(this.problem(start, read.wrong));
      else documents.push(this.#source(document, read.value, start));
    }
    return { documents, problems };
  }

  #source(document: Document.Parsed, value: unknown, start: number): SourceDocument {
    const text = this.#file.text.slice(start, document.range[1]).replace(/^[ \t]*\r?\n/, '');
    return {
      place: this.placeAt(document.contents?.range[0] ?? start),
      value,
      text: text.endsWith('\n') ? text : `${text}\n`,
      placeOf: (path) => this.placeAt(findNode(document, path).offset),
      writtenAt: (path) => {
        const { node, depth } = findNode(document, path);
        return depth === path.length && isScalar(node) ? node.source : undefined;
      },
    };
  }
}

interface Fault {
  readonly offset: number;
  readonly message: string;
}

function faultsOf(document: Document.Parsed): readonly Fault[] {
  const found = [...document.errors, ...document.warnings];
  if (found.length > 0) return found.map(({ pos, message }) => ({ offset: pos[0], message }));
  const faults: Fault[] = [];
  const report = (node: unknown, message: string) => {
    faults.push({ offset: isNode(node) ? (node.range?.[0] ?? 0) : 0, message });
  };
  const anchors = new Map<string, Node>();
  visit(document, {
    Alias: (_, alias, path) => {
      const target = anchors.get(alias.source);
      if (!target) report(alias, 'this alias has no anchor before it');
      else if (path.includes(target)) report(alias, 'this alias stands inside of what it means');
    },
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (!isMap(node)) return;
      for (const { key, message } of wrongKeys(node)) report(key, message);
    },
  });
  return faults;
}

/**
 * Keys that JSON cannot have: collections, and those that stand twice (`1` and `"1"` are one key). And merges (`<<`) behind other keys:
 * Kubernetes' own reader lets them overwrite what stands before (go-yaml v2), which YAML does not, so nobody can say what is meant.
 */
function wrongKeys({ items }: YAMLMap): readonly { readonly key: unknown; readonly message: string }[] {
  const seen = new Set<string>();
  return items.flatMap(({ key }, index) => {
    if (!isScalar(key)) return [{ key, message: 'a key must be a word' }];
    const name = String(key.value);
    if (seen.has(name)) return [{ key, message: 'this key is already in its mapping' }];
    seen.add(name);
    // The package reads a plain "<<", and whatever is tagged so, as a symbol.
    const isMerge = typeof key.value === 'symbol';
    if (isMerge && key.source !== '<<') return [{ key, message: 'a merge is written "<<"' }];
    if (isMerge && index > 0) return [{ key, message: '"<<" must come first in its mapping, or readers disagree' }];
    return [];
  });
}

/** A document of nothing but comments, or `null`: kubectl and Argo CD skip it. */
function isEmpty({ contents }: Document.Parsed): boolean {
  return contents === null || (isScalar(contents) && contents.value === null);
}

function toValue(document: Document.Parsed): { readonly value: unknown } | { readonly wrong: string } {
  try {
    // 100 is the package's own limit for aliases of aliases; equal aliases share one object.
    return { value: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    const merge = error instanceof Error && error.message.startsWith('Merge sources');
    return { wrong: `is no valid YAML: ${merge ? '"<<" needs a mapping' : 'too many aliases of aliases'}` };
  }
}

/** Behind the `---` line, when there is one. */
function contentStart(document: Document.Parsed, token: CST.Token | undefined): number {
  if (token?.type !== 'document') return document.range[0];
  const marker = token.start.findLast(({ type }) => type === 'doc-start');
  return marker ? marker.offset + marker.source.length : document.range[0];
}

/** The value at `path`, or the last one on the way to it, with the offset of its key. Aliases and merges are looked into. */
function findNode(document: Document.Parsed, path: Path): { offset: number; node: Node | null; depth: number } {
  let found = { offset: document.contents?.range[0] ?? 0, node: document.contents as Node | null, depth: 0 };
  for (const step of path) {
    const inner = isAlias(found.node) ? (found.node.resolve(document) ?? null) : found.node;
    const child = childOf(inner, step);
    if (!child) break;
    found = { offset: child.offset ?? found.offset, node: child.node, depth: found.depth + 1 };
  }
  return found;
}

function childOf(parent: Node | null, step: string | number): { offset?: number; node: Node | null } | undefined {
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
    if (!isPair(pair)) return undefined;
    const start = isNode(pair.key) ? pair.key.range?.[0] : undefined;
    return { ...(start !== undefined && { offset: start }), node: isNode(pair.value) ? pair.value : null };
  }
  if (isSeq(parent) && typeof step === 'number') {
    const item = parent.items[step];
    if (!isNode(item)) return undefined;
    const start = item.range?.[0];
    return { ...(start !== undefined && { offset: start }), node: item };
  }
  return undefined;
}
