/** Paths in a document: what stands there, what its schema knows there, and how people write them. */
import * as z from 'zod';
import type { Path } from './documents.ts';

/** Names that the schema of a document knows at a path. */
export function namesAt(document: z.ZodType, path: Path): readonly string[] {
  const schema = schemaAt(document, path);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** Returns the only mapping that knows a field. Sections of runnerConfig count only for fields in runnerConfig. */
export function homeOf(document: z.ZodType, field: string, from: Path): Path | undefined {
  const isInSection = (path: Path) => path[1] === 'runnerConfig' && path.length > 2;
  const homes =
    placesIn(document)
      .get(field)
      ?.filter((path) => from[1] === 'runnerConfig' || !isInSection(path)) ?? [];
  return homes.length === 1 ? homes[0] : undefined;
}

/** The mappings that know each field, by document: made once, as a hostile file has thousands of unknown fields. */
const PLACES = new WeakMap<z.ZodType, ReadonlyMap<string, readonly Path[]>>();

function placesIn(document: z.ZodType): ReadonlyMap<string, readonly Path[]> {
  const knownPlaces = PLACES.get(document);
  if (knownPlaces) return knownPlaces;
  const places = new Map<string, Path[]>();
  const visit = (path: Path): void => {
    for (const name of namesAt(document, path)) {
      places.set(name, [...(places.get(name) ?? []), path]);
      visit([...path, name]);
    }
  };
  visit([]);
  PLACES.set(document, places);
  return places;
}

/** Returns the schema of a path; undefined if the document does not know it. */
export function schemaAt(document: z.ZodType, path: Path): z.ZodType | undefined {
  let schema: unknown = document;
  for (const step of path) {
    if (schema instanceof z.ZodArray) schema = schema.element;
    else schema = schema instanceof z.ZodObject ? schema.shape[String(step)] : undefined;
    for (let inner = unwrapped(schema); inner !== undefined; inner = unwrapped(inner)) schema = inner;
  }
  return schema instanceof z.ZodType ? schema : undefined;
}

/** Returns the inner schema of an optional, defaulted, piped or lazy one. Undefined for others. */
function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodLazy)
    return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.out : undefined;
}

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, step) => {
    if (Array.isArray(inner)) return typeof step === 'number' ? inner[step] : undefined;
    return isMapping(inner) && Object.hasOwn(inner, String(step)) ? inner[String(step)] : undefined;
  }, value);
}

/** Writes a path as people do: `spec.labels[0]`, `metadata.labels["a.b/c"]`. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) return `${text}[${JSON.stringify(step.slice(0, 80))}]`;
    return text === '' ? step.slice(0, 80) : `${text}.${step.slice(0, 80)}`;
  }, '');
}

/** Reads what `pathText` has written: `spec.labels[0]` is `spec`, `labels`, 0. */
export function stepsOf(path: string): Path {
  return [...path.matchAll(/\[(\d+)\]|\["(.*?)"\]|([^.[\]]+)/g)].map(([, index, key, name = '']) =>
    index === undefined ? (key ?? name) : Number(index),
  );
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
