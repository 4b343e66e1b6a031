// Changes the planner (`-- --serve`: what serve decides; `-- --edges`: clients, Lease, policy, page) in hundreds of small ways, one at a time, and runs its tests against each: every mutant must be caught.
// `npm run mutants`, or `npm run mutants -- owners.ts` for those whose address has these words. An address is
// `file · function · operator · nth`: the operators are in mutants/operators.mjs, and a mutant knows no line and no text of the source.
// `--quick` leaves out the golden outputs and the model, which cost the most.
// `--list` writes those that survive into the list, each to be judged by a person, who writes its reason or a test that catches it.
// Exit code 1 when one survives, or when a listed one is caught or no longer exists (mutants/listed.json).
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Besides the planner. */
const subject = ['serve', 'edges'].find((name) => process.argv.includes(`--${name}`));
if (subject) process.env.MUTANTS_SUBJECT = subject;
const { allMutants } = await import('./mutants/files.mjs');

const PROCESSES = 2;
const WIDTH = 110;
/** A test that shows nothing for so long hangs in its mutant. */
const HANGS_MS = 120_000;

/** Mutants that no test catches, below the reason: they do what the source does, or nobody has looked yet. */
const LIST = `scripts/mutants/listed${subject ? `-${subject}` : ''}.json`;
const NOT_JUDGED = 'not judged';
const words = process.argv.slice(2);
const wrong = words.find(
  (word) => word.startsWith('--') && !['--serve', '--edges', '--quick', '--list'].includes(word),
);
if (wrong) {
  console.error(`${wrong}: npm run mutants -- [--serve | --edges] [--quick] [--list] [ADDRESS]`);
  process.exit(2);
}
const isQuick = words.includes('--quick');
const isToList = words.includes('--list');
/** By address: why it is not caught. @type {Map<string, string>} */
const LISTED = new Map(
  Object.entries(JSON.parse(readFileSync(LIST, 'utf8'))).flatMap(([reason, all]) => all.map((each) => [each, reason])),
);
const filter = words.filter((word) => !word.startsWith('--')).join(' ');
const { mutants } = allMutants();
const unknown = [...LISTED.keys()].filter((address) => !mutants.some((mutant) => mutant.address === address));
const wanted = mutants.filter(({ address }) => address.includes(filter));
/** By number: the test that caught it. @type {Map<number, string>} */
const caught = new Map();

const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
// Not `all`: a process that still writes would hide why the other one failed.
const ends = await Promise.allSettled(
  Array.from({ length: PROCESSES }, (_, n) =>
    judge(
      n,
      wanted.filter((_, i) => i % PROCESSES === n),
    ),
  ),
);
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
for (const { reason } of ends) if (reason) throw reason;
if (isToList) list();
else report();

/** Runs the tests against some mutants. A process that hangs is ended, which catches its mutant, and the others go on in a new one. */
async function judge(n, mine) {
  const [order, results, heartbeat] = ['order', 'results', 'heartbeat'].map((name) =>
    join(folder, `${name}-${n}.json`),
  );
  for (;;) {
    const open = mine.filter(({ id }) => !caught.has(id));
    if (open.length === 0) return;
    const isListed = ({ address }) => !isToList && LISTED.has(address);
    const ids = (list) => list.map(({ id }) => id);
    const alive = ids(open.filter((mutant) => !isListed(mutant)));
    const atLoad = ids(open.filter((mutant) => mutant.atLoad));
    for (const file of [results, heartbeat]) writeFileSync(file, '');
    writeFileSync(order, JSON.stringify({ alive, listed: ids(open.filter(isListed)), atLoad, results, heartbeat }));
    const hung = await runTests(order, heartbeat);
    for (const line of readFileSync(results, 'utf8').split('\n').filter(Boolean)) {
      const { id, by, broken } = JSON.parse(line);
      if (broken) throw new Error(`the tests fail without any mutant: ${broken}`);
      caught.set(id, by);
    }
    if (!hung) return;
    caught.set(hung.id, `${hung.by} (does not end)`);
  }
}

/** One run of all tests. @returns the mutant and the test in which it hangs, if it does */
async function runTests(order, heartbeat) {
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'scripts/mutants/vitest.config.mjs',
    '--root',
    '.',
  ];
  // A fixed seed: the same mutants are caught today and tomorrow.
  const env = {
    PROPERTY_SEED: '1',
    PROPERTY_RUNS: '150',
    SIM_HISTORIES: '30',
    HISTORIES: '20',
    ...process.env,
    MUTANTS: order,
    MUTANTS_QUICK: isQuick ? '1' : '',
  };
  const child = spawn(process.execPath, [...args, '--silent', '--reporter=json', `--outputFile=${order}.report`], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  let before = '';
  let sinceMs = Date.now();
  let hung;
  const watch = setInterval(() => {
    const now = readFileSync(heartbeat, 'utf8');
    if (now !== before) [before, sinceMs] = [now, Date.now()];
    if (now === '' || Date.now() - sinceMs < HANGS_MS) return;
    hung = JSON.parse(now);
    process.kill(-child.pid, 'SIGKILL');
  }, 1_000);
  try {
    await new Promise((done, failed) => child.on('error', failed).on('close', done));
  } finally {
    clearInterval(watch);
  }
  if (!hung && !existsSync(`${order}.report`)) throw new Error('the tests do not even start');
  if (!hung && JSON.parse(readFileSync(`${order}.report`, 'utf8')).numTotalTests === 0)
    throw new Error('no test was found');
  return hung;
}

/** Writes the list again: what survived, below the reasons that are known. */
function list() {
  const isAlive = ({ id, address }) => (address.includes(filter) ? !caught.has(id) : LISTED.has(address));
  const byReason = {};
  for (const { address } of mutants.filter(isAlive)) {
    const reason = LISTED.get(address) ?? NOT_JUDGED;
    byReason[reason] = [...(byReason[reason] ?? []), address];
  }
  writeFileSync(LIST, `${JSON.stringify(byReason, null, 2)}\n`);
  console.log(`${Object.values(byReason).flat().length} mutants are listed`);
}

function report() {
  const short = (text) => (text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text);
  let bad = 0;
  let listed = 0;
  for (const { id, address, line } of wanted) {
    const by = caught.get(id);
    const reason = LISTED.get(address);
    const isRight = reason === undefined ? by !== undefined : by === undefined;
    if (!isRight) bad += 1;
    if (reason !== undefined) listed += 1;
    const verdict = by ? `${reason ? 'LISTED, BUT ' : ''}caught by ${by}` : reason ? `listed: ${reason}` : 'SURVIVED';
    console.log(`${address}\n      ${line}\n      ${short(verdict)}`);
  }
  for (const address of unknown) console.log(`${address}\n      is listed and does not exist`);
  const judged = wanted.length - listed;
  const survived = wanted.filter(({ id, address }) => !caught.has(id) && !LISTED.has(address)).length;
  console.log(`\n${judged - survived} of ${judged} mutants caught; ${listed} more are listed`);
  if (bad > 0 || unknown.length > 0 || judged === 0) process.exitCode = 1;
}
