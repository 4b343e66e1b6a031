/** A file of an image; `path` is absolute. */
export type ImageEntry =
  | { readonly path: string; readonly mode?: number; readonly content: string | Uint8Array }
  | { readonly path: string; readonly mode?: number; readonly source: string; readonly capability?: number }
  | { readonly path: string; readonly link: string }
  | { readonly path: string; readonly mode?: number; readonly directory: true };

export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly Labels?: Readonly<Record<string, string>>;
}

export function writeImage(image: {
  readonly out: string;
  readonly name: string;
  readonly layers: readonly ({ readonly files: readonly ImageEntry[] } | { readonly folder: string })[];
  readonly config: ImageConfig;
}): Promise<void>;
export function withLibraries(files: readonly string[]): readonly ImageEntry[];
export function lddClosure(files: readonly string[]): readonly string[];
export function imageLabels(project: {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly license: string;
  readonly homepage: string;
}): Readonly<Record<string, string>>;
