#!/usr/bin/env node
/**
 * lib/gitea-runners.cjs, the program. Argo CD starts it for every sync, so it loads the one part that is asked for:
 *
 *   generate, validate with a plain command line ──► lib/generate.cjs, lib/validate.cjs
 *   everything else, also --help and mistakes ─────► lib/cli.cjs
 *
 * What these need only sometimes lies in parts of its own: lib/charts.cjs, lib/documents.cjs,
 * lib/proxied.cjs (scripts/build.mjs). Each with its code cache (`code-cache.ts`) when there is one.
 */
import { join } from 'node:path';
import { plainLine } from '../cli/plain-line.ts';
import { load, type Part } from './code-cache.ts';

const line = plainLine(process.argv.slice(2));
(load(join(__dirname, `${line?.command ?? 'cli'}.cjs`)) as Part).main(line);
