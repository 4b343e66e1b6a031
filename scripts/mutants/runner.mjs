// Runs each test once as it is, then once for each mutant that is still alive and that the test reaches: mutants are switched, not built.
import { setMaxListeners } from 'node:events';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import * as fc from 'fast-check';
import { TestRunner } from 'vitest';
import { isCheap } from './files.mjs';

/**
 * @typedef {object} Order what one process is to do, as JSON in the file that MUTANTS names
 * @property {number[]} alive the mutants that must be caught
 * @property {number[]} listed those that are listed as equal to the source: they meet cheap tests only
 * @property {number[]} atLoad those that no test is seen to reach
 * @property {string} results file to which a line is added for each that is caught
 * @property {string} heartbeat file that has the mutant and the test of this moment
 */

/** @type {Order} */
const order = JSON.parse(readFileSync(process.env.MUTANTS, 'utf8'));
const alive = new Set(order.alive);
const listed = new Set(order.listed);
const atLoad = new Set(order.atLoad);

/** A test that passes more switches than this times what it does without a mutant never ends. */
const MOST_TIMES = 50;
const LEAST = 200_000;

let active = -1;
let count = 0;
let limit = Number.POSITIVE_INFINITY;
/** @type {Set<number> | undefined} */
let reached;
const loaded = [];

function mutant(id) {
  count += 1;
  if (count > limit) throw new Error('the mutant does not end');
  reached?.add(id);
  return id === active;
}
/** Works out the constants of a file again for its mutants, which have the numbers from `first` to `end`. */
mutant.onSwitch = (first, end, work) => {
  loaded.push({ work, isOf: (id) => first <= id && id < end });
};
globalThis.__mutant = mutant;

function throwSwitch(id) {
  const before = active;
  active = id;
  for (const { work, isOf } of loaded) if (isOf(id) || isOf(before)) work();
}

// vitest listens to the signal of a test once per run, and one test has many runs here.
setMaxListeners(0);

// The first counterexample is enough.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });

/** A test that takes so many times what it does without a mutant, and some seconds, waits for what its mutant never does. */
const MOST_WAITS = 5;
const LEAST_WAIT_MS = 3_000;
const TICK_MS = 50;
/** What a mutant has left behind may still go on for so many quiet ticks. A loop that goes on for longer ends the process (mutants.mjs). */
const QUIET_TICKS = 4;
const MOST_QUIETS = 100;

/** Tests may hold the clocks of the process. */
const { setInterval, clearInterval, performance } = globalThis;

export default class extends TestRunner {
  /** One test at a time, also those that are to run side by side: there is one switch, and one current test for hooks. */
  onCollected(files) {
    const queue = (task) => {
      task.concurrent = false;
      task.tasks?.forEach(queue);
    };
    files.forEach(queue);
    super.onCollected?.(files);
  }

  runTask(test) {
    return meetAll(test);
  }
}

async function meetAll(test) {
  const file = relative('.', test.file.filepath);
  const wanted = isCheap(file) ? [...alive, ...listed] : [...alive];
  if (wanted.length === 0) return;
  const by = `${file} > ${test.fullTestName}`;
  // The source itself may take long: then no mutant hangs.
  writeFileSync(order.heartbeat, '');
  reached = new Set();
  count = 0;
  const beganMs = performance.now();
  try {
    await TestRunner.getTestFn(test)();
  } catch (error) {
    appendFileSync(order.results, `${JSON.stringify({ broken: `${by}: ${error?.message}` })}\n`);
    throw error;
  } finally {
    await cleanUp(test);
  }
  const met = reached;
  reached = undefined;
  const most = count * MOST_TIMES + LEAST;
  const mostMs = (performance.now() - beganMs) * MOST_WAITS + LEAST_WAIT_MS;
  for (const id of wanted) {
    if (!met.has(id) && !atLoad.has(id)) continue;
    writeFileSync(order.heartbeat, JSON.stringify({ id, by }));
    const end = await endOf(test, id, most, mostMs);
    if (end === 'passed') continue;
    alive.delete(id);
    listed.delete(id);
    appendFileSync(order.results, `${JSON.stringify({ id, by: end === 'late' ? `${by} (does not end)` : by })}\n`);
    if (end === 'late') await quiet();
  }
}

/** Closes what the test has opened: it has many runs here, and vitest closes after the last one only. */
async function cleanUp(test) {
  const hooks = test.onFinished ?? [];
  test.onFinished = undefined;
  for (const hook of hooks.reverse()) await Promise.resolve(hook()).catch(() => undefined);
}

/** Runs a test with a mutant. @returns {Promise<'passed' | 'failed' | 'late'>} */
async function endOf(test, id, most, mostMs) {
  const wait = waitFor(mostMs);
  try {
    throwSwitch(id);
    count = 0;
    limit = most;
    const run = TestRunner.getTestFn(test)().then(() => 'passed');
    return await Promise.race([run, wait.late]);
  } catch {
    return 'failed';
  } finally {
    wait.end();
    limit = Number.POSITIVE_INFINITY;
    throwSwitch(-1);
    // A server that waits for its connections may wait for the mutant.
    const closing = waitFor(LEAST_WAIT_MS);
    await Promise.race([cleanUp(test), closing.late]);
    closing.end();
  }
}

/** Counts ticks: what another program takes from this machine is no fault of a mutant. */
function waitFor(ms) {
  let timer;
  const late = new Promise((resolve) => {
    let left = ms / TICK_MS;
    timer = setInterval(() => {
      left -= 1;
      if (left > 0) return;
      clearInterval(timer);
      resolve('late');
    }, TICK_MS);
  });
  return { late, end: () => clearInterval(timer) };
}

/** Until what goes on behind a late test passes no switch: those would count for the next mutant. Else the process waits for its end. */
async function quiet() {
  for (let round = 0; round < MOST_QUIETS; round += 1) {
    count = 0;
    await waitFor(QUIET_TICKS * TICK_MS).late;
    if (count === 0) return;
  }
  await new Promise(() => undefined);
}
