/**
 * Helm templates made of the objects of `install/*.yaml`: the same YAML, with a template expression wherever a value of the chart decides.
 *
 * An edit names a place in the object and what stands there instead. It throws when the place is not as expected, so a change of a
 * construct cannot silently leave the chart behind.
 */
import { yamlText } from '../../runnergroup/yaml-text.ts';

export type ObjectPath = readonly (string | number)[];

/** What stands at a place of the object instead of its value. */
export interface Edit {
  readonly path: ObjectPath;
  /** `inline`: in the place of the value. `lines`: in the place of the whole line, each line indented as that one. */
  readonly put: { readonly inline: string } | { readonly lines: (indent: number) => readonly string[] };
  /**
   * `replace`: there must be a value. `items`: there must be a list, and one item stands for all of its items. `append`: there must be
   * a list, and one item more. `add`: there must be no value.
   */
  readonly how: 'replace' | 'items' | 'append' | 'add';
}

/** A value: `{{ expression }}`. */
export function value(path: ObjectPath, expression: string): Edit {
  return { path, how: 'replace', put: { inline: `{{ ${expression} }}` } };
}

/** A mapping or list of the chart's values in the place of ours. */
export function block(path: ObjectPath, expression: string): Edit {
  const lines = (indent: number) => [`${keyOf(path)}:`, toYaml(expression, indent + 2)];
  return { path, how: 'replace', put: { lines } };
}

/** A key that is there only when the chart's value is not empty. */
export function optional(path: ObjectPath, expression: string): Edit {
  const lines = (indent: number) => [
    `{{- with ${expression} }}`,
    `${keyOf(path)}:`,
    toYaml('.', indent + 2),
    '{{- end }}',
  ];
  return { path, how: 'add', put: { lines } };
}

/** The same for a single string. */
export function optionalText(path: ObjectPath, expression: string): Edit {
  const lines = () => [`{{- with ${expression} }}`, `${keyOf(path)}: {{ . | quote }}`, '{{- end }}'];
  return { path, how: 'add', put: { lines } };
}

/** More items at the end of a list. */
export function more(path: ObjectPath, expression: string): Edit {
  const lines = (indent: number) => [`{{- with ${expression} }}`, toYaml('.', indent), '{{- end }}'];
  return { path, how: 'append', put: { lines } };
}

/** The items of a list: the lines once for each item of the chart's value, which is `.` in them. */
export function forEach(path: ObjectPath, expression: string, item: readonly string[]): Edit {
  const lines = () => [`{{- range ${expression} }}`, ...item, '{{- end }}'];
  return { path, how: 'items', put: { lines } };
}

/** The template of one object. @throws Error when an edit does not fit the object, or the object holds `{{`. */
export function objectTemplate(object: unknown, edits: readonly Edit[]): string {
  const copy: unknown = JSON.parse(JSON.stringify(object));
  for (const [index, { path, how }] of edits.entries()) putAt(copy, path, token(index), how);
  const text = yamlText(copy);
  if (text.includes('{{')) throw new Error(`an object holds "{{", which Helm would read as a template:\n${text}`);
  return edits.reduce((made, { put }, index) => withPut(made, token(index), put), text);
}

function token(index: number): string {
  return `HELM-${index}-PLACE`;
}

function withPut(text: string, mark: string, put: Edit['put']): string {
  if ('inline' in put) return text.replace(mark, () => put.inline);
  const line = new RegExp(`^( *)(- )?(?:[^\\n]*: )?${mark}$`, 'm');
  return text.replace(line, (_, spaces: string, item: string | undefined) => {
    if (item !== undefined && !text.includes(`- ${mark}`)) throw new Error(`${mark}: the first key of a list item`);
    const lines = put.lines(spaces.length);
    return lines.map((each) => (each.startsWith('{{') ? each : `${spaces}${each}`)).join('\n');
  });
}

/** Indents by itself, so it stands at the start of the line. */
function toYaml(expression: string, indent: number): string {
  return `{{ toYaml (${expression}) | indent ${indent} }}`;
}

function keyOf(path: ObjectPath): string {
  return String(path.at(-1));
}

function putAt(root: unknown, path: ObjectPath, mark: string, how: Edit['how']): void {
  let at: unknown = root;
  for (const step of path.slice(0, -1)) at = isHolder(at) ? at[step] : undefined;
  const last = path.at(-1);
  if (!isHolder(at) || last === undefined) throw new Error(`no place ${path.join('.')} in the object`);
  const old = at[last];
  const fits =
    how === 'add' ? !Object.hasOwn(at, last) : how === 'replace' ? Object.hasOwn(at, last) : Array.isArray(old);
  if (!fits) throw new Error(`${path.join('.')}: cannot ${how} it`);
  if (how === 'append' && Array.isArray(old)) old.push(mark);
  else at[last] = how === 'items' ? [mark] : mark;
}

function isHolder(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null;
}
