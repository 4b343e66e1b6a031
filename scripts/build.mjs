// Bundles the two programs into lib/: one file each, so that a start reads one file and no node_modules.
import { build } from 'esbuild';

await build({
  entryPoints: { 'gitea-runners': 'src/cli.ts', main: 'src/main.ts', generated: 'src/generated.ts' },
  outdir: 'lib',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20.18',
  format: 'cjs',
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
});
