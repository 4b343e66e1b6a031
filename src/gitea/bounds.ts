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

/** Characters of all labels of a job, and of a runner, which has all labels of its group. */
const MOST_OF_JOB = 4_096;
const MOST_OF_RUNNER = 16_384;

/** Labels that a group cannot have stand for what is too long. */
export function labelsOfJob(labels: readonly string[]): readonly string[] {
  return bounded(labels, MOST_OF_JOB);
}

export function labelsOfRunner(labels: readonly string[]): readonly string[] {
  return bounded(labels, MOST_OF_RUNNER);
}

function bounded(labels: readonly string[], mostCharacters: number): readonly string[] {
  const length = labels.reduce((sum, label) => sum + label.length, 0);
  const isShort = labels.length <= MOST_LABELS && length <= mostCharacters;
  if (isShort && labels.every((label) => label.length <= LONGEST_NAME)) return labels;
  const different = [...new Set(labels)];
  let left = mostCharacters;
  const kept = different
    .slice(0, MOST_LABELS)
    .map(boundedName)
    .filter((label) => {
      left -= label.length;
      return left >= 0;
    });
  return kept.length < different.length ? [...kept, TOO_MANY] : kept;
}

export function boundedName(name: string): string {
  return name.length > LONGEST_NAME ? TOO_LONG : name;
}

/** Empty: there is no page to link to. It also becomes an annotation, of which Kubernetes takes 256 KiB. */
export function boundedLink(url: string): string {
  return url.length > LONGEST_LINK ? '' : url;
}
