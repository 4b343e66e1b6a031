/**
 * Makes the code cache of one part after a run of it, and those of the parts that it loads. Not part of lib/: `scripts/code-cache.mjs`
 * starts it, with the very Node that the caches are for. `node train.cjs FOLDER PART ARGUMENTS`: PART is run with ARGUMENTS as the
 * launcher would; each cache goes into FOLDER.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import v8 from 'node:v8';
import type { Script } from 'node:vm';
import { compile, type ProgramPart, readSource, run, sealed } from '../src/cli/start/code-cache.ts';

const [folder = '', part = '', ...args] = process.argv.slice(2);
const loaded: { readonly file: string; readonly source: Buffer; readonly script: Script }[] = [];

function load(file: string): unknown {
  const source = readSource(file);
  const script = compile(source, file);
  loaded.push({ file, source, script });
  return run(script, (other) => load(join(dirname(file), other)));
}

process.argv = [process.execPath, part, ...args];
// V8 writes its flags into the data, and a start compares them with its own, which it has not changed then.
v8.setFlagsFromString = () => undefined;
process.on('exit', () => {
  for (const { file, source, script } of loaded) {
    const cache = join(folder, `${basename(file)}.cache`);
    // After the run, so that the functions that it called are in it.
    writeFileSync(`${cache}.new`, sealed(source, script.createCachedData()));
    renameSync(`${cache}.new`, cache);
  }
});
(load(part) as ProgramPart).main();
