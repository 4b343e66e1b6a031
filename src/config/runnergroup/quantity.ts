/** Kubernetes quantities (apimachinery, `pkg/api/resource`), as far as requests and limits need them: never negative. */

export const QUANTITY = /^\+?(?<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;
/** Longer ones have no meaning, and a pattern needs an end. */
export const LONGEST_QUANTITY = 64;
const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** True for what the API server takes as an amount of a resource. */
export function isQuantity(text: string): boolean {
  return text.length <= LONGEST_QUANTITY && QUANTITY.test(text) && Number.isFinite(quantityValue(text));
}

/** The amount as a number, good enough to compare two of them; NaN when it is no quantity. */
export function quantityValue(text: string): number {
  const { number, suffix = '' } = QUANTITY.exec(text)?.groups ?? {};
  if (number === undefined) return Number.NaN;
  const power = BINARY.indexOf(suffix) + 1;
  if (power > 0) return Number(number) * 1024 ** power;
  const exponent = DECIMAL[suffix] ?? Number(suffix.slice(1));
  return Number(`${number}e${exponent}`);
}
