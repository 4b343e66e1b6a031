/** Tables of tests as text: what people write stands there as they write it. */
import { parse } from 'yaml';

/**
 * Rows of a table: a line, and below it, indented, what belongs to it. A short row is one line. Lines that begin with `# ` are comments.
 *
 *     resources.requests.cpu: is 2000 whole cores: write 2000m for thousandths of a core
 *       resources: {requests: {cpu: 2000}}
 *     OOMKilled: it needed more memory than its limit => raise spec.resources.limits.memory
 */
export function rowsOf(text: string): readonly (readonly [head: string, body: string])[] {
  const rows: [string, string[]][] = [];
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('# '))) {
    const row = rows.at(-1);
    const [head = '', ...rest] = line.split(' => ');
    if (!line.startsWith('  ')) rows.push([head, rest]);
    else if (row) row[1].push(line.slice(2));
    else throw new Error(`the first line belongs to no row: ${line}`);
  }
  return rows.map(([head, body]) => [head, body.join('\n')]);
}

/** The same with YAML below each line: fields of a spec. `~` leaves a field out that the document would have. */
export function specRows(text: string): readonly (readonly [head: string, spec: Readonly<Record<string, unknown>>])[] {
  return rowsOf(text).map(([head, body]) => {
    const fields = Object.entries((parse(body) ?? {}) as object);
    return [head, Object.fromEntries(fields.map(([name, value]) => [name, value ?? undefined]))];
  });
}
