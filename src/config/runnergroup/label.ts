/** One label as written, e.g. `ubuntu-latest:docker://image`, and its name, e.g. `ubuntu-latest`, which is all that Gitea sees. */
export interface RunnerLabel {
  readonly name: string;
  readonly text: string;
}

/** A label and what its jobs need; `foreign`: a schema that only runner 2.1 and newer take, as part of the name. */
export interface ParsedLabel extends RunnerLabel {
  readonly schema: 'host' | 'docker' | 'foreign';
}

/**
 * What `scripts/run.sh` of the runner splits, expands or takes for an option, and what its comma list would: the variable
 * stands there without quotes.
 */
const UNSAFE = /[\s,'"`\\$*?[\]\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** Nearly every label. Told first, because the tables of Unicode that `UNSAFE` needs cost a start 1 ms. */
const PLAIN = /^[A-Za-z0-9._:/@-]*$/;

/**
 * Reads `name`, `name:host`, `name:docker:image` or `name:docker://image` (runner, `internal/pkg/labels/labels.go`). Only the
 * name goes to Gitea. With any other schema the whole text is the name (runner 2.1 and newer).
 */
export function parseLabel(text: string): ParsedLabel | { readonly wrong: string } {
  if (!PLAIN.test(text) && UNSAFE.test(text)) {
    return {
      wrong:
        'must not contain spaces, commas, quotes, backslashes, "$", "`", "*", "?", "[", "]" or control characters: the runner\'s start script would split or expand it',
    };
  }
  if (text.startsWith('-')) return { wrong: 'must not start with "-": the runner would take it for an option' };
  const [name = '', schema, ...rest] = text.split(':');
  const argument = rest.join(':');
  if (name === '') return { wrong: 'must have a name before the colon' };
  if (schema === undefined) return { name, text, schema: 'host' };
  if (schema === 'host') {
    if (rest.length > 0) return { wrong: 'must end after ":host"' };
    return { name, text, schema };
  }
  if (schema === 'docker') {
    if (argument.replace(/^\/\//, '') === '') return { wrong: `must name an image: "${name}:docker://image"` };
    return { name, text, schema };
  }
  return { name: text, text, schema: 'foreign' };
}
