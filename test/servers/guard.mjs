// Ends processes for a test that may be gone itself. Reads words on stdin, one per line:
//
//   +SESSION   a test has started the process SESSION, which leads its own session
//   -SESSION   end every process of that session now
//   end of stdin: the test has ended, was interrupted or was killed: end every session that is left, then exit
//
// A session, not a process group: the runner gives each CI step a process group of its own.
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const PATIENCE_MS = 10_000;
const sessions = new Set();

// The terminal's Ctrl-C is for the test; the end of stdin tells it to us.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const session = Number(line.slice(1));
  if (line.startsWith('+')) sessions.add(session);
  if (line.startsWith('-') && sessions.delete(session)) await end(new Set([session]));
}
await end(sessions);

async function end(wanted) {
  const until = Date.now() + PATIENCE_MS;
  for (let left = members(wanted); left.length > 0 && Date.now() < until; left = members(wanted)) {
    for (const pid of left) kill(pid);
    await new Promise((resolve) => setTimeout(resolve, 20));
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
    // It ended by itself.
  }
}
