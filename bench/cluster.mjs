// Starts bench/cluster.ts: bundles it with the test stack that it uses. `npm run --silent build && node bench/cluster.mjs`
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

const folder = mkdtempSync(join(tmpdir(), 'bench-cluster-'));
const outfile = join(folder, 'program.mjs');
// The stack finds its helpers beside its own files.
const places = {
  name: 'places',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/test\/.*\.m?ts$/ }, ({ path }) => {
      const place = JSON.stringify(dirname(path));
      return { loader: 'ts', contents: readFileSync(path, 'utf8').replaceAll('import.meta.dirname', place) };
    });
  },
};
try {
  const options = { bundle: true, platform: 'node', format: 'esm', target: 'node20.18', logLevel: 'warning' };
  const banner = { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" };
  await build({ ...options, banner, entryPoints: ['bench/cluster.ts'], outfile, plugins: [places] });
  const child = spawn(process.execPath, [outfile, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches the child too: it has servers to end.
  process.on('SIGINT', () => undefined);
  process.exitCode = await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
