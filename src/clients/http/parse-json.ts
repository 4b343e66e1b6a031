/** Undefined: it is no JSON (JSON has no undefined). The error of `JSON.parse` is dropped, because its message quotes the body. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
