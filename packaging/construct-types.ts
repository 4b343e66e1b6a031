/** `imports/construct.d.cts`: the types of the npm package, from the schema of a RunnerGroup. Names of choices are strings, not enums. */
import { type JsonSchema, jsonSchema } from '../src/config/runnergroup/json-schema.ts';

/** The text of the file. It needs the types of cdk8s and constructs alone. */
export function constructDeclaration(): string {
  const spec = jsonSchema().properties?.['spec'];
  if (spec === undefined) throw new Error('the schema of a RunnerGroup has no spec');
  return `${HEAD}export interface RunnerGroupSpec ${typeText(spec, '')}\n\n${CLASS}`;
}

const HEAD = `// Made from src/config/runnergroup/group-schema.ts by "npm run generated".
import { ApiObject, type ApiObjectMetadata, type App, type Chart } from 'cdk8s';
import type { Construct } from 'constructs';

/** All fields with their rules: docs/runnergroup.md. */
`;

const CLASS = [
  'export interface RunnerGroupProps {',
  '  readonly metadata?: ApiObjectMetadata;',
  '  readonly spec: RunnerGroupSpec;',
  '}',
  '',
  '/** A RunnerGroup. The constructor throws with every problem, in the words of `gitea-runners validate`. */',
  'export declare class RunnerGroup extends ApiObject {',
  '  constructor(scope: Construct, id: string, props: RunnerGroupProps);',
  '}',
  '',
  "/** The app that `generate` and `cdk8s synth` run, as a platform's own app gets it: every chart is made, nothing is written (docs/platform.md). */",
  'export interface RunnersApp extends App {',
  '  /** One per RunnerGroup, and one per size of it. */',
  '  readonly groupCharts: readonly RunnerGroupChart[];',
  '}',
  '',
  'export interface RunnerGroupChart extends Chart {',
  '  readonly group: {',
  '    readonly namespace: string;',
  '    readonly name: string;',
  '    readonly containerMode: RunnerGroupSpec["containerMode"];',
  '    readonly size?: { readonly name: string };',
  '  };',
  '  /** What the Jobs of its runners are made of: all but name, labels and annotations of one runner. */',
  '  readonly job: ApiObject;',
  '}',
  '',
].join('\n');

function typeText(schema: JsonSchema, indent: string): string {
  const { type, properties } = schema;
  const choices = schema['enum'] ?? ('const' in schema ? [schema['const']] : undefined);
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(' | ');
  const forms = schema['anyOf'];
  if (Array.isArray(forms)) return forms.map((form) => typeText(form as JsonSchema, indent)).join(' | ');
  if (properties !== undefined) return objectText(schema, properties, indent);
  if (type === 'array') return `readonly (${typeText((schema['items'] ?? {}) as JsonSchema, indent)})[]`;
  if (type === 'object') return `{ readonly [key: string]: ${valueType(schema['additionalProperties'], indent)} }`;
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean') return type;
  return 'unknown';
}

function objectText(schema: JsonSchema, properties: Readonly<Record<string, JsonSchema>>, indent: string): string {
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, field]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    return `${docText(field, inner)}${inner}readonly ${key}${required.has(name) ? '' : '?'}: ${typeText(field, inner)};\n`;
  });
  if (schema['additionalProperties'] !== false) lines.push(`${inner}readonly [key: string]: unknown;\n`);
  return `{\n${lines.join('')}${indent}}`;
}

function valueType(schema: unknown, indent: string): string {
  return typeof schema === 'object' && schema !== null ? typeText(schema as JsonSchema, indent) : 'unknown';
}

function docText(field: JsonSchema, indent: string): string {
  const text = String(field['description'] ?? '');
  const byDefault = 'default' in field ? ` Default: \`${JSON.stringify(field['default'])}\`.` : '';
  return text === '' ? '' : `${indent}/** ${`${text}${byDefault}`.replaceAll('*/', '*∕')} */\n`;
}
