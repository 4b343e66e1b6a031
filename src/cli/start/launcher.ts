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
// The comparison of RunnerGroups also plans them.
const compares = process.env['GITEA_RUNNERS_AGAINST'] || process.argv.some((word) => word.startsWith('--against'));
const part = command === 'generate' || (command === 'validate' && !compares) ? command : 'cli';
(load(join(__dirname, `${part}.cjs`)) as ProgramPart).main();
