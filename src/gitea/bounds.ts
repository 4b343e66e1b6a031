/**
 * How much of the texts of a row is kept: a look may have 20,000 rows. Authors of workflows choose labels of any length. Gitea itself cuts
 * names to 255 bytes.
 */

const LONGEST_NAME = 1_000;
const LONGEST_LINK = 2_000;
const MOST_LABELS = 200;
/** No runner of ours and no label of a group has a space in its name. */
const TOO_LONG = '(too long)';
const TOO_MANY = '(too many)';

/** Labels that a group cannot have stand for what is too long. */
export function boundedLabels(labels: readonly string[]): readonly string[] {
  if (labels.length <= MOST_LABELS && labels.every(({ length }) => length <= LONGEST_NAME)) return labels;
  const different = [...new Set(labels)];
  const kept = different.slice(0, MOST_LABELS).map(boundedName);
  return different.length > MOST_LABELS ? [...kept, TOO_MANY] : kept;
}

export function boundedName(name: string): string {
  return name.length > LONGEST_NAME ? TOO_LONG : name;
}

/** Empty: there is no page to link to. It also becomes an annotation, of which Kubernetes takes 256 KiB. */
export function boundedLink(url: string): string {
  return url.length > LONGEST_LINK ? '' : url;
}
