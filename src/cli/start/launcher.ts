#!/usr/bin/env node
/**
 * lib/gitea-runners.cjs, the program. Argo CD starts it for every sync, so it loads only the part that the command needs:
 *
 *   generate, validate ─► lib/generate.cjs, lib/validate.cjs: src/cli/cli.ts without the other commands
 *   everything else ────► lib/cli.cjs
 */
import { join } from 'node:path';
import { load, type ProgramPart } from './code-cache.ts';

const [, , command = ''] = process.argv;
// Two flags of validate run code of other commands.
const isWide = ['against', 'show'].some(
  (flag) =>
    process.env[`GITEA_RUNNERS_${flag.toUpperCase()}`] || process.argv.some((word) => word.startsWith(`--${flag}`)),
);
const part = command === 'generate' || (command === 'validate' && !isWide) ? command : 'cli';
(load(join(__dirname, `${part}.cjs`)) as ProgramPart).main();
