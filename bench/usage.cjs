// `node --require bench/usage.cjs PROGRAM`: what the program has used goes to the file USAGE_FILE or the descriptor USAGE_FD: peak of
// memory in KiB, CPU time in µs and, with USAGE_ALLOCATED, the bytes that it has asked of V8's heap.
const { existsSync, readFileSync, writeFileSync } = require('node:fs');

/** V8 samples allocations. With the flag in `measure.ts` two runs differ by less than 0.1 %. */
const session = process.env.USAGE_ALLOCATED ? startSampling() : undefined;

process.on('exit', () => {
  const { systemCPUTime, userCPUTime } = process.resourceUsage();
  const { USAGE_FD, USAGE_FILE } = process.env;
  writeFileSync(
    USAGE_FILE ?? Number(USAGE_FD),
    `${peakKib()} ${systemCPUTime + userCPUTime} ${session ? allocatedBy(session) : 0}`,
  );
});

/** On Linux `maxRSS` begins with the memory of the process that has started this one, which may be larger. */
function peakKib() {
  const status = '/proc/self/status';
  const own = existsSync(status) ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8')) : null;
  return own ? Number(own[1]) : process.resourceUsage().maxRSS;
}

function startSampling() {
  const { Session } = require('node:inspector');
  const session = new Session();
  session.connect();
  const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
  session.post('HeapProfiler.startSampling', { samplingInterval: 1024, ...all });
  return session;
}

/** The inspector answers before `post` returns. */
function allocatedBy(session) {
  let bytes = 0;
  session.post('HeapProfiler.stopSampling', (_error, { profile }) => {
    const waiting = [profile.head];
    for (let node = waiting.pop(); node; node = waiting.pop()) {
      bytes += node.selfSize;
      waiting.push(...node.children);
    }
  });
  return bytes;
}
