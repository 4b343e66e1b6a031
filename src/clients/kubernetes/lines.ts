/** Longer than any object etcd takes (1.5 MiB), even with every character escaped. */
export const LONGEST_LINE_BYTES = 16 * 1024 * 1024;

const LINE_FEED = 10;

/**
 * Cuts a stream of UTF-8 bytes into its lines, without their ends; an unfinished last line is dropped. Each byte is looked at
 * once, however the stream is cut. @throws RangeError for a line that is too long, TypeError for one that is not UTF-8.
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const last = chunk.subarray(start, end);
      yield decoder.decode(pieces.length === 0 ? last : Buffer.concat([...pieces, last]));
      pieces = [];
      bytes = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    pieces.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > LONGEST_LINE_BYTES) throw new RangeError('a line without end');
  }
}
