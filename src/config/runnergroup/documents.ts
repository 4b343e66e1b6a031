/** Parses documents with their places, as kubectl does: YAML 1.1, without the types that JSON lacks. */
import * as yaml from 'yaml';
import { Budget, MOST_DOCUMENT_WORDS, tooMuchInOne, wordsOf } from './budget.ts';
import { judgeDocument, type Meanings, type TextProblem } from './document-problems.ts';
import type { Problem } from './problems.ts';
import type { FilePlace, SourceFile } from './runner-group.ts';

/** Keys and indices from a document's root to a value. */
export type Path = readonly (string | number)[];

/** A document that is not empty. */
export interface SourceDocument {
  readonly place: FilePlace;
  readonly value: unknown;
  /** The document's own text, without markers and directives, ending in a newline. */
  readonly text: string;
  /** Returns the place of the key (else of the item) at `path`. For a missing one: the place of its nearest parent. */
  readonly placeOf: (path: Path) => FilePlace;
  /** The scalar at `path` as it is written, without quotes; undefined when it is none. */
  readonly writtenAt: (path: Path) => string | undefined;
}

export type Read = { readonly document: SourceDocument } | { readonly problem: Problem };

/** YAML 1.1 types that have no JSON form, or that go-yaml (so kubectl) reads as text. */
const LEFT_OUT = /^tag:yaml\.org,2002:(?:timestamp|binary|omap|pairs|set)$/;
/** Options for parsing YAML as kubectl does. */
export const AS_KUBECTL = {
  version: '1.1',
  customTags: (tags: yaml.Tags) =>
    tags.filter((tag) => typeof tag === 'string' || !(LEFT_OUT.test(tag.tag) || tag.format === 'TIME')),
} as const;
/** Characters that YAML forbids (1.2.2, production 1) and kubectl refuses. */
const CONTROL = /(?![\t\n\r\u0085])\p{Cc}/u;
/** Far beyond any manifest: code that calls itself per level must not run out of stack. */
const DEEPEST = 200;
const MOST_TEXT_PROBLEMS = 100;
/** The version that is read in any case; 1.2 would make a text of `yes`, for us but not for kubectl. */
const ONLY_DIRECTIVE = /^%YAML\s+1\.1\s*$/;

/** Reads all documents of a small file, with a budget of its own. */
export function readAll(file: SourceFile): readonly Read[] {
  const reads: Read[] = [];
  readDocuments(file, new Budget(), (read) => reads.push(read));
  return reads;
}

/** Returns the value of a file's only document. Undefined: it has a problem, or the file has none or several. */
export function readOneDocument(file: SourceFile): unknown {
  const [only, another] = readAll(file);
  return only && !another && 'document' in only ? only.document.value : undefined;
}

/** Hands each document to `take`, which must keep little of it. Ends early, with a problem, if `budget` is spent. */
export function readDocuments(file: SourceFile, budget: Budget, take: (read: Read) => void): void {
  new DocumentReader(file, budget, take).read();
}

class DocumentReader {
  readonly #file: SourceFile;
  readonly #budget: Budget;
  readonly #take: (read: Read) => void;
  readonly #lines = new yaml.LineCounter();
  readonly #parser = new yaml.Parser(this.#lines.addNewLine);
  // The package compares each key with all others: 20,000 keys take 3 s (measured). See wrongKeys.
  readonly #composer = new yaml.Composer({ ...AS_KUBECTL, prettyErrors: false, uniqueKeys: false });
  /** The document that the composer holds until it has seen what stands behind it. */
  #pending: yaml.CST.Document | undefined;
  #wordCount = 0;

  constructor(file: SourceFile, budget: Budget, take: (read: Read) => void) {
    this.#file = file;
    this.#budget = budget;
    this.#take = take;
  }

  read(): void {
    const control = CONTROL.exec(this.#file.text);
    const end = control
      ? { offset: control.index, message: 'holds a control character: remove it' }
      : (this.#readLexemes() ?? this.#compose(this.#parser.end()));
    if (end) this.#reportEnd(end);
    else this.#takePending();
  }

  /** Reads the file piece by piece. Returns why it is not read to its end. */
  #readLexemes(): TextProblem | undefined {
    this.#lines.addNewLine(0);
    for (const lexeme of new yaml.Lexer().lex(this.#file.text)) {
      const parseProblem = this.#compose(this.#parser.next(lexeme));
      if (parseProblem) return parseProblem;
      const { offset, stack } = this.#parser;
      if (this.#pending && stack[0]?.type === 'document') this.#takePending();
      const excess = this.#countWords(lexeme);
      if (excess !== undefined) return { offset, message: excess, code: 'GR-INPUT-08' };
      if (stack.length > DEEPEST)
        return { offset, message: `is nested more than ${DEEPEST} levels deep, as no manifest is: remove levels` };
    }
    return undefined;
  }

  /** Composes the documents that have ended. Returns why the file is not read any further. */
  #compose(tokens: Iterable<yaml.CST.Token>): TextProblem | undefined {
    for (const token of tokens) {
      const { offset } = token;
      if (token.type === 'directive' && !ONLY_DIRECTIVE.test(token.source))
        return { offset, message: 'holds a YAML directive: leave it out' };
      if (token.type === 'document') {
        const excess = this.#budget.addDocuments(1);
        if (excess !== undefined) return { offset, message: excess, code: 'GR-INPUT-08' };
        this.#takePending();
        this.#pending = token;
        this.#wordCount = 0;
      }
      // This loop only feeds the composer. It yields nothing: the last document was already taken.
      for (const _ of this.#composer.next(token));
    }
    return undefined;
  }

  /** Returns what there is too much of. */
  #countWords(lexeme: string): string | undefined {
    const count = wordsOf(lexeme);
    this.#wordCount += count;
    const isTooLong = this.#wordCount > MOST_DOCUMENT_WORDS;
    return this.#budget.addWords(count) ?? (isTooLong ? tooMuchInOne('this document has') : undefined);
  }

  /** Takes the document that the composer holds. Otherwise it would be in memory together with the next one. */
  #takePending(): void {
    for (const document of this.#composer.end()) this.#takeDocument(document, this.#pending);
    this.#pending = undefined;
  }

  #takeDocument(document: yaml.Document.Parsed, token: yaml.CST.Document | undefined): void {
    const { problems, meanings } = judgeDocument(document, this.#file.text);
    for (const { offset, message } of problems.slice(0, MOST_TEXT_PROBLEMS))
      this.#report(`is no valid YAML: ${message}`, this.#placeAt(offset));
    if (problems.length > 0 || isEmpty(document)) return;
    const read = toValue(document);
    const start = contentStart(document, token);
    if ('wrong' in read) this.#report(read.wrong, this.#placeAt(start));
    else this.#take({ document: this.#sourceOf(document, meanings, read.value, start) });
  }

  #sourceOf(document: yaml.Document.Parsed, meanings: Meanings, value: unknown, start: number): SourceDocument {
    const text = this.#file.text.slice(start, document.range[1]).replace(/^[ \t]*\r?\n/, '');
    return {
      place: this.#placeAt(document.contents?.range[0] ?? start),
      value,
      text: text.endsWith('\n') ? text : `${text}\n`,
      placeOf: (path) => this.#placeAt(findNode(document, meanings, path).offset),
      writtenAt: (path) => {
        const { node, depth } = findNode(document, meanings, path);
        return depth === path.length && yaml.isScalar(node) ? node.source : undefined;
      },
    };
  }

  #placeAt(offset: number): FilePlace {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file.name, line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  /** Reports why the file is not read on. Counts lines itself: the lexer may not have come this far. */
  #reportEnd({ offset, message, code }: TextProblem): void {
    const textBefore = this.#file.text.slice(0, offset);
    const line = textBefore.split('\n').length;
    this.#report(message, { file: this.#file.name, line, column: offset - textBefore.lastIndexOf('\n') }, code);
  }

  #report(message: string, place: FilePlace, code?: Problem['code']): void {
    const kind = code === undefined ? ({ code: 'GR-INPUT-02', isUnreadable: true } as const) : { code };
    this.#take({ problem: { place, path: '', message, ...kind } });
  }
}

/** A document of nothing but comments, or `null`: kubectl and Argo CD skip it. */
function isEmpty({ contents }: yaml.Document.Parsed): boolean {
  return contents === null || (yaml.isScalar(contents) && contents.value === null);
}

function toValue(document: yaml.Document.Parsed): { readonly value: unknown } | { readonly wrong: string } {
  try {
    // 100 is the package's own limit for aliases of aliases; equal aliases share one object.
    return { value: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    const merge = error instanceof Error && error.message.startsWith('Merge sources');
    return { wrong: `is no valid YAML: ${merge ? '"<<" needs a mapping' : 'too many aliases of aliases'}` };
  }
}

/** Returns the offset after the `---` line, if there is one. */
function contentStart(document: yaml.Document.Parsed, token: yaml.CST.Token | undefined): number {
  if (token?.type !== 'document') return document.range[0];
  const marker = token.start.findLast(({ type }) => type === 'doc-start');
  return marker ? marker.offset + marker.source.length : document.range[0];
}

/** The value at `path`, or the last one on the way, with the offset of its key. Looks into aliases and merges. */
function findNode(document: yaml.Document.Parsed, meanings: Meanings, path: Path) {
  let foundNode = { offset: document.contents?.range[0] ?? 0, node: document.contents as yaml.Node | null, depth: 0 };
  for (const step of path) {
    const inner = yaml.isAlias(foundNode.node) ? (meanings.get(foundNode.node) ?? null) : foundNode.node;
    const child = childOf(inner, step);
    if (!child) break;
    foundNode = { offset: child.offset ?? foundNode.offset, node: child.node, depth: foundNode.depth + 1 };
  }
  return foundNode;
}

function childOf(parent: yaml.Node | null, step: string | number) {
  const pairs = yaml.isMap(parent) ? parent.items : [];
  const pair = pairs.find((item) => yaml.isScalar(item.key) && String(item.key.value) === String(step));
  const item: unknown = yaml.isSeq(parent) && typeof step === 'number' ? parent.items[step] : undefined;
  if (!pair && !yaml.isNode(item)) return undefined;
  const { key, value }: { readonly key: unknown; readonly value: unknown } = pair ?? { key: item, value: item };
  return { offset: yaml.isNode(key) ? key.range?.[0] : undefined, node: yaml.isNode(value) ? value : null };
}
