/**
 * Writes YAML that every reader takes for the same thing. All strings are double-quoted and on one line: plain `035e2982`
 * is a float for some readers, and plain `on` a boolean for others. Keys are plain only if each reader sees a word in
 * them. Objects keep their order.
 */

const PLAIN_KEY = /^[A-Za-z][A-Za-z0-9_./-]*$/;
const YAML_1_1_WORD = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
/** A YAML reader need not recognise a longer key without the `?` mark. */
const SIMPLE_KEY_LIMIT = 1000;
/** The characters of `\p{Cs}`. That class would cost each start the look-up of a table. */
const LONE_SURROGATE = /[\ud800-\udfff]/gu;
/** Legal in JSON, but not printable or a line break in YAML 1.1 or 1.2. */
const NOT_PRINTABLE = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** ASCII that stands for itself between quotes: nearly every string. */
const ORDINARY = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/** A double-quoted scalar. A lone surrogate, which has no UTF-8 form, becomes U+FFFD. */
export function quote(text: string): string {
  if (ORDINARY.test(text)) return `"${text}"`;
  return JSON.stringify(text.replace(LONE_SURROGATE, '\ufffd')).replace(
    NOT_PRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Writes one document without `---`. @throws TypeError for values that JSON cannot hold (NaN, functions) */
export function document(value: unknown): string {
  return `${node(value, '').slice(1)}\n`;
}

/** A document's text with the newline that the next `---` needs. */
export function withFinalNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** A value with what stands before it: a space and a scalar, or a newline and a block indented by `indent`. */
function node(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return ` ${scalar(value)}`;
  if (Array.isArray(value)) return value.length === 0 ? ' []' : list(value, indent);
  return mapping(value, indent);
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  throw new TypeError(`a manifest cannot hold ${typeof value === 'number' ? value : typeof value}`);
}

function mapping(value: object, indent: string): string {
  const inner = `${indent}  `;
  let text = '';
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) text += `\n${indent}${keyText(key, indent)}:${node(item, inner)}`;
  }
  return text === '' ? ' {}' : text;
}

function keyText(key: string, indent: string): string {
  if (PLAIN_KEY.test(key) && !YAML_1_1_WORD.test(key) && key.length <= SIMPLE_KEY_LIMIT) return key;
  const quoted = quote(key);
  return quoted.length <= SIMPLE_KEY_LIMIT ? quoted : `? ${quoted}\n${indent}`;
}

/** `- ` takes the place of the item's first two columns of indentation. */
function list(items: readonly unknown[], indent: string): string {
  const inner = `${indent}  `;
  let result = '';
  for (const item of items) {
    const text = node(item, inner);
    result += `\n${indent}-${text.startsWith('\n') ? ` ${text.slice(1 + inner.length)}` : text}`;
  }
  return result;
}
