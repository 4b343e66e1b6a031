// Runs a TypeScript program of this repository: bundles it into a temporary file and starts that. `node scripts/run-ts.mjs FILE ARGUMENTS`
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

const [entry, ...args] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'run-ts-'));
const outfile = join(folder, 'program.mjs');
try {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // CommonJS packages in the bundle call it for Node's own modules.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    logLevel: 'warning',
  });
  process.exitCode = spawnSync(process.execPath, [outfile, ...args], { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
