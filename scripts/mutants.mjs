// Breaks each law of the planner in turn and runs the planner's tests (test/plan) against it: every mutant must be caught.
// `npm run mutants`, or `npm run mutants P3` for one law. Exit code 1 when one survives or no longer fits the source.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MUTANTS } from './mutants/list.mjs';

const AT_ONCE = 2;
const WIDTH = 92;

/** A copy of what test/plan needs, small enough to start in a second. */
function makeRoom() {
  const room = mkdtempSync(join(tmpdir(), 'mutants-'));
  for (const folder of ['src/plan', 'test/plan']) cpSync(folder, join(room, folder), { recursive: true });
  cpSync('package.json', join(room, 'package.json'));
  symlinkSync(resolve('node_modules'), join(room, 'node_modules'), 'dir');
  return room;
}

/** Runs the tests of a room until the first failure. Answers its name, undefined when all pass. */
async function firstFailure(room) {
  const report = join(room, 'report.json');
  rmSync(report, { force: true });
  const args = ['run', '--bail=1', '--no-file-parallelism', '--reporter=json', `--outputFile=${report}`];
  const code = await new Promise((done, failed) => {
    const child = spawn(process.execPath, [resolve('node_modules/vitest/vitest.mjs'), ...args], {
      cwd: room,
      // A fixed seed: the same mutants are caught today and tomorrow.
      env: { PROPERTY_SEED: '1', ...process.env },
      stdio: 'ignore',
    });
    child.on('error', failed);
    child.on('close', done);
  });
  const { testResults, numTotalTests } = JSON.parse(readFileSync(report, 'utf8'));
  const broken = testResults.find(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  if (broken || numTotalTests === 0) throw new Error(`the tests do not even start: ${broken?.message ?? 'none found'}`);
  const failure = testResults.flatMap((file) => file.assertionResults).find(({ status }) => status === 'failed');
  if ((failure === undefined) !== (code === 0)) throw new Error(`vitest ended with ${code}`);
  return failure?.fullName;
}

/** What became of one mutant: `caughtBy` a test, or `problem`. */
async function judge({ file, from, to }, room) {
  const path = join(room, file);
  const source = readFileSync(path, 'utf8');
  const places = source.split(from).length - 1;
  if (places !== 1) return { problem: `its pattern stands ${places} times in ${file}: bring it up to date` };
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  try {
    const caughtBy = await firstFailure(room);
    return caughtBy === undefined ? { problem: 'SURVIVED: no test catches it' } : { caughtBy };
  } finally {
    writeFileSync(path, source);
  }
}

function print({ law, breaks }, { caughtBy, problem }) {
  const verdict = problem ?? `caught by: ${caughtBy}`;
  const short = verdict.length > WIDTH ? `${verdict.slice(0, WIDTH - 1)}…` : verdict;
  console.log(`${law.padEnd(4)}${breaks}\n      ${short}`);
}

const wanted = MUTANTS.filter(({ law }) => process.argv.length < 3 || process.argv.includes(law));
const rooms = Array.from({ length: Math.min(AT_ONCE, wanted.length) }, makeRoom);
try {
  const [room] = rooms;
  const without = room && (await firstFailure(room));
  if (without) throw new Error(`the tests fail without any mutant: ${without}`);
  const verdicts = new Map();
  const queue = wanted.values();
  const work = async (at) => {
    for (const mutant of queue) verdicts.set(mutant, await judge(mutant, at));
  };
  await Promise.all(rooms.map(work));
  for (const mutant of wanted) print(mutant, verdicts.get(mutant));
  const alive = wanted.filter((mutant) => verdicts.get(mutant).problem !== undefined).length;
  console.log(`\n${wanted.length - alive} of ${wanted.length} mutants caught`);
  if (alive > 0 || wanted.length === 0) process.exitCode = 1;
} finally {
  for (const room of rooms) rmSync(room, { recursive: true, force: true });
}
