/** `values.yaml`, and the table of values in the manual, from the schema of the values. */
import type { JsonSchema } from '../../runnergroup/json-schema.ts';
import { yamlText } from '../../runnergroup/yaml-text.ts';
import { comment } from '../manifest-file.ts';

/** Each value with its default, and above it what it means. */
export function valuesText(schema: JsonSchema): string {
  return fields(schema)
    .map(([name, field]) => {
      const note = comment(String(field['description'] ?? ''));
      if (!isSection(field)) return `${note}${yamlText({ [name]: field['default'] })}`;
      return `${note}${name}:\n${indented(valuesText(field))}`;
    })
    .join('');
}

export const VALUE_HEAD = ['value', 'default', 'meaning'] as const;

/** One row per value: its path, its default as JSON, what it means. */
export function valueRows(schema: JsonSchema, path = ''): readonly (readonly string[])[] {
  return fields(schema).flatMap(([name, field]) => {
    const at = `${path}${name}`;
    if (isSection(field)) return valueRows(field, `${at}.`);
    return [[`\`${at}\``, `\`${JSON.stringify(field['default'])}\``, String(field['description'] ?? '')]];
  });
}

/** Without those that are not set: `global`. */
function fields(schema: JsonSchema): readonly (readonly [string, JsonSchema])[] {
  return Object.entries(schema.properties ?? {}).filter(([, field]) => isSection(field) || 'default' in field);
}

function isSection({ properties = {} }: JsonSchema): boolean {
  const inner = Object.values(properties);
  return inner.length > 0 && inner.every((field) => 'default' in field);
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
