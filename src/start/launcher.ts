#!/usr/bin/env node
/**
 * lib/gitea-runners.cjs, the program. Argo CD starts it for every sync, so it loads only the part that the command needs:
 *
 *   generate, validate with a plain command line ──► lib/generate.cjs, lib/validate.cjs
 *   everything else, also --help and mistakes ─────► lib/cli.cjs
 *
 * Code that these commands need only sometimes is in parts of its own: lib/charts.cjs, lib/documents.cjs, lib/pods.cjs, lib/policy.cjs,
 * lib/proxied.cjs, lib/trace.cjs and, for `serve`, lib/tracing.cjs and lib/slack-socket.cjs (scripts/build.mjs). Each part has its code cache
 * (`code-cache.ts`).
 */
import { join } from 'node:path';
import { plainLine } from '../cli/plain-line.ts';
import { load, type ProgramPart } from './code-cache.ts';

const line = plainLine(process.argv.slice(2));
(load(join(__dirname, `${line?.command ?? 'cli'}.cjs`)) as ProgramPart).main(line);
