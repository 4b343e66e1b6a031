/**
 * Reads the YAML that people write for RunnerGroups: block mappings and lists, with words, numbers, `{…}` or `[…]` on one
 * line. The package `yaml` takes a start ten times as long, and reads the same (plain-yaml.property.test.ts). It gets all
 * that is not plain, and everything with a problem.
 *
 *     file ─► lines without comments ─► document ─► mapping ─┬─ key: scalar
 *                                                            ├─ key: {flow}
 *                                                            └─ key: ─► mapping or list, deeper
 */
import type { Path, SourceDocument } from './documents.ts';
import { valueAt } from './paths.ts';
import type { FilePlace, SourceFile } from './runner-group.ts';

export type PlainDocument = Pick<SourceDocument, 'place' | 'value' | 'placeOf'>;

/** Most characters. The package `yaml`, which has limits, reads longer files. */
const MOST_CHARACTERS = 32_768;
const DEEPEST = 20;
/** ASCII that can be seen, and ends of lines: no tabs, nothing that a YAML reader would look at twice. */
const ORDINARY = /^[\n\x20-\x7e]*$/;

/** A line that is neither empty nor a comment. */
interface YamlLine {
  readonly indent: number;
  /** The line without its indent. */
  readonly text: string;
  /** Number of the line, from 1. */
  readonly number: number;
}

/** Thrown inside this file only. The package `yaml` then reads the text. */
class NotPlain extends Error {}

/** Returns all documents of a file. Undefined: the package `yaml` must read it. */
export function readPlainYaml({ name, text }: SourceFile): readonly PlainDocument[] | undefined {
  if (text.length > MOST_CHARACTERS || !ORDINARY.test(text)) return undefined;
  try {
    return documentsOf(text).map((lines) => {
      const [first] = lines;
      if (first?.indent !== 0) throw new NotPlain();
      const places = new Places();
      const value = new Reader(lines, places).read();
      const place = { file: name, line: first.number, column: 1 };
      return { place, value, placeOf: (path) => ({ ...place, ...places.find(value, path) }) };
    });
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

type Place = Pick<FilePlace, 'line' | 'column'>;

type Mapping = Record<string, unknown>;

class Places {
  readonly #placesByParent = new Map<unknown, Map<string, Place>>();

  note(parent: object, step: string | number, place: Place): void {
    const knownKeys = this.#placesByParent.get(parent);
    if (knownKeys) knownKeys.set(String(step), place);
    else this.#placesByParent.set(parent, new Map([[String(step), place]]));
  }

  /** Returns the place of a value; of a missing one, that of the last value on the way. Undefined: the root. */
  find(root: unknown, path: Path): Place | undefined {
    let [value, found]: [unknown, Place | undefined] = [root, undefined];
    for (const step of path) {
      const place = this.#placesByParent.get(value)?.get(String(step));
      if (!place) break;
      [value, found] = [valueAt(value, [step]), place];
    }
    return found;
  }
}

function documentsOf(text: string): readonly (readonly YamlLine[])[] {
  const documents: YamlLine[][] = [];
  let lines: YamlLine[] = [];
  for (const [index, line] of `${text}\n---`.split('\n').entries()) {
    if (line === '---') {
      if (lines.length > 0) documents.push(lines);
      lines = [];
      continue;
    }
    const content = line.trimStart();
    if (content !== '' && !content.startsWith('#')) {
      lines.push({ indent: line.length - content.length, text: content, number: index + 1 });
    }
  }
  return documents;
}

/** The part of a line after a value: spaces, and perhaps a comment. */
const REST = / *(?: #.*)?$/y;
/** A string for every reader: neither a word of YAML 1.1 (`on` and `y` are booleans) nor a number. */
const KEY = /(?!(?:y|n|yes|no|on|off|true|false|null|e[-+]?[0-9]+)\b)[A-Za-z][A-Za-z0-9_./-]{0,200}(?=:(?: |$))/iy;
/** Such a string with spaces and colons, or a command's flag. A colon before a space would make a key of it. */
const WORDS = /-{0,2}[A-Za-z/][\w./@+=-]*(?::[\w./@+=-]+)*(?: +[\w./@+=-]+(?::[\w./@+=-]+)*)*(?!:)/y;
const WORD = /-{0,2}[A-Za-z/][\w./@+=-]*(?::[\w./@+=-]+)*(?!:)/y;
/** Words with another type in the package. `E0` and `-e5` are numbers there. */
const YAML_WORD = /^(?:y|n|yes|no|on|off|true|false|null|-?e[-+]?[0-9]+)$/i;
/** Such a number is the same in every version of YAML. */
const WHOLE_NUMBER = /(?:0|[1-9][0-9]{0,14})(?![\w./@+=:-])/y;
/** A quantity of Kubernetes with a unit is a text. */
const QUANTITY = /[0-9]+(?:\.[0-9]+)?(?:m|[KMGT]i?)(?![\w./@+=:-])/y;
const QUOTED = /"([^"\\]*)"|'([^']*)'/y;
const SPACES = / */y;

class Reader {
  readonly #lines: readonly YamlLine[];
  readonly #places: Places;
  #row = 0;
  #column = 0;

  constructor(lines: readonly YamlLine[], places: Places) {
    this.#lines = lines;
    this.#places = places;
  }

  read(): unknown {
    const value = this.#mapping(0, 0);
    if (this.#row < this.#lines.length) throw new NotPlain();
    return value;
  }

  /** @param isOpen its first key stands here, behind `- `. */
  #mapping(indent: number, depth: number, isOpen = false): Mapping {
    if (depth > DEEPEST) throw new NotPlain();
    const mapping: Mapping = {};
    for (let goesOn = isOpen || this.#isAt(indent); goesOn; goesOn = this.#isAt(indent)) {
      this.#entry(mapping, /:/y, () => (this.#isDone() ? this.#below(indent, depth + 1) : this.#rest(depth + 1)));
    }
    return mapping;
  }

  /** Reads the value below a key: deeper, or a list at the same depth. */
  #below(indent: number, depth: number): unknown {
    this.#row += 1;
    const line = this.#lines[this.#row];
    if (line === undefined) throw new NotPlain();
    if (line.text.startsWith('- ') && line.indent >= indent) return this.#list(line.indent, depth);
    if (line.indent <= indent) throw new NotPlain();
    return this.#mapping(line.indent, depth);
  }

  #list(indent: number, depth: number): readonly unknown[] {
    if (depth > DEEPEST) throw new NotPlain();
    const items: unknown[] = [];
    while (this.#isAt(indent) && this.#take(/- +/y) !== undefined) {
      const place = this.#place();
      items.push(this.#sees(KEY) ? this.#mapping(place.column - 1, depth + 1, true) : this.#rest(depth + 1));
      this.#places.note(items, items.length - 1, place);
    }
    return items;
  }

  /** Reads the rest of the line as one value. */
  #rest(depth: number): unknown {
    this.#take(SPACES);
    const value = this.#flow(WORDS, depth);
    if (!this.#isDone()) throw new NotPlain();
    this.#row += 1;
    return value;
  }

  #flow(wordPattern: RegExp, depth: number): unknown {
    if (depth > DEEPEST) throw new NotPlain();
    switch (this.#sign()) {
      case '{': {
        const mapping: Mapping = {};
        this.#items('}', () => this.#entry(mapping, /: */y, () => this.#flow(WORD, depth + 1)));
        return mapping;
      }
      case '[': {
        const items: unknown[] = [];
        this.#items(']', () => {
          this.#places.note(items, items.length, this.#place());
          items.push(this.#flow(WORD, depth + 1));
        });
        return items;
      }
      case '"':
      case "'":
        return this.#need(QUOTED).slice(1, -1);
      default:
        return this.#scalar(wordPattern);
    }
  }

  #scalar(wordPattern: RegExp): unknown {
    const number = this.#take(WHOLE_NUMBER);
    if (number !== undefined) return Number(number);
    const text = this.#take(QUANTITY) ?? this.#need(wordPattern);
    if (text === 'true' || text === 'false') return text === 'true';
    if (YAML_WORD.test(text)) throw new NotPlain();
    return text;
  }

  #entry(mapping: Mapping, colon: RegExp, value: () => unknown): void {
    const place = this.#place();
    const key = this.#need(KEY);
    if (Object.hasOwn(mapping, key)) throw new NotPlain();
    this.#need(colon);
    mapping[key] = value();
    this.#places.note(mapping, key, place);
  }

  #items(end: '}' | ']', read: () => void): void {
    this.#column += 1;
    this.#take(SPACES);
    while (this.#sign() !== end) {
      read();
      this.#take(SPACES);
      if (this.#sign() === end) break;
      this.#need(/, */y);
      if (this.#sign() === end) throw new NotPlain();
    }
    this.#column += 1;
  }

  /** True at the start of a line with this indent; false at the end of the block. */
  #isAt(indent: number): boolean {
    const line = this.#lines[this.#row];
    if (line === undefined || line.indent < indent) return false;
    if (line.indent > indent) throw new NotPlain();
    this.#column = 0;
    return true;
  }

  #isDone(): boolean {
    return this.#sees(REST);
  }

  #place(): Place {
    const { number = 0, indent = 0 } = this.#lines[this.#row] ?? {};
    return { line: number, column: indent + this.#column + 1 };
  }

  #sign(): string {
    return this.#text().charAt(this.#column);
  }

  #text(): string {
    return this.#lines[this.#row]?.text ?? '';
  }

  #sees(pattern: RegExp): boolean {
    pattern.lastIndex = this.#column;
    return pattern.test(this.#text());
  }

  /** Returns the match at the current position and moves behind it. @param pattern sticky */
  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#column;
    const [found] = pattern.exec(this.#text()) ?? [];
    if (found !== undefined) this.#column += found.length;
    return found;
  }

  #need(pattern: RegExp): string {
    const token = this.#take(pattern);
    if (token === undefined) throw new NotPlain();
    return token;
  }
}
