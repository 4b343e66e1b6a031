/** `1 file`, `2 files`: for nouns that take an s. */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
