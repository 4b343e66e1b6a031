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
mutant.onSwitch = (work) => {
  loaded.push(work);
};
globalThis.__mutant = mutant;

function throwSwitch(id) {
  active = id;
  for (const work of loaded) work();
}

// vitest listens to the signal of a test once per run, and one test has many runs here.
setMaxListeners(0);

// The first counterexample is enough.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });

/** One test at a time, also those that are to run side by side: there is one switch. */
let last = Promise.resolve();

export default class extends TestRunner {
  runTask(test) {
    const turn = last.then(() => meetAll(test));
    last = turn.catch(() => undefined);
    return turn;
  }
}

async function meetAll(test) {
  const file = relative('.', test.file.filepath);
  const wanted = isCheap(file) ? [...alive, ...listed] : [...alive];
  if (wanted.length === 0) return;
  const run = TestRunner.getTestFn(test);
  // The source itself may take long: then no mutant hangs.
  writeFileSync(order.heartbeat, '');
  reached = new Set();
  count = 0;
  try {
    await run();
  } catch (error) {
    appendFileSync(
      order.results,
      `${JSON.stringify({ broken: `${file} > ${test.fullTestName}: ${error?.message}` })}\n`,
    );
    throw error;
  }
  const met = reached;
  reached = undefined;
  const most = count * MOST_TIMES + LEAST;
  for (const id of wanted) {
    if (!met.has(id) && !atLoad.has(id)) continue;
    writeFileSync(order.heartbeat, JSON.stringify({ id, by: `${file} > ${test.fullTestName}` }));
    if (await passes(run, id, most)) continue;
    alive.delete(id);
    listed.delete(id);
    appendFileSync(order.results, `${JSON.stringify({ id, by: `${file} > ${test.fullTestName}` })}\n`);
  }
}

async function passes(run, id, most) {
  try {
    throwSwitch(id);
    count = 0;
    limit = most;
    await run();
    return true;
  } catch {
    return false;
  } finally {
    limit = Number.POSITIVE_INFINITY;
    throwSwitch(-1);
  }
}
