/** Longer than any object etcd takes (1.5 MiB), even with every character escaped. */
const LONGEST_LINE = 16 * 1024 * 1024;

/** Cuts a stream of UTF-8 bytes into its lines, without their ends; an unfinished last line is dropped. @throws RangeError for an endless one. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_LINE) throw new RangeError('a line without end');
    yield* lines;
  }
}
