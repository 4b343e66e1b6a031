/** Tests that the output of the program arrives whole, however slowly it is read. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { folderWith, runNode } from '../support/run-cli.ts';
import { listen } from '../support/server.ts';

const folder = folderWith({}, afterAll);
const program = join(folder, 'prints.mjs');

/** Prints pieces as `generate` does, short and long, ASCII and not, some too long for any buffer; then a line on stderr. */
const PRINTS = `
  import { endOnClosedOutput, mainIo } from './src/cli/process.ts';
  const io = mainIo();
  endOnClosedOutput();
  process.exitCode = Number(process.argv[3]);
  for (let i = 0; i < Number(process.argv[2]); i += 1) {
    await io.out('short ' + i + ' \\u00e4\\u{1f600}\\n' + 'long '.repeat(200) + '\\u4e2d'.repeat(300) + (i % 50 === 0 ? 'x'.repeat(300_000) : ''));
  }
  io.err('done\\n');
`;

function expected(count: number): string {
  return Array.from({ length: count }, (_, i) =>
    [`short ${i} ä😀\n`, 'long '.repeat(200), '中'.repeat(300), i % 50 === 0 ? 'x'.repeat(300_000) : ''].join(''),
  ).join('');
}

const hash = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex');

beforeAll(() => {
  buildSync({
    stdin: { contents: PRINTS, resolveDir: process.cwd(), loader: 'ts' },
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
  });
});

test('the output is whole through a pipe', async () => {
  const { code, stdout, stderr } = await runNode([program, '400', '0'], {});

  expect([code, stderr, stdout.length]).toEqual([0, 'done\n', expected(400).length]);
  expect(hash(stdout)).toBe(hash(expected(400)));
});

test('the output is nothing for no pieces, and the exit code is the one asked for', async () => {
  expect(await runNode([program, '0', '3'], {})).toEqual({ code: 3, stdout: '', stderr: 'done\n' });
});

test('the output is whole through a connection that does not block and is read late', async () => {
  const { server, port } = await listen(createServer());
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const ours = connect(port, '127.0.0.1');
  await new Promise((resolve) => ours.once('connect', resolve));
  const reader = await accepted;
  // Node makes sockets non-blocking, and the child gets this very one as its stdout.
  const child = spawn(process.execPath, [program, '400', '0'], { stdio: ['ignore', ours, 'pipe'] });
  ours.destroy();
  const closed = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));

  await new Promise((resolve) => setTimeout(resolve, 200));
  const chunks: Buffer[] = [];
  reader.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await closed;
  await new Promise((resolve) => (reader.readableEnded ? resolve(undefined) : reader.once('end', resolve)));

  expect(code).toBe(0);
  expect(hash(Buffer.concat(chunks))).toBe(hash(expected(400)));
});

test('an output that nobody reads any more ends the program quietly with exit code 1', async () => {
  const script = join(folder, 'head.cjs');
  writeFileSync(
    script,
    `const child = require('node:child_process').spawn(process.execPath, [${JSON.stringify(program)}, '400', '0'],
         { stdio: ['ignore', 'pipe', 'inherit'] });
       child.stdout.once('data', () => child.stdout.destroy());
       child.on('close', (code) => { process.stdout.write(String(code)); });`,
  );

  expect(await runNode([script], {})).toEqual({ code: 0, stdout: '1', stderr: '' });
});

test('an output that the operating system refuses ends the program with exit code 1 and the reason', async () => {
  expect(await runInto('/dev/full', [program, '400', '0'])).toEqual({ code: 1, stderr: REFUSED });
});

test.each(['--help', 'schema'])('the output of a command %s, when it is refused', async (argument) => {
  expect(await runInto('/dev/full', ['lib/gitea-runners.cjs', argument])).toEqual({ code: 1, stderr: REFUSED });
});

const REFUSED = 'error: GR-OUTPUT-01 print: ENOSPC. What was printed before it is not whole.\n';

/** Runs Node with a file as its standard output. */
async function runInto(file: string, args: readonly string[]): Promise<{ code: number | null; stderr: string }> {
  const output = openSync(file, 'w');
  const child = spawn(process.execPath, args, { stdio: ['ignore', output, 'pipe'] });
  closeSync(output);
  const [code, stderr] = await Promise.all([
    new Promise<number | null>((resolve) => child.once('close', resolve)),
    child.stderr ? text(child.stderr) : '',
  ]);
  return { code, stderr };
}
