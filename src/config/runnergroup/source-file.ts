/** A file that was read. `name`: relative to the current folder, for messages. */
export interface SourceFile {
  readonly name: string;
  readonly text: string;
}
