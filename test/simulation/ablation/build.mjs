/**
 * `npm run ablation`: what does each rule of the planner buy? Builds our planner once for each rule, with that rule switched off, and runs
 * all of them over the same histories (`run.ts`). The planner itself has no switches: while esbuild reads a file of `src/planner`, the named
 * function gets another body, given here.
 *
 * `-- --ordinary` or `-- --calm` for another kind of histories than wide ones, `HISTORIES=500` for more than 120, `FIRST=5001` for other
 * seeds; `-- --docs` writes the table into docs/simulations.md.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { build } from 'esbuild';

/** `off`: new bodies of functions, by file and name. In a body `original` is the function as it was, and `args` are its arguments. */
const RULES = [
  { rule: 'none', off: {} },
  { rule: 'at least elsewhere (ADR 16)', off: { 'assign.ts elsewhereFinder': 'return () => undefined' } },
  { rule: 'spare runners (ADR 22)', off: { 'idle.ts isYoung': 'return false' } },
  {
    rule: 'needs: an end counts only if the job can have waited for it (ADR 4)',
    off: { 'unseen/needs.ts needsFinder': 'return () => true' },
  },
  { rule: 'replay (ADR 19)', off: { 'unseen/replay.ts replayPast': 'return new Map()' } },
  {
    rule: 're-created Jobs (ADR 26)',
    off: { 'judge.ts isRecreated': 'return false', 'judge.ts hasEndedAnother': 'return false' },
  },
  { rule: 'stuck pods (ADR 34)', off: { 'allot.ts isLate': 'return false' } },
  {
    rule: 'patience (ADR 25)',
    off: {
      'judge.ts isWaitedFor':
        'return args[2] - (args[0].runningSinceMs ?? args[0].createdAtMs) < args[1].spawnTimeoutMs',
      'unseen/patience.ts patienceMs': 'return args[1]',
      'unseen/patience.ts missedRunners': 'return Math.floor(Math.max(0, args[1] - args[0]) / args[2])',
    },
  },
  {
    rule: 'records of failures (ADR 2)',
    off: { 'back-off.ts backOffOf': 'return undefined', 'idle.ts isWanted': 'return false' },
  },
  { rule: 'lost runners (ADR 3, 21)', off: { 'judge.ts isLost': 'return false' } },
  { rule: 'sleeping runners', off: { 'queue.ts isAsleep': 'return false' } },
  {
    rule: 'warm pool (ADR 35)',
    off: { 'idle.ts isFit': 'return false', 'idle.ts indexBacksOffUntilMs': 'return Infinity' },
  },
  {
    rule: 'back-off of a pool (ADR 35)',
    off: { 'idle.ts indexBacksOffUntilMs': 'return 0', 'idle.ts isRecordOfPool': 'return false' },
  },
  { rule: 'held for debugging (ADR 37)', off: { 'debugging.ts holdOf': 'return undefined' } },
  { rule: 'groups in trouble (ADR 36)', off: { 'plan.ts withTroubled': 'return args[0]' } },
  { rule: 'renamed groups (ADR 54)', off: { 'heirs.ts findHeirs': 'return new Map()' } },
  { rule: 'moved groups (P16)', off: { 'judge.ts stateIfMoved': 'return undefined' } },
  { rule: 'an older pod template', off: { 'judge.ts isOfThisTemplate': 'return true' } },
  { rule: 'back-off of a group (ADR 34)', off: { 'back-off.ts groupBackOff': 'return () => undefined' } },
  {
    rule: 'ready since (ADR 4)',
    off: { 'ready-since.ts readySinceFinder': 'return (listed: any) => listed.job.createdAtMs' },
  },
  { rule: 'the node may be at fault (ADR 34)', off: { 'allot.ts isNodesFault': 'return false' } },
  { rule: 'finishing', off: { 'judge.ts isAtUnlistedJob': 'return false' } },
  { rule: 'the pin shows a CI job', off: { 'judge.ts hasHadJob': 'return args[0].completed !== undefined' } },
  { rule: 'skipped at work (ADR 20)', off: { 'decide.ts skipAtWork': 'return {}' } },
  // Groups of histories have fairness `oldest`: here all have `per-repository`, first as it is and then without its rule.
  { rule: 'none, all groups fair (ADR 17)', off: { 'facts.ts establishFacts': fair() } },
  {
    rule: 'turns, all groups fair (ADR 17)',
    off: {
      'facts.ts establishFacts': fair(),
      'queue.ts byTurns': 'return args[0]',
      'unseen/requests.ts countSlot': 'return undefined',
    },
  },
];

function fair() {
  return "return original(args[0].map((group) => ({ ...group, fairness: 'per-repository' })), args[1])";
}

/** Gives functions other bodies while esbuild reads their files. */
function switchOff(off) {
  const left = new Set(Object.keys(off));
  return {
    name: 'switch-off',
    setup({ onLoad, onEnd }) {
      onLoad({ filter: /\/src\/planner\/.*\.ts$/ }, ({ path }) => {
        const file = relative('src/planner', path);
        let contents = readFileSync(path, 'utf8');
        for (const [place, body] of Object.entries(off)) {
          const [inFile, name] = place.split(' ');
          if (inFile !== file) continue;
          const [found, exported = ''] = new RegExp(`^(export )?function ${name}\\b`, 'm').exec(contents) ?? [];
          if (found === undefined) continue;
          contents = contents.replace(found, `function original_${name}`);
          contents += `\n${exported}function ${name}(...args: any[]): any { const original: any = original_${name}; ${body}; }\n`;
          left.delete(place);
        }
        return { contents, loader: 'ts' };
      });
      onEnd(() => {
        if (left.size > 0) throw new Error(`no such function in src/planner: ${[...left].join(', ')}`);
      });
    },
  };
}

const folder = mkdtempSync(join(tmpdir(), 'ablation-'));
try {
  const base = { bundle: true, platform: 'node', format: 'esm', logLevel: 'warning' };
  const variants = await Promise.all(
    RULES.map(async ({ rule, off }, i) => {
      const outfile = join(folder, `without-${i}.mjs`);
      const entryPoints = ['test/simulation/policies/ours.ts'];
      await build({ ...base, entryPoints, outfile, plugins: [switchOff(off)] });
      return { rule, file: outfile };
    }),
  );
  const variantsFile = join(folder, 'variants.json');
  writeFileSync(variantsFile, JSON.stringify(variants));
  const program = join(folder, 'run.mjs');
  await build({ ...base, entryPoints: ['test/simulation/ablation/run.ts'], outfile: program });
  const args = [program, variantsFile, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
