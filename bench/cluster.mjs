// Starts a bench on the real cluster, bundled with the test stack that it uses: `node bench/cluster.mjs cluster.ts|scale.ts [WORD…]`.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

const [program = '', ...words] = process.argv.slice(2);
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
  await build({ ...options, banner, entryPoints: [join('bench', program)], outfile, plugins: [places] });
  const child = spawn(process.execPath, [outfile, ...words], { stdio: 'inherit' });
  // Ctrl-C reaches the child too: it has servers to end.
  process.on('SIGINT', () => undefined);
  process.exitCode = await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
