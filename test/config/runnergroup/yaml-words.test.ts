/** Mistakes that people make in YAML, and the one line that says what to do. */
import { expect, test } from 'vitest';
import { problemsIn } from '../../support/group-files.ts';

const HEAD = 'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\nmetadata:\n  name: ci\nspec:\n  scope: org\n';

test.each([
  [
    'more indentation',
    `${HEAD}    org: acme\n`,
    '7:5',
    'line 7 is indented more than line 6, and the two do not fit together',
  ],
  [
    'more, after a comment',
    `${HEAD}\n# x\n    org: a\n`,
    '9:5',
    'line 9 is indented more than line 6, and the two do not fit together',
  ],
  [
    'less indentation',
    `${HEAD} org: acme\n`,
    '7:1',
    'line 7 is indented less than line 6, and the two do not fit together',
  ],
  ['a tab', `${HEAD}\torg: acme\n`, '7:1', 'a tab stands in the indentation: use spaces'],
  ['no colon', `${HEAD}  org acme\n`, '7:3', 'a key needs a colon and a space after it'],
  ['no space', `${HEAD}  org:acme\n  repo: x\n`, '7:3', 'a key needs a colon and a space after it'],
  ['a colon in a value', `${HEAD}  org: a: b\n`, '7:8', 'a string with a colon and a space in it needs quotes'],
  ['an at sign', `${HEAD}  org: @acme\n`, '7:8', 'a string that starts with "@" needs quotes'],
  ['an open quote', `${HEAD}  org: "acme\n`, '8:1', 'a quote (") is opened and never closed'],
  ['an open list', `${HEAD}  labels: [a, b\n`, '8:1', 'a "]" is missing at the end of a list or mapping'],
  [
    'a template',
    `{{- if .x }}\n${HEAD}{{- end }}\n`,
    '1:3',
    'this looks like a template ("{{"): render it first, e.g. with "helm template"',
  ],
  [
    'a conflict',
    `${HEAD}<<<<<<< HEAD\n  org: a\n=======\n  org: b\n>>>>>>> x\n`,
    '7:1',
    'this is a conflict of Git: resolve it',
  ],
  ['a key twice', `${HEAD}  scope: user\n`, '7:3', 'the key "scope" is already in its mapping'],
])('%s', async (_, yaml, place, words) => {
  expect(await problemsIn({ 'ci.yaml': yaml })).toEqual([`ci.yaml:${place}: is no valid YAML: ${words} [GR-INPUT-02]`]);
});

test('what is no YAML at all is one problem', async () => {
  expect(await problemsIn({ 'ci.yaml': '# Readme\n\nSome `text`, and: *more*\n- x\n```sh\nrun\n```\n' })).toHaveLength(
    1,
  );
});
