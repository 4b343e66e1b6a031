import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { schema } from '../../src/cli/commands/schema.ts';
import { printingIo } from '../support/printing-io.ts';

/** Runs the command. Returns its stdout and exit code. The variable of its switch is `true` or `false`. */
function run(crd: boolean): { readonly code: number; readonly text: string } {
  const { io, printed } = printingIo({ env: { GITEA_RUNNERS_CRD: String(crd) } });
  const code = schema({}, io);
  return { code, text: printed.out };
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

const group = () => z.fromJSONSchema(JSON.parse(run(false).text));
const folder = join('examples', 'pods');
const gpu = (): { spec: { podTemplate: { spec: Record<string, unknown> } } } =>
  parse(readFileSync(join(folder, 'gpu.yaml'), 'utf8'));

it.each(readdirSync(folder))('the JSON Schema of podTemplate takes %s', (file) => {
  const { error } = group().safeParse(parse(readFileSync(join(folder, file), 'utf8')));

  expect(error?.issues).toBeUndefined();
});

it.each([
  ['a field that Kubernetes does not know', { nodeSelectors: {} }],
  ['a wrong type', { tolerations: [{ key: 1 }] }],
  ['a container without a name', { containers: [{ image: 'x' }] }],
])('the JSON Schema of podTemplate refuses %s', (_, wrong) => {
  const document = gpu();
  Object.assign(document.spec.podTemplate.spec, wrong);

  expect(group().safeParse(document).success).toBe(false);
});

it('the JSON Schema of podTemplate takes null, which takes a field away, and says what the field is for', () => {
  const document = gpu();
  Object.assign(document.spec.podTemplate.spec, { securityContext: { runAsUser: null } });
  const { properties } = JSON.parse(run(false).text);

  expect(group().safeParse(document).success).toBe(true);
  expect(properties.spec.properties.podTemplate.description).toContain('PodTemplateSpec');
  expect(Object.keys(properties.spec.properties)).toContain('securityProfile');
});
