import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { splitLines } from '../../../src/clients/kubernetes/kube-client.ts';

async function linesOf(...chunks: readonly Uint8Array[]): Promise<readonly string[]> {
  const lines: string[] = [];
  const stream = (async function* () {
    yield* chunks;
  })();
  for await (const line of splitLines(stream)) lines.push(line);
  return lines;
}

it('lines of a stream are the same however the bytes are cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' })), fc.integer({ min: 1, max: 7 }), async (texts, size) => {
      const wanted = texts.map((text) => text.replaceAll('\n', ' '));
      const bytes = Buffer.from(wanted.map((text) => `${text}\n`).join(''));
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );

      expect(await linesOf(...chunks)).toEqual(wanted.map((text) => Buffer.from(text).toString()));
    }),
  );
});

it('lines of a stream leave out an unfinished last one', async () => {
  expect(await linesOf(Buffer.from('a\nb'))).toEqual(['a']);
});

it('lines of a stream must be UTF-8', async () => {
  await expect(linesOf(Uint8Array.of(0xff, 0x0a))).rejects.toThrow(TypeError);
});

it('lines of a stream may begin with a byte order mark, which is part of them', async () => {
  expect(await linesOf(Buffer.from('\ufeffa\n\ufeffb\n'))).toEqual(['\ufeffa', '\ufeffb']);
});

it('lines of a stream may be as long as the limit', async () => {
  const [line] = await linesOf(...Array.from({ length: 16 }, () => Buffer.alloc(1024 * 1024, 'x')), Buffer.from('\n'));

  expect(line).toHaveLength(16 * 1024 * 1024);
});

it('lines of a stream must end some time', async () => {
  const endless = Array.from({ length: 17 }, () => Buffer.alloc(1024 * 1024, 'x'));

  await expect(linesOf(...endless)).rejects.toThrow('a line without end');
});
