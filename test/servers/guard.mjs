// Ends processes for a test that may be gone itself, and removes what they leave. Reads words on stdin, one per line:
//
//   +SESSION      a test has started the process SESSION, which leads its own session
//   -SESSION      end every process of that session now
//   rm FOLDER     remove the folder at the end, with all in it
//   keep FOLDER   take that back; what was said of other folders, also inside it, stays
//   rmdir FOLDER  remove this tree of control groups at the end, and end what still runs in it
//   card NAME     remove this network card at the end; by itself one of a dead network namespace stays while connections linger
//   end of stdin: the test has ended, was interrupted or was killed: end every session that is left, remove, exit
//
// A session, not a process group: the runner gives each CI step a process group of its own.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PATIENCE_MS = 10_000;
/** A slip in a test must not remove anything else. */
const OURS = /^(?:\/[^/]+)+\/gitea-runners-[^/]+(?:\/[^/]+)*$/;
const OUR_CARD = /^gr[0-9]+$/;
const sessions = new Set();
const folders = new Set();
const controlGroups = new Set();
const cards = new Set();

// The terminal's Ctrl-C is for the test; the end of stdin tells it to us.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) await obey(line);
await end(sessions);
// Gone already, as a rule.
for (const card of cards) spawnSync('ip', ['link', 'delete', card], { stdio: 'ignore' });
for (const tree of controlGroups) await removeControlGroups(tree);
for (const folder of folders) remove(folder);

async function obey(line) {
  const [, word, what] = /^(\+|-|rm |keep |rmdir |card )(.+)$/.exec(line) ?? [];
  if (word === '+') sessions.add(Number(what));
  else if (word === '-' && sessions.delete(Number(what))) await end(new Set([Number(what)]));
  else if (word === 'keep ') folders.delete(what);
  else if (word === 'rm ' && OURS.test(what)) folders.add(what);
  else if (word === 'rmdir ' && OURS.test(what)) controlGroups.add(what);
  else if (word === 'card ' && OUR_CARD.test(what)) cards.add(what);
  else if (word !== '-') process.stderr.write(`guard.mjs: not understood and not done: ${line}\n`);
}

async function end(wanted) {
  const until = Date.now() + PATIENCE_MS;
  for (let left = members(wanted); left.length > 0 && Date.now() < until; left = members(wanted)) {
    for (const pid of left) kill(pid);
    await sleep(20);
  }
}

function remove(folder) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  } catch (error) {
    process.stderr.write(`guard.mjs: ${folder} stays: ${error.message}\n`);
  }
}

/** Removes a control group once no process and no other group is in it: a killed process leaves it a moment later. */
async function removeControlGroups(tree) {
  const until = Date.now() + PATIENCE_MS;
  while (existsSync(tree) && Date.now() < until) {
    removeEmpty(tree);
    await sleep(20);
  }
}

function removeEmpty(group) {
  for (const entry of subfolders(group)) removeEmpty(join(group, entry.name));
  for (const pid of read(join(group, 'cgroup.procs')).split('\n').filter(Boolean)) kill(Number(pid));
  try {
    rmdirSync(group);
  } catch {
    // The next round.
  }
}

function subfolders(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  } catch {
    return [];
  }
}

/** Ids of the living processes of these sessions. /proc/PID/stat: `pid (name) state ppid pgrp session …`, proc(5). */
function members(wanted) {
  if (wanted.size === 0) return [];
  return readdirSync('/proc')
    .filter((entry) => /^[0-9]+$/.test(entry))
    .filter((pid) => {
      const stat = read(`/proc/${pid}/stat`);
      const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return state !== 'Z' && state !== 'X' && wanted.has(Number(session));
    })
    .map(Number);
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended by itself.
  }
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
