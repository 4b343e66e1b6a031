/**
 * Makes the code cache of one part after a run of it. Not part of lib/: `scripts/code-cache.mjs` starts it, with the very Node that
 * the cache is for. `node train.cjs CACHE PART ARGUMENTS`: PART is run with ARGUMENTS as the launcher would.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { plainLine } from '../cli/plain-line.ts';
import { compile, run, sealed } from './code-cache.ts';

const [cache = '', part = '', ...args] = process.argv.slice(2);
const source = readFileSync(part);
const script = compile(source, part);
process.argv = [process.execPath, part, ...args];
process.on('exit', () => {
  // V8 writes its flags into the data, and a start compares them with its own, before `validate` has switched one off.
  setFlagsFromString('--opt');
  // After the run, so that the functions that it called are in it.
  const data = script.createCachedData();
  writeFileSync(`${cache}.new`, sealed(source, data));
  renameSync(`${cache}.new`, cache);
});
run(script).main(plainLine(args));
