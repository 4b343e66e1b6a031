/**
 * Bundles the program into lib/: one file per part, so that a start reads what it needs and no node_modules (src/cli/start/launcher.ts).
 * Then a code cache for the parts, made by this Node: `npm run build -- --no-cache` leaves it out.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { onlyKubernetesTypes, onlyWhatAJobNeeds } from './cdk8s-part.mjs';
import { makeCodeCache } from './code-cache.mjs';
import { thirdPartyNotices } from './third-party.mjs';

const LIB = 'lib';
const options = {
  outdir: LIB,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20.18',
  format: 'cjs',
  // Parts are compiled as scripts, which have no import().
  supported: { 'dynamic-import': false },
  // `yaml` asks process.env for debugging switches at every word, which takes as long as reading it, and they print to stdout.
  alias: { process: './scripts/process-without-env.cjs' },
  minifySyntax: true,
  charset: 'ascii',
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
  write: false,
};
/** What the cdk8s app is imported as. */
const CHARTS = /\/manifests\/app\.ts$/;
/** What is needed only when spans are sent somewhere. */
const TRACING = /\/tracing\/otlp\.ts$/;
const TRACE = /\/tracing\/run-trace\.ts$/;
/** The same with a platform's app, which may call all of cdk8s. */
const PLATFORM = /\/manifests\/platform\.ts$/;
/** What only groups with a podTemplate or a securityProfile need. */
const PODS = /\/(?:final-pods|made-job|pods\/asks)\.ts$/;
const built = await Promise.all([
  oneCommand('generate', 'commands/generate'),
  oneCommand('validate', 'commands/validate', 'reading/command-settings'),
  build({
    ...options,
    entryPoints: {
      'gitea-runners': 'src/cli/start/launcher.ts',
      proxied: 'src/clients/http/connect.ts',
      documents: 'src/config/runnergroup/documents.ts',
      policy: 'src/config/policy/check.ts',
      unseen: 'src/planner/unseen/unseen.ts',
      cli: 'src/cli/cli.ts',
      main: 'src/main.ts',
      platform: 'src/manifests/platform.ts',
      pods: 'src/cli/start/pods-part.ts',
      trace: 'src/telemetry/tracing/run-trace.ts',
      tracing: 'src/telemetry/tracing/otlp.ts',
    },
    plugins: [
      onlyKubernetesTypes,
      apart(CHARTS, './charts.cjs'),
      apart(PLATFORM, './platform.cjs'),
      apart(PODS, './pods.cjs'),
      apart(TRACE, './trace.cjs'),
      apart(TRACING, './tracing.cjs'),
    ],
  }),
  build({
    ...options,
    entryPoints: { charts: 'src/manifests/app.ts' },
    minifyIdentifiers: true,
    plugins: [onlyKubernetesTypes, onlyWhatAJobNeeds],
  }),
  // For users of cdk8s, who have their own: an object of another copy fits into no chart.
  build({
    ...options,
    entryPoints: {
      construct: 'src/manifests/construct/index.ts',
      validation: 'src/config/policy/cdk8s-validation.ts',
    },
    external: ['cdk8s', 'constructs'],
  }),
]);
const outputFiles = built.flatMap((result) => result.outputFiles);
// Each file appears whole or not at all: somebody may be starting the program just now.
mkdirSync(LIB, { recursive: true });
for (const { path, text } of outputFiles) write(path, asAscii(text, path));
write(`${LIB}/THIRD-PARTY.txt`, thirdPartyNotices(built.map(({ metafile }) => metafile)));
const TYPES = 'construct.d.cts';
write(`${LIB}/${TYPES}`, readFileSync(join('imports', TYPES), 'utf8'));
// Parts that are no more.
const written = new Set([...outputFiles.map(({ path }) => basename(path)), 'THIRD-PARTY.txt', TYPES]);
for (const file of readdirSync(LIB)) if (!written.has(file.replace(/\.cache$/, ''))) rmSync(join(LIB, file));
if (!process.argv.includes('--no-cache')) await makeCodeCache({ lib: LIB, node: process.execPath });

/** src/cli/cli.ts with one command. @param own the files of src/cli that it imports for this one */
function oneCommand(name, ...own) {
  const kept = new Set(own.map((file) => `./${file}.ts`));
  return build({
    ...options,
    entryPoints: { [name]: 'src/cli/cli.ts' },
    inject: ['src/cli/start/without-jit.ts'],
    plugins: [
      withoutProcesses(),
      apart(/^\.\.?\//, './cli.cjs', (path, importer) => importer.endsWith('/cli/cli.ts') && !kept.has(path)),
      apart(/\/connect\.ts$/, './proxied.cjs'),
      // Never loaded from here: src/cli/start/launcher.ts.
      apart(/\/(?:validate-against|policy)\.ts$/, './cli.cjs'),
      apart(/\/documents\.ts$/, './documents.cjs'),
      apart(/\/policy\/check\.ts$/, './policy.cjs'),
      apart(/\/unseen\/unseen\.ts$/, './unseen.cjs'),
      apart(CHARTS, './charts.cjs'),
      apart(PLATFORM, './platform.cjs'),
      apart(PODS, './pods.cjs'),
      apart(TRACE, './trace.cjs'),
    ],
  });
}

/** commander starts commands that are programs of their own. We have none, and node:child_process takes 0.7 ms of a start. */
function withoutProcesses() {
  const path = resolve('scripts', 'unused.cjs');
  return {
    name: 'without-processes',
    setup: ({ onResolve }) => {
      onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
        importer.includes('/commander/') ? { path } : undefined,
      );
    },
  };
}

function write(path, text) {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/**
 * One byte per character, as the launcher reads its parts: esbuild writes everything so but comments, where a letter is of no
 * consequence.
 */
function asAscii(text, path) {
  return text.replace(/^([\0-\t\v-\x7f]*)([^\0-\x7f].*)$/gm, (line, before, from) => {
    if (!/\/\/|^\s*\/?\*/.test(before)) throw new Error(`${path} is not ASCII: ${line.slice(0, 200)}`);
    return before + from.replace(/[^\0-\x7f]/g, '?');
  });
}

/** Leaves a module that is imported late to a file of its own: few need it, and all would read it. */
function apart(filter, file, isApart = () => true) {
  return {
    name: 'apart',
    setup: ({ onResolve }) => {
      onResolve({ filter }, ({ importer, kind, path }) =>
        kind === 'dynamic-import' && isApart(path, importer) ? { path: file, external: true } : undefined,
      );
    },
  };
}
