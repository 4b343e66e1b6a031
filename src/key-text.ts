/** `runners/ci`: the key of an object with a namespace, and what people read. */
export function keyText({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
