/** Valid input -> input that is wrong in a few places: in its bytes, in its tokens, in its structure. All by fast-check, so it shrinks. */
import * as fc from 'fast-check';

/** The change `weight` times, and no change `unchanged` times. */
export function sometimes<T>(change: fc.Arbitrary<(value: T) => T>, weight: number, unchanged: number) {
  return fc.oneof({ weight: unchanged, arbitrary: fc.constant((value: T) => value) }, { weight, arbitrary: change });
}

/** Longest input, bytes. A longer one is cut. */
const LONGEST = 200_000;

/** One change of bytes. `at` and `length` are taken modulo the input's length. */
interface ByteChange {
  readonly kind: 'flip' | 'drop' | 'cut' | 'insert' | 'replace' | 'repeat' | 'move';
  readonly at: number;
  readonly length: number;
  readonly times: number;
  readonly token: string;
}

/** Changes of bytes and tokens, one after the other. @param tokens words that mean something to the reader. */
export function byteChanges(tokens: readonly string[]): fc.Arbitrary<(input: Uint8Array) => Uint8Array> {
  const change: fc.Arbitrary<ByteChange> = fc.record({
    kind: fc.constantFrom('flip', 'drop', 'cut', 'insert', 'replace', 'repeat', 'move'),
    at: fc.nat(),
    length: fc.oneof(fc.nat(8), fc.nat(400)),
    times: fc.oneof({ weight: 20, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(5000) }),
    token: fc.oneof(fc.constantFrom(...tokens), fc.string({ unit: 'binary', maxLength: 4 })),
  });
  return fc
    .array(change, { maxLength: 4 })
    .map((changes) => (input) => changes.reduce<Uint8Array>(applyBytes, input).subarray(0, LONGEST));
}

function applyBytes(input: Uint8Array, { kind, at, length, times, token }: ByteChange): Uint8Array {
  const start = input.length === 0 ? 0 : at % input.length;
  const end = Math.min(input.length, start + length);
  const [before, part, after] = [input.subarray(0, start), input.subarray(start, end), input.subarray(end)];
  switch (kind) {
    case 'flip':
      return Buffer.concat([before, part.map((byte) => byte ^ (1 << (times % 8))), after]);
    case 'drop':
      return Buffer.concat([before, after]);
    case 'cut':
      return before;
    case 'insert':
      return Buffer.concat([before, Buffer.from(token.repeat(times + 1).slice(0, LONGEST)), part, after]);
    case 'replace':
      return Buffer.concat([before, Buffer.from(token), after]);
    case 'repeat': {
      const most = Math.floor(LONGEST / Math.max(1, part.length));
      return Buffer.concat([before, ...Array<Uint8Array>(Math.min(times, most) + 1).fill(part), after]);
    }
    case 'move':
      return Buffer.concat([part, before, after]);
    default:
      return kind satisfies never;
  }
}

/** Values that are wrong nearly everywhere. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, '', 0, -1, 1.5, 2 ** 53, 1e308, [], {}, '0001-01-01T00:00:00Z'),
  fc.constantFrom<unknown>('9999-12-31T23:59:59Z', '2026-02-30T00:00:00Z', '../..', '__proto__', 'a\u202eb', '\u0000'),
  fc.nat(20_000).map((length) => 'x'.repeat(length)),
  fc.nat(2000).map((length) => Array<number>(length).fill(7)),
  fc.integer({ min: 1, max: 60 }).map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Texts that are put into other texts. */
const ODD_TEXTS = [
  '\u202e',
  '\u009b2J',
  '\u2028',
  '\u0000',
  '\n',
  ' ',
  '/',
  '..',
  ':',
  '$(x)',
  '%2e',
  'é',
  'A',
  '-',
  '__proto__',
  'x'.repeat(300),
];
const ODD_NUMBERS = [0.5, -1e6, 2 ** 53, 1e300, 1e-7];

/**
 * One change of a value in a document. `at`: number of the node, modulo their count. `nudge` stays close to the old
 * value.
 */
interface NodeChange {
  readonly kind: 'nudge' | 'replace' | 'remove' | 'repeat' | 'rename' | 'wrap' | 'swap';
  readonly at: number;
  readonly other: number;
  readonly value: unknown;
}

/** Changes of the structure of plain data. */
export const nodeChanges: fc.Arbitrary<(value: unknown) => unknown> = fc
  .array(
    fc.record<NodeChange>({
      kind: fc.oneof(
        { weight: 1, arbitrary: fc.constant<'nudge'>('nudge') },
        { weight: 1, arbitrary: fc.constantFrom('replace', 'remove', 'repeat', 'rename', 'wrap', 'swap') },
      ),
      at: fc.nat(),
      other: fc.nat(),
      value: odd,
    }),
    { maxLength: 3 },
  )
  .map((changes) => (value) => {
    const root = { value: structuredClone(value) };
    for (const change of changes) applyNode(root, change);
    return root.value;
  });

/** Parent of a value, and its key there. */
interface Hook {
  readonly parent: Record<string, unknown>;
  readonly key: string;
}

function applyNode(root: { value: unknown }, { kind, at, other, value }: NodeChange): void {
  const hooks = hooksIn(root);
  const { parent, key } = pick(hooks, at);
  switch (kind) {
    case 'nudge':
      parent[key] = nudged(parent[key], other);
      return;
    case 'replace':
      parent[key] = structuredClone(value);
      return;
    case 'remove':
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete parent[key];
      return;
    case 'repeat':
      if (Array.isArray(parent)) parent.push(...Array<unknown>(other % 300).fill(parent[Number(key)]));
      return;
    case 'rename':
      parent[String(value).slice(0, 40)] = parent[key];
      return;
    case 'wrap':
      parent[key] = other % 2 === 0 ? [parent[key]] : { [`k${other % 9}`]: parent[key] };
      return;
    case 'swap': {
      const far = pick(hooks, other);
      parent[key] = structuredClone(far.parent[far.key]);
      return;
    }
    default:
      kind satisfies never;
  }
}

function nudged(value: unknown, other: number): unknown {
  if (typeof value === 'boolean') return other % 2 === 0 ? !value : String(value);
  if (typeof value === 'number')
    return other % 3 === 0 ? String(value) : value + (ODD_NUMBERS[other % ODD_NUMBERS.length] ?? 0);
  if (typeof value !== 'string') return value;
  const at = Math.floor(other / 100) % (value.length + 1);
  return value.slice(0, at) + (ODD_TEXTS[other % ODD_TEXTS.length] ?? '') + value.slice(at + (other % 2));
}

function pick(hooks: readonly Hook[], at: number): Hook {
  const hook = hooks[at % hooks.length];
  if (!hook) throw new Error('a document has a root');
  return hook;
}

/** Every value of a document, the root first. */
function hooksIn(root: { value: unknown }): readonly Hook[] {
  const hooks: Hook[] = [{ parent: root, key: 'value' }];
  for (const { parent, key } of hooks) {
    const value = parent[key];
    if (typeof value !== 'object' || value === null || hooks.length > 3000) continue;
    for (const inner of Object.keys(value)) hooks.push({ parent: value as Record<string, unknown>, key: inner });
  }
  return hooks;
}
