/** YAML that is odd by its syntax: bytes, anchors, tags, directives, indentation, JSON. */
import { type Case, changed, GROUP } from './outcome.ts';

const OTHER = 'apiVersion: v1\nkind: X\nmetadata: {name: x}\n';

export const BYTES: readonly Case[] = [
  ['a byte order mark', `\ufeff${GROUP}`, 'runners/ci cap 5'],
  [
    'a byte order mark before the second document',
    `${OTHER}---\n\ufeff${GROUP}`,
    '5:1: is not a Kubernetes object: apiVersion is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]',
  ],
  [
    'a byte order mark in the middle',
    changed('name: ci', 'name: \ufeffci'),
    '3:12: metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "\\u{feff}ci" [GR-INPUT-05]',
  ],
  ['CRLF', GROUP.replaceAll('\n', '\r\n'), 'runners/ci cap 5'],
  [
    'CR alone',
    GROUP.replaceAll('\n', '\r'),
    '1:13: is no valid YAML: a string with a colon and a space in it needs quotes [GR-INPUT-02]',
  ],
  [
    'NEL as the end of a line',
    changed('RunnerGroup\n', 'RunnerGroup\u0085'),
    '2:7: is no valid YAML: a string with a colon and a space in it needs quotes [GR-INPUT-02]',
  ],
  [
    'a line separator in a name',
    changed('name: ci', 'name: "c\u2028i"'),
    '3:12: metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "c\\u{2028}i" [GR-INPUT-05]',
  ],
  ['UTF-16', Buffer.from(`\ufeff${GROUP}`, 'utf16le'), '1:1: is not UTF-8 text [GR-INPUT-01]'],
  ['UTF-16, big endian', Buffer.from(`\ufeff${GROUP}`, 'utf16le').swap16(), '1:1: is not UTF-8 text [GR-INPUT-01]'],
  [
    'a byte that is no UTF-8',
    Buffer.from(changed('acme', 'acm\xe9'), 'latin1'),
    '1:1: is not UTF-8 text [GR-INPUT-01]',
  ],
  [
    'an overlong encoding of a slash',
    Buffer.concat([Buffer.from(GROUP), Buffer.from([0x23, 0xc0, 0xaf, 0x0a])]),
    '1:1: is not UTF-8 text [GR-INPUT-01]',
  ],
  [
    'a lone surrogate as UTF-8',
    Buffer.concat([Buffer.from(GROUP), Buffer.from([0x23, 0xed, 0xa0, 0x80, 0x0a])]),
    '1:1: is not UTF-8 text [GR-INPUT-01]',
  ],
  ['NUL', `${OTHER}x: \0\n`, '4:4: holds a control character: remove it [GR-INPUT-02]'],
  ['an escape sequence in a comment', `# \x1b[2J\n${GROUP}`, '1:3: holds a control character: remove it [GR-INPUT-02]'],
  ['DEL', changed('name: ci', 'name: "c\x7fi"'), '3:20: holds a control character: remove it [GR-INPUT-02]'],
  [
    'an escaped control character',
    changed('name: ci', 'name: "c\\u001b[31mi"'),
    '3:12: metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "c\\u{1b}[31mi" [GR-INPUT-05]',
  ],
  [
    'an escaped NUL',
    changed('org: acme', 'org: "ac\\0me"'),
    '6:3: spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "ac\\u{0}me" [GR-INPUT-05]',
  ],
  [
    'a text that runs backwards',
    changed('org: acme', 'org: "\u202eemca"'),
    '6:3: spec.org: must be a name in Gitea: letters, digits, dots, dashes and underscores; got the string "\\u{202e}emca" [GR-INPUT-05]',
  ],
  ['nothing', '', 'nothing'],
  ['spaces', '   \n  \n', 'nothing'],
  ['comments', '# a\n#b\n', 'nothing'],
];

export const REFERENCES: readonly Case[] = [
  [
    'an anchor and its alias',
    changed(
      'registrationToken: {secretRef: {name: gitea-runner, key: token}}\n  authToken: {secretRef: {name: gitea-api, key: token}}',
      'registrationToken: &t {secretRef: {name: gitea-api, key: token}}\n  authToken: *t',
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
    '4:1: spec.nonsense: unknown field; gitea-runners schema lists the known ones [GR-INPUT-04]',
  ],
  ['a merge of a list', `${OTHER}m: {<<: [{a: 1}, {b: 2}]}\n`, '69 characters at line 1'],
  ['a merge of a word', `${OTHER}m: {<<: word}\n`, '1:1: is no valid YAML: "<<" needs a mapping [GR-INPUT-02]'],
  ['a quoted merge key', `${OTHER}m: {"<<": 1}\n`, '56 characters at line 1'],
  [
    'aliases of aliases, twice each',
    `${OTHER}a0: &a0 {k: 1}\n${Array.from({ length: 20 }, (_, index) => `a${index + 1}: &a${index + 1} {x: *a${index}, y: *a${index}}`).join('\n')}\n`,
    '18:24: is no valid YAML: with what its aliases stand for, this document has more than 80000 words and signs: divide it, or keep it out of these files [GR-INPUT-02]',
  ],
  [
    '101 uses of one anchor',
    `${OTHER}z: &z 1\nl: [${'*z, '.repeat(101)}]\n`,
    '1:1: is no valid YAML: too many aliases of aliases [GR-INPUT-02]',
  ],
  ['an anchor that is set twice', `${OTHER}a: &a 1\nb: &a 2\nc: *a\n`, '65 characters at line 1'],
  ['an alias as a key', `${OTHER}a: &a k\n*a : 1\n`, '5:1: is no valid YAML: a key must be a word [GR-INPUT-02]'],
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
    '1:13: is no valid YAML: Unresolved tag: tag:yaml.org,2002:js/function [GR-INPUT-02]',
  ],
  [
    'a Python object',
    `${OTHER}a: !!python/object/apply:os.system ["id"]\n`,
    '4:4: is no valid YAML: Unresolved tag: tag:yaml.org,2002:python/object/apply:os.system [GR-INPUT-02]',
  ],
  [
    'a binary',
    changed('maxActiveRunners: 5', 'maxActiveRunners: !!binary NQ=='),
    '11:21: is no valid YAML: Unresolved tag: tag:yaml.org,2002:binary [GR-INPUT-02]',
  ],
  [
    'a time',
    `${OTHER}a: !!timestamp 2026-01-01\n`,
    '4:4: is no valid YAML: Unresolved tag: tag:yaml.org,2002:timestamp [GR-INPUT-02]',
  ],
  ['a set', `${OTHER}a: !!set {x, y}\n`, '4:4: is no valid YAML: Unresolved tag: tag:yaml.org,2002:set [GR-INPUT-02]'],
  [
    'a number that is called text',
    changed('maxActiveRunners: 5', 'maxActiveRunners: !!str 5'),
    '11:3: spec.maxActiveRunners: must be a whole number, not the string "5"; remove the quotes: maxActiveRunners: 5 [GR-INPUT-05]',
  ],
  ['a text that is called a number', changed('maxActiveRunners: 5', 'maxActiveRunners: !!int "5"'), 'runners/ci cap 5'],
  [
    'no tag at all',
    changed('maxActiveRunners: 5', 'maxActiveRunners: ! 5'),
    '11:3: spec.maxActiveRunners: must be a whole number, not the string "5"; remove the quotes: maxActiveRunners: 5 [GR-INPUT-05]',
  ],
  [
    'a tag of somebody',
    changed('maxActiveRunners: 5', 'maxActiveRunners: !Ref 5'),
    '11:21: is no valid YAML: Unresolved tag: !Ref [GR-INPUT-02]',
  ],
  [
    'a verbatim tag',
    changed('maxActiveRunners: 5', 'maxActiveRunners: !<tag:yaml.org,2002:int> 5'),
    'runners/ci cap 5',
  ],
  ['YAML 1.1', `%YAML 1.1\n---\n${GROUP}`, 'runners/ci cap 5'],
  ['YAML 1.2', `%YAML 1.2\n---\n${GROUP}`, '1:1: holds a YAML directive: leave it out [GR-INPUT-02]'],
  ['YAML 9.9', `%YAML 9.9\n---\n${GROUP}`, '1:1: holds a YAML directive: leave it out [GR-INPUT-02]'],
  ['a tag handle', `%TAG ! tag:evil,2000:\n---\n${GROUP}`, '1:1: holds a YAML directive: leave it out [GR-INPUT-02]'],
  ['an unknown directive', `%FOO bar\n---\n${GROUP}`, '1:1: holds a YAML directive: leave it out [GR-INPUT-02]'],
  [
    'a directive behind a document',
    `${OTHER}...\n%YAML 1.2\n---\n${GROUP}`,
    '5:1: holds a YAML directive: leave it out [GR-INPUT-02]',
  ],
];

export const FORM: readonly Case[] = [
  [
    'a tab as indentation',
    changed('  scope: org', '\tscope: org'),
    '5:1: is no valid YAML: a tab stands in the indentation: use spaces [GR-INPUT-02]',
  ],
  ['a tab behind a colon', changed('org: acme', 'org:\tacme'), 'runners/ci cap 5'],
  [
    'a key without a space',
    changed('org: acme', 'org:acme'),
    '6:3: is no valid YAML: a key needs a colon and a space after it [GR-INPUT-02]',
  ],
  [
    'a wrong indentation',
    changed('  org: acme', '   org: acme'),
    '6:4: is no valid YAML: line 6 is indented more than line 5, and the two do not fit together [GR-INPUT-02]',
  ],
  [
    'an open brace',
    changed('namespace: runners}', 'namespace: runners'),
    '4:1: is no valid YAML: a "}" is missing at the end of a list or mapping [GR-INPUT-02]',
  ],
  [
    'an open quote',
    changed('"linux:host"', '"linux:host'),
    '14:1: is no valid YAML: a quote (") is opened and never closed [GR-INPUT-02]',
  ],
  [
    'trailing garbage',
    `${GROUP}}\n`,
    '14:1: is no valid YAML: Unexpected flow-map-end token in YAML stream: "}" [GR-INPUT-02]',
  ],
  [
    'a block scalar as a name',
    changed('{name: ci, namespace: runners}', '\n  namespace: runners\n  name: |-\n    ci'),
    'runners/ci cap 5',
  ],
  [
    'a block scalar with its newline as a name',
    changed('{name: ci, namespace: runners}', '\n  namespace: runners\n  name: |\n    ci'),
    '5:3: metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string "ci\\n" [GR-INPUT-05]',
  ],
  ['a comma too many', changed('["linux:host"]', '["linux:host",]'), 'runners/ci cap 5'],
  [
    'a missing comma',
    changed('["linux:host"]', '["linux:host" "b:host"]'),
    '10:25: is no valid YAML: Missing , or : between flow sequence items [GR-INPUT-02]',
  ],
  ['a complex key', `${OTHER}? [a, b]\n: 1\n`, '4:3: is no valid YAML: a key must be a word [GR-INPUT-02]'],
  ['an empty key', `${OTHER}? \n: a\n`, '50 characters at line 1'],
  [
    'keys 1 and "1"',
    `${OTHER}1: a\n"1": b\n`,
    '5:1: is no valid YAML: the key "1" is already in its mapping [GR-INPUT-02]',
  ],
  [
    'keys true and yes',
    `${OTHER}true: a\nyes: b\n`,
    '5:1: is no valid YAML: the key "true" is already in its mapping [GR-INPUT-02]',
  ],
  [
    '201 levels of flow',
    `${OTHER}a: ${'['.repeat(201)}${']'.repeat(201)}\n`,
    '4:203: is nested more than 200 levels deep [GR-INPUT-02]',
  ],
  ['150 levels of flow', `${OTHER}a: ${'['.repeat(150)}${']'.repeat(150)}\n`, '347 characters at line 1'],
  [
    '1,000 levels of blocks',
    Array.from({ length: 1000 }, (_, index) => `${' '.repeat(index)}a:`).join('\n'),
    '200:201: is nested more than 200 levels deep [GR-INPUT-02]',
  ],
  ['50,000 open braces', '{a: '.repeat(50_000), '1:798: is nested more than 200 levels deep [GR-INPUT-02]'],
  ['JSON', '{"apiVersion":"v1","kind":"X"}', '31 characters at line 1'],
  ['JSON with a comma too many', '{"apiVersion":"v1","kind":"X",}', '32 characters at line 1'],
  [
    'JSON with a key twice',
    '{"apiVersion":"v1","kind":"X","kind":"Y"}',
    '1:31: is no valid YAML: the key "kind" is already in its mapping [GR-INPUT-02]',
  ],
  [
    'JSON with a key twice, once escaped',
    '{"apiVersion":"v1","kind":"X","k\\u0069nd":"RunnerGroup"}',
    '1:31: is no valid YAML: the key "kind" is already in its mapping [GR-INPUT-02]',
  ],
  [
    'JSON with comments',
    '{"apiVersion":"v1", // x\n"kind":"X"}',
    '1:1: is not a Kubernetes object: kind is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]',
  ],
  [
    'two lines of JSON',
    '{"apiVersion":"v1","kind":"X"}\n{"apiVersion":"v1","kind":"Y"}\n',
    '2:1: is no valid YAML: Unexpected flow-map-start at node end [GR-INPUT-02]',
  ],
  [
    'HTML',
    '<!DOCTYPE html>\n<html><body>Login</body></html>\n',
    '1:1: is not a Kubernetes object, but a list or a single value: keep it out of these files [GR-INPUT-03]',
  ],
  [
    'a Helm template',
    changed('name: ci', 'name: {{ .Values.name }}'),
    '3:19: is no valid YAML: this looks like a template ("{{"): render it first, e.g. with "helm template" [GR-INPUT-02]',
  ],
  [
    'a non-breaking space in the indentation',
    changed('  org: acme\n', '\u00a0 org: acme\n'),
    '6:1: is no valid YAML: a non-breaking space stands in the indentation: use ordinary spaces [GR-INPUT-02]',
  ],
  [
    'a conflict of Git',
    changed('  org: acme\n', '<<<<<<< HEAD\n  org: acme\n=======\n  org: other\n>>>>>>> x\n'),
    '6:1: is no valid YAML: this is a conflict of Git: resolve it [GR-INPUT-02]',
  ],
];
