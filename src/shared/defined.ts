/** Objects without undefined fields. */
type OptionalKey<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];

/** The fields of `T`. A field that may be undefined is optional, and has a value if it is present. */
type Defined<T> = Omit<T, OptionalKey<T>> & { readonly [K in OptionalKey<T>]?: Exclude<T[K], undefined> };

/** Leaves out fields that are undefined: `defined({ id, branch })` has no `branch` if there is none. */
export function defined<T extends object>(fields: T): Defined<T> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) kept[name] = value;
  return kept as Defined<T>;
}
