import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { schema } from '../../src/cli/schema.ts';

/** What the command prints to stdout, and its exit code. */
function run(crd: boolean): { readonly code: number; readonly text: string } {
  const parts: string[] = [];
  const io = {
    env: {},
    cwd: '.',
    terminal: false,
    columns: 80,
    now: () => 0,
    out: (text: string) => void parts.push(text),
    err: () => undefined,
  };
  const code = schema({ crd }, io);
  return { code, text: parts.join('') };
}

test('schema --crd prints install/crd.yaml byte for byte', () => {
  expect(run(true)).toEqual({ code: 0, text: readFileSync('install/crd.yaml', 'utf8') });
});

test('schema prints the JSON Schema of a RunnerGroup', () => {
  const { code, text } = run(false);

  expect(code).toBe(0);
  expect(text.endsWith('}\n')).toBe(true);
  expect(JSON.parse(text)).toMatchObject({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'RunnerGroup',
    properties: { kind: { const: 'RunnerGroup' }, spec: { properties: { maxActiveRunners: { minimum: 0 } } } },
  });
});
