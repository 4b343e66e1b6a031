// Finds all mutants of a source file and writes all of them into it at once, each behind a switch of its own that is thrown while tests run.
import { parseAst } from 'vitest/node';
import { changesOf, neighbours, secondFirst } from './operators.mjs';

/**
 * @typedef {import('./operators.mjs').Node} Node
 * @typedef {object} Mutant
 * @property {string} address `file · function · operator · nth`: the nth such change in the functions of that name
 * @property {string} line where, and the source text that is changed
 * @property {boolean} atLoad true outside of all functions: the value is worked out when the module is loaded. In a file whose constants are derived, in the functions of constants, too
 * @property {Node} node
 * @property {string} text what stands instead of the node
 * @property {Node} [before] the statement before which this one runs instead of after it
 */

const FUNCTIONS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];
const TYPE_WRAPPERS = ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'];
const SHOWN = 90;
const STATEMENT = /Statement$/;

/** Child nodes that hold values, in the order of the source. @type {(node: Node) => Node[]} */
function childrenOf(node) {
  const children = [];
  for (const [key, value] of Object.entries(node)) {
    if (key === 'parent' || key === 'typeAnnotation' || key === 'returnType' || key === 'typeArguments') continue;
    if ((key === 'key' || key === 'property') && !node.computed) continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === 'string' && (!child.type.startsWith('TS') || TYPE_WRAPPERS.includes(child.type)))
        children.push(child);
    }
  }
  return children.sort((a, b) => a.start - b.start);
}

/** The name that a function has in its address; undefined: it is a part of the one around it. @type {(node: Node, parent?: Node) => string | undefined} */
function nameOf(node, parent) {
  if (!FUNCTIONS.includes(node.type)) return undefined;
  if (node.id) return node.id.name;
  if (parent?.type === 'VariableDeclarator') return parent.id.name;
  if (parent?.type === 'MethodDefinition' || parent?.type === 'Property') return parent.key.name;
  return undefined;
}

/** Files whose statements and sources change places, too. Most such mutants of other files have not been judged. */
const SWAPPED = /^src\/planner\/(?:allot|back-off|idle|judge|limits|traces)\.ts$/;

/** Files whose constants are made of one another as they are loaded, by functions that are constants, too. */
const DERIVED = /^src\/config\/policy\/policy-schema\.ts$/;

/** The second of two sources is first, or of two statements. @type {(node: Node, around: import('./operators.mjs').Around, place: { isSwapped: boolean, isLink: boolean }) => object[]} */
function swapsOf(node, around, { isSwapped, isLink }) {
  if (!isSwapped) return [];
  const moved = neighbours(node).map(([before, of]) => {
    return { operator: 'before its neighbour', text: around.text(of), before, of };
  });
  return isLink ? moved : [...secondFirst(node, around), ...moved];
}

/** All mutants of a file, in the order of its source. @type {(file: string, source: string) => Mutant[]} */
export function mutantsOf(file, source) {
  const text = (node) => source.slice(node.start, node.end);
  const counts = new Map();
  const found = [];
  const isSwapped = SWAPPED.test(file);
  const ofTests = DERIVED.test(file) ? ['FunctionDeclaration'] : FUNCTIONS;
  const walk = (node, parent, place) => {
    const name = nameOf(node, parent);
    const within = {
      name: name ?? place.name,
      atLoad: place.atLoad && !ofTests.includes(node.type),
      isChain:
        node.type === 'ChainExpression' || (place.isChain && parent?.callee !== undefined && parent.callee === node),
    };
    // A link of `a?.b.c()` cannot stand in parentheses of its own: the chain would no longer end early.
    const isLink = place.isChain && (node.type === 'MemberExpression' || node.type === 'CallExpression');
    const own = isLink ? [] : changesOf(node, { text, parent });
    const swaps = swapsOf(node, { text, parent }, { isSwapped, isLink });
    for (const { of = node, ...change } of [...own, ...swaps]) {
      const key = `${file} · ${within.name} · ${change.operator}`;
      const nth = (counts.get(key) ?? 0) + 1;
      counts.set(key, nth);
      const line = source.slice(0, of.start).split('\n').length;
      const shown = text(of).replace(/\s+/g, ' ');
      const short = shown.length > SHOWN ? `${shown.slice(0, SHOWN - 1)}…` : shown;
      found.push({
        address: `${key} · ${nth}`,
        line: `line ${line}: ${short}`,
        atLoad: within.atLoad,
        node: of,
        text: change.text,
        before: change.before,
      });
    }
    const links = isLink || node.type === 'ChainExpression';
    for (const child of childrenOf(node)) {
      const onSpine = links && (child === node.expression || child === node.callee || child === node.object);
      walk(child, node, { ...within, isChain: onSpine });
    }
  };
  const { body } = parseAst(source, { lang: 'ts' });
  for (const statement of body) {
    if (statement.type !== 'ImportDeclaration')
      walk(statement, undefined, { name: '(module)', atLoad: true, isChain: false });
  }
  return found.filter(({ atLoad, node }) => !atLoad || constantAround(body, node) !== undefined);
}

/** The declaration `const NAME = …` at the top of a module that a node stands in. @type {(body: Node[], node: Node) => Node | undefined} */
function constantAround(body, node) {
  const declarations = body.map((statement) => statement.declaration ?? statement);
  return declarations.find(
    ({ type, kind, start, end, declarations: [only] = [] }) =>
      type === 'VariableDeclaration' &&
      kind === 'const' &&
      only?.id.type === 'Identifier' &&
      start <= node.start &&
      node.end <= end,
  );
}

/**
 * The file with all its mutants. `firstId` is the number of its first one.
 * Constants of the module are worked out again whenever a switch is thrown.
 * @type {(file: string, source: string, firstId: number) => string}
 */
export function instrument(file, source, firstId) {
  const text = (node) => source.slice(node.start, node.end);
  const at = new Map();
  /** Statements that run earlier, by the one that they pass, and the numbers of their mutants by themselves. */
  const moved = new Map();
  const passed = new Map();
  const mutants = mutantsOf(file, source);
  for (const [i, { node, text, before }] of mutants.entries()) {
    const key = `${node.start} ${node.end} ${node.type}`;
    if (before) {
      passed.set(before.start, `if (__mutant(${firstId + i})) {${text}}\n`);
      moved.set(node.start, firstId + i);
    } else at.set(key, [...(at.get(key) ?? []), { id: firstId + i, text }]);
  }
  const write = (node) => {
    if (!STATEMENT.test(node.type)) return writeBare(node);
    const id = moved.get(node.start);
    const out = writeBare(node);
    return `${passed.get(node.start) ?? ''}${id === undefined ? out : `if (!__mutant(${id})) {${out}}`}`;
  };
  const writeBare = (node) => {
    let out = '';
    let end = node.start;
    for (const child of childrenOf(node)) {
      // `{ a }` is key and value in one place.
      if (child.start < end) continue;
      out += source.slice(end, child.start) + write(child);
      end = child.end;
    }
    out += source.slice(end, node.end);
    const own = at.get(`${node.start} ${node.end} ${node.type}`) ?? [];
    if (own.length === 0) return out;
    return `(${own.map(({ id, text }) => `__mutant(${id}) ? (${text}) : `).join('')}(${out}))`;
  };
  const { body } = parseAst(source, { lang: 'ts' });
  const constants = new Set(mutants.flatMap(({ atLoad, node }) => (atLoad ? constantAround(body, node) : [])));
  const again = [...constants, ...(DERIVED.test(file) ? madeOf([...constants], body, text) : [])].map(
    ({ start }) => start,
  );
  let out = '';
  let end = 0;
  const anew = [];
  for (const statement of body) {
    out += source.slice(end, statement.start);
    const declaration = statement.declaration ?? statement;
    const written = write(statement);
    if (again.includes(declaration.start)) {
      const [{ id, init }] = declaration.declarations;
      out += written.replace(/\bconst\b/, 'let');
      anew.push(`${id.name} = ${write(init)};`);
    } else out += written;
    end = statement.end;
  }
  out += source.slice(end);
  const range = `${firstId}, ${firstId + mutants.length}`;
  return anew.length === 0 ? out : `${out}\n__mutant.onSwitch(${range}, () => {\n${anew.join('\n')}\n});\n`;
}

/** The constants that name one of these, or one another. @type {(constants: Node[], body: Node[], text: (node: Node) => string) => Node[]} */
function madeOf(constants, body, text) {
  const names = constants.map(({ declarations: [only] }) => only.id.name);
  return body.flatMap(({ declaration, ...statement }) => {
    const constant = declaration ?? statement;
    const [{ id, init } = {}] = constant.declarations ?? [];
    if (constant.kind !== 'const' || id.type !== 'Identifier' || constants.includes(constant)) return [];
    if (!names.some((name) => new RegExp(`\\b${name}\\b`).test(text(init)))) return [];
    names.push(id.name);
    return [constant];
  });
}
