/** The JSON Schema of a RunnerGroup, and the text of its CRD (crd.json, made by packaging/crd.ts). */
import * as z from 'zod';
import { KIND } from '../../shared/marks.ts';
import { DEFAULT_NOTE } from './field-kinds.ts';
import { RunnerGroupDocument } from './group-schema.ts';
import { valueAt } from './paths.ts';
import { yamlText } from './yaml-text.ts';

const HEADER = '# Made from src/config/runnergroup/group-schema.ts by "npm run generated".\n';

/** `install/crd.yaml`, byte for byte, for the `crd` without annotations. */
export function crdText(crd: object): string {
  return HEADER + yamlText(crd);
}

/** Names of the fields below `spec` in the schema of a version of a CRD. */
export function specFieldsOf(version: unknown): readonly string[] {
  return Object.keys(valueAt(version, ['openAPIV3Schema', 'properties', 'spec', 'properties']) ?? {});
}

/** A JSON Schema as far as our own schemas need it. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

export function jsonSchema(): JsonSchema {
  return editorSchema(KIND, RunnerGroupDocument);
}

/** The schema of a document as draft-07: the draft that editors' YAML support reads. */
export function editorSchema(title: string, document: z.ZodType): JsonSchema {
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, ...toJsonSchema(document) };
}

/** Converts a zod schema to the JSON Schema of its input. Rules between fields are left out. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _$schema, ...jsonSchema } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema: made }) => {
      delete made[DEFAULT_NOTE];
      // The largest number of JavaScript is not a rule of the schema.
      if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
      if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
    },
  });
  return jsonSchema as JsonSchema;
}
