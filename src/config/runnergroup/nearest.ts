/**
 * The known name that a reader most likely meant; undefined when none is near. One of these is near:
 *
 * - the same name but for upper and lower case;
 * - a name a few typing mistakes away: one per three letters, and ties go to the first name;
 * - the only name that has all its words (`maxRunners` for `maxActiveRunners`).
 */
export function nearestName(written: string, known: readonly string[]): string | undefined {
  // A name this long is no typing mistake, and the distance takes quadratic time.
  if (written.length > 64) return undefined;
  const lower = written.toLowerCase();
  const limit = Math.max(1, Math.floor(written.length / 3));
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(lower, name.toLowerCase());
    if (distance <= limit && (!best || distance < best.distance)) best = { name, distance };
  }
  return best?.name ?? onlyNameWithWordsOf(written, known);
}

function onlyNameWithWordsOf(written: string, known: readonly string[]): string | undefined {
  const words = wordsOf(written);
  const [name, another] = known.filter((candidate) => words.every((word) => wordsOf(candidate).includes(word)));
  return another === undefined ? name : undefined;
}

/** `maxActiveRunners` is `max`, `active`, `runners`. */
function wordsOf(name: string): readonly string[] {
  return name.split(/(?=[A-Z])|[^A-Za-z0-9]+/).map((word) => word.toLowerCase());
}

/** Levenshtein distance that counts two swapped neighbours as one mistake (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replace, swapped ? at(beforeLast, j - 2) + 1 : Infinity);
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
