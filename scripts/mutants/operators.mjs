// The small changes that make a mutant: for each syntax node, the operators that fit it and what each writes in its place.

/**
 * @typedef {{ type: string, start: number, end: number, [key: string]: any }} Node a node of the ESTree, with TypeScript's own
 * @typedef {{ operator: string, text: string }} Change the operator's name, and the source text that stands instead of the node
 * @typedef {{ text: (node: Node) => string, parent: Node | undefined }} Around the original source of a node, and the node above
 */

const COMPARISON = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' };
const ARITHMETIC = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' };
const METHOD = { some: 'every', every: 'some', startsWith: 'endsWith', endsWith: 'startsWith' };
const DROPPED = ['filter', 'sort', 'toSorted', 'reverse', 'slice', 'trim'];

/** The node without the parentheses around it. @type {(node: Node) => Node} */
const bare = (node) => (node.type === 'ParenthesizedExpression' ? bare(node.expression) : node);

/** True for `===` and the like as a whole condition: "always" and "never" say more than its negation. @type {(node: Node, parent?: Node) => boolean} */
const isCondition = (node, parent) =>
  (parent?.type === 'IfStatement' || parent?.type === 'ConditionalExpression') && parent.test === node;

/** The parser drops parentheses: each side gets its own. @type {(node: Node, around: Around) => Change[]} */
function comparison({ operator, left, right }, { text }) {
  const other = COMPARISON[operator];
  return other ? [{ operator: `${operator} is ${other}`, text: `(${text(left)}) ${other} (${text(right)})` }] : [];
}

/** @type {(node: Node, around: Around) => Change[]} */
function binary(node, around) {
  const { operator, left, right } = node;
  const isEquality = operator === '===' || operator === '!==';
  if (operator in COMPARISON) return isEquality && isCondition(node, around.parent) ? [] : comparison(node, around);
  const other = ARITHMETIC[operator];
  const { text } = around;
  return other ? [{ operator: `${operator} is ${other}`, text: `(${text(left)}) ${other} (${text(right)})` }] : [];
}

/** @type {(node: Node, around: Around) => Change[]} */
function call({ callee, arguments: args }, { text }) {
  if (callee.type !== 'MemberExpression' || callee.computed) return [];
  const { object, property } = callee;
  const rest = `(${args.map(text).join(', ')})`;
  if (text(object) === 'Math' && (property.name === 'min' || property.name === 'max')) {
    const other = property.name === 'min' ? 'max' : 'min';
    return [{ operator: `${property.name} is ${other}`, text: `Math.${other}${rest}` }];
  }
  const other = Object.hasOwn(METHOD, property.name) ? METHOD[property.name] : undefined;
  if (other) return [{ operator: `${property.name} is ${other}`, text: `${text(object)}.${other}${rest}` }];
  return DROPPED.includes(property.name) ? [{ operator: `no ${property.name}`, text: text(object) }] : [];
}

/** @type {(node: Node) => Change[]} */
function literal({ value }) {
  if (typeof value === 'boolean') return [{ operator: `${value} is ${!value}`, text: String(!value) }];
  if (typeof value !== 'number') return [];
  const other = value < 2 ? value + 1 : value * 2;
  return [{ operator: `${value} is ${other}`, text: String(other) }];
}

const CONSTANT = ['ArrayExpression', 'Literal', 'NewExpression', 'ObjectExpression', 'UnaryExpression'];

/** The second of two sources first: of two values, two keys to sort by, or two lists or objects that are joined. @type {(node: Node, around: Around) => Change[]} */
export function secondFirst(node, { text }) {
  const { type, operator, left, right } = node;
  const isKey = (side) => bare(side).type === 'BinaryExpression' && bare(side).operator === '-';
  // To write a constant first is to write it alone.
  if (operator === '??' && CONSTANT.includes(bare(right).type)) return [];
  if (type === 'LogicalExpression' && (operator === '??' || (operator === '||' && (isKey(left) || isKey(right)))))
    return [{ operator: `${operator} right first`, text: `(${text(right)}) ${operator} (${text(left)})` }];
  const parts = node.elements ?? node.properties ?? [];
  if (parts.length < 2 || !parts.every((part) => part?.type === 'SpreadElement')) return [];
  const [first, second, ...rest] = parts.map(text);
  const [open, close] = type === 'ArrayExpression' ? '[]' : '{}';
  return [{ operator: 'second spread first', text: `${open}${[second, first, ...rest].join(', ')}${close}` }];
}

const MOVABLE = ['ExpressionStatement', 'IfStatement', 'ForOfStatement'];

/** Neighbours in a block that can change places: neither declares a name or is the end, and one is more than a plain step. @type {(node: Node) => [Node, Node][]} */
export function neighbours({ type, body }) {
  if (type !== 'BlockStatement') return [];
  const pairs = body.slice(1).map((second, i) => [body[i], second]);
  const isPlain = ({ type }) => type === 'ExpressionStatement';
  return pairs.filter((pair) => pair.every((each) => MOVABLE.includes(each.type)) && !pair.every(isPlain));
}

/** @type {Readonly<Record<string, (node: Node, around: Around) => Change[]>>} */
const BY_TYPE = {
  BinaryExpression: binary,
  CallExpression: call,
  Literal: literal,
  ChainExpression: ({ expression }, around) => (expression.type === 'CallExpression' ? call(expression, around) : []),
  LogicalExpression: ({ operator, left, right }, { text }) => [
    { operator: `${operator} left only`, text: text(left) },
    { operator: `${operator} right only`, text: text(right) },
  ],
  UnaryExpression: (node, { text, parent }) =>
    node.operator === '!' && !isCondition(node, parent) ? [{ operator: 'no !', text: text(node.argument) }] : [],
};

/** The changes that fit a node. @type {(node: Node, around: Around) => Change[]} */
export function changesOf(node, around) {
  const { parent } = around;
  const own = BY_TYPE[node.type]?.(node, around) ?? [];
  const conditions = isCondition(node, parent)
    ? [
        { operator: 'always', text: 'true' },
        { operator: 'never', text: 'false' },
      ]
    : [];
  const loops =
    parent?.type === 'WhileStatement' && parent.test === node ? [{ operator: 'no loop', text: 'false' }] : [];
  const inner = bare(node).type;
  const isDone = parent?.type === 'ExpressionStatement' && !parent.directive && inner !== 'Literal';
  return [...own, ...conditions, ...loops, ...(isDone ? [{ operator: 'not done', text: 'undefined' }] : [])];
}
