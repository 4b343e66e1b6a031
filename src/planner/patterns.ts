/** Patterns that choose branches and repositories. */

/** @param pattern has one star at most (schema.ts): `*` is any characters but a slash, `**` any */
export function fitsPattern(pattern: string, text: string): boolean {
  const [start = '', end] = pattern.split(/\*+/);
  if (end === undefined) return text === pattern;
  if (!text.startsWith(start) || !text.slice(start.length).endsWith(end)) return false;
  return pattern.includes('**') || !text.slice(start.length, text.length - end.length).includes('/');
}
