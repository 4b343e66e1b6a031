/** YAML that is odd by its syntax: bytes, anchors, tags, directives, indentation, JSON. */
import { type Case, changed, GROUP, noCap, noName, noObject, noYaml, OTHER, SINGLE_VALUE, withCap } from './outcome.ts';

/** The good group up to its scope, which stands in line 5. */
const HEAD = GROUP.slice(0, GROUP.indexOf('  org:'));

const NOT_UTF8 = '1:1: is not UTF-8 text [GR-INPUT-01]';
const UTF_16 = '1:1: is UTF-16, as the > of PowerShell writes it: save it as UTF-8 [GR-INPUT-01]';
const JSON_COMMENT = '1:1: JSON has no comments: remove each "//" [GR-INPUT-03]';
const CONTROL = 'holds a control character: remove it [GR-INPUT-02]';
const DIRECTIVE = 'holds a YAML directive: leave it out [GR-INPUT-02]';
const DEEP = 'is nested more than 200 levels deep, as no manifest is: remove levels [GR-INPUT-02]';
const TEMPLATE = 'this looks like a template ("{{"): render it first, e.g. with "helm template"';
const UNKNOWN = 'unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]';
const UNFIT = 'and the two do not fit together';

export const BYTES: readonly Case[] = [
  ['a byte order mark', `\ufeff${GROUP}`, 'runners/ci cap 5'],
  ['a byte order mark before the second document', `${OTHER}---\n\ufeff${GROUP}`, noObject('5:1', 'apiVersion')],
  ['a byte order mark in the middle', changed('name: ci', 'name: \ufeffci'), noName('3:12', '"\\u{feff}ci"')],
  ['CRLF', GROUP.replaceAll('\n', '\r\n'), 'runners/ci cap 5'],
  ['CR alone', GROUP.replaceAll('\n', '\r'), noYaml('1:13', 'a string with a colon and a space in it needs quotes')],
  [
    'NEL as the end of a line',
    changed('RunnerGroup\n', 'RunnerGroup\u0085'),
    noYaml('2:7', 'a string with a colon and a space in it needs quotes'),
  ],
  ['a line separator in a name', changed('name: ci', 'name: "c\u2028i"'), noName('3:12', '"c\\u{2028}i"')],
  ['UTF-16', Buffer.from(`\ufeff${GROUP}`, 'utf16le'), UTF_16],
  ['UTF-16 the other way round', Buffer.from(`\ufeff${GROUP}`, 'utf16le').swap16(), UTF_16],
  ['a byte that is no UTF-8', Buffer.from(changed('acme', 'acm\xe9'), 'latin1'), NOT_UTF8],
  ['NUL', `${OTHER}x: \0\n`, `4:4: ${CONTROL}`],
  ['an escape sequence in a comment', `# \x1b[2J\n${GROUP}`, `1:3: ${CONTROL}`],
  ['DEL', changed('name: ci', 'name: "c\x7fi"'), `3:20: ${CONTROL}`],
  ['an escaped control character', changed('name: ci', 'name: "c\\u001b[31mi"'), noName('3:12', '"c\\u{1b}[31mi"')],
  [
    'an escaped NUL',
    changed('org: acme', 'org: "ac\\0me"'),
    '6:3: spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "ac\\u{0}me"; write the name that stands in the address of its page [GR-INPUT-05]',
  ],
  [
    'a text that runs backwards',
    changed('org: acme', 'org: "\u202eemca"'),
    '6:3: spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "\\u{202e}emca"; write the name that stands in the address of its page [GR-INPUT-05]',
  ],
];

export const REFERENCES: readonly Case[] = [
  [
    'an anchor and its alias',
    changed(
      'registrationToken: {secretRef: {name: gitea-runner, key: token}}\n  authToken: {secretRef: {name: gitea-api, key: token}}',
      'registrationToken: {secretRef: {name: &t gitea, key: registration}}\n  authToken: {secretRef: {name: *t, key: token}}',
    ),
    'runners/ci cap 5',
  ],
  [
    'an alias of the whole spec',
    `x: &x\n  a: 1\n${changed('spec:\n', 'spec: *x\ny:\n')}`,
    '1:1: x: unknown field; known here: apiVersion, kind, metadata, spec, status [GR-INPUT-04] and 7 more',
  ],
  [
    'a merge into the spec',
    changed('spec:\n', 'x-common: &x {maxActiveRunners: 9}\nspec:\n  <<: *x\n'),
    '4:1: x-common: unknown field; known here: apiVersion, kind, metadata, spec, status [GR-INPUT-04]',
  ],
  [
    'a merge that would add an unknown field',
    changed('spec:\n', 'spec:\n  <<: {nonsense: 1}\n'),
    `4:1: spec.nonsense: ${UNKNOWN}`,
  ],
  [
    'a merge behind another key',
    'kind: a\n<<: {kind: b}\n',
    noYaml('2:1', '"<<" must come first in its mapping, or readers disagree'),
  ],
  ['an alias of itself', 'a: &a [*a]\n', noYaml('1:8', 'this alias stands inside of what it means')],
  ['an unknown alias', 'a: *b\n', noYaml('1:4', 'this alias has no anchor before it in its document')],
  ['a merge of a list', `${OTHER}m: {<<: [{a: 1}, {b: 2}]}\n`, '69 characters at line 1'],
  ['a merge of a word', `${OTHER}m: {<<: word}\n`, noYaml('1:1', '"<<" needs a mapping')],
  ['a quoted merge key', `${OTHER}m: {"<<": 1}\n`, '56 characters at line 1'],
  [
    'aliases of aliases, twice each',
    `${OTHER}a0: &a0 {k: 1}\n${Array.from({ length: 20 }, (_, index) => `a${index + 1}: &a${index + 1} {x: *a${index}, y: *a${index}}`).join('\n')}\n`,
    noYaml(
      '18:24',
      'with what its aliases stand for, this document has more than 80000 words and signs: divide it, or keep it out of these files',
    ),
  ],
  [
    '101 uses of one anchor',
    `${OTHER}z: &z 1\nl: [${'*z, '.repeat(101)}]\n`,
    noYaml('1:1', 'too many aliases of aliases'),
  ],
  ['an anchor that is set twice', `${OTHER}a: &a 1\nb: &a 2\nc: *a\n`, '65 characters at line 1'],
  [
    'an alias as a key',
    `${OTHER}a: &a k\n*a : 1\n`,
    noYaml('5:1', 'a key must be a string: no list, no mapping, no alias'),
  ],
  ['an anchor with a strange name', `${OTHER}a: &__proto__ 1\nb: *__proto__\n`, '73 characters at line 1'],
  [
    '10,000 anchors',
    `${OTHER}${Array.from({ length: 10_000 }, (_, index) => `k${index}: &a${index} 1`).join('\n')}\n`,
    '8889:16: this document has more than 80000 words and signs: divide it, or keep it out of these files [GR-INPUT-08]',
  ],
];

export const TAGS: readonly Case[] = [
  [
    'a function',
    'apiVersion: !!js/function v1\nkind: X\n',
    noYaml('1:13', 'Unresolved tag: tag:yaml.org,2002:js/function'),
  ],
  ['a binary', withCap('!!binary NQ=='), noYaml('11:21', 'Unresolved tag: tag:yaml.org,2002:binary')],
  ['a number that is called text', withCap('!!str 5'), noCap('the string "5"; remove the quotes: maxActiveRunners: 5')],
  ['a text that is called a number', withCap('!!int "5"'), 'runners/ci cap 5'],
  ['no tag at all', withCap('! 5'), noCap('the string "5"; remove the quotes: maxActiveRunners: 5')],
  ['a tag of somebody', withCap('!Ref 5'), noYaml('11:21', 'Unresolved tag: !Ref')],
  ['a verbatim tag', withCap('!<tag:yaml.org,2002:int> 5'), 'runners/ci cap 5'],
  ['YAML 1.1', `%YAML 1.1\n---\n${GROUP}`, 'runners/ci cap 5'],
  ['YAML 1.2', `%YAML 1.2\n---\n${GROUP}`, `1:1: ${DIRECTIVE}`],
  ['a tag handle', `%TAG ! tag:evil,2000:\n---\n${GROUP}`, `1:1: ${DIRECTIVE}`],
  ['an unknown directive', `%FOO bar\n---\n${GROUP}`, `1:1: ${DIRECTIVE}`],
  ['a directive behind a document', `${OTHER}...\n%YAML 1.2\n---\n${GROUP}`, `5:1: ${DIRECTIVE}`],
];

export const FORM: readonly Case[] = [
  [
    'a tab as indentation',
    changed('  scope: org', '\tscope: org'),
    noYaml('5:1', 'a tab stands in the indentation: use spaces'),
  ],
  ['a tab behind a colon', changed('org: acme', 'org:\tacme'), 'runners/ci cap 5'],
  [
    'a key without a space',
    changed('org: acme', 'org:acme'),
    noYaml('6:3', 'a key needs a colon and a space after it'),
  ],
  [
    'a wrong indentation',
    changed('  org: acme', '   org: acme'),
    noYaml('6:4', `line 6 is indented more than line 5, ${UNFIT}`),
  ],
  [
    'a wrong indentation, after a comment',
    `${HEAD}\n# x\n    org: a\n`,
    noYaml('8:5', `line 8 is indented more than line 5, ${UNFIT}`),
  ],
  ['less indentation', `${HEAD} org: acme\n`, noYaml('6:1', `line 6 is indented less than line 5, ${UNFIT}`)],
  ['no colon', `${HEAD}  org acme\n`, noYaml('6:3', 'a key needs a colon and a space after it')],
  ['a colon in a value', `${HEAD}  org: a: b\n`, noYaml('6:8', 'a string with a colon and a space in it needs quotes')],
  ['an at sign', `${HEAD}  org: @acme\n`, noYaml('6:8', 'a string that starts with "@" needs quotes')],
  ['a template around the group', `{{- if .x }}\n${GROUP}{{- end }}\n`, noYaml('1:3', TEMPLATE)],
  [
    'a Readme',
    '# Readme\n\nSome `text`, and: *more*\n- x\n```sh\nrun\n```\n',
    noYaml('4:1', 'a key needs a colon and a space after it'),
  ],
  [
    'an open brace',
    changed('namespace: runners}', 'namespace: runners'),
    noYaml('3:11', 'a "}" is missing at the end of this list or mapping'),
  ],
  ['an open quote', changed('"linux:host"', '"linux:host'), noYaml('10:12', 'a quote (") is opened and never closed')],
  ['trailing garbage', `${GROUP}}\n`, noYaml('14:1', 'Unexpected flow-map-end token in YAML stream: "}"')],
  [
    'a block scalar as a name',
    changed('{name: ci, namespace: runners}', '\n  namespace: runners\n  name: |-\n    ci'),
    'runners/ci cap 5',
  ],
  [
    'a block scalar with its newline as a name',
    changed('{name: ci, namespace: runners}', '\n  namespace: runners\n  name: |\n    ci'),
    noName('5:3', '"ci\\n"'),
  ],
  ['a comma too many', changed('["linux:host"]', '["linux:host",]'), 'runners/ci cap 5'],
  [
    'a missing comma',
    changed('["linux:host"]', '["linux:host" "b:host"]'),
    noYaml('10:25', 'Missing , or : between flow sequence items'),
  ],
  ['a complex key', `${OTHER}? [a, b]\n: 1\n`, noYaml('4:3', 'a key must be a string: no list, no mapping, no alias')],
  ['an empty key', `${OTHER}? \n: a\n`, '50 characters at line 1'],
  ['keys 1 and "1"', `${OTHER}1: a\n"1": b\n`, noYaml('5:1', 'the key "1" is already in its mapping')],
  ['keys true and yes', `${OTHER}true: a\nyes: b\n`, noYaml('5:1', 'the key "true" is already in its mapping')],
  ['201 levels of flow', `${OTHER}a: ${'['.repeat(201)}${']'.repeat(201)}\n`, `4:203: ${DEEP}`],
  ['150 levels of flow', `${OTHER}a: ${'['.repeat(150)}${']'.repeat(150)}\n`, '347 characters at line 1'],
  [
    '1,000 levels of blocks',
    Array.from({ length: 1000 }, (_, index) => `${' '.repeat(index)}a:`).join('\n'),
    `200:201: ${DEEP}`,
  ],
  ['50,000 open braces', '{a: '.repeat(50_000), `1:798: ${DEEP}`],
  ['200,000 dashes', '- '.repeat(200_000), `1:400: ${DEEP}`],
  ['a merge in a key', '? <<: ', noYaml('1:5', 'a key must be a string: no list, no mapping, no alias')],
  ['JSON', '{"apiVersion":"v1","kind":"X"}', '31 characters at line 1'],
  ['JSON with a comma too many', '{"apiVersion":"v1","kind":"X",}', '32 characters at line 1'],
  [
    'JSON with a key twice',
    '{"apiVersion":"v1","kind":"X","kind":"Y"}',
    noYaml('1:31', 'the key "kind" is already in its mapping'),
  ],
  [
    'JSON with a key twice, once escaped',
    '{"apiVersion":"v1","kind":"X","k\\u0069nd":"RunnerGroup"}',
    noYaml('1:31', 'the key "kind" is already in its mapping'),
  ],
  ['JSON with comments', '{"apiVersion":"v1", // x\n"kind":"X"}', JSON_COMMENT],
  [
    'two lines of JSON',
    '{"apiVersion":"v1","kind":"X"}\n{"apiVersion":"v1","kind":"Y"}\n',
    noYaml('2:1', 'Unexpected flow-map-start at node end'),
  ],
  ['HTML', '<!DOCTYPE html>\n<html><body>Login</body></html>\n', `1:1: ${SINGLE_VALUE}`],
  ['a Helm template', changed('name: ci', 'name: {{ .Values.name }}'), noYaml('3:19', TEMPLATE)],
  [
    'a non-breaking space in the indentation',
    changed('  org: acme\n', '\u00a0 org: acme\n'),
    noYaml('6:1', 'a non-breaking space stands here: use ordinary spaces'),
  ],
  [
    'a conflict of Git',
    changed('  org: acme\n', '<<<<<<< HEAD\n  org: acme\n=======\n  org: other\n>>>>>>> x\n'),
    noYaml('6:1', 'this is a conflict of Git: resolve it'),
  ],
];
