/**
 * Tests the files of the Helm chart: do they match the output of `npm run generated`? The output of real helm:
 * test/servers/chart.test.ts.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import type { JsonSchema } from '../../src/config/runnergroup/json-schema.ts';
import { SAMPLERS } from '../../src/telemetry/tracing/span.ts';
import { expectedObjects, OPTIONS, renderedWithoutHelm, sorted } from './chart.ts';
import { installText, objects } from './manifests.ts';

const schema: JsonSchema = JSON.parse(installText('chart/values.schema.json'));
const values: unknown = parse(installText('chart/values.yaml'));

it('make the objects of install.yaml', () => {
  expect(renderedWithoutHelm()).toEqual(expectedObjects());
});

it('make the objects of the optional files, too, when they are asked for', () => {
  const optional = Object.values(OPTIONS).flatMap(objects);

  expect(renderedWithoutHelm(Object.keys(OPTIONS))).toEqual(sorted([...expectedObjects(), ...optional]));
});

/** Every value and section, by path. */
function fields({ properties = {} }: JsonSchema, above = ''): readonly (readonly [string, JsonSchema])[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${above}${name}`;
    return [[path, field], ...('default' in field ? [] : fields(field, `${path}.`))];
  });
}

/** `[path, comment]` of each key of values.yaml with a comment above it. */
function comments(text: string): readonly (readonly [string, string])[] {
  const path: string[] = [];
  return [...text.matchAll(/^( *)# (.*)\n\1(\w+):/gm)].map(([, indent = '', comment = '', key = '']) => {
    path.splice(indent.length / 2, path.length, key);
    return [path.join('.'), comment];
  });
}

/** The values that the schema names as defaults. */
function defaults({ properties = {} }: JsonSchema): unknown {
  const sections = Object.entries(properties).filter(([name]) => name !== 'global');
  return Object.fromEntries(
    sections.map(([name, field]) => [name, 'default' in field ? field['default'] : defaults(field)]),
  );
}

it('the values of the chart stand in values.schema.json with the same defaults', () => {
  expect(defaults(schema)).toEqual(values);
});

it('the values of the chart mean in values.yaml, in values.schema.json and in the manual the same', () => {
  const manual = readFileSync('docs/helm.md', 'utf8');
  const known = fields(schema).filter(([path]) => path !== 'global');

  expect(comments(installText('chart/values.yaml'))).toEqual(
    known.map(([path, { description }]) => [path, description]),
  );
  for (const [path, { default: byDefault, description }] of known.filter(([, field]) => 'default' in field))
    expect(manual).toContain(`| \`${path}\` | \`${JSON.stringify(byDefault)}\` | ${description} |\n`);
});

it('the values of the chart are taken by the schema, which refuses a misspelt one', () => {
  const Values = z.fromJSONSchema(JSON.parse(JSON.stringify(schema)));

  expect(Values.safeParse(values).error).toBeUndefined();
  expect(Values.safeParse({ serve: { replica: 1 } }).success).toBe(false);
});

it('the values of tracing.sampler are those of the flag', () => {
  const tracing = schema.properties?.['tracing'];

  expect(tracing?.properties?.['sampler']?.['enum']).toEqual(['', ...SAMPLERS]);
});

it('Chart.yaml says of the product what package.json says', () => {
  const { version, description, homepage, license } = packageJson;

  expect(parse(installText('chart/Chart.yaml'))).toMatchObject({
    name: 'gitea-runners',
    description,
    version,
    appVersion: version,
    home: homepage,
    annotations: { 'artifacthub.io/license': license },
  });
});
