// `npm run bench`: builds with the Node that the image ships, and times the program on it, for that is what Argo CD starts.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fetchNode, NODE_VERSION } from './fetch-node.mjs';

const folder = mkdtempSync(join(tmpdir(), 'bench-node-'));
try {
  // The image is for Linux.
  const node = process.platform === 'linux' ? fetchNode(NODE_VERSION, folder) : process.execPath;
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  const run = (...args) => spawnSync(node, args, { stdio: 'inherit', env }).status ?? 1;
  process.exitCode = run('scripts/build.mjs') || run('scripts/run-ts.mjs', 'bench/bench.ts', ...process.argv.slice(2));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
