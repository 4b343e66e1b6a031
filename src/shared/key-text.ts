interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** `runners/ci`: the key of an object with a namespace, and what people read. */
export function keyText({ namespace, name }: Named): string {
  return `${namespace}/${name}`;
}

/** True when both are there and have the same namespace and name. */
export function isSame(a: Named | undefined, b: Named): boolean {
  return a?.namespace === b.namespace && a.name === b.name;
}
