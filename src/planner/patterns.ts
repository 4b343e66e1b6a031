/** Patterns that choose branches and repositories. */
import { addTo } from './collections.ts';

/** True if the text matches; a plan asks millions of times. @param pattern has one star at most: `*` is any characters but a slash, `**` any */
export function fitsPattern(pattern: string, text: string): boolean {
  const star = pattern.indexOf('*');
  if (star < 0) return text === pattern;
  const end = pattern.lastIndexOf('*') + 1;
  const endsAt = text.length - (pattern.length - end);
  if (endsAt < star || !text.endsWith(pattern.slice(end)) || !text.startsWith(pattern.slice(0, star))) return false;
  return end - star > 1 || !text.slice(star, endsAt).includes('/');
}

/**
 * Returns a function that finds the values with a matching pattern. Patterns are indexed by beginning and end: 200
 * groups may have 100 patterns each, and there may be 10,000 strings.
 * @param patternsOf each pattern has at most one star, which matches no slash
 */
export function patternFinder<V>(all: readonly V[], patternsOf: (value: V) => readonly string[]) {
  const byStart = new Map<string, Map<string | undefined, V[]>>();
  for (const value of all)
    for (const [start = '', end] of patternsOf(value).map((pattern) => pattern.split('*'))) {
      const byEnd = byStart.get(start) ?? new Map();
      byStart.set(start, byEnd);
      addTo(byEnd, end, value);
    }
  // Each length once: most strings are longer than most patterns.
  const lengths = [...new Set([...byStart.keys()].map(({ length }) => length))];
  const allEnds = [...byStart.values()].flatMap((byEnd) => [...byEnd.keys()]);
  const ends = [...new Set(allEnds.map((end) => end?.length ?? 0))];
  return (text: string): readonly V[] => {
    const matches = lengths.flatMap((length) => {
      const byEnd = length > text.length ? undefined : byStart.get(text.slice(0, length));
      if (!byEnd) return [];
      return ends.flatMap((end) =>
        length + end > text.length ? [] : (byEnd.get(text.slice(text.length - end)) ?? []),
      );
    });
    return [...(byStart.get(text)?.get(undefined) ?? []), ...matches];
  };
}
